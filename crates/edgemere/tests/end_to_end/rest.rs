//! REST as EdgeLake's clients speak it, against a real node.

use reqwest::{Client, Method, RequestBuilder, Response, header};
use serde_json::{Value, json};

use crate::support::Node;

fn get(node: &Node, command: &str) -> RequestBuilder {
    Client::new().get(node.url()).header("command", command)
}

fn post(node: &Node, command: &str) -> RequestBuilder {
    Client::new().post(node.url()).header("command", command)
}

async fn text(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn error(request: RequestBuilder) -> (u16, Value) {
    let (status, body) = text(request).await;
    (status, serde_json::from_str(&body).unwrap())
}

fn content_type(response: &Response) -> &str {
    response.headers().get(header::CONTENT_TYPE).unwrap().to_str().unwrap()
}

fn start() -> Node {
    Node::start(&["--name", "Query", "--register", "false"])
}

#[tokio::test]
async fn a_command_comes_in_a_header_the_url_or_a_body() {
    let node = start();
    let expected = (200, format!("Query@{} running", node.network));
    assert_eq!(text(get(&node, "get status")).await, expected);
    let url = format!("{}/?User-Agent=AnyLog/1.23?command=get%20status", node.url());
    assert_eq!(text(Client::new().get(url)).await, expected);
    let body = json!({ "command": "print \"é\" 'x'" });
    assert_eq!(text(Client::new().post(node.url()).json(&body)).await, (200, "é x".into()));
    let body = json!({ "command": "get status" });
    assert_eq!(text(Client::new().post(node.url()).json(&body)).await, expected);
}

#[tokio::test]
async fn replies_say_what_they_are() {
    let node = start();
    let plain = get(&node, "get status").send().await.unwrap();
    assert_eq!(content_type(&plain), "text/plain; charset=utf-8");
    let json = get(&node, "get status where format = json").send().await.unwrap();
    assert_eq!(content_type(&json), "application/json");
    assert!(json.headers().contains_key("x-request-id"));
    let html = get(&node, "get status").header("into", "html").send().await.unwrap();
    assert_eq!(content_type(&html), "text/html; charset=utf-8");
    assert!(html.text().await.unwrap().contains("running"));
}

#[tokio::test]
async fn variables_in_the_body_are_the_commands() {
    let node = start();
    let body = "<new_policy={\"device\" : {\"name\" : \"dev-2\",\n \"model\" : \"m2\"}}>";
    let insert = "blockchain insert where policy = !new_policy and local = true";
    assert_eq!(text(post(&node, insert).body(body)).await, (200, String::new()));
    let (_, names) = text(get(&node, "blockchain get device bring [name]")).await;
    assert_eq!(names, "dev-2");
    // They are this request's alone.
    assert_eq!(text(get(&node, "get !new_policy")).await.0, 404);
    let (status, said) = text(post(&node, "get node name").body("<set node name owned>")).await;
    assert!(status == 400 && said.contains("set node name"), "{said}");
}

#[tokio::test]
async fn many_clients_at_once_each_push_their_own_variable() {
    let node = start();
    let client = |number: usize| {
        let node = &node;
        async move {
            for turn in 0..50 {
                let body = format!("<p = {{\"device\": {{\"name\": \"d{number}-{turn}\"}}}}>");
                let (status, said) = text(post(node, "blockchain push !p").body(body)).await;
                assert_eq!(status, 200, "{said}");
            }
        }
    };
    futures_util::future::join_all((0..32).map(client)).await;
    let (_, names) =
        text(get(&node, "blockchain get device bring.unique [name] separator = ,")).await;
    assert_eq!(names.split(',').collect::<std::collections::HashSet<_>>().len(), 1600);
}

#[tokio::test]
async fn errors_are_edgelakes_object_with_an_honest_status() {
    let node = start();
    let (status, reply) = error(get(&node, "get statu")).await;
    assert_eq!(status, 400);
    assert_eq!(reply["method"], "get");
    assert_eq!(reply["node"], "127.0.0.1");
    assert_eq!(reply["err_code"], 2);
    assert_eq!(reply["err_text"], "Error Command Structure");
    assert_eq!(reply["hint"], "did you mean \"get status\"?");
    assert_eq!(reply["column"], 5);
    assert!(reply["request_id"].is_string());

    let push = "blockchain push {\"device\": {\"name\": \"d\"}}";
    let cases = [
        (get(&node, push), 400, 156),
        (get(&node, "foo bar"), 400, 141),
        (get(&node, "get !nothing"), 404, 138),
        (get(&node, "get columns where dbms = d and table = t"), 404, 132),
        (get(&node, "get status").header("destination", "network"), 400, 155),
        (get(&node, "get status").header("destination", "127.0.0.1:1"), 503, 208),
        (get(&node, "get status").header("timeout", "soon"), 400, 110),
        (Client::new().get(node.url()), 400, 110),
        (Client::new().post(node.url()), 400, 110),
        (Client::new().post(node.url()).body("{nonsense"), 400, 6),
        (Client::new().post(node.url()).body("[]"), 400, 6),
        (Client::new().post(node.url()).body("{\"dbms\": \"d\", \"sql\": \"s\"}"), 400, 46),
        (Client::new().post(node.url()).body("{\"dbms\": \"d\"}"), 400, 110),
    ];
    for (request, status, code) in cases {
        let (actual, reply) = error(request).await;
        assert_eq!((actual, &reply["err_code"]), (status, &json!(code)), "{reply}");
    }
    assert_eq!(text(post(&node, push)).await.0, 200);
    let (status, reply) = error(post(&node, push)).await;
    assert_eq!((status, &reply["err_code"]), (409, &json!(70)), "{reply}");
}

#[tokio::test]
async fn other_methods_and_paths_have_their_statuses() {
    let node = start();
    let send = async |method: Method, path: &str| {
        let response = Client::new().request(method, format!("{}{path}", node.url())).send().await;
        response.unwrap().status().as_u16()
    };
    assert_eq!(send(Method::OPTIONS, "/").await, 204);
    assert_eq!(send(Method::DELETE, "/").await, 405);
    assert_eq!(send(Method::GET, "/nothing").await, 404);
    assert_eq!(send(Method::GET, "/health").await, 200);
    let (_, status) = text(Client::new().get(format!("{}/api/status", node.url()))).await;
    assert_eq!(status, r#"{"status":"ok"}"#);
}

#[tokio::test]
async fn other_peoples_pages_are_kept_out() {
    let node = start();
    let foreign = [
        get(&node, "get status").header("origin", "http://example.com"),
        get(&node, "get status").header("origin", "null"),
        get(&node, "get status").header("host", "example.com"),
    ];
    for request in foreign {
        assert_eq!(error(request).await.0, 403);
    }
    let own = get(&node, "get status").header("origin", format!("http://{}", node.http));
    assert_eq!(text(own).await.0, 200);
}

#[tokio::test]
async fn a_browser_gets_a_page_that_loads_only_its_own() {
    let node = start();
    let request = Client::new().get(node.url()).header("accept", "text/html,*/*");
    let response = request.send().await.unwrap();
    let policy = response.headers().get("content-security-policy").unwrap().to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let page = response.text().await.unwrap();
    assert!(page.contains("This node is <strong>Query</strong>"), "{page}");
    for (path, kind) in [("/page.js", "text/javascript"), ("/page.css", "text/css")] {
        assert!(page.contains(path));
        let asset = Client::new().get(format!("{}{path}", node.url())).send().await.unwrap();
        assert!(content_type(&asset).starts_with(kind));
    }
}

#[tokio::test]
async fn metrics_count_commands_by_declared_names_only() {
    let node = start();
    for command in ["get status", "get status", "no such thing"] {
        text(get(&node, command)).await;
    }
    let (status, metrics) = text(Client::new().get(format!("{}/metrics", node.url()))).await;
    assert_eq!(status, 200);
    let expected = [
        "edgemere_commands_total{command=\"get status\",outcome=\"ok\"} 2",
        "edgemere_commands_total{command=\"unknown\",outcome=\"error\"} 1",
        "edgemere_command_duration_seconds_count{command=\"get status\"} 2",
        "edgemere_ledger_policies 0",
    ];
    for line in expected {
        assert!(metrics.lines().any(|known| known == line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn a_node_with_less_access_refuses_changes() {
    let node = Node::start(&["--access", "read", "--register", "false"]);
    assert_eq!(text(get(&node, "get status")).await.0, 200);
    let (status, reply) = error(post(&node, "x = 5")).await;
    assert_eq!((status, &reply["err_code"]), (403, &json!(212)));
}

#[tokio::test]
async fn a_long_or_broken_request_is_refused_and_the_node_goes_on() {
    let node = start();
    let long = "x".repeat(65 << 20);
    let (status, _) = error(Client::new().post(node.url()).body(long)).await;
    assert_eq!(status, 413);
    let (status, _) = error(Client::new().post(node.url()).body(vec![0xff, 0xfe])).await;
    assert_eq!(status, 400);
    let deep = format!("{{\"command\": \"blockchain push {}\"}}", "{'a':".repeat(10_000));
    assert_eq!(error(Client::new().post(node.url()).body(deep)).await.0, 400);
    assert_eq!(text(get(&node, "get status")).await.0, 200);
}

#[tokio::test]
async fn commands_reach_other_nodes() {
    let one = Node::start(&["--name", "one", "--register", "false"]);
    let two = Node::start(&["--name", "two", "--register", "false"]);
    let both = format!("{},{}", one.network, two.network);
    let (status, reply) = text(get(&one, "get node name").header("destination", &both)).await;
    let expected =
        format!("\n[From Node {0}] one@{0}\n[From Node {1}] two@{1}", one.network, two.network);
    assert_eq!((status, reply), (200, expected));
    let (_, table) = text(get(&one, "test node")).await;
    assert!(table.contains("Pass"), "{table}");
    assert_eq!(table.matches("running").count(), 2, "{table}");

    // An error there is an error here, of the same kind.
    let command = "get columns where dbms = d and table = t";
    let (status, reply) = error(get(&one, command).header("destination", &two.network)).await;
    assert_eq!((status, &reply["err_code"]), (404, &json!(132)));

    let gone = two.network.clone();
    drop(two);
    let request = get(&one, "get status where format = json").header("destination", &both);
    let (status, reply) = error(request.header("subset", "true")).await;
    assert_eq!(status, 200);
    assert_eq!(reply["messages"], format!("\n[From Node {gone}] Not responding"));
}

#[tokio::test]
async fn a_node_registers_itself_and_follows_its_own_move() {
    let node = Node::start(&["--name", "site", "--company", "Acme"]);
    let ports = "blockchain get (master, operator, query) bring.json [*] [*][port]";
    let port = |node: &Node| node.network.rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    let expected = |port: u16| {
        json!([
            { "policy": "master", "port": port },
            { "policy": "operator", "port": port },
            { "policy": "query", "port": port },
        ])
    };
    assert_eq!(error(get(&node, ports)).await.1, expected(port(&node)));
    let (_, network) = text(get(&node, "test network")).await;
    assert_eq!(network.matches('+').count(), 3, "{network}");
    let folder = node.kill();
    let node = Node::start_in(folder, &["--name", "site", "--company", "Acme"]);
    assert_eq!(error(get(&node, ports)).await.1, expected(port(&node)));
}

#[tokio::test]
async fn a_put_followed_by_a_select_gives_the_row_back() {
    let node = start();
    let put = |body: &'static str| {
        let put = Client::new().put(node.url()).header("dbms", "d").header("table", "t");
        put.header("type", "json").header("mode", "streaming").body(body)
    };
    for number in 0..20 {
        let body: &'static str = Box::leak(format!("{{\"i\": {number}}}").into_boxed_str());
        let (status, reply) = error(put(body)).await;
        assert_eq!((status, &reply["AnyLog.status"]), (200, &json!("Success")), "{reply}");
        let sql = "sql d format = mcp select count(*) as n, max(i) as m from t";
        assert_eq!(error(get(&node, sql)).await.1, json!([{ "n": number + 1, "m": number }]));
    }
    let (status, reply) = error(put("[{\"i\": \"x\"}, {\"i\": 100}]")).await;
    assert_eq!(status, 207, "{reply}");
    assert_eq!((&reply["stored"], &reply["rejected"]), (&json!(1), &json!(1)));
    assert_eq!(reply["rows"][0]["row"], 1);
    for (body, expected) in [("[{\"i\": \"x\"}]", 400), ("[{", 400), ("", 400)] {
        let (status, reply) = error(put(body)).await;
        assert_eq!(status, expected, "{reply}");
    }
    let no_table = Client::new().put(node.url()).header("dbms", "d").body("[{}]");
    assert_eq!(error(no_table).await.0, 400);
}

#[tokio::test]
async fn rows_come_in_and_go_out_in_several_forms() {
    let node = start();
    let ingest = |kind: &'static str, body: &'static str| {
        let url = format!("{}/api/v1/ingest/d/t", node.url());
        Client::new().post(url).header("content-type", kind).body(body)
    };
    let stored = |rows: usize| (200, json!({ "stored": rows }));
    let (status, first) = error(ingest("application/json", "[{\"a\": 1, \"b\": \"x\"}]")).await;
    let created = json!([{ "name": "a", "type": "int" }, { "name": "b", "type": "char(1)" }]);
    assert_eq!((status, first), (200, json!({ "stored": 1, "created": created })));
    assert_eq!(error(ingest("application/x-ndjson", "{\"a\": 2}\n{\"a\": 3}\n")).await, stored(2));
    assert_eq!(error(ingest("text/csv", "a,b\n4,y\n")).await, stored(1));
    assert_eq!(error(ingest("image/png", "x")).await.0, 415);
    let query = |accept: &'static str| {
        let url = format!("{}/api/v1/sql", node.url());
        let body = json!({ "dbms": "d", "sql": "select a, b from t where a in (1, 4) order by a" });
        Client::new().post(url).header("accept", accept).json(&body)
    };
    let lines = "{\"a\":1,\"b\":\"x\"}\n{\"a\":4,\"b\":\"y\"}\n";
    assert_eq!(text(query("*/*")).await, (200, lines.into()));
    assert_eq!(text(query("application/x-ndjson")).await, (200, lines.into()));
    assert_eq!(text(query("text/csv")).await, (200, "a,b\n1,x\n4,y\n".into()));
    let whole = "{\"rows\":[{\"a\":1,\"b\":\"x\"},{\"a\":4,\"b\":\"y\"}],\"total_rows\":2}";
    assert_eq!(text(query("application/json")).await, (200, whole.into()));
    assert_eq!(error(query("image/png")).await.0, 400);
    let body = json!({ "dbms": "d", "sql": "select count(*) from t" });
    let (status, reply) = error(Client::new().post(node.url()).json(&body)).await;
    assert_eq!((status, reply), (200, json!({ "Query": [{ "count(*)": 4 }] })));
    let body = json!({ "dbms": "d", "sql": "drop table t" });
    assert_eq!(error(Client::new().post(node.url()).json(&body)).await.0, 403);
}
