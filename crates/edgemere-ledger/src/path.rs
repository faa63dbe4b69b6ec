//! A path of keys into a policy, as a condition names it: `[name]`, `[operator][name]`,
//! `table[dbms]`.
//!
//! A path knows no comparison; it finds values.

use std::fmt;

use serde_json::Value;

use crate::Policy;

/// A path of keys into a policy.
///
/// - `[name]` is an attribute, and the keys after it go into its value.
/// - The first key may be the policy's type, or `*` which stands for any type. A single key that is
///   the policy's type is the attribute of that name when the policy has one.
/// - The empty path, and a lone `[*]`, is the policy's type as a text.
/// - A list on the way stands for each of its elements; a number as key picks one of them, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(pub Vec<String>);

/// What is asked of each value that a path leads to.
pub(crate) type Test<'a, 't> = dyn FnMut(&'a Value) -> bool + 't;

/// Where a path begins in the policies of one type.
#[derive(Debug, PartialEq)]
pub(crate) enum Start<'a> {
    /// At the type's name itself.
    Kind,
    /// At the attributes, with these keys; never none.
    Attributes(&'a [String]),
    /// At the attribute of this name, which is also the type's name, or at the type's name when
    /// there is none.
    Either(&'a String),
}

impl Path {
    /// A path of one key.
    #[must_use]
    pub fn attribute(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// Where the path begins in policies of a type.
    pub(crate) fn start(&self, kind: &str) -> Start<'_> {
        match self.0.as_slice() {
            [] => Start::Kind,
            [only] if only == "*" => Start::Kind,
            [only] if only.eq_ignore_ascii_case(kind) => Start::Either(only),
            [first, rest @ ..]
                if !rest.is_empty() && (first == "*" || first.eq_ignore_ascii_case(kind)) =>
            {
                Start::Attributes(rest)
            }
            keys => Start::Attributes(keys),
        }
    }

    /// Whether `test` holds for any of the values that the path leads to in a policy.
    pub(crate) fn any<'a>(&self, policy: &'a Policy, test: &mut Test<'a, '_>) -> bool {
        match self.start(policy.kind()) {
            Start::Kind => test(policy.kind_value()),
            Start::Either(name) => test(policy.attribute(name).unwrap_or(policy.kind_value())),
            Start::Attributes(keys) => keys.split_first().is_some_and(|(first, rest)| {
                policy.attribute(first).is_some_and(|value| walk(value, rest, test))
            }),
        }
    }
}

impl fmt::Display for Path {
    /// The path in brackets, `[operator][name]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|key| write!(f, "[{key}]"))
    }
}

fn walk<'a>(value: &'a Value, keys: &[String], test: &mut Test<'a, '_>) -> bool {
    let Some((key, rest)) = keys.split_first() else {
        return test(value);
    };
    match value {
        Value::Object(map) => map.get(key).is_some_and(|value| walk(value, rest, test)),
        Value::Array(list) => match key.parse::<usize>() {
            Ok(index) => list.get(index).is_some_and(|value| walk(value, rest, test)),
            Err(_) => list.iter().any(|element| walk(element, keys, test)),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(policy: Value, keys: &[&str]) -> Vec<Value> {
        let policy = Policy::from_value(policy).unwrap();
        let path = Path(keys.iter().map(|key| (*key).to_owned()).collect());
        policy.at(&path).into_iter().cloned().collect()
    }

    fn cluster() -> Value {
        json!({"cluster": {
            "name": "c1",
            "table": [{"dbms": "d1", "name": "t1"}, {"dbms": "d2", "name": "t2"}],
            "place": {"city": "Delft", "at": [4.3, 52.0]},
            "grid": [[{"v": 1}], [{"v": 2}, {"v": 3}]],
        }})
    }

    #[test]
    fn finds_an_attribute_with_and_without_the_type() {
        assert_eq!(at(cluster(), &["name"]), [json!("c1")]);
        assert_eq!(at(cluster(), &["cluster", "name"]), [json!("c1")]);
        assert_eq!(at(cluster(), &["CLUSTER", "name"]), [json!("c1")]);
        assert_eq!(at(cluster(), &["*", "name"]), [json!("c1")]);
        assert_eq!(at(cluster(), &["operator", "name"]), [] as [Value; 0]);
        assert_eq!(at(cluster(), &["nothing"]), [] as [Value; 0]);
    }

    #[test]
    fn an_empty_path_is_the_type() {
        assert_eq!(at(cluster(), &[]), [json!("cluster")]);
        assert_eq!(at(cluster(), &["*"]), [json!("cluster")]);
        assert_eq!(at(cluster(), &["cluster"]), [json!("cluster")]);
    }

    #[test]
    fn an_attribute_named_like_the_type_comes_first() {
        let policy = json!({"table": {"table": "x", "dbms": "d"}});
        assert_eq!(at(policy.clone(), &["table"]), [json!("x")]);
        assert_eq!(at(policy, &["table", "dbms"]), [json!("d")]);
    }

    #[test]
    fn a_list_stands_for_its_elements_and_a_number_picks_one() {
        assert_eq!(at(cluster(), &["table", "dbms"]), [json!("d1"), json!("d2")]);
        assert_eq!(at(cluster(), &["table", "1", "dbms"]), [json!("d2")]);
        assert_eq!(at(cluster(), &["table", "2", "dbms"]), [] as [Value; 0]);
        assert_eq!(at(cluster(), &["grid", "v"]), [json!(1), json!(2), json!(3)]);
        assert_eq!(at(cluster(), &["grid", "1", "v"]), [json!(2), json!(3)]);
        assert_eq!(at(cluster(), &["place", "at", "0"]), [json!(4.3)]);
        assert_eq!(at(cluster(), &["place", "at"]), [json!([4.3, 52.0])]);
        assert_eq!(at(cluster(), &["name", "x"]), [] as [Value; 0]);
    }
}
