//! The help of every offered command as a resource, without commands and arguments that are not offered and
//! without the values of environment variables.

use std::collections::BTreeMap;

use clap::Command;
use mcp_serve::{BoxFuture, Context, Fault, Link, ResourceContent, Resources};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::tree::Leaf;

const MIME_TYPE: &str = "text/plain";

/// The help texts by URI.
pub(crate) struct Help {
    links: Vec<Link>,
    texts: BTreeMap<String, String>,
}

impl Help {
    /// The help of a program and of its offered commands.
    pub(crate) fn new(command: &Command, leaves: &[&Leaf]) -> Self {
        let mut shown = command.clone();
        shown.build();
        let program = shown.get_name().to_owned();
        show_only(&mut shown, &mut Vec::new(), leaves);
        let mut help = Self { links: Vec::new(), texts: BTreeMap::new() };
        help.add(&mut shown, &format!("help://{}", encoded(&program)), &program);
        help
    }

    fn add(&mut self, command: &mut Command, uri: &str, name: &str) {
        let text = command.render_long_help().to_string();
        let about = command.get_about().map(ToString::to_string);
        self.links.push(Link {
            title: Some(format!("Help for \"{name}\"")),
            description: about,
            mime_type: Some(MIME_TYPE.to_owned()),
            size: u64::try_from(text.len()).ok(),
            ..Link::new(uri, name)
        });
        self.texts.insert(uri.to_owned(), text);
        for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
            let (word, path) = (encoded(below.get_name()), below.get_name().to_owned());
            self.add(below, &format!("{uri}/{word}"), &format!("{name} {path}"));
        }
    }
}

impl Resources for Help {
    fn list<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>> {
        Box::pin(async { Ok(self.links.clone()) })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>> {
        let text = self.texts.get(uri);
        Box::pin(async move {
            Ok(text.map(|text| vec![ResourceContent::text(uri, MIME_TYPE, text.clone())]))
        })
    }
}

/// Hides what is not offered: commands without tools, arguments without properties.
fn show_only(command: &mut Command, path: &mut Vec<String>, leaves: &[&Leaf]) {
    let level = path.len();
    let below: Vec<&&Leaf> = leaves.iter().filter(|leaf| leaf.path.starts_with(path)).collect();
    let shown = std::mem::take(command).mut_args(|arg| {
        let is_taken = |leaf: &&&Leaf| {
            let mut arguments = leaf.arguments.iter();
            arguments.any(|one| one.id == *arg.get_id() && (one.level == level || one.is_global))
        };
        let is_hidden = !is_print(&arg) && !below.iter().any(is_taken);
        let is_hidden = arg.is_hide_set() || is_hidden;
        arg.hide(is_hidden).hide_env_values(true)
    });
    *command = shown;
    for sub in command.get_subcommands_mut() {
        path.push(sub.get_name().to_owned());
        let leads = leaves.iter().any(|leaf| leaf.path.starts_with(path));
        match leads {
            true => show_only(sub, path, leaves),
            false => *sub = std::mem::take(sub).hide(true),
        }
        path.pop();
    }
}

/// Whether an argument only prints help or the version.
fn is_print(arg: &clap::Arg) -> bool {
    use clap::ArgAction::{Help, HelpLong, HelpShort, Version};
    matches!(arg.get_action(), Help | HelpShort | HelpLong | Version)
}

fn encoded(word: &str) -> String {
    utf8_percent_encode(word, NON_ALPHANUMERIC).to_string()
}
