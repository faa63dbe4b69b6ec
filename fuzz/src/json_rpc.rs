//! Messages of a client of MCP, one a line.

use std::sync::LazyLock;

use mcp_serve::{Identity, Limits, Server};
use tokio::runtime::{Builder, Runtime};

use crate::damaged;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
});

/// What a client says that means it.
const TRUE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,null,"b"]}}}
{"jsonrpc":"2.0","id":"4","method":"ping"}
"#;

/// Serves a client that says the bytes, and one that says the true messages with damage.
pub fn run(bytes: &[u8]) {
    serve(bytes.to_vec());
    serve(damaged(TRUE, bytes));
}

fn serve(bytes: Vec<u8>) {
    let server = Server::new(Identity::new("fuzz", "0"), Limits::default());
    let served = RUNTIME.spawn(async move {
        // A client that is no client ends its own session: any error is as good as none.
        let _ = server.serve(std::io::Cursor::new(bytes), tokio::io::sink()).await;
    });
    RUNTIME.block_on(served).expect("no panic");
}
