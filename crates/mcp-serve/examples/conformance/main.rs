//! What the official conformance suite asks a server to offer, on this crate: `cargo xtask conformance`
//! runs the suite against it. `--stdio` serves stdin and stdout, else the port is printed.

mod prompts;
mod resources;
mod tools;

use std::{io::Write, time::Duration};

use mcp_serve::{AllowedOrigins, Catalog, Identity, Limits, Server, serve_http};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut identity = Identity::new("conformance", env!("CARGO_PKG_VERSION"));
    identity.title = Some("The conformance suite's fixtures".to_owned());
    identity.instructions = Some("Call the tools that the suite names.".to_owned());
    // The suite makes many tasks in a short time, and may be run again.
    let limits = Limits {
        tasks_max: 4096,
        tasks_per_principal_max: 4096,
        // The suite looks at streams, too. That answers may be sent alone, the product's scenarios show.
        stream_after: Duration::ZERO,
        ..Limits::default()
    };
    let server = Server::new(identity, limits);
    server.publish(catalog(&server, false));
    if std::env::args().any(|arg| arg == "--stdio") {
        return server.serve_stdio().await;
    }
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    let router = server.router(AllowedOrigins::loopback());
    serve_http(&server, listener, router).await
}

/// All fixtures. The suite asks for changes of the lists: each change adds or takes one entry.
fn catalog(server: &Server, is_changed: bool) -> Catalog {
    let catalog = tools::add(Catalog::new(), server, is_changed);
    prompts::add(catalog, is_changed).resources(resources::Fixtures).completions(prompts::Words)
}
