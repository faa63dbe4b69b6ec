//! The suite's tools.

mod elicitation;
mod tasks;

use std::time::Duration;

use mcp_serve::{Call, Catalog, Content, Fault, Level, Outcome, ResourceContent, Server, Tool};
use serde_json::{Value, json};

/// A red pixel.
pub(crate) const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53,
    0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
    0x00, 0x03, 0x01, 0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A sound without a sample.
const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0";

/// The pause between the steps of a tool, as the suite asks for it.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn add(catalog: Catalog, server: &Server, is_changed: bool) -> Catalog {
    let catalog = tasks::add(elicitation::add(steps(contents(catalog))))
        .tool(schema_tool(), |_: Call| async { Ok(Outcome::text("Its schema is what counts.")) })
        .tool(header_tool(), |call: Call| async move {
            Ok(Outcome::text(format!(
                "region: {}",
                call.arguments.get("region").unwrap_or(&Value::Null)
            )))
        });
    let catalog = changes(catalog, server, is_changed);
    match is_changed {
        true => {
            catalog.tool(tool("test_changed_tool"), |_: Call| async { Ok(Outcome::text("new")) })
        }
        false => catalog,
    }
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name, "A tool of the suite").read_only()
}

fn image() -> Content {
    Content::Image { data: PNG.to_vec(), mime_type: "image/png".to_owned() }
}

fn contents(catalog: Catalog) -> Catalog {
    let answer = |contents: Vec<Content>| {
        move |_: Call| {
            let content = contents.clone();
            async { Ok::<_, Fault>(Outcome { content, ..Outcome::default() }) }
        }
    };
    let embedded = ResourceContent::text(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    );
    let mixed = ResourceContent::text(
        "test://mixed-content-resource",
        "application/json",
        r#"{"test":"data","value":123}"#,
    );
    let sound = Content::Audio { data: WAV.to_vec(), mime_type: "audio/wav".to_owned() };
    let text = Content::text("This is a simple text response for testing.");
    let several =
        vec![Content::text("Multiple content types test:"), image(), Content::Embedded(mixed)];
    catalog
        .tool(tool("test_simple_text"), answer(vec![text]))
        .tool(tool("test_image_content"), answer(vec![image()]))
        .tool(tool("test_audio_content"), answer(vec![sound]))
        .tool(tool("test_embedded_resource"), answer(vec![Content::Embedded(embedded)]))
        .tool(tool("test_multiple_content_types"), answer(several))
        .tool(tool("test_error_handling"), |_: Call| async {
            Ok(Outcome::error("This tool intentionally returns an error for testing"))
        })
}

/// Tools that say something while they run.
fn steps(catalog: Catalog) -> Catalog {
    catalog
        .tool(tool("test_tool_with_logging"), logs)
        .tool(tool("test_logging_tool"), logs)
        .tool(tool("test_tool_with_progress"), |call: Call| async move {
            for (index, done) in [0.0, 50.0, 100.0].into_iter().enumerate() {
                if index > 0 {
                    tokio::time::sleep(PAUSE).await;
                }
                call.progress(done, Some(100.0), Some(format!("{done} of 100"))).await;
            }
            Ok(Outcome::text("Progress has been told."))
        })
        .tool(tool("test_reconnection"), |call: Call| async move {
            call.close_stream();
            tokio::time::sleep(PAUSE * 4).await;
            Ok(Outcome::text("The client came back for this."))
        })
}

async fn logs(call: Call) -> Result<Outcome, Fault> {
    let texts = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    for (index, text) in texts.into_iter().enumerate() {
        if index > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        call.log(Level::Info, "conformance", json!(text)).await;
    }
    Ok(Outcome::text("Three messages have been logged."))
}

/// Tools that change the lists.
fn changes(catalog: Catalog, server: &Server, is_changed: bool) -> Catalog {
    let change = |server: Server| {
        move |_: Call| {
            server.publish(crate::catalog(&server, !is_changed));
            async { Ok::<_, Fault>(Outcome::text("The lists differ now.")) }
        }
    };
    catalog
        .tool(tool("test_trigger_tool_change"), change(server.clone()))
        .tool(tool("test_trigger_prompt_change"), change(server.clone()))
}

fn schema_tool() -> Tool {
    tool("json_schema_2020_12_tool").input(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    }))
}

/// A tool with an argument that is in a header too.
fn header_tool() -> Tool {
    tool("test_x_mcp_header").input(json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } }
    }))
}
