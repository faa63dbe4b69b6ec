//! Conversions between this crate's types and rmcp's.
#![expect(deprecated, reason = "clients of the revisions before 2026-07-28 get log messages")]

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use rmcp::model::{
    AudioContent, ContentBlock, EmbeddedResource, ErrorCode, ErrorData, GetPromptResult, IconTheme,
    ImageContent, Implementation, LoggingLevel, MetaObject, PromptMessage, ResourceContents,
    ToolAnnotations,
};
use serde_json::{Map, Value};

use crate::{
    Annotations, Body, Content, Fault, Icon, Identity, Level, Link, Message, Outcome, Prompt,
    PromptArgument, PromptText, ResourceContent, ResourceTemplate, Role, Theme, Tool,
    fault::FaultKind,
};

pub(crate) fn implementation(identity: &Identity) -> Implementation {
    let mut info = Implementation::new(&identity.name, &identity.version);
    info.title.clone_from(&identity.title);
    info.description.clone_from(&identity.description);
    info.website_url.clone_from(&identity.website);
    info.icons = icons(&identity.icons);
    info
}

pub(crate) fn tool(tool: &Tool) -> rmcp::model::Tool {
    let mut wire = rmcp::model::Tool::default();
    wire.name = tool.name.clone().into();
    wire.title.clone_from(&tool.title);
    wire.description = tool.description.clone().map(Into::into);
    wire.input_schema = Arc::new(listed(&tool.input_schema));
    wire.output_schema = tool.output_schema.clone().map(Arc::new);
    wire.annotations = annotations(&tool.annotations);
    wire.icons = icons(&tool.icons);
    wire.meta = meta(tool.meta.clone());
    wire
}

/// A schema without `additionalProperties: false`: some clients reject tools with this key. Tools refuse
/// unknown arguments anyway. A schema with `$schema` is deliberate and stays as it is.
fn listed(schema: &Map<String, Value>) -> Map<String, Value> {
    match schema.contains_key("$schema") {
        true => schema.clone(),
        false => open(schema.clone()),
    }
}

fn open(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.retain(|key, value| key != "additionalProperties" || *value != Value::Bool(false));
    for value in schema.values_mut() {
        opened(value);
    }
    schema
}

fn opened(value: &mut Value) {
    match value {
        Value::Object(object) => *object = open(std::mem::take(object)),
        Value::Array(values) => values.iter_mut().for_each(opened),
        _ => {}
    }
}

fn annotations(hints: &Annotations) -> Option<ToolAnnotations> {
    let Annotations { title, read_only, destructive, idempotent, open_world } = hints.clone();
    let has_hints = *hints != Annotations::default();
    has_hints
        .then(|| ToolAnnotations::from_raw(title, read_only, destructive, idempotent, open_world))
}

pub(crate) fn prompt(prompt: &Prompt) -> rmcp::model::Prompt {
    let arguments = prompt.arguments.iter().map(prompt_argument).collect::<Vec<_>>();
    let arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
    let mut wire = rmcp::model::Prompt::new(&prompt.name, prompt.description.as_deref(), arguments);
    wire.title.clone_from(&prompt.title);
    wire.icons = icons(&prompt.icons);
    wire.meta = meta(prompt.meta.clone());
    wire
}

fn prompt_argument(argument: &PromptArgument) -> rmcp::model::PromptArgument {
    let mut wire =
        rmcp::model::PromptArgument::new(&argument.name).with_required(argument.required);
    wire.title.clone_from(&argument.title);
    wire.description.clone_from(&argument.description);
    wire
}

pub(crate) fn prompt_text(text: PromptText) -> GetPromptResult {
    let messages = text.messages.into_iter().map(message).collect::<Vec<_>>();
    let mut wire = GetPromptResult::new(messages);
    wire.description = text.description;
    wire
}

fn message(message: Message) -> PromptMessage {
    let role = match message.role {
        Role::User => rmcp::model::Role::User,
        Role::Assistant => rmcp::model::Role::Assistant,
    };
    PromptMessage::new(role, content(message.content))
}

pub(crate) fn outcome(outcome: Outcome) -> rmcp::model::CallToolResult {
    let content = outcome.content.into_iter().map(content).collect();
    let mut wire = match outcome.is_error {
        true => rmcp::model::CallToolResult::error(content),
        false => rmcp::model::CallToolResult::success(content),
    };
    wire.structured_content = outcome.structured;
    wire.meta = meta(outcome.meta);
    wire
}

fn content(content: Content) -> ContentBlock {
    match content {
        Content::Text(text) => ContentBlock::text(text),
        Content::Image { data, mime_type } => {
            ContentBlock::Image(ImageContent::new(BASE64_STANDARD.encode(data), mime_type))
        }
        Content::Audio { data, mime_type } => {
            ContentBlock::Audio(AudioContent::new(BASE64_STANDARD.encode(data), mime_type))
        }
        Content::Link(link) => ContentBlock::ResourceLink(resource(link)),
        Content::Embedded(content) => {
            ContentBlock::Resource(EmbeddedResource::new(resource_content(content)))
        }
    }
}

pub(crate) fn resource(link: Link) -> rmcp::model::Resource {
    let mut wire = rmcp::model::Resource::new(link.uri, link.name);
    wire.title = link.title;
    wire.description = link.description;
    wire.mime_type = link.mime_type;
    wire.size = link.size;
    wire.icons = icons(&link.icons);
    wire
}

pub(crate) fn resource_template(template: ResourceTemplate) -> rmcp::model::ResourceTemplate {
    let mut wire = rmcp::model::ResourceTemplate::new(template.uri_template, template.name);
    wire.title = template.title;
    wire.description = template.description;
    wire.mime_type = template.mime_type;
    wire.icons = icons(&template.icons);
    wire.meta = meta(template.meta);
    wire
}

pub(crate) fn resource_content(content: ResourceContent) -> ResourceContents {
    let ResourceContent { uri, mime_type, body, meta: more } = content;
    let meta = meta(more);
    match body {
        Body::Text(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta },
        Body::Bytes(bytes) => {
            let blob = BASE64_STANDARD.encode(bytes);
            ResourceContents::BlobResourceContents { uri, mime_type, blob, meta }
        }
    }
}

fn icons(icons: &[Icon]) -> Option<Vec<rmcp::model::Icon>> {
    let wire = icons.iter().map(icon).collect::<Vec<_>>();
    Some(wire).filter(|icons| !icons.is_empty())
}

fn icon(icon: &Icon) -> rmcp::model::Icon {
    let mut wire = rmcp::model::Icon::new(&icon.src);
    wire.mime_type.clone_from(&icon.mime_type);
    wire.sizes = Some(icon.sizes.clone()).filter(|sizes| !sizes.is_empty());
    wire.theme = icon.theme.map(|theme| match theme {
        Theme::Light => IconTheme::Light,
        Theme::Dark => IconTheme::Dark,
    });
    wire
}

fn meta(meta: Map<String, Value>) -> Option<MetaObject> {
    Some(meta).filter(|meta| !meta.is_empty()).map(MetaObject::from)
}

/// A fault as a JSON-RPC error. A fault that requests input is handled before.
pub(crate) fn fault(fault: Fault) -> ErrorData {
    let code = match fault.kind {
        FaultKind::InvalidParams => ErrorCode::INVALID_PARAMS,
        FaultKind::NotFound => ErrorCode::RESOURCE_NOT_FOUND,
        FaultKind::Incapable => ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
        FaultKind::Refused => REFUSED,
        FaultKind::Internal => ErrorCode::INTERNAL_ERROR,
        #[cfg(feature = "elicitation")]
        FaultKind::InputRequired(_) => ErrorCode::INTERNAL_ERROR,
    };
    ErrorData::new(code, fault.message, fault.data.map(|data| *data))
}

/// The code for requests that a limit refused, from the range for servers.
pub(crate) const REFUSED: ErrorCode = ErrorCode(-32029);

pub(crate) fn logging_level(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Notice => LoggingLevel::Notice,
        Level::Warning => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
        Level::Critical => LoggingLevel::Critical,
        Level::Alert => LoggingLevel::Alert,
        Level::Emergency => LoggingLevel::Emergency,
    }
}

pub(crate) fn level(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info => Level::Info,
        LoggingLevel::Notice => Level::Notice,
        LoggingLevel::Warning => Level::Warning,
        LoggingLevel::Error => Level::Error,
        LoggingLevel::Critical => Level::Critical,
        LoggingLevel::Alert => Level::Alert,
        LoggingLevel::Emergency => Level::Emergency,
    }
}

/// The length of a value as JSON.
pub(crate) fn json_length(value: &impl serde::Serialize) -> usize {
    struct Length(usize);
    impl std::io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    match serde_json::to_writer(&mut length, value) {
        Ok(()) => length.0,
        Err(_) => usize::MAX,
    }
}
