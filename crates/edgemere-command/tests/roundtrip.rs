//! Printing a command and parsing it again gives the same command, and no text whatever makes the
//! parser panic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may end where it fails"
)]

use edgemere_command::{declarations, parse};
use proptest::prelude::*;
use proptest::sample::select;

/// Fails unless the text is a command that survives being printed and parsed.
fn assert_roundtrip(text: &str) {
    let command = parse(text).unwrap_or_else(|error| panic!("{text}\n{}", error.message()));
    let printed = command.to_string();
    let again = parse(&printed).unwrap_or_else(|error| {
        panic!("{text}\nis printed as\n{printed}\nwhich fails: {}", error.message())
    });
    assert_eq!(again, command, "{text}\nis printed as\n{printed}");
}

fn examples() -> Vec<&'static str> {
    declarations().iter().flat_map(|declaration| declaration.examples.iter().copied()).collect()
}

#[test]
fn every_example_is_a_command_and_survives() {
    for declaration in declarations() {
        assert!(!declaration.examples.is_empty(), "{} has no example", declaration.name);
        for example in declaration.examples {
            assert_roundtrip(example);
            let command = parse(example).unwrap();
            assert_eq!(command.declaration().name, declaration.name, "{example}");
        }
    }
}

#[test]
fn every_name_is_declared_once() {
    let mut names: Vec<_> = declarations().iter().map(|declaration| declaration.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// A text in quotes, with everything in it that could end it too early.
fn quoted() -> impl Strategy<Value = String> {
    "[ -~é\n\t]{0,12}".prop_map(|text| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    })
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z0-9_.:/*+@%-]{1,10}", "(and|or|where|format|bring|separator|get)"]
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i32>().prop_map(|number| number.to_string()),
        quoted(),
        "![a-z]{1,5}",
        Just("'single'".to_string()),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            object(inner),
        ]
    });
    object(value)
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::btree_map("[a-z ]{1,6}", value, 0..4).prop_map(|entries| {
        let entries: Vec<_> = entries.iter().map(|(key, v)| format!("\"{key}\" : {v}")).collect();
        format!("{{{}}}", entries.join(","))
    })
}

fn term() -> impl Strategy<Value = String> {
    prop_oneof![word(), quoted(), "![a-z_]{1,8}", json()]
}

fn path() -> impl Strategy<Value = String> {
    let key = || prop_oneof!["[a-z_]{1,6}", Just("*".to_string()), quoted()];
    prop_oneof![
        prop::collection::vec(key(), 1..4)
            .prop_map(|keys| keys.iter().map(|key| format!("[{key}]")).collect::<String>()),
        ("[b-z]{2,6}", prop::collection::vec(key(), 0..2)).prop_map(|(name, keys)| {
            keys.iter().fold(format!("{name}x"), |path, key| format!("{path}[{key}]"))
        }),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    let sign = select(vec!["=", "==", "!=", "<>", "<", "<=", ">", ">=", "contains", "startwith"]);
    let directive = prop_oneof![Just("format = mcp".to_string()), Just("extract = x".to_string())];
    let leaf = prop_oneof![
        4 => (path(), sign, term()).prop_map(|(path, sign, term)| format!("{path} {sign} {term}")),
        1 => directive,
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        let joined = |word: &'static str, inner: BoxedStrategy<String>| {
            prop::collection::vec(inner, 2..4).prop_map(move |parts| parts.join(word))
        };
        prop_oneof![
            joined(" and ", inner.clone().boxed()),
            joined(" or ", inner.clone().boxed()),
            inner.prop_map(|inner| format!("({inner})")),
        ]
    })
}

fn bring() -> impl Strategy<Value = String> {
    let how = select(vec![
        "json",
        "table",
        "unique",
        "count",
        "first",
        "recent",
        "last",
        "ip_port",
        "children",
        "sort",
        "sort(1,0)",
    ]);
    let item = prop_oneof![path().prop_filter("brackets", |p| p.starts_with('[')), quoted()];
    let separator = prop_oneof![
        Just(String::new()),
        Just(" separator = ,".to_string()),
        Just(" separator = \\n".to_string()),
        quoted().prop_map(|text| format!(" separator = {text}")),
    ];
    (prop::collection::vec(how, 0..4), prop::collection::vec(item, 1..4), separator).prop_map(
        |(mut how, items, separator)| {
            how.sort_by_key(|how| how.starts_with("sort"));
            how.dedup_by_key(|how| if how.starts_with("sort") { "sort" } else { how });
            let how: String = how.iter().map(|how| format!(".{how}")).collect();
            format!(" bring{how} {}{separator}", items.join(" "))
        },
    )
}

fn blockchain_get() -> impl Strategy<Value = String> {
    let kinds = prop_oneof![
        Just("*".to_string()),
        "[a-z]{3,8}",
        prop::collection::vec("[a-z]{3,8}", 1..4)
            .prop_map(|kinds| format!("({})", kinds.join(", "))),
    ];
    let filter = prop_oneof![
        Just(String::new()),
        condition().prop_map(|condition| format!(" where {condition}")),
        json().prop_map(|json| format!(" {json}")),
    ];
    (kinds, filter, prop::option::of(bring())).prop_map(|(kinds, filter, bring)| {
        format!("blockchain get {kinds}{filter}{}", bring.unwrap_or_default())
    })
}

/// SQL as it stands: everything that could end it too early, or look like the rest of the command.
fn sql() -> impl Strategy<Value = String> {
    prop_oneof![
        "select [ -~é]{0,30}",
        "with [ -~é\n]{0,30}",
        quoted(),
        Just("select ')' , \"a\" from t # no comment".to_string()),
    ]
}

/// The columns of a table, with parentheses and quotes in them.
fn columns() -> impl Strategy<Value = String> {
    let column = prop_oneof![
        "[a-z]{1,6} (int|timestamp|varchar)",
        "[a-z]{1,6} char\\([0-9]{1,3}\\)",
        "\"[a-z )(]{1,6}\" float",
        "[a-z]{1,6} int # c\n",
    ];
    prop::collection::vec(column, 0..4).prop_map(|columns| columns.join(", "))
}

fn on_rows() -> impl Strategy<Value = String> {
    prop_oneof![
        (term(), term()).prop_map(|(name, kind)| format!(
            "connect dbms \"\" where type = {kind} and user = {name}"
        )),
        "[a-z!\"]{1,8}".prop_map(|name| format!("disconnect dbms d{name}")),
        (columns(), term()).prop_map(|(columns, dbms)| {
            format!("create table t ({columns}) where dbms = {dbms}")
        }),
        (term(), sql())
            .prop_map(|(dbms, sql)| format!("create view v where dbms = {dbms} as {sql}")),
        (quoted(), term()).prop_map(|(name, keep)| {
            format!("drop partition {name} where dbms = d and table = * and keep = {keep}")
        }),
        (term(), term()).prop_map(|(age, size)| {
            format!("set retention where dbms = d and age = {age} and size = {size}")
        }),
        any::<u64>().prop_map(|id| format!("query status {id} where format = json")),
        any::<u64>().prop_map(|id| format!("job stop {id}")),
        any::<u64>().prop_map(|id| format!("query destination {id} where format = mcp")),
        (word(), sql()).prop_map(|(dbms, sql)| {
            format!("query explain sql \"{dbms}\" where format = mcp {sql}")
        }),
    ]
    .prop_filter("some of these are no commands", |text| parse(text).is_ok())
}

fn command() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => blockchain_get(),
        1 => term().prop_map(|term| format!("blockchain push {term}")),
        1 => term().prop_map(|term| format!("blockchain insert where policy = {term} and local = true")),
        1 => (term(), term()).prop_map(|(policy, id)| {
            format!("blockchain update policy {policy} where id = {id}")
        }),
        1 => term().prop_map(|term| format!("get columns where table = {term} and dbms = d")),
        1 => prop::collection::vec(term(), 1..4).prop_map(|terms| format!("print {}", terms.join(" "))),
        1 => ("[a-z]{1,6}", term()).prop_map(|(key, value)| {
            format!("create policy device with defaults where {key}x = {value} and b = 1")
        }),
        1 => term().prop_map(|term| format!("test network with {term}")),
        3 => on_rows(),
        1 => select(examples()).prop_map(String::from),
    ];
    leaf.prop_recursive(2, 4, 1, |inner| {
        prop_oneof![
            ("[a-z]{1,6}", blockchain_get()).prop_map(|(name, get)| format!("{name}_ = {get}")),
            (prop::collection::vec(term(), 1..3), inner).prop_map(|(nodes, inner)| {
                format!("run client (n1, {}) {inner}", nodes.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn commands_survive(text in command()) {
        assert_roundtrip(&text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        if parse(&text).is_ok() {
            assert_roundtrip(&text);
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        if parse(&text).is_ok() {
            assert_roundtrip(&text);
        }
    }

    #[test]
    fn damaged_examples_do_not_make_the_parser_panic(
        example in select(examples()),
        at in any::<prop::sample::Index>(),
        length in 0..4_usize,
        inserted in "[ -~é]{0,3}",
    ) {
        let characters: Vec<char> = example.chars().collect();
        let at = at.index(characters.len() + 1);
        let kept = characters.iter().take(at).collect::<String>();
        let rest = characters.iter().skip(at + length).collect::<String>();
        let text = format!("{kept}{inserted}{rest}");
        if parse(&text).is_ok() {
            assert_roundtrip(&text);
        }
    }
}
