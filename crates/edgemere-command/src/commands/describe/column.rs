//! `describe column`: what the values of a column mean, as a policy of the ledger that all nodes share.
//! `get schema` tells it; nothing here knows how rows are stored.

use edgemere_ledger::{Ledger, Policy};
use serde_json::{Map, Value, json};

use crate::commands::blockchain::policy::share;
use crate::commands::get::columns::definition;
use crate::commands::named::required;
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::lookup;
use crate::near;
use crate::reply::Reply;

/// The type of the policies.
const KIND: &str = "column";

/// The longest unit and the longest description, in characters: agents read all of them.
const UNIT_CHARS_MAX: usize = 32;
const DESCRIPTION_CHARS_MAX: usize = 200;

pub(crate) struct Column;

impl Report for Column {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "describe column",
        usage: "describe column where dbms = NAME and table = NAME and column = NAME \
                [and unit = UNIT] [and description = TEXT] [and operator = NAME]",
        about: "Describes what the values of a column mean: their unit and a description.",
        details: "\
The description is a policy of type \"column\" in the network's ledger; \"get schema\" and the \
tools of agents show it. A later description replaces an earlier one, except for what it does \
not mention. With \"operator\" it applies to the rows of that operator only: °F at one site \
where the others have °C. An empty text removes a unit or a description.",
        examples: &[
            "describe column where dbms = water and table = pumps and column = temperature and \
             unit = \"°C\" and description = \"of the bearing\"",
            "describe column where dbms = water and table = pumps and column = temperature and \
             operator = north and unit = \"°F\"",
        ],
        keys: &["dbms", "table", "column", "unit", "description", "operator"],
        ..Declaration::WRITE
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let key = |name| required(options, name, Self::DECLARATION, context);
        let (dbms, table, column) = (key("dbms")?, key("table")?, key("column")?);
        if options.get("unit").is_none() {
            options.require("description", Self::DECLARATION)?;
        }
        let columns = definition(context.node, &dbms, &table)?.columns;
        if !columns.iter().any(|known| known.name == column) {
            let names = columns.iter().filter(|known| !known.is_system());
            let names: Vec<_> = names.map(|known| known.name.as_str()).collect();
            let expected = format!("a column of \"{dbms}.{table}\": {}", names.join(", "));
            let (key, value) = ("column".to_owned(), column);
            return Err(Error::BadValue { key, value, expected, at: None });
        }
        let mut said = Map::new();
        said.insert("dbms".into(), json!(dbms));
        said.insert("table".into(), json!(table));
        said.insert("name".into(), json!(column));
        if let Some(operator) = options.get("operator") {
            let operator = operator.text(context.variables())?;
            known_operator(context.node.ledger(), &operator)?;
            said.insert("operator".into(), json!(operator));
        }
        let limits = [("unit", UNIT_CHARS_MAX), ("description", DESCRIPTION_CHARS_MAX)];
        for (key, characters_max) in limits {
            let Some(text) = options.get(key) else { continue };
            let text = text.text(context.variables())?;
            let text = text.trim();
            if text.chars().count() > characters_max {
                let expected = format!("at most {characters_max} characters");
                let (key, value) = (key.to_owned(), text.chars().take(40).collect());
                return Err(Error::BadValue { key, value, expected, at: None });
            }
            said.insert(key.into(), json!(text));
        }
        share(context, Policy::from_value(json!({ KIND: said }))?).await?;
        Ok(Reply::done())
    }
}

fn known_operator(ledger: &Ledger, name: &str) -> Result<(), Error> {
    let operators = lookup::of_kind(ledger, "operator");
    let names: Vec<_> = operators.iter().filter_map(|operator| operator.name()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let hint = near::hint_among(name, "operators", names);
    Err(Error::UnknownOperator { name: name.to_owned(), hint })
}

/// What is said of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) unit: Option<String>,
    pub(crate) description: Option<String>,
    /// What holds otherwise for the rows of some operators, by their names: a unit, a description.
    pub(crate) at: Map<String, Value>,
}

impl Meaning {
    /// What the ledger says of a column.
    pub(crate) fn of(ledger: &Ledger, dbms: &str, table: &str, column: &str) -> Self {
        let values = [("dbms", dbms), ("table", table), ("name", column)];
        let mut meaning = Self::default();
        for policy in lookup::with(ledger, KIND, &values) {
            let text = |key| policy.text(key).map(str::to_owned);
            match policy.text("operator") {
                None => {
                    meaning.unit = text("unit").or(meaning.unit.take());
                    meaning.description = text("description").or(meaning.description.take());
                }
                Some(operator) => {
                    let at = meaning.at.entry(operator).or_insert_with(|| json!({}));
                    let Some(at) = at.as_object_mut() else { continue };
                    for key in ["unit", "description"] {
                        text(key).map(|text| at.insert(key.to_owned(), json!(text)));
                    }
                }
            }
        }
        meaning.unit = meaning.unit.filter(|unit| !unit.is_empty());
        meaning.description = meaning.description.filter(|text| !text.is_empty());
        meaning
    }

    /// What it says, as fields of an object.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        self.unit.as_ref().map(|unit| fields.insert("unit".into(), json!(unit)));
        let description = self.description.as_ref();
        description.map(|text| fields.insert("description".into(), json!(text)));
        if !self.at.is_empty() {
            fields.insert("at".into(), Value::Object(self.at.clone()));
        }
        fields
    }
}
