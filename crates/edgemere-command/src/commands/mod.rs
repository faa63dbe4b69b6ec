//! The commands: a file each, at the path that the user types (`get status` is `get/status.rs`).
//! This file lists them, finds the one that a text names, and hands everything to it.

mod accept;
mod alter;
mod assign;
mod blockchain;
mod connect;
mod create;
mod describe;
mod disconnect;
mod drop;
mod exit;
mod flush;
mod get;
mod help;
mod job;
mod named;
mod print;
mod process;
mod query;
mod report;
mod run;
mod set;
pub(crate) mod sql;
mod test;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use edgemere_ledger::Policy;
use edgemere_query::sql::ResultColumn;
use futures_util::future::BoxFuture;

use self::blockchain::OnePolicy;
use self::named::Named;
use self::query::asked::Asked;
pub(crate) use self::query::told::{milliseconds, operators_json};
use self::report::Plain;
pub use self::sql::query_command;
pub use self::sql::series::{Series, series_command};
use crate::declaration::{Declaration, is_all_keywords, keywords};
use crate::dispatch::Context;
use crate::error::Error;
use crate::foreign::AskedQuery;
use crate::format::Format;
use crate::language::cursor::Cursor;
use crate::language::lexer::Token;
use crate::language::options::Output;
use crate::near;
use crate::reply::Reply;
use edgemere_service::Effect;

/// What every command's file says of its command.
trait Declared: Sized {
    /// All that is known of it without running it.
    const DECLARATION: &'static Declaration;

    /// Parses what follows the keywords of the name.
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error>;

    /// Prints what follows the keywords of the name, with a space before it.
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// How the reply is to look.
    fn output(&self) -> &Output {
        &NO_OUTPUT
    }

    /// What it does to the node, where that depends on more than its name: the gravest that it can
    /// do, known from its text alone. A node that forwards the command checks this.
    fn effect(&self) -> Effect {
        Self::DECLARATION.effect
    }

    /// Refuses what the caller may not do, where that can be known better on this node than from the
    /// text. Nothing has been done before.
    fn check(&self, context: &Context<'_>) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(
            context.principal.authorize(Self::DECLARATION.name, self.effect()).map_err(Error::from),
        )
    }

    /// Whether it answers with rows.
    fn gives_rows(&self) -> bool {
        Self::DECLARATION.formats.contains(&Format::McpColumns)
    }

    /// The columns of its rows, without carrying it out; none when it is no query.
    fn columns(
        &self,
        _context: &Context<'_>,
    ) -> impl Future<Output = Result<Option<Vec<ResultColumn>>, Error>> + Send {
        std::future::ready(Ok(None))
    }

    /// Carries it out.
    fn run(&self, context: &Context<'_>) -> impl Future<Output = Result<Reply, Error>> + Send;
}

static NO_OUTPUT: Output = Output { format: None, extract: None };

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub struct Command(Any);

/// Lists the commands, and makes of the list everything that must know all of them.
macro_rules! commands {
    ($($variant:ident($command:ty)),* $(,)?) => {
        #[derive(Clone, Debug, PartialEq)]
        enum Any { $($variant($command)),* }

        static DECLARATIONS: &[&Declaration] = &[$(<$command as Declared>::DECLARATION),*];

        impl Any {
            /// Parses the command of that name, which no two have.
            fn parse(name: &str, cursor: &mut Cursor<'_>) -> Result<Self, Error> {
                $(if name == <$command as Declared>::DECLARATION.name {
                    return <$command as Declared>::parse(cursor).map(Self::$variant);
                })*
                Err(cursor.expected("a command"))
            }

            fn declaration(&self) -> &'static Declaration {
                match self { $(Self::$variant(_) => <$command as Declared>::DECLARATION),* }
            }

            fn output(&self) -> &Output {
                match self { $(Self::$variant(command) => command.output()),* }
            }

            fn effect(&self) -> Effect {
                match self { $(Self::$variant(command) => command.effect()),* }
            }

            fn gives_rows(&self) -> bool {
                match self { $(Self::$variant(command) => command.gives_rows()),* }
            }

            fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Self::$variant(command) => command.print(f)),* }
            }

            fn columns<'a>(
                &'a self,
                context: &'a Context<'a>,
            ) -> BoxFuture<'a, Result<Option<Vec<ResultColumn>>, Error>> {
                match self { $(Self::$variant(command) => Box::pin(command.columns(context))),* }
            }

            fn check<'a>(&'a self, context: &'a Context<'a>) -> BoxFuture<'a, Result<(), Error>> {
                match self { $(Self::$variant(command) => Box::pin(command.check(context))),* }
            }

            fn run<'a>(
                &'a self,
                context: &'a Context<'a>,
            ) -> BoxFuture<'a, Result<Reply, Error>> {
                match self { $(Self::$variant(command) => Box::pin(command.run(context))),* }
            }
        }
    };
}

commands! {
    AcceptLedger(Plain<accept::ledger::Ledger>),
    AcceptOperator(Named<accept::operator::Operator>),
    AlterTable(alter::table::Table),
    Assign(assign::Assign),
    BlockchainAdd(OnePolicy<blockchain::add::Add>),
    BlockchainDrop(blockchain::drop::Drop),
    BlockchainGet(blockchain::get::Get),
    BlockchainGetRoot(Plain<blockchain::get_root::GetRoot>),
    BlockchainInsert(Plain<blockchain::insert::Insert>),
    BlockchainPrepare(OnePolicy<blockchain::prepare::Prepare>),
    BlockchainPush(OnePolicy<blockchain::push::Push>),
    BlockchainTest(blockchain::test::Test),
    BlockchainUpdate(blockchain::update::Update),
    ConnectDbms(Named<connect::dbms::Dbms>),
    CreateBackup(Plain<create::backup::Backup>),
    CreatePolicy(create::policy::CreatePolicy),
    CreateTable(create::table::Table),
    CreateView(create::view::View),
    DescribeColumn(Plain<describe::column::Column>),
    DisconnectDbms(Named<disconnect::dbms::Dbms>),
    DropDbms(Named<drop::dbms::Dbms>),
    DropOperator(Named<drop::operator::Operator>),
    DropPartition(drop::partition::Partition),
    DropTable(Named<drop::table::Table>),
    DropView(Named<drop::view::View>),
    Exit(exit::Exit),
    FlushBuffers(Plain<flush::buffers::Buffers>),
    GetColumns(Plain<get::columns::Columns>),
    GetConnections(Plain<get::connections::Connections>),
    GetCpuUsage(Plain<get::cpu_usage::CpuUsage>),
    GetDataNodes(Plain<get::data_nodes::DataNodes>),
    GetDatabases(Plain<get::databases::Databases>),
    GetDictionary(get::dictionary::Dictionary),
    GetDiskUsage(get::disk_usage::DiskUsage),
    GetMemoryInfo(Plain<get::memory_info::MemoryInfo>),
    GetMetadataVersion(Plain<get::metadata_version::MetadataVersion>),
    GetNodeName(Plain<get::node_name::NodeName>),
    GetNodeResources(Plain<get::node_resources::NodeResources>),
    GetPartitions(Plain<get::partitions::Partitions>),
    GetProcesses(Plain<get::processes::Processes>),
    GetRestCalls(Plain<get::rest_calls::RestCalls>),
    GetRestServerInfo(Plain<get::rest_server_info::RestServerInfo>),
    GetRetention(Plain<get::retention::Retention>),
    GetRowsCount(Plain<get::rows_count::RowsCount>),
    GetSample(Plain<get::sample::Sample>),
    GetSchema(Plain<get::schema::Schema>),
    GetStatus(get::status::Status),
    GetSynchronizer(Plain<get::synchronizer::Synchronizer>),
    GetTables(Plain<get::tables::Tables>),
    GetVariable(get::variable::Variable),
    GetVersion(Plain<get::version::Version>),
    GetViews(Plain<get::views::Views>),
    GetVirtualTables(get::virtual_tables::VirtualTables),
    Help(help::Help),
    JobStatus(Asked<job::status::Status>),
    JobStop(job::stop::Stop),
    Print(print::Print),
    Process(process::Process),
    QueryDestination(Asked<query::destination::Destination>),
    QueryExplain(query::explain::Explain),
    QueryFetch(query::fetch::Fetch),
    QueryStatus(Asked<query::status::Status>),
    RunClient(run::client::Client),
    SetNodeName(set::node_name::NodeName),
    SetRetention(Plain<set::retention::Retention>),
    SetVariable(set::variable::Variable),
    Sql(sql::Sql),
    TestClusterSetup(Plain<test::cluster_setup::ClusterSetup>),
    TestData(Plain<test::data::Data>),
    TestNetwork(test::network::Network),
    TestNode(Plain<test::node::Node>),
}

/// The declarations of all commands.
pub fn declarations() -> &'static [&'static Declaration] {
    DECLARATIONS
}

impl Command {
    /// Parses a whole text. `< … >` around it makes several lines one command.
    pub(crate) fn from_text(text: &str) -> Result<Self, Error> {
        let text = text.trim_end();
        let is_block = text.trim_start().starts_with('<') && text.ends_with('>');
        let source = if is_block { text.strip_suffix('>').unwrap_or(text) } else { text };
        let mut cursor = Cursor::new(source);
        if is_block {
            cursor.take();
        }
        let command = Self::parse(&mut cursor)?;
        cursor.end()?;
        Ok(command)
    }

    /// Takes a command.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let mut found: Option<(usize, &Declaration, Cursor<'_>)> = None;
        let mut ahead = Ahead::of(cursor);
        for declaration in DECLARATIONS {
            for name in declaration.names() {
                let Some(after) = ahead.after_name(name, cursor) else { continue };
                let length = name.split(' ').count();
                if found.as_ref().is_none_or(|(longest, ..)| length > *longest) {
                    found = Some((length, declaration, after));
                }
            }
        }
        let (_, declaration, after) = found.ok_or_else(|| unknown(cursor))?;
        *cursor = after;
        cursor.nested(|cursor| Any::parse(declaration.name, cursor)).map(Self)
    }

    /// The assignment that a text is. Any other command is refused.
    pub(crate) fn assignment(text: &str) -> Result<assign::Assign, Error> {
        match Self::from_text(text)?.0 {
            Any::Assign(assign) => Ok(assign),
            other => Err(Error::NotAssignment { command: other.declaration().name }),
        }
    }

    /// Takes what follows the words `blockchain get`, where they may be left out.
    pub(crate) fn parse_blockchain_get(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        cursor.nested(|cursor| Declared::parse(cursor).map(Any::BlockchainGet)).map(Self)
    }

    /// The command's declaration.
    pub fn declaration(&self) -> &'static Declaration {
        self.0.declaration()
    }

    /// What the command does to the node.
    pub fn effect(&self) -> Effect {
        self.0.effect()
    }

    /// The format that it asks for.
    pub fn format(&self) -> Option<Format> {
        self.0.output().format
    }

    /// Whether it answers with rows that can be taken page by page: in the format that is made for it,
    /// or in none.
    pub fn gives_pages(&self) -> bool {
        self.0.gives_rows() && matches!(self.format(), None | Some(Format::McpColumns))
    }

    pub(crate) fn output(&self) -> &Output {
        self.0.output()
    }

    /// The database of the query that it asks; none when it asks none.
    pub(crate) fn database(&self) -> Option<&str> {
        match &self.0 {
            Any::Sql(sql) => Some(sql.database()),
            Any::QueryExplain(explain) => explain.database(),
            _ => None,
        }
    }

    /// The query that it asks; none when it is another command.
    pub(crate) fn asked_query(&self) -> Option<AskedQuery<'_>> {
        match &self.0 {
            Any::Sql(sql) => Some(sql.asked()),
            _ => None,
        }
    }

    /// The command as a client of EdgeLake's means it, for a node that does not know the caller.
    pub(crate) fn as_edgelake_asks(&self) -> Self {
        match &self.0 {
            Any::Sql(sql) => Self(Any::Sql(sql.as_edgelake_asks())),
            other => Self(other.clone()),
        }
    }

    /// The types of the policies that it is about, of none all; none when it is another command.
    pub(crate) fn asked_policies(&self) -> Option<&[String]> {
        match &self.0 {
            Any::BlockchainGet(get) => Some(get.needed()),
            Any::BlockchainGetRoot(_) => Some(&[]),
            _ => None,
        }
    }

    /// Its reply if these are the policies of the ledger; none when it is another command.
    pub(crate) fn of_policies(&self, policies: Vec<Arc<Policy>>) -> Option<Result<Reply, Error>> {
        match &self.0 {
            Any::BlockchainGet(get) => Some(get.of(policies)),
            Any::BlockchainGetRoot(_) => Some(Ok(blockchain::get_root::roots(policies))),
            _ => None,
        }
    }

    pub(crate) fn gives_rows(&self) -> bool {
        self.0.gives_rows()
    }

    /// The columns of its rows, without running it; none when it is no query.
    pub(crate) async fn columns(
        &self,
        context: &Context<'_>,
    ) -> Result<Option<Vec<ResultColumn>>, Error> {
        context.principal.authorize(self.declaration().name, self.effect())?;
        self.0.columns(context).await
    }

    /// Runs the command, if the principal may.
    pub(crate) async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        self.check(context).await?;
        self.0.run(context).await
    }

    /// Refuses what the principal may not do here.
    async fn check(&self, context: &Context<'_>) -> Result<(), Error> {
        match context.principal.may(self.effect()) {
            true => Ok(()),
            false => self.0.check(context).await,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = keywords(self.declaration().name).collect();
        f.write_str(&words.join(" "))?;
        self.0.print(f)
    }
}

/// The tokens after a cursor, each read once, and not before some name has got so far.
struct Ahead<'a> {
    next: Cursor<'a>,
    read: Vec<(Token, Cursor<'a>)>,
}

impl<'a> Ahead<'a> {
    fn of(cursor: &Cursor<'a>) -> Self {
        Self { next: cursor.clone(), read: Vec::new() }
    }

    /// A token, and the cursor after it.
    fn token(&mut self, index: usize) -> Option<&(Token, Cursor<'a>)> {
        while self.read.len() <= index {
            let token = self.next.take().token;
            self.read.push((token, self.next.clone()));
        }
        self.read.get(index)
    }

    /// Whether the text begins like the name, and where its keywords end.
    fn after_name(&mut self, name: &str, cursor: &Cursor<'a>) -> Option<Cursor<'a>> {
        for (index, pattern) in name.split(' ').enumerate() {
            let (token, _) = self.token(index)?;
            let matches = match (pattern, token) {
                ("VALUE", _) | ("!NAME", Token::Variable(_)) | ("NAME", Token::Word(_)) => true,
                ("=", Token::Operator(sign)) => *sign == "=",
                (keyword, Token::Word(word)) => word.eq_ignore_ascii_case(keyword),
                _ => false,
            };
            if !matches {
                return None;
            }
        }
        match keywords(name).count().checked_sub(1) {
            Some(last) => self.token(last).map(|(_, after)| after.clone()),
            None => Some(cursor.clone()),
        }
    }
}

/// The error that no command begins like this, with the nearest that one could have meant.
fn unknown(cursor: &Cursor<'_>) -> Error {
    let words = leading_words(cursor);
    let Some((first, first_at)) = words.first() else {
        return cursor.expected("a command");
    };
    let names: Vec<Vec<&str>> = DECLARATIONS
        .iter()
        .flat_map(|declaration| declaration.names())
        .filter(|name| is_all_keywords(name))
        .map(|name| name.split(' ').collect())
        .collect();
    let first_word_known = names.iter().any(|name| name.first() == Some(&first.as_str()));
    let known = names.iter().map(|name| known_words(name, &words)).max().unwrap_or(0);
    let shown: Vec<_> = words.iter().take(known + 1).map(|(word, _)| word.as_str()).collect();
    let at = cursor.characters(words.get(known).map_or(first_at, |(_, at)| at));
    let hint = nearest_name(&words, &names)
        .map(|name| format!("did you mean \"{name}\"?"))
        .or_else(|| first_word_known.then(|| format!("\"help {first}\" lists what follows it")))
        .or_else(|| Some("\"help\" lists the commands".into()));
    Error::UnknownCommand { text: shown.join(" "), at, first_word_known, hint }
}

/// How many words at the beginning of the text are the name's.
fn known_words(name: &[&str], words: &[(String, Range<usize>)]) -> usize {
    name.iter().zip(words).take_while(|(known, (word, _))| *known == word).count()
}

/// The name that is nearest to the beginning of the text, of as many words as the name has.
fn nearest_name(words: &[(String, Range<usize>)], names: &[Vec<&str>]) -> Option<String> {
    let beginning = |length: usize| {
        let words: Vec<_> = words.iter().take(length).map(|(word, _)| word.as_str()).collect();
        words.join(" ")
    };
    let candidates = names.iter().filter_map(|name| {
        let full = name.join(" ");
        let written = beginning(name.len());
        near::nearest(&written, [full.as_str()])?;
        Some((strsim::damerau_levenshtein(&written, &full), full))
    });
    candidates.min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

/// The bare words that the text begins with, in lower case.
fn leading_words(cursor: &Cursor<'_>) -> Vec<(String, Range<usize>)> {
    let mut ahead = cursor.clone();
    std::iter::from_fn(|| {
        let lexeme = ahead.take();
        match lexeme.token {
            Token::Word(word) => Some((word.to_lowercase(), lexeme.span)),
            _ => None,
        }
    })
    .take(4)
    .collect()
}
