//! The suite's prompts, and completions for their arguments.

use mcp_serve::{
    BoxFuture, Catalog, Complete, Completion, CompletionRequest, Content, Context, Fault,
    InputRequest, Message, Prompt, PromptArgument, PromptCall, PromptText, ResourceContent, Role,
};
use serde_json::{Map, Value, json};

use crate::tools::PNG;

pub(crate) fn add(catalog: Catalog, is_changed: bool) -> Catalog {
    let simple =
        |_: PromptCall| async { Ok(PromptText::user("This is a simple prompt for testing.")) };
    let catalog = catalog
        .prompt(prompt("test_simple_prompt", &[]), simple)
        .prompt(
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            |call: PromptCall| async move {
                let (one, two) = (call.argument("arg1"), call.argument("arg2"));
                Ok(PromptText::user(format!("Prompt with arguments: arg1='{one}', arg2='{two}'")))
            },
        )
        .prompt(
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            |call: PromptCall| async move {
                let text = "Embedded resource content for testing.";
                let resource =
                    ResourceContent::text(call.argument("resourceUri"), "text/plain", text);
                Ok(talk([
                    Content::Embedded(resource),
                    Content::text("Please process the embedded resource above."),
                ]))
            },
        )
        .prompt(prompt("test_prompt_with_image", &[]), |_: PromptCall| async {
            let image = Content::Image { data: PNG.to_vec(), mime_type: "image/png".to_owned() };
            Ok(talk([image, Content::text("Please analyze the image above.")]))
        })
        .prompt(prompt("test_input_required_result_prompt", &[]), asks_first);
    match is_changed {
        true => catalog.prompt(prompt("test_changed_prompt", &[]), simple),
        false => catalog,
    }
}

async fn asks_first(call: PromptCall) -> Result<PromptText, Fault> {
    let schema = json!({
        "type": "object", "properties": { "context": { "type": "string" } }, "required": ["context"]
    });
    let message = "What context should the prompt use?".to_owned();
    let question = InputRequest::Form { message, schema: object(schema) };
    let answer = call.context.request_input("user_context", question).await?;
    let context = answer.form().and_then(|form| form.get("context")?.as_str().map(str::to_owned));
    Ok(PromptText::user(format!("Work in this context: {}", context.unwrap_or_default())))
}

fn prompt(name: &str, arguments: &[&str]) -> Prompt {
    let argument = |name: &&str| PromptArgument {
        name: (*name).to_owned(),
        description: Some("What the suite sends".to_owned()),
        required: true,
        ..PromptArgument::default()
    };
    Prompt {
        name: name.to_owned(),
        description: Some("A prompt of the suite".to_owned()),
        arguments: arguments.iter().map(argument).collect(),
        ..Prompt::default()
    }
}

fn talk(contents: impl IntoIterator<Item = Content>) -> PromptText {
    let messages = contents.into_iter().map(|content| Message { role: Role::User, content });
    PromptText { description: None, messages: messages.collect() }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Words that begin as what is typed.
pub(crate) struct Words;

impl Complete for Words {
    fn complete<'a>(
        &'a self,
        request: &'a CompletionRequest,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Completion, Fault>> {
        let words =
            ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&request.value));
        Box::pin(std::future::ready(Ok(Completion::all(words))))
    }
}
