//! The tests' tools, prompts and resources.

use mcp_serve::{
    Annotations, BoxFuture, Call, Catalog, Complete, Completion, CompletionRequest, Context, Fault,
    Icon, InputRequest, Level, Link, Outcome, Prompt, PromptArgument, PromptCall, PromptText,
    ResourceContent, ResourceTemplate, Resources, TaskSupport, Theme, Tool,
};
use serde_json::{Map, Value, json};

pub(crate) fn catalog() -> Catalog {
    elicitation(speaking(plain(Catalog::new())))
        .toolset("few", ["echo", "nobody"])
        .prompt(greeting(), |call: PromptCall| async move {
            Ok(PromptText::user(format!("Greet {}.", call.argument("name"))))
        })
        .resources(Shelf)
        .completions(Names)
}

fn plain(catalog: Catalog) -> Catalog {
    let text =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let sum = Tool {
        title: Some("Sum".to_owned()),
        annotations: Annotations { idempotent: Some(true), ..Annotations::default() },
        icons: vec![Icon {
            src: "https://example.com/sum.svg".to_owned(),
            mime_type: Some("image/svg+xml".to_owned()),
            sizes: vec!["any".to_owned()],
            theme: Some(Theme::Dark),
        }],
        meta: object(json!({ "example.com/kind": "math" })),
        ..Tool::new("sum", "Adds numbers")
            .input(json!({ "type": "object", "properties": { "of": { "type": "array" } } }))
            .output(json!({ "type": "object", "properties": { "sum": { "type": "number" } } }))
            .read_only()
    };
    catalog
        .tool(Tool::new("echo", "Says it again").input(text("text")), echo)
        .tool(sum, |call: Call| async move {
            let of = call.arguments.get("of").and_then(Value::as_array).cloned();
            let sum: f64 = of.unwrap_or_default().iter().filter_map(Value::as_f64).sum();
            Ok(Outcome::structured(json!({ "sum": sum })))
        })
        .tool(Tool::new("fail", "Fails"), |_: Call| async {
            Ok(Outcome::error("it did not work: try echo"))
        })
        .tool(Tool::new("fault", "Breaks the protocol"), |_: Call| async {
            let fault = Fault::invalid_params("\"text\" must be text");
            Err::<Outcome, _>(fault.with_data(json!({ "argument": "text" })))
        })
        .tool(Tool::new("crash", "Panics"), |_: Call| async { panic!("a secret of the server") })
        .tool(Tool::new("link", "Links"), |_: Call| async {
            let link = Link { size: Some(12), ..Link::new("shelf://book/1", "book 1") };
            Ok(Outcome::text("see the link").link(link))
        })
        .tool(Tool::new("whoami", "Says who asks"), |call: Call| async move {
            let client = call.client.as_ref().map(|client| client.name.clone());
            Ok(Outcome::structured(json!({
                "principal": call.principal.name(),
                "client": client,
                "protocol": call.protocol,
                "toolset": call.toolset,
            })))
        })
        .tool(Tool::new("big", "Says much"), |call: Call| async move {
            let bytes = call.arguments.get("bytes").and_then(Value::as_u64).unwrap_or_default();
            Ok(Outcome::text("x".repeat(usize::try_from(bytes).unwrap())))
        })
        .tool(Tool::new("wait", "Waits until nobody does"), |_: Call| async {
            std::future::pending::<Result<Outcome, Fault>>().await
        })
}

async fn echo(call: Call) -> Result<Outcome, Fault> {
    let text = call.arguments.get("text").and_then(Value::as_str).unwrap_or("nothing");
    Ok(Outcome::text(text))
}

fn speaking(catalog: Catalog) -> Catalog {
    catalog
        .tool(Tool::new("count", "Counts"), |call: Call| async move {
            let to = call.arguments.get("to").and_then(Value::as_u64).unwrap_or(2);
            for number in 1..=to {
                let message = Some(format!("at {number}"));
                call.progress(number as f64, Some(to as f64), message).await;
            }
            Ok(Outcome::text(format!("wanted: {}", call.wants_progress())))
        })
        .tool(Tool::new("log", "Logs"), |call: Call| async move {
            for level in [Level::Debug, Level::Info, Level::Error] {
                call.log(level, "tested", json!(format!("{level:?}"))).await;
            }
            Ok(Outcome::text("logged"))
        })
}

fn elicitation(catalog: Catalog) -> Catalog {
    let form = |message: &str| InputRequest::Form {
        message: message.to_owned(),
        schema: object(json!({
            "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"]
        })),
    };
    let later = Tool { tasks: TaskSupport::Optional, ..Tool::new("later", "Becomes a task") };
    catalog
        .tool(Tool::new("ask", "Asks"), move |call: Call| async move {
            let answer = call.request_input("name", form("Who is there?")).await?;
            let name = answer.form().and_then(|form| form["name"].as_str().map(str::to_owned));
            Ok(Outcome::text(format!("hello {}", name.unwrap_or("nobody".to_owned()))))
        })
        .tool(Tool::new("sample", "Asks the client's model"), |call: Call| async move {
            let question = json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }],
                "maxTokens": 10
            });
            let answer =
                call.request_input("answer", InputRequest::Sampling(object(question))).await?;
            Ok(Outcome::text(answer.value().to_string()))
        })
        .tool(later, move |call: Call| async move {
            call.become_task();
            call.progress(1.0, Some(2.0), None).await;
            let answer = call.request_input("name", form("Still there?")).await?;
            Ok(Outcome::text(answer.value().to_string()))
        })
}

fn greeting() -> Prompt {
    Prompt {
        name: "greet".to_owned(),
        title: Some("Greet".to_owned()),
        description: Some("A greeting".to_owned()),
        arguments: vec![PromptArgument {
            name: "name".to_owned(),
            required: true,
            ..PromptArgument::default()
        }],
        ..Prompt::default()
    }
}

/// Books, which may be subscribed to.
struct Shelf;

impl Resources for Shelf {
    fn list<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>> {
        let mut books: Vec<Link> = (1..=3)
            .map(|number| Link::new(format!("shelf://book/{number}"), format!("book {number}")))
            .collect();
        // The list depends on the caller.
        if context.principal.name() == "alice" {
            books.push(Link::new("shelf://diary", "diary"));
        }
        Box::pin(async { Ok(books) })
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "shelf://book/{number}".to_owned(),
            name: "book".to_owned(),
            mime_type: Some("text/plain".to_owned()),
            ..ResourceTemplate::default()
        }]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>> {
        let number = uri.strip_prefix("shelf://book/").and_then(|rest| rest.parse::<u32>().ok());
        let content = number.map(|number| match number {
            2 => ResourceContent::bytes(uri, "application/octet-stream", [0, 1, 2]),
            _ => ResourceContent::text(uri, "text/plain", format!("book {number}")),
        });
        Box::pin(async { Ok(content.map(|content| vec![content])) })
    }

    fn may_subscribe(&self, uri: &str) -> bool {
        uri.starts_with("shelf://book/")
    }
}

struct Names;

impl Complete for Names {
    fn complete<'a>(
        &'a self,
        request: &'a CompletionRequest,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Completion, Fault>> {
        let all: Vec<String> = match request.argument.as_str() {
            "name" => ["ada", "alan", "grace"].map(str::to_owned).to_vec(),
            "number" => (1..=150).map(|number| number.to_string()).collect(),
            _ => Vec::new(),
        };
        let fit = all.into_iter().filter(|name| name.starts_with(&request.value));
        let completion = Completion::all(fit);
        Box::pin(async { Ok(completion) })
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => panic!("{value} is no object"),
    }
}
