//! The suite's tools that ask the client.

use mcp_serve::{Call, Catalog, Fault, InputRequest, InputResponse, Outcome};
use serde_json::{Value, json};

use super::tool;
use crate::prompts::object;

pub(super) fn add(catalog: Catalog) -> Catalog {
    more(catalog)
        .tool(
            tool("test_sampling").input(json!({
                "type": "object",
                "properties": { "prompt": { "type": "string" } },
                "required": ["prompt"]
            })),
            |call: Call| async move {
                let answer =
                    call.request_input("answer", model(&text(&call, "prompt"), 100)).await?;
                Ok(Outcome::text(format!("LLM response: {}", said(&answer))))
            },
        )
        .tool(
            tool("test_elicitation").input(json!({
                "type": "object",
                "properties": { "message": { "type": "string" } },
                "required": ["message"]
            })),
            |call: Call| async move {
                let answer = call.request_input("user", user(&text(&call, "message"))).await?;
                Ok(Outcome::text(format!("User response: {}", answer.value())))
            },
        )
        .tool(tool("test_elicitation_sep1034_defaults"), |call: Call| async move {
            completed(&call.request_input("form", form("Please check these", defaults())).await?)
        })
        .tool(tool("test_elicitation_sep1330_enums"), |call: Call| async move {
            completed(&call.request_input("form", form("Please choose", choices())).await?)
        })
        .tool(tool("test_missing_capability"), |call: Call| async move {
            call.request_input("answer", model("Can you hear me?", 10)).await?;
            Ok(Outcome::text("The client's model answers."))
        })
        .tool(tool("test_streaming_elicitation"), |call: Call| async move {
            call.progress(0.0, None, None).await;
            call.request_input("name", name("What is your name?")).await?;
            Ok(Outcome::text("Thank you."))
        })
}

/// Those of 2026-07-28, whose questions are the result of the call.
fn more(catalog: Catalog) -> Catalog {
    catalog
        .tool(tool("test_input_required_result_elicitation"), |call: Call| async move {
            let answer = call.request_input("user_name", name("What is your name?")).await?;
            Ok(Outcome::text(format!("Hello, {}!", field(&answer, "name"))))
        })
        .tool(tool("test_input_required_result_sampling"), |call: Call| async move {
            let question = model("What is the capital of France?", 100);
            let answer = call.request_input("capital_question", question).await?;
            Ok(Outcome::text(said(&answer)))
        })
        .tool(tool("test_input_required_result_list_roots"), |call: Call| async move {
            let answer = call.request_input("client_roots", InputRequest::Roots).await?;
            Ok(Outcome::text(format!("Folders: {}", answer.value())))
        })
        .tool(tool("test_input_required_result_request_state"), confirms)
        .tool(tool("test_input_required_result_tampered_state"), confirms)
        .tool(tool("test_input_required_result_multiple_inputs"), |call: Call| async move {
            let questions = [
                ("user_name", name("What is your name?")),
                ("greeting", model("Generate a greeting", 50)),
                ("client_roots", InputRequest::Roots),
            ];
            let answers = call.request_inputs(questions).await?;
            Ok(Outcome::text(format!("{} answers", answers.len())))
        })
        .tool(tool("test_input_required_result_multi_round"), |call: Call| async move {
            let one = call.request_input("step1", name("Step 1: What is your name?")).await?;
            let color = one_text("Step 2: What is your favorite color?", "color");
            let two = call.request_input("step2", color).await?;
            Ok(Outcome::text(format!("{} likes {}", field(&one, "name"), field(&two, "color"))))
        })
        .tool(tool("test_input_required_result_capabilities"), |call: Call| async move {
            let questions =
                [("greeting", model("Generate a greeting", 50)), ("user_name", name("Your name?"))];
            let questions =
                questions.into_iter().filter(|(_, question)| call.supports_input(question));
            let answers = call.request_inputs(questions.collect::<Vec<_>>()).await?;
            Ok(Outcome::text(format!("{} answers", answers.len())))
        })
}

async fn confirms(call: Call) -> Result<Outcome, Fault> {
    let schema = json!({
        "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"]
    });
    call.request_input("confirm", form("Please confirm", schema)).await?;
    // That it comes so far shows that the state was ours: another one is refused before.
    Ok(Outcome::text("state-ok"))
}

fn completed(answer: &InputResponse) -> Result<Outcome, Fault> {
    let action = field_of(answer.value(), "action");
    let content = answer.value().get("content").unwrap_or(&Value::Null);
    Ok(Outcome::text(format!("Elicitation completed: action={action}, content={content}")))
}

fn form(message: &str, schema: Value) -> InputRequest {
    InputRequest::Form { message: message.to_owned(), schema: object(schema) }
}

pub(super) fn name(message: &str) -> InputRequest {
    one_text(message, "name")
}

pub(super) fn one_text(message: &str, property: &str) -> InputRequest {
    form(
        message,
        json!({
            "type": "object",
            "properties": { property: { "type": "string" } },
            "required": [property]
        }),
    )
}

fn user(message: &str) -> InputRequest {
    form(
        message,
        json!({
            "type": "object",
            "properties": {
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" }
            },
            "required": ["username", "email"]
        }),
    )
}

fn model(prompt: &str, tokens_max: u32) -> InputRequest {
    InputRequest::Sampling(object(json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
        "maxTokens": tokens_max
    })))
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string", "enum": ["active", "inactive", "pending"], "default": "active"
            },
            "verified": { "type": "boolean", "default": true }
        },
        "required": []
    })
}

fn choices() -> Value {
    let titled = |word: &str| -> Vec<Value> {
        let number = |(index, ordinal): (usize, &str)| json!({ "const": format!("value{}", index + 1), "title": format!("{ordinal} {word}") });
        ["First", "Second", "Third"].into_iter().enumerate().map(number).collect()
    };
    let plain = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": plain },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } }
        },
        "required": []
    })
}

fn text(call: &Call, argument: &str) -> String {
    call.arguments.get(argument).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn said(answer: &InputResponse) -> String {
    let text =
        answer.value().pointer("/content/text").or(answer.value().pointer("/content/0/text"));
    text.and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(super) fn field(answer: &InputResponse, name: &str) -> String {
    answer.form().map(|form| field_of(&Value::Object(form.clone()), name)).unwrap_or_default()
}

fn field_of(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
