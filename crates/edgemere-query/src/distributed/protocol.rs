//! What both ends of a call agree on: the version, and the headers.

use std::net::IpAddr;

use datafusion::DATAFUSION_VERSION;

/// The header with the version.
pub(super) const VERSION: &str = "edgemere-protocol";

/// The header with the id of the query that a task is of.
pub(super) const QUERY: &str = "edgemere-query";

/// The header that says that an answer without rows that cannot be read is an answer.
pub(super) const SUBSET: &str = "edgemere-subset";

/// The header that says how rows are to be compressed.
pub(super) const COMPRESSION: &str = "edgemere-compression";

/// The header with the identity of the data folder that is meant.
pub(super) const NODE: &str = "edgemere-node";

/// The header with how far the operator's storage is known to have been, by the ledger; in an answer, with
/// how far it is.
pub(super) const REACHED: &str = "edgemere-reached";

/// The header with how far the query node itself has seen it.
pub(super) const SEEN: &str = "edgemere-seen";

/// How rows look that are not compressed.
pub(super) const PLAIN: &str = "none";

/// How rows are compressed.
pub(super) const LZ4: &str = "lz4";

/// Our own version: one more after the dot for each change of what is sent. What stands before it is
/// the version of the port that this is one part of.
const OWN: &str = "2.0";

/// The version of what this node sends and understands. Plans are DataFusion's, and are only
/// understood by the same one.
pub(super) fn version() -> String {
    format!("{OWN}, DataFusion {DATAFUSION_VERSION}")
}

/// How rows are sent to here: inside a machine compressing costs more than it saves.
pub(super) fn compression(address: &str) -> &'static str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_near = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    if is_near { PLAIN } else { LZ4 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compressed_between_machines() {
        for near in ["127.0.0.1:1", "localhost:1", "[::1]:1"] {
            assert_eq!(compression(near), PLAIN, "{near}");
        }
        for far in ["10.0.0.7:1", "edge-7.example:32148", "[2001:db8::1]:1"] {
            assert_eq!(compression(far), LZ4, "{far}");
        }
    }
}
