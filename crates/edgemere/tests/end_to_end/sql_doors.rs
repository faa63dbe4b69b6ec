//! SQL at every door: whose rows are asked, how a request says so, and in whose words a refusal tells the
//! next step.

use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::member::{Member, own_address};
use crate::support::{Node, parts, run, run_with_input, wait_for};

const COUNT: &str = "select count(*) as c from t";

/// An operator with three rows, and a query node with none.
struct Pair {
    operator: Member,
    query: Member,
}

impl Pair {
    async fn start() -> Self {
        let address = own_address();
        let mut operator = Member::new("one", "master,operator", &address, None);
        let mut query = Member::new("q", "query", &own_address(), Some(&address));
        operator.start();
        query.start();
        store(operator.up()).await;
        let pair = Self { operator, query };
        wait_for("the table on the query node", || {
            let (tables, ..) = pair.query.up().run(&["get tables where dbms = d and format = mcp"]);
            tables.contains("\"t\"").then_some(())
        });
        pair
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.query.up().url())
    }
}

async fn store(node: &Node) {
    let rows = json!([{ "n": 1 }, { "n": 2 }, { "n": 3 }]);
    let put = Client::new().put(node.url()).header("dbms", "d").header("table", "t").json(&rows);
    assert_eq!(put.send().await.unwrap().status(), 200);
}

/// A URL with a query.
fn with(url: &str, pairs: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{url}?{query}")
}

async fn text(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Every way to ask a count over HTTP.
fn requests(pair: &Pair) -> Vec<(&'static str, RequestBuilder)> {
    let client = Client::new();
    let command = format!("sql d format = csv and stat = false {COUNT}");
    let query = json!({ "dbms": "d", "sql": COUNT });
    let url = [("dbms", "d"), ("sql", COUNT), ("format", "csv")];
    vec![
        ("a header", client.get(pair.url("/")).header("command", &command)),
        ("the URL", client.get(with(&pair.url("/"), &[("command", &command)]))),
        ("a body", client.post(pair.url("/")).json(&json!({ "command": command }))),
        ("a query body", client.post(pair.url("/")).json(&query)),
        ("POST sql", client.post(pair.url("/api/v1/sql")).json(&query)),
        ("GET sql", client.get(with(&pair.url("/api/v1/sql"), &url))),
        (
            "answers",
            client
                .post(pair.url("/api/v1/answers"))
                .json(&json!({ "command": format!("sql d {COUNT}"), "rows": 5 })),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_rows_asks_the_network_at_every_door() {
    let pair = Pair::start().await;
    for (door, request) in requests(&pair) {
        let (status, told) = text(request).await;
        assert!(status == 200 && told.contains('3'), "{door}: {status} {told}");
    }
    let query = json!({ "dbms": "d", "sql": COUNT });
    let job = Client::new().post(pair.url("/api/v1/jobs")).json(&query).send().await.unwrap();
    assert_eq!(job.status(), StatusCode::ACCEPTED);
    let id = job.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let rows = Client::new().get(pair.url(&format!("/api/v1/jobs/{id}/rows")));
    assert_eq!(text(rows.header("accept", "text/csv")).await, (200, "c\n3\n".into()));
    let node = pair.query.up();
    let sql = |more: &[&str]| {
        let args = [&["sql", "d", COUNT, "--node", &node.http], more].concat();
        parts(&run(node.folder.path(), &args))
    };
    assert_eq!(sql(&[]), ("c\n3\n".into(), String::new(), 0));
    let (plan, _, code) = node.run(&[&format!("query explain sql d {COUNT}")]);
    assert!(code == 0 && plan.contains(&pair.operator.network), "{plan}");
    // The node itself has nothing, and says so in the words of the door.
    let (_, stderr, code) = sql(&["--local"]);
    assert_eq!(code, 3);
    assert!(stderr.contains("add --network") && !stderr.contains("header"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn destination_and_subset_are_said_in_the_same_ways_at_every_door() {
    let mut pair = Pair::start().await;
    for (door, request) in requests(&pair) {
        let (status, told) = text(request.header("destination", "local")).await;
        assert_eq!(status, 404, "{door}: {told}");
        assert!(told.contains("destination: network"), "{door}: {told}");
        assert!(told.contains(r#""next":{"step":"ask_network"}"#), "{door}: {told}");
    }
    let sql = || Client::new().post(pair.url("/api/v1/sql"));
    let query = |key: &str, value: Value| {
        let mut query = json!({ "dbms": "d", "sql": COUNT });
        query[key] = value;
        query
    };
    let plain = json!({ "dbms": "d", "sql": COUNT });
    let local = [
        sql().header("destination", "local").json(&plain),
        Client::new()
            .post(with(&pair.url("/api/v1/sql"), &[("destination", "local")]))
            .json(&plain),
        sql().json(&query("destination", json!("local"))),
    ];
    for request in local {
        assert_eq!(text(request).await.0, 404);
    }
    // The body counts more than the URL, and the URL more than a header: what a hint names works.
    let network =
        sql().header("destination", "local").json(&query("destination", json!("network")));
    assert_eq!(text(network).await.0, 200);
    for wrong in
        [("subset", json!("perhaps")), ("max_time", json!("soon")), ("destinatoin", json!(1))]
    {
        let (status, told) = text(sql().json(&query(wrong.0, wrong.1))).await;
        assert!(status == 400 && told.contains("is not understood"), "{told}");
    }
    pair.operator.kill();
    let sql = || Client::new().post(pair.url("/api/v1/sql"));
    let (status, told) = text(sql().json(&plain)).await;
    assert!(status == 503 && told.contains("subset: true"), "{told}");
    let node = pair.query.up();
    let args = ["sql", "d", COUNT, "--node", &node.http];
    let (_, stderr, _) = parts(&run(node.folder.path(), &args));
    assert!(stderr.contains("with --subset") && !stderr.contains("subset: true"), "{stderr}");
    let some = [
        sql().header("subset", "true").json(&plain),
        Client::new().post(with(&pair.url("/api/v1/sql"), &[("subset", "true")])).json(&plain),
        sql().json(&query("subset", json!(true))),
        Client::new().get(with(
            &pair.url("/api/v1/sql"),
            &[("dbms", "d"), ("sql", COUNT), ("subset", "true")],
        )),
    ];
    // Where nobody is left to answer, there is no answer.
    for request in some {
        let (status, told) = text(request).await;
        assert!(status == 503 && told.contains("operator one"), "{told}");
    }
}

fn read(node: &Node, method: Method, sql: &str, format: &str) -> RequestBuilder {
    let query = [("dbms", "d"), ("sql", sql), ("format", format)];
    Client::new().request(method, with(&format!("{}/api/v1/sql", node.url()), &query))
}

#[tokio::test]
async fn a_result_is_read_as_a_file() {
    let node = Node::start(&["--name", "n", "--register", "false"]);
    store(&node).await;
    for format in ["csv", "ndjson", "json", "json:list", "arrow", "parquet", "table"] {
        let head =
            read(&node, Method::HEAD, "select n from t order by n", format).send().await.unwrap();
        assert_eq!(head.status(), 200, "{format}");
        let header = |name: &str| head.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("accept-ranges"), "bytes", "{format}");
        let length: usize = header("content-length").parse().unwrap();
        let whole =
            read(&node, Method::GET, "select n from t order by n", format).send().await.unwrap();
        assert_eq!(whole.headers()["content-length"].to_str().unwrap(), length.to_string());
        assert_eq!(whole.headers()["etag"].to_str().unwrap(), header("etag"), "{format}");
        let whole = whole.bytes().await.unwrap();
        assert_eq!(whole.len(), length, "{format}");
        let range = |range: &str| {
            read(&node, Method::GET, "select n from t order by n", format).header("range", range)
        };
        let last = range("bytes=-4").send().await.unwrap();
        assert_eq!(last.status(), StatusCode::PARTIAL_CONTENT, "{format}");
        assert_eq!(last.bytes().await.unwrap(), whole.slice(length - 4..), "{format}");
        assert_eq!(range("bytes=999999-").send().await.unwrap().status(), 416);
        let other = range("bytes=0-1").header("if-match", "\"other\"").send().await.unwrap();
        assert_eq!(other.status(), StatusCode::PRECONDITION_FAILED);
    }
    // So are the rows of a job.
    let body = json!({ "dbms": "d", "sql": "select n from t order by n" });
    let job = Client::new().post(format!("{}/api/v1/jobs", node.url())).json(&body);
    let job: Value = job.send().await.unwrap().json().await.unwrap();
    let rows =
        format!("{}/api/v1/jobs/{}/rows?format=csv", node.url(), job["id"].as_str().unwrap());
    let head = Client::new().head(&rows).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], "8");
    let part = Client::new().get(&rows).header("range", "bytes=4-5");
    assert_eq!(text(part).await, (206, "2\n".into()));
    // Parts are of one answer, whatever is stored between them; a whole answer is always a new one.
    let count = || read(&node, Method::GET, "select count(*) as c from t", "csv");
    assert_eq!(text(count()).await.1, "c\n3\n");
    store(&node).await;
    assert_eq!(text(count().header("range", "bytes=2-")).await, (206, "3\n".into()));
    assert_eq!(text(count()).await.1, "c\n6\n");
    assert_eq!(text(count().header("range", "bytes=2-")).await, (206, "6\n".into()));
}

#[tokio::test]
async fn what_cannot_be_read_as_a_file_is_told() {
    let node = Node::start(&["--name", "n", "--register", "false"]);
    store(&node).await;
    for (sql, format, status, part) in [
        ("select n from t", "excel", 400, "give one of csv, ndjson"),
        ("select nope from t", "csv", 404, "nope"),
        ("drop table t", "csv", 403, "only queries"),
        ("select 1 / (n - n) from t", "csv", 400, ""),
    ] {
        let (found, told) = text(read(&node, Method::GET, sql, format)).await;
        assert!(found == status && told.contains(part), "{sql}: {found} {told}");
        let error: Value = serde_json::from_str(&told).unwrap();
        assert!(error["local_msg"].is_string(), "{error}");
    }
    let unknown =
        Client::new().get(format!("{}/api/v1/sql?dbms=d&sql=select+1&fromat=csv", node.url()));
    let (status, told) = text(unknown).await;
    assert!(status == 400 && told.contains("fromat"), "{told}");
}

/// What the page sends, as `page.js` has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_lists_tables_and_asks_for_rows() {
    let pair = Pair::start().await;
    let page = Client::new().get(pair.url("/")).header("accept", "text/html");
    let (_, html) = text(page).await;
    let (_, script) = text(Client::new().get(pair.url("/page.js"))).await;
    for id in ["sql", "dbms", "destination", "subset", "rows", "status", "tables", "command"] {
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
        assert!(script.contains(&format!("$(\"{id}\")")), "{id}");
    }
    assert!(!html.contains("http://") || html.contains("<dd>http://"), "nothing from elsewhere");
    let command = "get tables where dbms = * and format = mcp";
    assert!(script.contains(command) && script.contains("/api/v1/answers"));
    let tables = Client::new().get(with(&pair.url("/"), &[("command", command)]));
    let tables: Value = serde_json::from_str(&text(tables).await.1).unwrap();
    assert_eq!(tables, json!([{ "database": "d", "table": "t" }]));
    let origin = pair.query.up().url();
    let ask = |command: &str, rows: usize| {
        let body = json!({ "command": command, "rows": rows, "bytes": 1 << 20, "subset": false });
        let request = Client::new().post(pair.url("/api/v1/answers"));
        request.header("origin", &origin).header("sec-fetch-site", "same-origin").json(&body)
    };
    let sql = "sql \"d\" \"select n, '<b>' as \\\"<i>\\\"\\nfrom t order by n\"";
    let first: Value = serde_json::from_str(&text(ask(sql, 2)).await.1).unwrap();
    assert_eq!(first["columns"], json!(["n", "<i>"]));
    assert_eq!(first["rows"], json!([[1, "<b>"], [2, "<b>"]]));
    assert_eq!(first["answered"], json!(["one"]));
    let cursor = first["cursor"].as_str().unwrap();
    let (_, rest) = text(ask(&format!("query fetch \"{cursor}\""), 2)).await;
    let rest: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!((&rest["rows"], &rest["has_more"]), (&json!([[3, "<b>"]]), &json!(false)));
    let run = Client::new().post(pair.url("/")).header("origin", &origin);
    let run =
        run.json(&json!({ "command": "run client () sql d format = csv select count(*) from t" }));
    assert_eq!(text(run).await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shell_asks_the_network_and_tells_in_its_own_words() {
    let mut pair = Pair::start().await;
    let shell = |pair: &Pair, input: &str| {
        let node = pair.query.up();
        parts(&run_with_input(node.folder.path(), &["shell", "--node", &node.http], input))
    };
    let input =
        "use d;\nselect n\n  from t\n  order by n;\nget node name\nselect 1 as a; select 2 as b";
    let (stdout, stderr, code) = shell(&pair, input);
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.starts_with("n\n1\n2\n3\nq@"), "{stdout}");
    assert!(stdout.ends_with("a\n1\nb\n2\n"), "{stdout}");
    let (_, stderr, code) = shell(&pair, "\\local\nuse d\nselect n from t\n");
    assert_eq!(code, 3);
    assert!(stderr.contains("\\network") && stderr.contains("line 3"), "{stderr}");
    let (stdout, stderr, code) = shell(&pair, "select nope\nfrom t;\nselect 1;");
    assert_eq!((stdout.as_str(), code), ("", 3));
    assert!(stderr.contains("select nope\n         ^^^^"), "{stderr}");
    let (_, stderr, code) = shell(&pair, "use dd;");
    assert!(code == 3 && stderr.contains("no database \"dd\""), "{stderr}");
    pair.operator.kill();
    let (_, stderr, code) = shell(&pair, "select n from t;");
    assert_eq!(code, 6);
    assert!(stderr.contains("\\subset on"), "{stderr}");
    let (stdout, stderr, code) = shell(&pair, "\\subset on\nselect count(*) as c from t;");
    assert_eq!((stdout.as_str(), code), ("", 6));
    assert!(stderr.contains("operator one"), "{stderr}");
}
