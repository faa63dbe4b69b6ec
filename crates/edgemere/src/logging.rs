//! The log: what the process says of itself, on stderr, as text or as JSON. It knows neither
//! flags nor files; they are read by then.

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::terminal;

/// Starts the log. `filter` is a level or a filter, `json` whether its lines are for programs.
pub(crate) fn init(filter: &str, json: bool) -> anyhow::Result<()> {
    let log = tracing_subscriber::fmt()
        .with_env_filter(self::filter(filter).map_err(anyhow::Error::msg)?)
        .with_writer(std::io::stderr)
        .with_ansi(terminal::stderr_has_colour());
    let started = match json {
        false => log.with_target(false).try_init(),
        true => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!(error)).context("cannot start the log")
}

/// A level (`info`) or a filter (`warn,edgemere=debug`), read.
pub(crate) fn filter(text: &str) -> Result<EnvFilter, String> {
    let wrong = || format!("\"{text}\" is not a level or a filter, as info or warn,edgemere=debug");
    // A single word that is no level would be read as the name of a target, and nothing logged.
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric());
    let is_level = !text.is_empty() && text.parse::<LevelFilter>().is_ok();
    if is_word && !is_level {
        return Err(wrong());
    }
    EnvFilter::try_new(format!("{text}{}{}", quiet(text), without_libraries(text)))
        .map_err(|_| wrong())
}

/// Libraries that say hundreds of lines of every query.
const LIBRARIES: [&str; 5] = ["datafusion", "sqlparser", "h2", "hyper", "tower"];

/// A log level means this program: libraries say no more than their news, unless they
/// are named.
fn without_libraries(text: &str) -> String {
    let is_detailed = |part: &str| {
        let level = part.trim().parse::<LevelFilter>().ok().filter(|_| !part.trim().is_empty());
        level.is_some_and(|level| level > LevelFilter::INFO)
    };
    if !text.split(',').any(is_detailed) {
        return String::new();
    }
    let others = LIBRARIES.iter().filter(|library| !text.contains(**library));
    others.map(|library| format!(",{library}=info")).collect()
}

/// The MCP library tells of every request as if it were news, and warns of whatever a client does wrong;
/// whoever wants that names it. Nobody hears more of it than was asked for.
fn quiet(text: &str) -> &'static str {
    match text.contains("rmcp") || text.eq_ignore_ascii_case("off") {
        true => "",
        false => ",rmcp=error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mcp_library_is_as_quiet_as_the_rest_or_quieter() {
        for (text, added) in [("info", ",rmcp=error"), ("error", ",rmcp=error"), ("off", "")] {
            assert_eq!(quiet(text), added, "{text}");
        }
        assert_eq!(quiet("warn,rmcp=debug"), "");
    }

    #[test]
    fn details_are_of_this_program_unless_a_library_is_named() {
        for (text, expected) in [
            ("info", ""),
            ("warn,edgemere=debug", ""),
            ("debug", ",datafusion=info,sqlparser=info,h2=info,hyper=info,tower=info"),
            ("TRACE,sqlparser=debug", ",datafusion=info,h2=info,hyper=info,tower=info"),
        ] {
            assert_eq!(without_libraries(text), expected, "{text}");
            assert!(filter(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_level_that_is_none_is_not_taken_for_a_filter() {
        for right in ["info", "OFF", "warn,edgemere=debug", "edgemere::server=trace"] {
            assert!(filter(right).is_ok(), "{right}");
        }
        for wrong in ["", "inof", "edgemere=loud", "a=b=c"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
    }
}
