//! What the functions of a worker do. A worker is a shopping cart: its contents follow from the calls that
//! its oplog has, so that it comes back after a crash as it was, and can be reverted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The functions, with what they take.
const FUNCTIONS: &str = "add-item NAME [COUNT], remove-item NAME, get-contents, echo [ARGUMENT]...";

/// The result of a call, after those that the oplog has.
pub(crate) fn result(oplog: &[Value], call: &Value) -> Result<Value, String> {
    let mut cart = Cart::default();
    for call in oplog {
        cart.invoke(call)?;
    }
    cart.invoke(call)
}

#[derive(Default)]
struct Cart {
    items: BTreeMap<String, u64>,
}

impl Cart {
    fn invoke(&mut self, call: &Value) -> Result<Value, String> {
        let function = call.get("function").and_then(Value::as_str).unwrap_or_default();
        let arguments: Vec<&str> = call
            .get("arguments")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        match (function, arguments.as_slice()) {
            ("add-item", [name]) => Ok(self.add(name, 1)),
            ("add-item", [name, count]) => {
                let count = count.parse().map_err(|_| format!("\"{count}\" is no count"))?;
                Ok(self.add(name, count))
            }
            ("remove-item", [name]) => match self.items.remove(*name) {
                Some(count) => Ok(json!({ "count": count, "removed": name })),
                None => Err(format!("there is no \"{name}\" in the cart")),
            },
            ("get-contents", []) => Ok(json!(self.items)),
            ("echo", words) => Ok(json!(words)),
            _ => Err(format!(
                "the worker has no function {function:?} that takes these arguments; \
                              there are {FUNCTIONS}"
            )),
        }
    }

    fn add(&mut self, name: &str, count: u64) -> Value {
        let all = self.items.entry(name.to_owned()).or_default();
        *all = all.saturating_add(count);
        json!({ "count": all, "item": name })
    }
}
