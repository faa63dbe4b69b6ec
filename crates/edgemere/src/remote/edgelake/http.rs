//! HTTP as EdgeLake speaks it. With an error it announces chunks and then sends plain JSON, or nothing but a
//! status line with the JSON in it; every client that holds to the protocol calls that cut off. So
//! replies are read here by hand, within bounds, one connection a call.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long the node has to take the call.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// How long a reply may take in all when nobody says how long.
const REPLY_TIME: Duration = Duration::from_secs(300);

/// How long a line of the head may be: an error is in the first one too.
const LINE_BYTES_MAX: usize = 64 << 10;

/// How many lines the head may have.
const LINES_MAX: usize = 100;

/// How long a body may be.
const BODY_BYTES_MAX: usize = 256 << 20;

/// What is sent.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: &'static str,
    /// Names and values of printable ASCII.
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) time: Option<Duration>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    #[error("no node answers at")]
    NoNode,
    #[error("no answer in time from the node at")]
    Late,
    #[error("there was no answer to this command from the node at")]
    Silent,
    #[error("the answer was cut off by the node at")]
    CutOff,
    #[error("the answer is too long from the node at")]
    TooLong,
    #[error("no answer in HTTP from the node at")]
    NotHttp,
}

/// Sends a call and reads the reply.
pub(super) async fn send(url: &Url, call: &Call) -> Result<Reply, Trouble> {
    let (host, port) = url.host_str().zip(url.port_or_known_default()).ok_or(Trouble::NoNode)?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let connecting = timeout(CONNECT_TIME, TcpStream::connect((bare, port))).await;
    let stream = connecting.map_err(|_| Trouble::NoNode)?.map_err(|_| Trouble::NoNode)?;
    let exchange = exchange(stream, head(&format!("{host}:{port}"), call));
    timeout(call.time.unwrap_or(REPLY_TIME), exchange).await.map_err(|_| Trouble::Late)?
}

/// The head of a call. What could end a line is left out, so that a value is never a header of its own.
fn head(host: &str, call: &Call) -> String {
    let mut head = format!("{} / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", call.method);
    for (name, value) in &call.headers {
        let value: String = value.chars().filter(|c| (' '..='~').contains(c)).collect();
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Content-Length: 0\r\n\r\n");
    head
}

async fn exchange(mut stream: TcpStream, head: String) -> Result<Reply, Trouble> {
    stream.write_all(head.as_bytes()).await.map_err(|_| Trouble::Silent)?;
    read(&mut BufReader::new(stream)).await
}

/// Reads a reply.
async fn read(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Reply, Trouble> {
    let first = line(reader).await?.ok_or(Trouble::Silent)?;
    let (status, reason) = status(&first).ok_or(Trouble::NotHttp)?;
    let mut length = None;
    let mut is_chunked = false;
    for count in 0.. {
        let line = line(reader).await?.ok_or(Trouble::CutOff)?;
        if line.is_empty() {
            break;
        }
        if count == LINES_MAX {
            return Err(Trouble::TooLong);
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<usize>().ok(),
            "transfer-encoding" => is_chunked = value.to_ascii_lowercase().contains("chunked"),
            _ => {}
        }
    }
    let body = match (is_chunked, length) {
        (true, _) => chunks(reader).await?,
        (false, Some(length)) => exact(reader, length).await?,
        (false, None) => rest(reader, Vec::new()).await?,
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    // The error may be in the first line and nowhere else.
    let body = if body.trim().is_empty() && reason.starts_with('{') { reason } else { body };
    Ok(Reply { status, body })
}

fn status(line: &str) -> Option<(u16, String)> {
    let mut parts = line.splitn(3, ' ');
    let is_http = parts.next()?.starts_with("HTTP/1.");
    let status = parts.next()?.parse::<u16>().ok().filter(|status| (100..600).contains(status))?;
    is_http.then(|| (status, parts.next().unwrap_or_default().trim().to_owned()))
}

/// A line without its end; none at the end of all.
async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<String>, Trouble> {
    let mut line = Vec::new();
    let mut limited = (&mut *reader).take(LINE_BYTES_MAX as u64);
    let count = limited.read_until(b'\n', &mut line).await.map_err(|_| Trouble::CutOff)?;
    match (count, line.ends_with(b"\n")) {
        (0, _) => Ok(None),
        (_, true) => Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned())),
        (count, false) if count >= LINE_BYTES_MAX => Err(Trouble::TooLong),
        (_, false) => Err(Trouble::CutOff),
    }
}

/// A body in chunks, or one that only says so.
async fn chunks(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Vec<u8>, Trouble> {
    let start = reader.fill_buf().await.map_err(|_| Trouble::CutOff)?;
    if !start.first().is_some_and(u8::is_ascii_hexdigit) {
        return rest(reader, Vec::new()).await;
    }
    let mut body = Vec::new();
    loop {
        let line = line(reader).await?.ok_or(Trouble::CutOff)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = match usize::from_str_radix(size, 16) {
            Ok(size) => size,
            // A text may begin with a letter that could be a digit of a size.
            Err(_) if body.is_empty() => return rest(reader, format!("{line}\n").into()).await,
            Err(_) => return Err(Trouble::CutOff),
        };
        if size == 0 {
            return Ok(body);
        }
        if size > BODY_BYTES_MAX - body.len() {
            return Err(Trouble::TooLong);
        }
        body.extend(exact(reader, size).await?);
        // The end of the chunk's line.
        if self::line(reader).await?.is_none_or(|end| !end.is_empty()) {
            return Err(Trouble::CutOff);
        }
    }
}

async fn exact(
    reader: &mut (impl AsyncBufRead + Unpin),
    length: usize,
) -> Result<Vec<u8>, Trouble> {
    if length > BODY_BYTES_MAX {
        return Err(Trouble::TooLong);
    }
    // Room is made as the bytes come, not as many as are announced.
    let mut body = Vec::new();
    let read = (&mut *reader).take(length as u64).read_to_end(&mut body).await;
    match read {
        Ok(read) if read == length => Ok(body),
        _ => Err(Trouble::CutOff),
    }
}

/// All that comes until the node hangs up.
async fn rest(
    reader: &mut (impl AsyncBufRead + Unpin),
    mut body: Vec<u8>,
) -> Result<Vec<u8>, Trouble> {
    let mut limited = (&mut *reader).take(BODY_BYTES_MAX as u64 + 1);
    limited.read_to_end(&mut body).await.map_err(|_| Trouble::CutOff)?;
    match body.len() <= BODY_BYTES_MAX {
        true => Ok(body),
        false => Err(Trouble::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(text: &str) -> Result<Reply, Trouble> {
        read(&mut text.as_bytes()).await
    }

    fn reply(status: u16, body: &str) -> Result<Reply, Trouble> {
        Ok(Reply { status, body: body.to_owned() })
    }

    #[tokio::test]
    async fn replies_are_read_as_edgelake_sends_them() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", reply(200, "[]")),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n",
                reply(200, "{\"a\":1}"),
            ),
            // Chunks are announced, and plain JSON comes.
            (
                "HTTP/1.1 400 {\"err_code\": 2}\r\nTransfer-Encoding: chunked\r\n\r\n{\"err_code\": 2}",
                reply(400, "{\"err_code\": 2}"),
            ),
            (
                "HTTP/1.1 400 {\"err_code\": 2}\r\nTransfer-Encoding: chunked\r\n\r\n",
                reply(400, "{\"err_code\": 2}"),
            ),
            ("HTTP/1.0 200 OK\r\n\r\nuntil the end", reply(200, "until the end")),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nadd it\r\nup",
                reply(200, "add it\nup"),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(read_all(text).await, expected, "{text}");
        }
    }

    #[tokio::test]
    async fn what_ends_too_early_or_never_is_told() {
        let cases = [
            ("", Trouble::Silent),
            ("HTTP/1.1 200 OK\r\n", Trouble::CutOff),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[]", Trouble::CutOff),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n[]", Trouble::TooLong),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n",
                Trouble::CutOff,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n{",
                Trouble::TooLong,
            ),
            ("SSH-2.0-OpenSSH\r\n\r\n", Trouble::NotHttp),
        ];
        for (text, expected) in cases {
            assert_eq!(read_all(text).await, Err(expected), "{text}");
        }
        let long = format!("HTTP/1.1 200 {}", "x".repeat(LINE_BYTES_MAX));
        assert_eq!(read_all(&long).await, Err(Trouble::TooLong));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(LINES_MAX + 1));
        assert_eq!(read_all(&many).await, Err(Trouble::TooLong));
    }

    #[test]
    fn a_value_is_never_a_header_of_its_own() {
        let headers = vec![("command", "get status\r\ndestination: 10.0.0.1:1".to_owned())];
        let call = Call { method: "GET", headers, time: None };
        let head = head("a:1", &call);
        assert!(head.contains("command: get statusdestination: 10.0.0.1:1\r\n"), "{head}");
    }
}
