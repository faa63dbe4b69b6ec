//! The form of a command: which of the ways to say one it takes, as templates.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Checking, help};
use crate::file::form::{
    CasesForm, CommandForm, DetailedForm, EffectForm, HeadersForm, SubsetForm, TypeForm,
};
use crate::file::node::escape;
use crate::template::kind::Kind;
use crate::template::pieces::{Form, Piece, Pieces, Slot};
use crate::template::scan::Wrong;
use crate::template::{Subset, build, command, sql};
use crate::words::unknown_hint;

/// What the server knows of itself, and the command that tells it.
const INTERNAL: [(&str, &str); 1] = [("server_info", "get version where format = mcp")];

/// The format of a query whose form says none: as response parsers know it when there is one, else
/// the one whose rows are given in pages.
const PARSED_FORMAT: &str = "json";
const ROWS_FORMAT: &str = "mcp:columns";

/// A command's templates, before they were tried.
#[derive(Debug)]
pub(super) struct Drafts {
    pub(super) drafts: Vec<Draft>,
    /// The argument that chooses among them.
    pub(super) argument: Option<String>,
    pub(super) destination: Option<Draft>,
    /// Whether there are two: one for calls with the argument that it names, and one for others.
    pub(super) is_by_presence: bool,
    pub(super) subset: Subset,
    pub(super) timeout: Option<Duration>,
    pub(super) effect: EffectForm,
    pub(super) is_internal: bool,
}

/// A template.
#[derive(Debug)]
pub(super) struct Draft {
    /// Where its text stands in the file.
    pub(super) pointer: String,
    /// Whether places in the template are places in that text.
    pub(super) is_written: bool,
    /// The value of the argument that chooses it.
    pub(super) case: Option<String>,
    /// An argument that is there whenever this template is used, although it is not required.
    pub(super) given: Option<&'static str>,
    pub(super) pieces: Pieces,
}

/// The templates of a command's form.
pub(super) fn drafts(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &CommandForm,
    properties: &Map<String, Value>,
) -> Option<Drafts> {
    let detailed;
    let (form, is_short) = match form {
        CommandForm::Detailed(form) => (form.as_ref(), false),
        CommandForm::Template(template) => {
            detailed = DetailedForm { template: Some(template.clone()), ..DetailedForm::default() };
            (&detailed, true)
        }
    };
    let mut drafting = Drafting { checking, pointer, form, properties, is_short };
    drafting.no_program();
    let (drafts, argument) = drafting.drafts()?;
    let headers = form.headers.as_ref();
    let destination = drafting.destination(headers);
    let subset = drafting.subset(headers.and_then(|headers| headers.subset.as_ref()));
    Some(Drafts {
        is_by_presence: argument.is_none() && drafts.len() > 1,
        drafts,
        argument,
        destination: destination?,
        subset: subset?,
        timeout: headers.and_then(|headers| headers.timeout).map(Duration::from_secs),
        effect: form.effect.unwrap_or(EffectForm::Read),
        is_internal: form.kind == Some(TypeForm::Internal),
    })
}

struct Drafting<'a, 'f> {
    checking: &'a mut Checking<'f>,
    pointer: &'a str,
    form: &'a DetailedForm,
    properties: &'a Map<String, Value>,
    /// Whether the form is nothing but its template.
    is_short: bool,
}

impl Drafting<'_, '_> {
    fn drafts(&mut self) -> Option<(Vec<Draft>, Option<String>)> {
        let form = self.form;
        let ways = [
            ("template", form.template.is_some()),
            ("cases", form.cases.is_some()),
            ("sql", form.sql.is_some()),
            ("build_sql", form.build_sql),
            ("method", form.kind == Some(TypeForm::Internal)),
        ];
        let said: Vec<_> =
            ways.iter().filter(|(_, is_said)| *is_said).map(|(way, _)| *way).collect();
        if form.database.is_some() && said != ["sql"] {
            self.wrong("database", "\"database\" goes with \"sql\" alone", None);
        }
        let one = |draft: Draft| (vec![draft], None);
        match (said.as_slice(), &form.template, &form.cases, &form.sql) {
            (["template"], Some(template), ..) => {
                let key = if self.is_short { "" } else { "/template" };
                self.command(key, template, form.format.as_deref(), None).map(one)
            }
            (["cases"], _, Some(cases), _) => self.cases(cases),
            (["sql"], .., Some(sql)) => self.sql(sql).map(one),
            (["build_sql"], ..) => self.built().map(|drafts| (drafts, None)),
            (["method"], ..) => self.internal().map(one),
            ([], ..) => {
                let hint = "give a \"template\", \"cases\", a \"sql\" with its \"database\", or \
                            \"build_sql: true\"";
                self.wrong("", "the command does not say what to do", Some(hint.into()));
                None
            }
            (several, ..) => {
                let message =
                    format!("the command says what to do more than once: {}", several.join(", "));
                self.wrong(several.first().unwrap_or(&""), message, None);
                None
            }
        }
    }

    /// Tells which keys belong to programs, and this is none.
    fn no_program(&mut self) {
        let form = self.form;
        let said = [
            ("program", form.program.is_some()),
            ("args", !form.args.is_empty()),
            ("env", !form.env.is_empty()),
            ("pass", !form.pass.is_empty()),
            ("cwd", form.cwd.is_some()),
        ];
        for (key, _) in said.iter().filter(|(_, is_said)| *is_said) {
            let message = format!("\"{key}\" goes with \"type: cli\" alone");
            self.wrong(key, message, None);
        }
    }

    fn wrong(&mut self, key: &str, message: impl Into<String>, hint: Option<String>) {
        let pointer = match key {
            "" => self.pointer.to_owned(),
            key => format!("{}/{key}", self.pointer),
        };
        self.checking.wrong(&pointer, message, hint);
    }

    fn command(
        &mut self,
        key: &str,
        template: &str,
        format: Option<&str>,
        case: Option<&str>,
    ) -> Option<Draft> {
        let pointer = format!("{}{key}", self.pointer);
        let pieces = command::compile(template, format, self.checking.surroundings);
        let pieces = self.compiled(&pointer, true, pieces)?;
        let case = case.map(str::to_owned);
        Some(Draft { pointer, is_written: true, case, given: None, pieces })
    }

    fn compiled(
        &mut self,
        pointer: &str,
        is_written: bool,
        pieces: Result<Pieces, Vec<Wrong>>,
    ) -> Option<Pieces> {
        match pieces {
            Ok(pieces) => Some(pieces),
            Err(wrong) => {
                for Wrong { range, message, hint } in wrong {
                    let problem = match is_written {
                        true => self.checking.file.problem_inside(pointer, range, message),
                        false => self.checking.file.problem(pointer, message),
                    };
                    self.checking.problems.push(problem.with_hint(hint));
                }
                None
            }
        }
    }

    fn cases(&mut self, cases: &CasesForm) -> Option<(Vec<Draft>, Option<String>)> {
        let known: Vec<String> = self.properties.keys().cloned().collect();
        let Some(property) = self.properties.get(&cases.argument) else {
            let message = format!("the input_schema has no argument \"{}\"", cases.argument);
            let hint = unknown_hint(&cases.argument, &known, "argument");
            self.wrong("cases/argument", message, hint);
            return None;
        };
        let values = property.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
        let values: Vec<String> =
            values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        for value in values.iter().filter(|value| !cases.when.contains_key(*value)) {
            self.wrong("cases/when", format!("there is no template for \"{value}\""), None);
        }
        let mut drafts = Vec::new();
        for (case, template) in &cases.when {
            let key = format!("cases/when/{}", escape(case));
            if !values.contains(case) {
                let message = format!("\"{case}\" is not in the enum of \"{}\"", cases.argument);
                self.wrong(&key, message, unknown_hint(case, &values, "value"));
            }
            let format = self.form.format.clone();
            drafts.extend(self.command(
                &format!("/{key}"),
                template,
                format.as_deref(),
                Some(case),
            ));
        }
        (drafts.len() == cases.when.len()).then(|| (drafts, Some(cases.argument.clone())))
    }

    /// `sql` and `database` as a command.
    fn sql(&mut self, text: &str) -> Option<Draft> {
        let Some(database) = &self.form.database else {
            let hint = "a name, or an argument as \"{database}\"".to_owned();
            self.wrong("sql", "\"sql\" needs a \"database\" beside it", Some(hint));
            return None;
        };
        let pointer = format!("{}/sql", self.pointer);
        let query = self.compiled(&pointer, true, sql::compile(text, self.checking.surroundings));
        let name = command::compile(database, None, self.checking.surroundings);
        let name = self.compiled(&format!("{}/database", self.pointer), true, name);
        let added = |text: String| Piece::Text { text, at: None };
        let mut pieces = vec![added("sql ".into())];
        pieces.extend(name?.0.into_iter().map(unplaced));
        let format = edgemere_command::template::quote(self.query_format());
        pieces.push(added(format!(" format = {format} ")));
        let range = 0..text.len();
        pieces.push(Piece::Slot(Slot { range, form: Form::Query { pieces: query?, at: Some(0) } }));
        let pieces = Pieces(pieces);
        Some(Draft { pointer, is_written: true, case: None, given: None, pieces })
    }

    /// One template, or one for a whole SELECT before it where the arguments have such.
    fn built(&mut self) -> Option<Vec<Draft>> {
        let lacking = build::REQUIRED.iter().filter(|name| !self.properties.contains_key(**name));
        let lacking: Vec<_> = lacking.copied().collect();
        if !lacking.is_empty() {
            let message = format!("\"build_sql\" needs the arguments {}", lacking.join(" and "));
            self.wrong("build_sql", message, None);
            return None;
        }
        let template = build::template(self.properties, self.query_format());
        let mut built = self.unwritten("build_sql", &template)?;
        if !self.properties.contains_key(build::WHOLE) {
            return Some(vec![built]);
        }
        // Without a whole SELECT the table must be there.
        built.given = Some(build::TABLE);
        let template = build::whole(self.properties, self.query_format());
        let whole = self.unwritten("build_sql", &template)?;
        let (case, given) = (Some(build::WHOLE.to_owned()), Some(build::WHOLE));
        Some(vec![Draft { case, given, ..whole }, built])
    }

    /// None is that it is wrong.
    fn subset(&mut self, form: Option<&SubsetForm>) -> Option<Subset> {
        let text = match form {
            None => return Some(Subset::Always(false)),
            Some(SubsetForm::Always(always)) => return Some(Subset::Always(*always)),
            Some(SubsetForm::Argument(text)) => text,
        };
        let name = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let property = name.and_then(|name| self.properties.get(name));
        match (name, property.and_then(|property| property.get("type"))) {
            (Some(name), Some(kind)) if kind == "boolean" => {
                Some(Subset::Argument(name.to_owned()))
            }
            _ => {
                let hint = "write true, false, or an argument of type boolean as \"{subset}\"";
                self.wrong("headers/subset", "this says neither yes nor no", Some(hint.into()));
                None
            }
        }
    }

    fn query_format(&self) -> &str {
        let usual = match self.form.response_parser {
            Some(_) if !self.form.gives_objects() => PARSED_FORMAT,
            _ => ROWS_FORMAT,
        };
        self.form.format.as_deref().unwrap_or(usual)
    }

    fn internal(&mut self) -> Option<Draft> {
        let method = self.form.method.clone().unwrap_or_default();
        let known = INTERNAL.iter().find(|(name, _)| *name == method);
        match known {
            Some((_, template)) => self.unwritten("method", template),
            None => {
                let names = INTERNAL.iter().map(|(name, _)| *name).chain([help::METHOD]);
                let names: Vec<String> = names.map(str::to_owned).collect();
                let message = format!("nothing internal is called \"{method}\"");
                self.wrong("method", message, unknown_hint(&method, &names, "method"));
                None
            }
        }
    }

    /// A template that does not stand in the file.
    fn unwritten(&mut self, key: &str, template: &str) -> Option<Draft> {
        let pointer = format!("{}/{key}", self.pointer);
        let pieces = command::compile(template, None, self.checking.surroundings);
        let pieces = self.compiled(&pointer, false, pieces)?;
        Some(Draft { pointer, is_written: false, case: None, given: None, pieces })
    }

    /// None is that it is wrong.
    fn destination(&mut self, headers: Option<&HeadersForm>) -> Option<Option<Draft>> {
        let Some(text) = headers.and_then(|headers| headers.destination.as_deref()) else {
            return Some(None);
        };
        let mut draft = self.command("/headers/destination", text, None, None)?;
        draft.pieces.0.iter_mut().for_each(as_nodes);
        Some(Some(draft))
    }
}

/// What is given for a destination are nodes, without saying so.
fn as_nodes(piece: &mut Piece) {
    match piece {
        Piece::Slot(Slot { form: Form::Command { kind, .. }, .. }) if *kind == Kind::Value => {
            *kind = Kind::Nodes;
        }
        Piece::Clause { when, pieces } => {
            when.arguments_mut().for_each(|(_, kind)| *kind = Kind::Nodes);
            pieces.iter_mut().for_each(as_nodes);
        }
        Piece::Slot(_) | Piece::Text { .. } => {}
    }
}

/// A piece whose places are in another text.
fn unplaced(piece: Piece) -> Piece {
    match piece {
        Piece::Text { text, .. } => Piece::Text { text, at: None },
        other => other,
    }
}
