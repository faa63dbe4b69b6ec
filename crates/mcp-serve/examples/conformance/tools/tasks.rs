//! The suite's tools that become tasks.

use std::time::Duration;

use mcp_serve::{Call, Catalog, Fault, InputRequest, Outcome, TaskSupport, Tool};
use serde_json::{Value, json};

use super::{
    elicitation::{field, name, one_text},
    tool,
};

pub(super) fn add(catalog: Catalog) -> Catalog {
    let greet = tool("greet").input(json!({
        "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"]
    }));
    let slow = background("slow_compute", TaskSupport::Optional).input(json!({
        "type": "object",
        "properties": { "seconds": { "type": "number" }, "label": { "type": "string" } }
    }));
    catalog
        .tool(greet, |call: Call| async move {
            let name = call.arguments.get("name").and_then(Value::as_str).unwrap_or("world");
            Ok(Outcome::text(format!("Hello, {name}!")))
        })
        .tool(slow, |call: Call| async move {
            call.become_task();
            let seconds = call.arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
            tokio::time::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
            Ok(Outcome::text(format!("Computed for {seconds} s.")))
        })
        .tool(background("failing_job", TaskSupport::Required), |call: Call| async move {
            call.become_task();
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Outcome::error("This job always fails."))
        })
        .tool(background("protocol_error_job", TaskSupport::Optional), |call: Call| async move {
            call.become_task();
            Err::<Outcome, _>(Fault::internal("This job breaks the protocol."))
        })
        .tool(background("confirm_delete", TaskSupport::Optional), |call: Call| async move {
            call.become_task();
            let answer = call.request_input("confirm", one_text("Delete it?", "confirm")).await?;
            Ok(Outcome::text(format!("Answered: {}", answer.value())))
        })
        .tool(background("multi_input", TaskSupport::Optional), |call: Call| async move {
            call.become_task();
            let questions: [(&str, InputRequest); 2] =
                [("first", name("First name?")), ("second", name("Last name?"))];
            let answers = call.request_inputs(questions).await?;
            Ok(Outcome::text(format!("{} answers", answers.len())))
        })
        .tool(background("test_tool_with_task", TaskSupport::Required), |call: Call| async move {
            let answer = call.request_input("user_name", name("What is your name?")).await?;
            call.become_task();
            Ok(Outcome::text(format!("Hello, {}!", field(&answer, "name"))))
        })
}

fn background(name: &str, tasks: TaskSupport) -> Tool {
    Tool { tasks, ..tool(name) }
}
