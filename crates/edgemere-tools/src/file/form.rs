//! The form of a file of tools: every key that it may have. The doc comments here are what editors
//! show, by the schema that is made of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A file of tools for agents.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "tools.yaml")]
pub(crate) struct FileForm {
    /// The version of this form: 1.0.
    #[serde(default)]
    pub(crate) version: Option<Version>,
    /// What the server tells agents before they call anything: where to begin, and what holds for
    /// all tools. A sentence that names a tool which is not served is left out.
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    /// Logs every call: its arguments, its command, the raw reply and the answer.
    #[serde(default)]
    pub(crate) testing: bool,
    /// Further files, relative to this one, whose tools, prompts and resources belong to this one;
    /// "edgemere" are the tools that come with Edgemere, "edgelake" those with EdgeLake's names.
    #[serde(default)]
    pub(crate) include: Vec<String>,
    /// The tools.
    #[serde(default)]
    pub(crate) tools: Vec<ToolForm>,
    /// Groups of tools, each of which is served alone at /mcp/NAME: a name and its tools' names.
    #[serde(default)]
    pub(crate) toolsets: BTreeMap<String, Vec<String>>,
    /// Prompts that people choose.
    #[serde(default)]
    pub(crate) prompts: Vec<PromptForm>,
    /// What commands answer, as resources.
    #[serde(default)]
    pub(crate) resources: Vec<ResourceForm>,
}

/// The version, as a text or a number.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Version {
    Text(String),
    Number(f64),
}

/// A tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolForm {
    /// What agents call it by: letters, digits, _ and -.
    pub(crate) name: String,
    /// What people are shown instead of the name.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// What it does, and when to choose it: all that a model knows of it. Without one it is made of the
    /// name.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// What it does: a command with {arguments} in it, or more about it.
    #[serde(default)]
    pub(crate) command: Option<CommandForm>,
    /// The same as "command", for files that were written for EdgeLake: with "build_sql" it takes all
    /// arguments that the builder knows, also those that the input_schema does not list.
    #[serde(default)]
    pub(crate) edgelake_command: Option<CommandForm>,
    /// The JSON Schema of its arguments.
    #[serde(default)]
    pub(crate) input_schema: Option<Map<String, Value>>,
    /// The JSON Schema of its structured answers. Of SQL with known tables it is made by itself.
    #[serde(default)]
    pub(crate) output_schema: Option<Map<String, Value>>,
    /// What clients read about its effects; without, it follows from the command.
    #[serde(default)]
    pub(crate) annotations: Option<AnnotationsForm>,
    /// How large an answer may be and how long it may take.
    #[serde(default)]
    pub(crate) limits: Option<LimitsForm>,
    /// Pictures that clients may show beside it.
    #[serde(default)]
    pub(crate) icons: Vec<IconForm>,
}

/// A picture that clients may show.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IconForm {
    /// Where it is: https://… or data:image/…
    pub(crate) src: String,
    /// What it is, as image/png.
    #[serde(default)]
    pub(crate) mime_type: Option<String>,
    /// Its sizes, as 48x48 or any.
    #[serde(default)]
    pub(crate) sizes: Vec<String>,
    /// The background that it is made for.
    #[serde(default)]
    pub(crate) theme: Option<ThemeForm>,
}

/// The background that a picture is made for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThemeForm {
    Light,
    Dark,
}

/// A command: its template alone, or more about it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CommandForm {
    /// A command with {arguments} in it, as: get columns where dbms = {database}
    Template(String),
    /// A command, where it is sent and what is picked out of its reply.
    Detailed(Box<DetailedForm>),
}

/// A command, where it is sent and what is picked out of its reply.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DetailedForm {
    /// What kind of command it is. Only "internal" and "cli", which runs a program, make a difference.
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<TypeForm>,
    /// A name for what it does. Of type "internal", what is asked for.
    #[serde(default)]
    pub(crate) method: Option<String>,
    /// The command, with {arguments} in it. [[ … {a} ]] is there only when the argument a is given,
    /// [[?a … ]] likewise, [[!a … ]] only when it is not.
    #[serde(default)]
    pub(crate) template: Option<String>,
    /// The command by the value of an argument.
    #[serde(default)]
    pub(crate) cases: Option<CasesForm>,
    /// A SELECT with {arguments} in it: {a} a value, {t:a} a table, {c:a} a column, {e:a} an
    /// expression, {l:a} what stands after SELECT, {g:a} after GROUP BY, {o:a} after ORDER BY, {m:a} a
    /// moment, {k:a} a word of the schema's enum, {q:a} a whole query.
    #[serde(default)]
    pub(crate) sql: Option<String>,
    /// The database that the SELECT is asked of; may be an {argument}.
    #[serde(default)]
    pub(crate) database: Option<String>,
    /// Builds the SELECT of the arguments database, table, select, where, group_by, having, order_by,
    /// limit, offset, include_tables and extend_fields: those that the input_schema has, and all when
    /// there is no input_schema. Without a limit there are 100 rows. The argument sql, if the
    /// input_schema has it, is a whole SELECT in the place of all of them.
    #[serde(default)]
    pub(crate) build_sql: bool,
    /// The format of the reply, where the template says none.
    #[serde(default)]
    pub(crate) format: Option<String>,
    /// Where the command is sent.
    #[serde(default)]
    pub(crate) headers: Option<HeadersForm>,
    /// Of type "cli": the program that is run. A name is looked up in PATH, a path is relative to this
    /// file.
    #[serde(default)]
    pub(crate) program: Option<String>,
    /// Of type "cli": the program's arguments, a word each, with {arguments} in them. An entry with a
    /// list in it is a word for each item. "[[ … {a} ]]" is there only when the argument a is given. No
    /// shell reads them.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Of type "cli": environment variables that the program sees beside the usual ones.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Of type "cli": names of variables of the node's own environment that the program sees too.
    #[serde(default)]
    pub(crate) pass: Vec<String>,
    /// Of type "cli": the folder in which the program runs, relative to this file; this file's folder
    /// without.
    #[serde(default)]
    pub(crate) cwd: Option<String>,
    /// What it does; anything but "read" must be said here. Of type "cli" nobody can know: without a
    /// word it is "write".
    #[serde(default)]
    pub(crate) effect: Option<EffectForm>,
    /// What is picked out of the reply.
    #[serde(default)]
    pub(crate) response_parser: Option<ParserForm>,
}

/// What kind of command it is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TypeForm {
    Get,
    Sql,
    Blockchain,
    Query,
    Job,
    Test,
    Help,
    Run,
    Command,
    Internal,
    Cli,
}

/// The command by the value of an argument.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CasesForm {
    /// The argument, which has an "enum" in the input_schema.
    pub(crate) argument: String,
    /// A template for each of its values.
    pub(crate) when: BTreeMap<String, String>,
}

/// Where a command is sent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeadersForm {
    /// network, local, addresses as IP:PORT, or a "blockchain get …" that gives them; may have
    /// {arguments} in it.
    #[serde(default)]
    pub(crate) destination: Option<String>,
    /// Whether the answers of some nodes will do when others do not answer: true, false, or the
    /// argument that says so, as "{subset}".
    #[serde(default)]
    pub(crate) subset: Option<SubsetForm>,
    /// How many seconds each node has.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3600))]
    pub(crate) timeout: Option<u64>,
}

/// Whether the answers of some nodes will do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SubsetForm {
    /// Always, or never.
    Always(bool),
    /// As an argument says: "{subset}".
    Argument(String),
}

/// What a command does.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffectForm {
    /// It changes nothing.
    Read,
    /// It adds or changes.
    Write,
    /// It takes away.
    Destructive,
}

/// What is picked out of a reply: first the path, then filter, map, unique and sort.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParserForm {
    /// jsonpath.
    #[serde(default, rename = "type")]
    #[expect(dead_code, reason = "there is one kind, and the schema refuses all others")]
    pub(crate) kind: Option<ParserTypeForm>,
    /// What it does, for readers.
    #[serde(default)]
    #[expect(dead_code, reason = "it is for the readers of the file")]
    pub(crate) description: Option<String>,
    /// A JSONPath (RFC 9535). One that can match once gives the value itself, others a list.
    pub(crate) extract_path: String,
    /// Keeps what has a value in a field.
    #[serde(default)]
    pub(crate) filter: Option<FilterForm>,
    /// Keeps one field of each.
    #[serde(default)]
    pub(crate) map: Option<String>,
    /// Keeps the same only once.
    #[serde(default)]
    pub(crate) unique: bool,
    /// Sorts.
    #[serde(default)]
    pub(crate) sort: bool,
}

/// The kind of a response parser.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ParserTypeForm {
    Jsonpath,
}

/// Keeps what has a value in a field.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterForm {
    /// The field; one in another as outer.inner.
    pub(crate) field: String,
    /// Where the value comes from.
    #[serde(default)]
    pub(crate) source: Option<FilterSourceForm>,
    /// The argument that has the value. When it is not given, everything is kept.
    #[serde(default)]
    pub(crate) argument: Option<String>,
    /// The value.
    #[serde(default)]
    pub(crate) value: Option<Value>,
}

/// Where a filter's value comes from.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FilterSourceForm {
    Argument,
    Literal,
}

/// What clients read about a tool's effects.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AnnotationsForm {
    /// It changes nothing.
    #[serde(default)]
    pub(crate) read_only_hint: Option<bool>,
    /// It may take something away.
    #[serde(default)]
    pub(crate) destructive_hint: Option<bool>,
    /// Calling it again changes nothing more.
    #[serde(default)]
    pub(crate) idempotent_hint: Option<bool>,
    /// It reaches out of the network of nodes.
    #[serde(default)]
    pub(crate) open_world_hint: Option<bool>,
}

/// How large an answer may be and how long it may take.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsForm {
    /// How many rows.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) rows: Option<usize>,
    /// How many bytes of text.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) bytes: Option<usize>,
    /// How many tokens, estimated.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) tokens: Option<usize>,
    /// How many seconds.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3600))]
    pub(crate) seconds: Option<u64>,
}

/// A prompt that people choose.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptForm {
    /// What it is called by: letters, digits, _ and -.
    pub(crate) name: String,
    /// What people are shown instead of the name.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// What it is for.
    pub(crate) description: String,
    /// What it asks for.
    #[serde(default)]
    pub(crate) arguments: Vec<PromptArgumentForm>,
    /// The text, with {arguments} in it; [[ … {a} ]] is there only when the argument a is given.
    pub(crate) text: String,
    /// Pictures that clients may show beside it.
    #[serde(default)]
    pub(crate) icons: Vec<IconForm>,
}

/// What a prompt asks for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptArgumentForm {
    /// What it is called.
    pub(crate) name: String,
    /// What it is for.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Whether the prompt cannot do without.
    #[serde(default)]
    pub(crate) required: bool,
}

/// What a command answers, as a resource.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResourceForm {
    /// The address; with {names} in it, a template of addresses.
    pub(crate) uri: String,
    /// What it is called.
    pub(crate) name: String,
    /// What people are shown instead of the name.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// What it is.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// What it is written in; application/json without.
    #[serde(default)]
    pub(crate) mime_type: Option<String>,
    /// The command that answers it, with the {names} of the address in it.
    pub(crate) command: CommandForm,
    /// Pictures that clients may show beside it.
    #[serde(default)]
    pub(crate) icons: Vec<IconForm>,
}

impl ParserForm {
    /// Whether it picks all rows out of the reply of a query and leaves them as they are.
    pub(crate) fn is_all_rows(&self) -> bool {
        let is_plain = self.filter.is_none() && self.map.is_none() && !self.unique && !self.sort;
        is_plain && ["$.Query", "$.Query[*]"].contains(&self.extract_path.trim())
    }
}

impl DetailedForm {
    /// Whether its rows can be given page by page, an object each: it is a query in no other format, and
    /// nothing but its rows is wanted.
    pub(crate) fn gives_objects(&self) -> bool {
        let is_query = self.build_sql || self.sql.is_some();
        let is_rows = self.response_parser.as_ref().is_some_and(ParserForm::is_all_rows);
        is_query && is_rows && self.format.is_none()
    }
}

impl ToolForm {
    /// Whether its SQL is built of its arguments, and whether that is so in a file for EdgeLake.
    pub(crate) fn builds_sql(&self) -> (bool, bool) {
        let (key, command) = self.command();
        let is_built = match command {
            Some(CommandForm::Detailed(form)) => form.build_sql && form.kind != Some(TypeForm::Cli),
            _ => false,
        };
        (is_built, is_built && key == "edgelake_command")
    }

    /// The command, and the key that it stands under. One of both is there once it is checked.
    pub(crate) fn command(&self) -> (&'static str, Option<&CommandForm>) {
        match (&self.command, &self.edgelake_command) {
            (None, Some(command)) => ("edgelake_command", Some(command)),
            (command, _) => ("command", command.as_ref()),
        }
    }
}
