//! Requests as bytes on a socket of their own, and replies as they come: nothing here puts right what
//! is sent, and a reply that was cut off is never taken for a whole one.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// How long an answer may take before its node counts as silent. Generous: machines are busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How much of a reply is kept.
const REPLY_BYTES_MAX: usize = 64 << 20;

/// A reply that came whole.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: Vec<u8>,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// Nobody listens, or the connection was cut before or in the reply.
    Cut(String),
    /// The time was over.
    Silent,
}

impl Reply {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines
        .filter(|(key, _)| key.trim().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
        .next()
}

/// A request of HTTP/1.1 whose connection ends with its reply.
pub(super) fn request(line: &str, host: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || !line.starts_with("GET") {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    [text.into_bytes(), body.to_vec()].concat()
}

/// Opens a connection.
pub(super) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CONNECT)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends bytes, and gives the reply to them.
pub(super) fn exchange(
    address: SocketAddr,
    bytes: &[u8],
    patience: Duration,
) -> Result<Reply, Gone> {
    let begin = Instant::now();
    let cut = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Gone::Silent,
        _ => Gone::Cut(error.to_string()),
    };
    let mut stream = connect(address).map_err(cut)?;
    stream.set_write_timeout(Some(patience)).map_err(cut)?;
    // One that does not want all of a request may have answered and cut it off: its answer counts.
    let sent = stream.write_all(bytes);
    let mut all = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let left = patience.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Err(Gone::Silent);
        }
        stream.set_read_timeout(Some(left)).map_err(cut)?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => all.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if all.is_empty() => return Err(cut(sent.err().unwrap_or(error))),
            Err(_) => break,
        }
        if all.len() > REPLY_BYTES_MAX {
            return Err(Gone::Cut("the reply is too long to be kept".to_owned()));
        }
        // A server that keeps the connection has answered once its reply is whole.
        if let Some(reply) = parse(&all, false) {
            return Ok(reply);
        }
    }
    parse(&all, true).ok_or_else(|| Gone::Cut("the reply was cut off".to_owned()))
}

/// The reply in these bytes, when it is whole.
fn parse(bytes: &[u8], ended: bool) -> Option<Reply> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
    let rest = bytes.get(end + 4..)?;
    let status: u16 = head.split_whitespace().nth(1)?.parse().ok()?;
    if (100..200).contains(&status) {
        return parse(rest, ended);
    }
    let body = match header(&head, "content-length") {
        Some(length) => rest.get(..length.parse().ok()?)?.to_vec(),
        None if header(&head, "transfer-encoding").is_some() => unchunked(rest)?,
        None if status == 204 || status == 304 => Vec::new(),
        None if ended => rest.to_vec(),
        None => return None,
    };
    Some(Reply { status, head, body })
}

/// The body in these chunks, when the last one is there.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(rest.get(..end)?).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        rest = rest.get(end + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_replies_are_replies() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(parse(whole, true).unwrap().text(), "abc");
        assert!(parse(whole.get(..whole.len() - 5).unwrap(), true).is_none());
        let length = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nx-y: z\r\n\r\nab";
        let reply = parse(length, false).unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (404, "ab"));
        assert_eq!(reply.header("x-y"), Some("z"));
        assert!(parse(length.get(..length.len() - 1).unwrap(), true).is_none());
        let open = b"HTTP/1.1 200 OK\r\n\r\nabc";
        assert!(parse(open, false).is_none());
        assert_eq!(parse(open, true).unwrap().text(), "abc");
        let early = [b"HTTP/1.1 100 Continue\r\n\r\n", &length[..]].concat();
        assert_eq!(parse(&early, false).unwrap().status, 404);
    }
}
