//! The suite's resources.

use mcp_serve::{BoxFuture, Context, Fault, Link, ResourceContent, ResourceTemplate, Resources};

use crate::tools::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(crate) struct Fixtures;

impl Resources for Fixtures {
    fn list<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>> {
        let link = |uri: &str, name: &str, mime: &str| Link {
            description: Some(format!("The suite's {name}")),
            mime_type: Some(mime.to_owned()),
            ..Link::new(uri, name)
        };
        let links = vec![
            link(TEXT, "static text", "text/plain"),
            link(BINARY, "static picture", "image/png"),
            link(WATCHED, "watched resource", "text/plain"),
        ];
        Box::pin(std::future::ready(Ok(links)))
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://template/{id}/data".to_owned(),
            name: "data by id".to_owned(),
            description: Some("What the suite wants to read by id".to_owned()),
            mime_type: Some("application/json".to_owned()),
            ..ResourceTemplate::default()
        }]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>> {
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (uri, id) {
            (TEXT, _) => {
                let text = "This is the content of the static text resource.";
                Some(ResourceContent::text(TEXT, "text/plain", text))
            }
            (BINARY, _) => Some(ResourceContent::bytes(BINARY, "image/png", PNG)),
            (WATCHED, _) => Some(ResourceContent::text(WATCHED, "text/plain", "It changes.")),
            (_, Some(id)) => {
                let text = serde_json::json!({
                    "id": id, "templateTest": true, "data": format!("Data for ID: {id}")
                });
                Some(ResourceContent::text(uri, "application/json", text.to_string()))
            }
            _ => None,
        };
        Box::pin(std::future::ready(Ok(content.map(|content| vec![content]))))
    }

    fn may_subscribe(&self, uri: &str) -> bool {
        uri == WATCHED
    }
}
