//! `run client`: sends a command to other nodes and gives what each of them answers.

use std::fmt;

use edgemere_query::sql::ResultColumn;

use crate::commands::{Command, Declared};
use crate::declaration::Declaration;
use crate::destination::Destination;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::Output;
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Client {
    destination: Destination,
    command: Box<Command>,
}

impl Declared for Client {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "run client",
        usage: "run client (ADDRESS|NAME|!NAME, … | [blockchain get] ROLE [where …] | dbms = DBMS, \
                table = TABLE [, subset = true] [, timeout = SECONDS]) COMMAND",
        about: "Runs a command on other nodes and returns the reply of each.",
        details: "\
The nodes are addresses as IP:PORT, names of nodes in the ledger, the result of a \"blockchain \
get\", or the operators that hold a table. They run the command in parallel. \"subset = true\" \
returns the replies of some nodes when others do not answer; \"timeout\" is the time that each \
has. A query (sql) has one result for all named operators together. The REST headers \
\"destination\", \"subset\" and \"timeout\" do the same. The other nodes run the command with no \
more access than the caller has here.",
        examples: &[
            "run client (127.0.0.1:32148) get status",
            "run client (blockchain get operator bring.ip_port) get status",
            "run client (operator where company = \"My Company\", subset = true) get rows count",
            "run client (plant-1, plant-2, timeout = 5) get disk usage",
            "run client (dbms = water, table = pumps) get version",
        ],
        effect: Effect::Read,
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        cursor.expect_symbol('(')?;
        let destination = Destination::parse(cursor)?;
        cursor.expect_symbol(')')?;
        let command = cursor.nested(Command::parse)?;
        Ok(Self { destination, command: Box::new(command) })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " ({}) {}", self.destination, self.command)
    }

    fn output(&self) -> &Output {
        self.command.output()
    }

    fn effect(&self) -> Effect {
        self.command.effect()
    }

    /// A query has one answer wherever it runs; every other command has one from each node.
    fn gives_rows(&self) -> bool {
        let is_query = self.command.declaration().asks_network;
        (is_query || self.destination.is_one_database()) && self.command.gives_rows()
    }

    async fn columns(&self, context: &Context<'_>) -> Result<Option<Vec<ResultColumn>>, Error> {
        let on_network = !self.destination.is_local();
        match self.gives_rows() {
            true => self.command.columns(&Context { on_network, ..*context }).await,
            false => Ok(None),
        }
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        self.destination.run(&self.command, context, context.delivery).await
    }
}
