//! The resources of a file: what commands answer, under addresses; and the file itself.

use std::sync::Arc;

use mcp_serve::{BoxFuture, Context, Fault, Link, ResourceContent, ResourceTemplate, Resources};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::commands::Failure;
use crate::execute::Executor;
use crate::toolbox::{Resource, Toolbox};

/// Where the file of tools is.
const FILE: &str = "edgemere://tools.yaml";
const FILE_TYPE: &str = "application/yaml";

/// The resources of a file.
pub(super) struct Declared {
    toolbox: Arc<Toolbox>,
    executor: Executor,
}

impl Declared {
    pub(super) fn new(toolbox: &Arc<Toolbox>, executor: &Executor) -> Self {
        Self { toolbox: Arc::clone(toolbox), executor: executor.clone() }
    }

    async fn content(
        &self,
        uri: &str,
        context: &Context,
    ) -> Result<Option<Vec<ResourceContent>>, Fault> {
        if uri == FILE {
            return Ok(Some(vec![ResourceContent::text(uri, FILE_TYPE, self.toolbox.text())]));
        }
        let resources = self.toolbox.resources().iter();
        let found = resources.filter_map(|one| Some((one, variables(&one.uri, uri)?))).next();
        let Some((resource, variables)) = found else { return Ok(None) };
        let bound = resource
            .bind(&variables)
            .map_err(|errors| Fault::invalid_params(errors.to_string()))?;
        let request = self.executor.request(&bound, &self.executor.principal_of(context));
        let reply = self.executor.commands().reply(&request).await;
        let value = match reply {
            Ok(reply) => reply.into_value().await.map_err(Failure::from),
            Err(failure) => Err(failure),
        };
        let value = value.map_err(|failure| Fault::internal(failure.text()))?;
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(Some(vec![ResourceContent::text(uri, &resource.mime_type, text)]))
    }
}

impl Resources for Declared {
    fn list<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>> {
        let file = Link {
            title: Some("The tools of this server".into()),
            mime_type: Some(FILE_TYPE.into()),
            ..Link::new(FILE, "tools.yaml")
        };
        let fixed = self.toolbox.resources().iter().filter(|one| !one.is_template());
        let links = std::iter::once(file).chain(fixed.map(link)).collect();
        Box::pin(std::future::ready(Ok(links)))
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let templates = self.toolbox.resources().iter().filter(|one| one.is_template());
        templates
            .map(|one| ResourceTemplate {
                uri_template: one.uri.clone(),
                name: one.name.clone(),
                title: one.title.clone(),
                description: one.description.clone(),
                mime_type: Some(one.mime_type.clone()),
                icons: one.icons.clone(),
                ..ResourceTemplate::default()
            })
            .collect()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>> {
        Box::pin(self.content(uri, context))
    }
}

fn link(resource: &Resource) -> Link {
    Link {
        title: resource.title.clone(),
        description: resource.description.clone(),
        mime_type: Some(resource.mime_type.clone()),
        icons: resource.icons.clone(),
        ..Link::new(&resource.uri, &resource.name)
    }
}

/// What stands in the holes of a template of addresses, when an address is one of its.
pub(super) fn variables(template: &str, uri: &str) -> Option<Map<String, Value>> {
    let mut variables = Map::new();
    let (mut template, mut uri) = (template, uri);
    while let Some((before, rest)) = template.split_once('{') {
        let (name, after) = rest.split_once('}')?;
        uri = uri.strip_prefix(before)?;
        let end = match after.chars().next() {
            Some(next) => uri.find(next)?,
            None => uri.len(),
        };
        let (value, rest) = uri.split_at_checked(end)?;
        if value.is_empty() || value.contains('/') {
            return None;
        }
        let value = percent_decode_str(value).decode_utf8().ok()?;
        variables.insert(name.to_owned(), value.into());
        (template, uri) = (after, rest);
    }
    (template == uri).then_some(variables)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(template: &str, uri: &str) -> Option<Value> {
        variables(template, uri).map(Value::Object)
    }

    #[test]
    fn holes_take_one_part_of_an_address_each() {
        let template = "edgemere://{database}/{table}";
        let expected = json!({ "database": "new company", "table": "rand_data" });
        assert_eq!(found(template, "edgemere://new%20company/rand_data"), Some(expected));
        for other in ["edgemere://d", "edgemere://d/t/sample", "edgemere:///t", "other://d/t"] {
            assert_eq!(found(template, other), None, "{other}");
        }
        let sample = found("edgemere://{d}/{t}/sample", "edgemere://a/b/sample");
        assert_eq!(sample, Some(json!({ "d": "a", "t": "b" })));
    }

    #[test]
    fn what_is_no_text_is_no_name() {
        assert_eq!(found("x://{d}", "x://100%"), Some(json!({ "d": "100%" })));
        assert_eq!(found("x://{d}", "x://%ff"), None);
    }
}
