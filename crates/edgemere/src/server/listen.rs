//! Addresses: where the node listens, and under which address others know it.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpListener, UdpSocket};

/// An address that other machines reach, of a service that cannot tell callers apart.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP address {address} can be reached from other machines")]
pub(crate) struct NotLoopback {
    address: SocketAddr,
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on the {service} address {address}")]
pub(crate) struct CannotListen {
    service: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// A node that listens on every address of its machine does not know which of them others use.
#[derive(Debug, thiserror::Error)]
#[error("the network address {address} is every address of this machine, and others need one")]
pub(crate) struct NoAddress {
    address: SocketAddr,
}

/// Listens for people and programs, on this machine only.
pub(super) async fn http(address: SocketAddr) -> anyhow::Result<TcpListener> {
    if !address.ip().is_loopback() {
        return Err(NotLoopback { address }.into());
    }
    listen("HTTP", address).await
}

/// Listens for other nodes.
pub(super) async fn network(address: SocketAddr) -> anyhow::Result<TcpListener> {
    listen("network", address).await
}

async fn listen(service: &'static str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    Ok(listener.map_err(|source| CannotListen { service, address, source })?)
}

/// The address under which others know a node that listens there: the one that was given; the one
/// that it listens on; or, when that is all of them, the one from which it reaches its master.
pub(super) async fn advertised(
    asked: SocketAddr,
    bind: SocketAddr,
    given: Option<SocketAddr>,
    master: Option<&str>,
) -> anyhow::Result<SocketAddr> {
    let with_port = |mut address: SocketAddr| {
        if address.port() == 0 {
            address.set_port(bind.port());
        }
        address
    };
    if let Some(given) = given.filter(|given| !given.ip().is_unspecified()) {
        return Ok(with_port(given));
    }
    if !bind.ip().is_unspecified() {
        return Ok(bind);
    }
    match master {
        Some(master) => match towards(bind.ip(), master).await {
            Ok(ip) if !ip.is_unspecified() => Ok(SocketAddr::new(ip, bind.port())),
            _ => Err(NoAddress { address: asked }.into()),
        },
        None => Err(NoAddress { address: asked }.into()),
    }
}

/// The address of this machine from which another is reached. Nothing is sent.
async fn towards(any: IpAddr, other: &str) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(other).await?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn advertised_as(
        bind: &str,
        given: Option<&str>,
        master: Option<&str>,
    ) -> Option<String> {
        let given = given.map(|given| given.parse().unwrap());
        let bind = bind.parse().unwrap();
        let address = advertised(bind, bind, given, master).await;
        address.ok().map(|address| address.to_string())
    }

    #[tokio::test]
    async fn others_are_told_an_address_that_they_can_use() {
        let known = |address: &str| Some(address.to_owned());
        assert_eq!(advertised_as("127.0.0.1:5", None, None).await, known("127.0.0.1:5"));
        assert_eq!(advertised_as("0.0.0.0:5", Some("10.0.0.1:0"), None).await, known("10.0.0.1:5"));
        assert_eq!(advertised_as("0.0.0.0:5", Some("10.0.0.1:9"), None).await, known("10.0.0.1:9"));
        let master = Some("127.0.0.1:32048");
        assert_eq!(advertised_as("0.0.0.0:5", None, master).await, known("127.0.0.1:5"));
        assert_eq!(advertised_as("0.0.0.0:5", None, None).await, None);
        assert_eq!(advertised_as("0.0.0.0:5", Some("0.0.0.0:0"), None).await, None);
    }
}
