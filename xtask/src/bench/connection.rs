//! One connection that is kept, and asks with as little work as possible: the client must not be
//! most of what is measured. It understands the answers of our own node and no others.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result, bail};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Connection {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { address, stream: BufReader::with_capacity(1 << 16, stream) })
    }

    /// The request that asks a command.
    pub(super) fn get(&self, command: &str) -> Vec<u8> {
        self.request("GET /", &[("command", command)], "")
    }

    /// A request with a body.
    pub(super) fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
        let mut text = format!("{line} HTTP/1.1\r\nHost: {}\r\n", self.address);
        text.push_str("User-Agent: AnyLog/1.23\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        text.into_bytes()
    }

    /// Asks, and gives the body of the answer.
    pub(super) fn ask(&mut self, request: &[u8]) -> Result<String> {
        self.stream.get_mut().write_all(request)?;
        read(&mut self.stream)
    }

    /// Asks, and hands the body of the answer over piece by piece, as it comes.
    pub(super) fn pieces(
        mut self,
        request: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.stream.get_mut().write_all(request)?;
        let (is_ok, status, length) = head(&mut self.stream)?;
        if !is_ok || length.is_some() {
            bail!("answered with \"{status}\"");
        }
        while let Some(size) = chunk(&mut self.stream)? {
            let mut left = size;
            while left > 0 {
                let buffer = self.stream.fill_buf()?;
                if buffer.is_empty() {
                    bail!("the answer was cut off");
                }
                let piece = buffer.get(..left).unwrap_or(buffer);
                each(piece)?;
                let taken = piece.len();
                self.stream.consume(taken);
                left -= taken;
            }
            self.stream.read_line(&mut String::new())?;
        }
        Ok(())
    }
}

/// The size of the next chunk; none at the end.
fn chunk(stream: &mut impl BufRead) -> Result<Option<usize>> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let size = usize::from_str_radix(line.trim(), 16).context("the answer was cut off")?;
    if size == 0 {
        stream.read_line(&mut line)?;
        return Ok(None);
    }
    Ok(Some(size))
}

/// Whether all is well, the first line, and the length of the body unless it comes in chunks.
fn head(stream: &mut impl BufRead) -> Result<(bool, String, Option<usize>)> {
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
    Ok((is_ok, status, length))
}

/// The whole body of an answer.
fn read(stream: &mut impl BufRead) -> Result<String> {
    let (is_ok, status, length) = head(stream)?;
    let mut body = Vec::new();
    match length {
        Some(length) => {
            body.resize(length, 0);
            stream.read_exact(&mut body)?;
        }
        None => {
            while let Some(size) = chunk(stream)? {
                if stream.by_ref().take(size as u64).read_to_end(&mut body)? < size {
                    bail!("the answer was cut off");
                }
                stream.read_line(&mut String::new())?;
            }
        }
    }
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

    #[test]
    fn an_answer_may_come_in_chunks() {
        let whole = "HTTP/1.1 200 OK\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        let mut stream = whole.repeat(2).leak().as_bytes();
        assert_eq!(read(&mut stream).unwrap(), "abcd");
        assert_eq!(read(&mut stream).unwrap(), "abcd");
        let mut cut = &b"HTTP/1.1 200 OK\r\n\r\n3\r\nabc\r\n"[..];
        assert!(read(&mut cut).is_err());
    }
}
