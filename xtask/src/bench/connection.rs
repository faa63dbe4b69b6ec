//! One connection that is kept, and asks with as little work as possible: the client must not be
//! most of what is measured. It understands the answers of our own node and no others.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result, bail};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
}

impl Connection {
    pub(super) fn open(address: SocketAddr, command: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let headers = format!("Host: {address}\r\nUser-Agent: AnyLog/1.23\r\ncommand: {command}");
        let request = format!("GET / HTTP/1.1\r\n{headers}\r\n\r\n").into_bytes();
        Ok(Self { stream: BufReader::new(stream), request })
    }

    /// Asks, and gives the body of the answer.
    pub(super) fn ask(&mut self) -> Result<String> {
        self.stream.get_mut().write_all(&self.request)?;
        read(&mut self.stream)
    }
}

fn read(stream: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let is_ok = line.starts_with("HTTP/1.1 200 ");
    let status = line.trim().to_owned();
    let mut length = None;
    while line.trim() != "" {
        line.clear();
        stream.read_line(&mut line)?;
        let header = line.split_once(':');
        let found = header.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        length = found.and_then(|(_, value)| value.trim().parse().ok()).or(length);
    }
    let mut body = vec![0; length.context("an answer without content-length")?];
    stream.read_exact(&mut body)?;
    let body = String::from_utf8(body)?;
    if !is_ok {
        bail!("answered with \"{status}\": {body}");
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_one_after_the_other() {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx: y\r\n\r\nab";
        let failed = "HTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\nc";
        let mut stream = format!("{ok}{ok}{failed}").leak().as_bytes();
        assert_eq!(read(&mut stream).unwrap(), "ab");
        assert_eq!(read(&mut stream).unwrap(), "ab");
        let told = read(&mut stream).unwrap_err().to_string();
        assert_eq!(told, "answered with \"HTTP/1.1 404 Not Found\": c");
        assert!(read(&mut stream).is_err());
    }
}
