//! Any command line, any arguments: what its schema calls valid is parsed as it was given, and nothing
//! else gets as far as running.

use clap::{
    Arg, ArgAction, ArgGroup, ArgMatches, Command, builder::NonEmptyStringValueParser, value_parser,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::parse;
use crate::{
    CommandExt, Effect, Policy,
    tree::{Leaf, Tree},
};

const COMMANDS: [&str; 6] = ["list", "get", "new", "cloud-token", "x_y", "profile"];
const ARGS: [&str; 10] =
    ["name", "dry-run", "limit", "list", "format", "out_file", "tag", "verbose", "n", "help-me"];
const CHOICES: [&str; 3] = ["json", "--text", "a,b"];

/// What an argument takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Takes {
    Flag,
    NoFlag,
    Count,
    Text,
    NotEmpty,
    Path,
    Byte,
    Ranged,
    Float,
    Bool,
    Choice,
    Maybe,
    Appended,
    Delimited,
    Pair,
    OneOrMore,
}

const NAMED: [Takes; 16] = [
    Takes::Flag,
    Takes::NoFlag,
    Takes::Count,
    Takes::Text,
    Takes::NotEmpty,
    Takes::Path,
    Takes::Byte,
    Takes::Ranged,
    Takes::Float,
    Takes::Bool,
    Takes::Choice,
    Takes::Maybe,
    Takes::Appended,
    Takes::Delimited,
    Takes::Pair,
    Takes::OneOrMore,
];
const PLACED: [Takes; 6] =
    [Takes::Text, Takes::NotEmpty, Takes::Byte, Takes::Float, Takes::Choice, Takes::Ranged];

#[derive(Clone, Debug)]
struct ArgPlan {
    takes: Takes,
    is_required: bool,
    has_default: bool,
    is_global: bool,
    is_short: bool,
    conflicts: bool,
}

#[derive(Clone, Debug)]
struct CommandPlan {
    named: Vec<ArgPlan>,
    placed: Vec<Takes>,
    /// How many of these must be given.
    placed_required: usize,
    /// Something only after two dashes.
    has_last: bool,
    /// None, one of them at most, or exactly one.
    group: u8,
    below: Vec<CommandPlan>,
}

fn arg_plan() -> impl Strategy<Value = ArgPlan> {
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2), any::<bool>());
    (prop::sample::select(&NAMED[..]), flags, prop::bool::weighted(0.2)).prop_map(
        |(takes, (is_required, has_default, is_global, is_short), conflicts)| ArgPlan {
            takes,
            is_required,
            has_default,
            is_global,
            is_short,
            conflicts,
        },
    )
}

fn command_plan() -> impl Strategy<Value = CommandPlan> {
    let own = || {
        (
            prop::collection::vec(arg_plan(), 0..5),
            prop::collection::vec(prop::sample::select(&PLACED[..]), 0..4),
            0..4_usize,
            prop::bool::weighted(0.2),
            0..4_u8,
        )
    };
    let plan = |own: (Vec<ArgPlan>, Vec<Takes>, usize, bool, u8), below| CommandPlan {
        named: own.0,
        placed: own.1,
        placed_required: own.2,
        has_last: own.3,
        group: own.4,
        below,
    };
    let leaf = own().prop_map(move |own| plan(own, Vec::new()));
    leaf.prop_recursive(3, 12, 3, move |inner| {
        (own(), prop::collection::vec(inner, 0..3)).prop_map(move |(own, below)| plan(own, below))
    })
}

/// The command of a plan. `level` keeps the names of its arguments apart from those above it.
fn command(plan: &CommandPlan, name: &'static str, level: usize, globals: &mut usize) -> Command {
    let mut command = Command::new(name).effect(Effect::Read);
    let (mut members, mut globals_here): (Vec<&str>, Vec<&str>) = Default::default();
    let ids = |at: usize| [ARGS[at % ARGS.len()], ARGS[(at + 5) % ARGS.len()]][level % 2];
    for (at, one) in plan.named.iter().enumerate() {
        let id = if one.is_global {
            *globals += 1;
            // A global name is everybody's.
            match GLOBALS.get(*globals) {
                Some(id) => id,
                None => continue,
            }
        } else {
            ids(at)
        };
        let is_free = !one.is_required && !one.is_global;
        let mut arg = shaped(Arg::new(id).long(id), one.takes);
        if one.is_required && !one.is_global && takes_value(one.takes) {
            arg = arg.required(true);
        } else if one.has_default {
            arg = with_default(arg, one.takes);
        }
        if one.is_short && !one.is_global {
            // Known by its letter alone.
            arg = shaped(Arg::new(id).short(['a', 'b', 'c', 'd', 'e'][at % 5]), one.takes)
                .required(one.is_required && takes_value(one.takes));
        }
        let others = if one.is_global { &globals_here } else { &members };
        if let (true, Some(other)) = (one.conflicts, others.first()) {
            arg = arg.conflicts_with(*other);
        }
        globals_here.extend(one.is_global.then_some(id));
        if is_free || !one.is_global {
            members.push(id);
        }
        command = command.arg(arg.global(one.is_global));
    }
    if plan.group > 0 && members.len() >= 2 {
        let group = ArgGroup::new("group").args(members.iter().take(2).copied());
        command = command.group(group.required(plan.group == 2).multiple(plan.group == 3));
    }
    // What stands above others is seldom known by its place.
    let placed = plan.placed.iter().filter(|_| plan.below.is_empty() || plan.group == 1);
    for (at, takes) in placed.enumerate() {
        let id = ["first", "second", "third"][at];
        let is_required = at < plan.placed_required;
        let mut arg = shaped(Arg::new(id), *takes).required(is_required);
        if at + 1 == plan.placed.len() && !plan.has_last && plan.group == 3 {
            arg = arg.num_args(1..).action(ArgAction::Append);
        }
        command = command.arg(arg);
    }
    if plan.has_last {
        let is_needed = plan.placed_required > plan.placed.len() && plan.below.is_empty();
        let last = Arg::new("last").last(true).num_args(1..).required(is_needed);
        command = command.arg(last);
    }
    for (at, below) in plan.below.iter().enumerate() {
        let name = COMMANDS[(at + 2 * level) % COMMANDS.len()];
        command = command.subcommand(self::command(below, name, level + 1, globals));
    }
    command.subcommand_required(!plan.below.is_empty())
}

const GLOBALS: [&str; 8] = ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"];

fn takes_value(takes: Takes) -> bool {
    !matches!(takes, Takes::Flag | Takes::NoFlag | Takes::Count | Takes::Maybe)
}

fn shaped(arg: Arg, takes: Takes) -> Arg {
    match takes {
        Takes::Flag => arg.action(ArgAction::SetTrue),
        Takes::NoFlag => arg.action(ArgAction::SetFalse),
        Takes::Count => arg.action(ArgAction::Count),
        Takes::Text => arg,
        Takes::NotEmpty => arg.value_parser(NonEmptyStringValueParser::new()),
        Takes::Path => arg.value_parser(value_parser!(std::path::PathBuf)),
        Takes::Byte => arg.value_parser(value_parser!(u8)),
        Takes::Ranged => arg.value_parser(value_parser!(i64).range(-3..=12)),
        Takes::Float => arg.value_parser(value_parser!(f64)),
        Takes::Bool => arg.action(ArgAction::Set).value_parser(value_parser!(bool)),
        Takes::Choice => arg.value_parser(CHOICES),
        Takes::Maybe => arg.num_args(0..=1).default_missing_value("missing"),
        Takes::Appended => arg.action(ArgAction::Append),
        Takes::Delimited => arg.value_delimiter(','),
        Takes::Pair => arg.num_args(2),
        Takes::OneOrMore => arg.num_args(1..),
    }
}

fn with_default(arg: Arg, takes: Takes) -> Arg {
    match takes {
        Takes::Text | Takes::NotEmpty | Takes::Path => arg.default_value("default"),
        Takes::Byte | Takes::Ranged => arg.default_value("7"),
        Takes::Float => arg.default_value("0.5"),
        Takes::Bool => arg.default_value("true"),
        Takes::Choice => arg.default_value("json"),
        Takes::Delimited => arg.default_value("a,b"),
        _ => arg,
    }
}

/// Values of all sorts: fitting ones, and those that somebody would try.
fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "a",
        "json",
        "--text",
        "a,b",
        "",
        "-",
        "--",
        "--help",
        "-h",
        "-V",
        "--name=evil",
        "-aevil",
        "list",
        "profile",
        "help",
        "a b",
        "=x",
        "ä\u{202e}",
        "@file",
        "$(id)",
        "\n--dry-run",
        "-3",
        "7",
        "true",
    ]);
    let word = prop_oneof![4 => word.prop_map(str::to_owned), 1 => "[^\\x00]{0,6}"];
    let word = word.prop_map(Value::from).boxed();
    let number =
        prop_oneof![(-5..20_i64).prop_map(Value::from), Just(json!(0.25)), Just(json!(7.0))];
    let number = number.boxed();
    let list = prop::collection::vec(prop_oneof![3 => word.clone(), 1 => number.clone()], 0..4);
    prop_oneof![
        4 => word,
        3 => number,
        3 => any::<bool>().prop_map(Value::from),
        3 => list.prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!({}))
    ]
}

/// Arguments for a tool: each is left out or has some value, and some are nobody's.
fn arguments(leaf: &Leaf, pool: &[Value], is_left_out: &[bool]) -> Map<String, Value> {
    let mut pool = pool.iter().cycle();
    let mut left_out = is_left_out.iter().cycle();
    let mut given = Map::new();
    for argument in &leaf.arguments {
        // Values of the right type are found more often when several are tried.
        let schema = argument.schema();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let fits = pool.by_ref().take(6).find(|value| validator.is_valid(value));
        let value = fits.or_else(|| pool.next()).unwrap();
        if argument.required || *left_out.next().unwrap() {
            given.insert(argument.name.clone(), value.clone());
        }
    }
    if is_left_out.first() == is_left_out.last() && is_left_out.len().is_multiple_of(7) {
        given.insert("help".to_owned(), json!(true));
    }
    given
}

/// What clap read for an argument, as JSON, by the type that its author gave it.
fn read(matches: &ArgMatches, id: &str) -> Vec<Value> {
    let text = matches.try_get_many::<String>(id).ok().flatten();
    let path = matches.try_get_many::<std::path::PathBuf>(id).ok().flatten();
    let byte = matches.try_get_many::<u8>(id).ok().flatten();
    let wide = matches.try_get_many::<i64>(id).ok().flatten();
    let float = matches.try_get_many::<f64>(id).ok().flatten();
    let is = matches.try_get_many::<bool>(id).ok().flatten();
    let text = text.into_iter().flatten().map(|one| json!(one));
    let path = path.into_iter().flatten().map(|one| json!(one.to_str().unwrap()));
    let byte = byte.into_iter().flatten().map(|one| json!(one));
    let wide = wide.into_iter().flatten().map(|one| json!(one));
    let float = float.into_iter().flatten().map(|one| json!(one));
    let is = is.into_iter().flatten().map(|one| json!(one));
    text.chain(path).chain(byte).chain(wide).chain(float).chain(is).collect()
}

fn is_same(read: &Value, given: &Value) -> bool {
    read == given
        || matches!((read.as_f64(), given.as_f64()), (Some(one), Some(other)) if one == other)
}

/// Whether clap read what was given.
fn is_as_given(matches: &ArgMatches, argument: &crate::tree::Argument, given: &Value) -> bool {
    let mut matches = matches;
    for _ in 0..argument.level {
        matches = matches.subcommand().unwrap().1;
    }
    let read = read(matches, argument.id.as_str());
    match (&argument.shape, given) {
        (_, Value::String(text)) if text.is_empty() && argument.is_absent_when_empty() => {
            let source = matches.value_source(argument.id.as_str());
            source != Some(clap::parser::ValueSource::CommandLine)
        }
        (crate::tree::Shape::Flag, given) => {
            let is_there = matches.value_source(argument.id.as_str());
            (is_there == Some(clap::parser::ValueSource::CommandLine)) == (given == &json!(true))
        }
        (crate::tree::Shape::Maybe, Value::Bool(true)) => read == [json!("missing")],
        (_, Value::Array(values)) => {
            read.len() == values.len()
                && read.iter().zip(values).all(|(one, other)| is_same(one, other))
        }
        (_, value) => read.len() == 1 && is_same(&read[0], value),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_a_schema_calls_valid_is_parsed_as_given_and_nothing_else_is(
        plan in command_plan(),
        pool in prop::collection::vec(value(), 30),
        left_out in prop::collection::vec(any::<bool>(), 1..30),
    ) {
        let command = command(&plan, "program", 0, &mut 0);
        command.clone().debug_assert();
        let tree = Tree::new(&command, &Policy::default(), "").unwrap();
        for leaf in &tree.leaves {
            let schema = leaf.input_schema();
            prop_assert!(jsonschema::draft202012::meta::is_valid(&schema), "{schema:#}");
            for top in ["oneOf", "anyOf", "allOf"] {
                prop_assert!(schema.get(top).is_none(), "clients refuse {top} here: {schema:#}");
            }
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            for turn in 0..8 {
                let (pool, left_out) = (turned(&pool, turn * 3), turned(&left_out, turn));
                let given = arguments(leaf, &pool, &left_out);
                let is_valid = validator.is_valid(&Value::Object(given.clone()));
                let parsed = parse(leaf, &given);
                prop_assert_eq!(
                    is_valid, parsed.is_ok(),
                    "{} {}\n{:?}\n{:#}", leaf.tool, Value::Object(given), parsed, schema
                );
                let Ok(parsed) = parsed else { continue };
                for argument in &leaf.arguments {
                    let Some(value) = given.get(&argument.name) else { continue };
                    prop_assert!(
                        is_as_given(&parsed.matches, argument, value),
                        "{} of {:?}: {value}", argument.name, parsed.argv
                    );
                }
                // The whole program, which is what runs, reads the words as the tool's parser does.
                let line = ["program".to_owned()].into_iter().chain(parsed.argv.clone());
                let whole = command.clone().try_get_matches_from(line);
                let whole = whole.map(|whole| told(&whole)).map_err(|error| error.to_string());
                prop_assert_eq!(whole, Ok(told(&parsed.matches)), "{:?}", parsed.argv);
            }
        }
    }
}

/// All that was read, with where it comes from.
fn told(matches: &ArgMatches) -> Vec<String> {
    let mut told: Vec<String> = matches
        .ids()
        .filter(|id| matches.try_contains_id(id.as_str()).is_ok())
        .map(|id| {
            let id = id.as_str();
            let raw = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
            format!("{id} {:?} {:?}", matches.value_source(id), raw.collect::<Vec<_>>())
        })
        .collect();
    if let Some((name, below)) = matches.subcommand() {
        told.push(name.to_owned());
        told.extend(self::told(below));
    }
    told
}

fn turned<T: Clone>(list: &[T], by: usize) -> Vec<T> {
    let mut list = list.to_vec();
    let by = by % list.len();
    list.rotate_left(by);
    list
}
