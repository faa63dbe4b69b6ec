//! `golem server run`: the services that hold components and workers, over HTTP. Only the routes and the
//! records are here; what a worker does is in `invoke`, and nothing here knows the command line.
//!
//! ```text
//! GET    /v1/components              all records of a kind
//! DELETE /v1/components              removes all of them
//! GET    /v1/components/NAME         one record
//! PUT    /v1/components/NAME         adds it, or changes the fields that are given
//! PATCH  /v1/components/NAME         changes it; it must be there
//! DELETE /v1/components/NAME         removes it
//! GET    /v1/workers/NAME/oplog      all that a worker did
//! POST   /v1/workers/NAME/invoke     calls a function of a worker
//! POST   /v1/workers/NAME/revert     takes back its last calls
//! ```

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::invoke;

/// The file in which the records outlive the services.
const FILE: &str = "golem-services.json";
/// The longest line, and the longest body, of a request.
const LINE_BYTES_MAX: u64 = 64 * 1024;
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How many headers a request may have.
const HEADERS_MAX: usize = 100;
/// How long a client may stay silent.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The kind of record that has an oplog.
const WORKERS: &str = "workers";
const OPLOGS: &str = "oplogs";

/// A status and its message.
type Reply = (u16, Value);

/// Serves in the working folder until the program is ended.
pub(crate) fn run(port: u16) -> Result<Value, String> {
    let told = |error: io::Error| format!("the services do not run: {error}");
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).map_err(told)?;
    let services = Arc::new(Mutex::new(Services::open().map_err(told)?));
    let address = listener.local_addr().map_err(told)?;
    writeln!(io::stdout(), "the services listen at http://{address}").map_err(told)?;
    for stream in listener.incoming().flatten() {
        let services = Arc::clone(&services);
        thread::spawn(move || {
            // A client that disconnects is not missed.
            let _ = serve(&stream, &services);
        });
    }
    Ok(Value::Null)
}

fn serve(stream: &TcpStream, services: &Mutex<Services>) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    let (status, body) = match Request::read(stream)? {
        Some(request) => services.lock().unwrap_or_else(PoisonError::into_inner).answer(&request),
        None => (400, json!({ "error": "this is no request" })),
    };
    let body = body.to_string();
    write!(
        &mut &*stream,
        "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// What is asked.
struct Request {
    method: String,
    /// The words of the path, decoded.
    path: Vec<String>,
    body: Value,
}

impl Request {
    /// None when it is no request, or a web page's.
    fn read(stream: &TcpStream) -> io::Result<Option<Self>> {
        let mut reader = BufReader::new(stream);
        let mut line = || -> io::Result<String> {
            let mut line = String::new();
            reader.by_ref().take(LINE_BYTES_MAX).read_line(&mut line)?;
            Ok(line.trim_end().to_owned())
        };
        let first = line()?;
        let mut length = 0;
        for _ in 0..HEADERS_MAX {
            let header = line()?.to_ascii_lowercase();
            match header.split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
                Some(("origin", _)) => return Ok(None),
                Some(_) => {}
                None => break,
            }
        }
        let mut words = first.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let decoded = |word: &str| percent_decode_str(word).decode_utf8().map(String::from).ok();
        let path: Option<Vec<String>> = path.split('/').skip(1).map(decoded).collect();
        if length > BODY_BYTES_MAX {
            return Ok(None);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = match body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&body)?,
        };
        Ok(path.map(|path| Self { method: method.to_owned(), path, body }))
    }
}

/// The records: of each kind, by name.
struct Services {
    kinds: Map<String, Value>,
}

impl Services {
    fn open() -> io::Result<Self> {
        match fs::read_to_string(FILE) {
            Ok(text) => Ok(Self { kinds: serde_json::from_str(&text)? }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { kinds: Map::new() }),
            Err(error) => Err(error),
        }
    }

    fn answer(&mut self, Request { method, path, body }: &Request) -> Reply {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let answer = match (method.as_str(), path.as_slice()) {
            ("GET", ["v1", kind]) => Ok(Value::Array(self.list(kind))),
            ("DELETE", ["v1", kind]) => self.clear(kind),
            ("GET", ["v1", kind, name]) => self.get(kind, name),
            ("PUT", ["v1", kind, name]) => self.put(kind, name, body),
            ("PATCH", ["v1", kind, name]) => {
                self.get(kind, name).and_then(|_| self.put(kind, name, body))
            }
            ("DELETE", ["v1", kind, name]) => self.delete(kind, name),
            ("GET", ["v1", WORKERS, name, "oplog"]) => {
                self.get(WORKERS, name).map(|_| Value::Array(self.oplog(name)))
            }
            ("POST", ["v1", WORKERS, name, "invoke"]) => self.invoke(name, body),
            ("POST", ["v1", WORKERS, name, "revert"]) => self.revert(name, body),
            _ => Err((404, format!("there is no {method} /{}", path.join("/")))),
        };
        match answer {
            Ok(value) => (200, value),
            Err((status, message)) => (status, json!({ "error": message })),
        }
    }

    fn list(&self, kind: &str) -> Vec<Value> {
        let records = self.kinds.get(kind).and_then(Value::as_object);
        records.map(|records| records.values().cloned().collect()).unwrap_or_default()
    }

    fn get(&self, kind: &str, name: &str) -> Result<Value, (u16, String)> {
        let record = self.kinds.get(kind).and_then(|records| records.get(name));
        let singular = kind.strip_suffix('s').unwrap_or(kind).replace('-', " ");
        record.cloned().ok_or_else(|| (404, format!("there is no {singular} \"{name}\"")))
    }

    fn put(&mut self, kind: &str, name: &str, fields: &Value) -> Result<Value, (u16, String)> {
        let mut record = self.get(kind, name).unwrap_or_else(|_| json!({ "name": name }));
        if let (Some(record), Value::Object(fields)) = (record.as_object_mut(), fields) {
            record.extend(fields.clone());
        }
        self.insert(kind, name, record.clone())?;
        Ok(record)
    }

    fn insert(&mut self, kind: &str, name: &str, value: Value) -> Result<(), (u16, String)> {
        let records = self.kinds.entry(kind).or_insert_with(|| json!({}));
        if let Some(records) = records.as_object_mut() {
            records.insert(name.to_owned(), value);
        }
        self.write()
    }

    fn delete(&mut self, kind: &str, name: &str) -> Result<Value, (u16, String)> {
        let record = self.get(kind, name)?;
        let kinds: &[&str] = if kind == WORKERS { &[WORKERS, OPLOGS] } else { &[kind] };
        for kind in kinds {
            let records = self.kinds.get_mut(*kind).and_then(Value::as_object_mut);
            records.and_then(|records| records.remove(name));
        }
        self.write()?;
        Ok(json!({ "deleted": record }))
    }

    fn clear(&mut self, kind: &str) -> Result<Value, (u16, String)> {
        let count = self.list(kind).len();
        self.kinds.remove(kind);
        self.write()?;
        Ok(json!({ "removed": count }))
    }

    fn oplog(&self, name: &str) -> Vec<Value> {
        let oplog = self.kinds.get(OPLOGS).and_then(|oplogs| oplogs.get(name));
        oplog.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn invoke(&mut self, name: &str, body: &Value) -> Result<Value, (u16, String)> {
        self.get(WORKERS, name)?;
        let mut oplog = self.oplog(name);
        let key = body.get("idempotency_key").filter(|key| !key.is_null());
        let same = |entry: &&Value| key.is_some() && entry.get("idempotency_key") == key;
        if let Some(before) = oplog.iter().find(same) {
            return Ok(before.clone());
        }
        let result = invoke::result(&oplog, body).map_err(|message| (400, message))?;
        let mut entry = body.clone();
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("index".into(), (oplog.len() + 1).into());
            entry.insert("result".into(), result);
        }
        oplog.push(entry.clone());
        self.insert(OPLOGS, name, Value::Array(oplog))?;
        Ok(entry)
    }

    fn revert(&mut self, name: &str, body: &Value) -> Result<Value, (u16, String)> {
        self.get(WORKERS, name)?;
        let mut oplog = self.oplog(name);
        let number = |key: &str| {
            let number = body.get(key).and_then(Value::as_u64)?;
            Some(usize::try_from(number).unwrap_or(usize::MAX))
        };
        let left = match (number("last_oplog_index"), number("number_of_invocations")) {
            (Some(last), _) => last,
            (None, count) => oplog.len().saturating_sub(count.unwrap_or(0)),
        };
        let reverted = oplog.split_off(left.min(oplog.len()));
        self.insert(OPLOGS, name, Value::Array(oplog))?;
        Ok(json!({ "name": name, "reverted": reverted.len() }))
    }

    fn write(&self) -> Result<(), (u16, String)> {
        let text = Value::Object(self.kinds.clone()).to_string();
        let new = format!("{FILE}.new");
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, PathBuf::from(FILE)));
        written.map_err(|error| (500, format!("the records cannot be written: {error}")))
    }
}
