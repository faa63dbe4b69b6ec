//! Files of tools: good ones and what their calls become, bad ones and all that is reported of them, and
//! the files that are shipped.
//!
//! A bad file is `tests/data/bad/NAME.yaml`, and what is reported of it is `NAME.txt` beside it. Write a
//! file, run `UPDATE_GOLDENFILES=1 cargo test --workspace --test tools_file`, and read what it wrote.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end where it fails"
)]

#[path = "tools_file/offered.rs"]
mod offered;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use edgemere_tools::{Bound, Kind, Surroundings, Tool, Toolbox, schema};
use serde_json::{Map, Value, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn load(name: &str) -> Toolbox {
    let path = folder("tests/data").join(name);
    Toolbox::load(&path, &Surroundings::empty()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn bind(tool: &Tool, arguments: Value) -> Bound {
    let ready =
        tool.bind(&object(arguments)).unwrap_or_else(|errors| panic!("{}: {errors}", tool.name));
    ready.command().unwrap()
}

/// What a call becomes: the command, and where it is sent.
fn call(toolbox: &Toolbox, name: &str, arguments: Value) -> String {
    let bound = bind(toolbox.tool(name).unwrap(), arguments);
    let command = edgemere_command::parse(&bound.command).unwrap();
    assert_eq!(command.declaration().name, bound.expected);
    match bound.destination {
        Some(destination) => format!("{} -> {}", destination, bound.command),
        None => bound.command.to_string(),
    }
}

fn refused(toolbox: &Toolbox, name: &str, arguments: Value) -> String {
    toolbox.tool(name).unwrap().bind(&object(arguments)).unwrap_err().to_string()
}

/// Compares with a file, or writes it.
fn golden(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        fs::write(path, text).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text, expected, "{}: run with UPDATE_GOLDENFILES=1", path.display());
}

/// No node checks again what comes with Edgemere.
#[test]
fn the_files_that_come_with_edgemere_are_right() {
    for file in ["tools.yaml", "edgelake.yaml"] {
        let text = fs::read_to_string(folder(file)).unwrap();
        let toolbox = Toolbox::from_text(file, &text, &Surroundings::empty());
        let toolbox = toolbox.unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(toolbox.tools().len(), 19);
    }
}

#[test]
fn every_bad_file_is_told_all_that_is_wrong() {
    let around = Surroundings::of([
        ("TOOL_NAME", "a-value-of-the-environment"),
        ("TOOL_DESCRIPTION", "text"),
        ("SECRET", "hunter2"),
    ]);
    // No program is in PATH, since there is none.
    let mut files: Vec<_> = fs::read_dir(folder("tests/data/bad"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    assert!(files.len() >= 8);
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let problems = Toolbox::from_text(&name, &text, &around).unwrap_err();
        let told = format!("{problems}\n");
        assert!(!told.contains("hunter2"), "values of the environment are not shown");
        for problem in problems.iter() {
            assert!(problem.line > 0 && problem.line <= text.lines().count(), "{problem}");
        }
        golden(&path.with_extension("txt"), &told);
    }
}

#[test]
fn six_tools_with_parsers_load_unchanged_and_answer_as_designed() {
    let toolbox = load("captures/parsers.yaml");
    let names: Vec<_> = toolbox.tools().iter().map(|tool| tool.name.as_str()).collect();
    let expected =
        ["list_databases", "list_tables", "get_schema", "node_status", "server_info", "query"];
    assert_eq!(names, expected);
    assert_eq!(call(&toolbox, "list_databases", json!({})), "blockchain get table bring.json");
    assert_eq!(
        call(&toolbox, "get_schema", json!({"database": "d", "table": "t"})),
        "get columns where dbms=\"d\" and table=\"t\" and format=json"
    );
    assert_eq!(call(&toolbox, "server_info", json!({})), "get version where format = mcp");
    assert_eq!(
        call(
            &toolbox,
            "query",
            json!({"database": "new_company", "table": "rand_data", "limit": 10})
        ),
        "network -> sql \"new_company\" format = \"mcp:columns\" \
         \"SELECT * FROM \\\"rand_data\\\" LIMIT 10\""
    );

    let policies = json!([
        {"table": {"name": "rand_data", "dbms": "new_company"}},
        {"table": {"name": "other", "dbms": "test"}},
        {"table": {"name": "more", "dbms": "new_company"}},
    ]);
    let answer = |name: &str, arguments: Value, reply: Value| {
        let tool = toolbox.tool(name).unwrap();
        let bound = bind(tool, arguments);
        tool.parser().unwrap().apply(reply, &bound.arguments).unwrap()
    };
    assert_eq!(
        answer("list_databases", json!({}), policies.clone()),
        json!(["new_company", "test"])
    );
    let tables = answer("list_tables", json!({"database": "new_company"}), policies);
    assert_eq!(tables, json!(["rand_data", "more"]));
    // All rows are wanted as they are: they come page by page, and nothing is picked out of a reply.
    assert!(toolbox.tool("query").unwrap().parser().is_none());
    assert!(toolbox.tool("node_status").unwrap().parser().is_none());
    assert_eq!(toolbox.tool("query").unwrap().kind, Kind::NetworkSql);
    assert_eq!(toolbox.tool("server_info").unwrap().kind, Kind::Internal);
}

#[test]
fn five_tools_with_format_mcp_load_unchanged() {
    let toolbox = load("captures/format_mcp.yaml");
    let names: Vec<_> = toolbox.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["list_database_schema", "get_schema", "node_status", "server_info", "query"]
    );
    assert_eq!(
        call(&toolbox, "get_schema", json!({"database": "new_company", "table": "rand_data"})),
        "get columns where dbms = \"new_company\" and table = \"rand_data\" and format = mcp"
    );
    // The captured call that EdgeLake answered with nothing.
    let arguments = json!({
        "database": "new_company", "table": "rand_data", "select": ["device_name", "count(*)"],
        "group_by": ["device_name"], "order_by": [{"column": "device_name", "direction": "DESC"}],
        "limit": 3,
    });
    assert_eq!(
        call(&toolbox, "query", arguments),
        "network -> sql \"new_company\" format = \"mcp\" \"SELECT device_name, count(*) FROM \
         \\\"rand_data\\\" GROUP BY device_name ORDER BY device_name desc LIMIT 3\""
    );
}

#[test]
fn what_was_added_to_the_form_of_queries_works() {
    let toolbox = load("good/additions.yaml");
    assert!(toolbox.testing());
    let pumps = toolbox.tool("hot_pumps").unwrap();
    assert_eq!(pumps.title.as_deref(), Some("Hot pumps"));
    assert_eq!(pumps.toolsets, ["site"]);
    assert!(pumps.annotations.read_only && !pumps.annotations.idempotent);
    assert!(pumps.annotations.open_world && !pumps.annotations.destructive);
    assert_eq!(pumps.limits.rows, Some(50));
    assert_eq!(pumps.limits.time, Some(Duration::from_secs(10)));
    assert_eq!((pumps.position.line, pumps.position.column), (7, 11));
    let [icon] = pumps.icons.as_slice() else { panic!("{:?}", pumps.icons) };
    assert_eq!((icon.src.as_str(), icon.sizes.len()), ("https://example.com/pump.svg", 2));
    let arguments =
        json!({"site": "o'hara", "pumps": ["a", "b'"], "word": "'x", "since": "now() - 1 day"});
    let bound = bind(pumps, arguments);
    assert!(bound.subset);
    assert_eq!(bound.timeout, Some(Duration::from_secs(5)));
    assert_eq!(bound.arguments["limit"], 80);
    let words = bound.command.replace("\\n", " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words,
        "sql \"water\" format = \"mcp:columns\" \"SELECT pump, max(temperature) AS hottest FROM readings WHERE \
         site = 'o''hara' AND temperature > 80 AND ts > (now() - 1 day) AND pump IN ('a', 'b''') AND \
         note LIKE '%''x%' GROUP BY pump ORDER BY hottest DESC\""
    );
    let sample = pumps.sample().unwrap();
    assert!(sample.command.contains("site = 'a' AND temperature > 80"), "{}", sample.command);

    let columns = json!({"table": "readings", "columns": ["ts", "Value"], "order": "ts desc"});
    assert_eq!(
        call(&toolbox, "columns", columns),
        "sql \"water\" format = \"csv\" \"SELECT \\\"ts\\\", \\\"value\\\" FROM \\\"readings\\\" ORDER BY ts \
         desc\""
    );
    assert!(toolbox.tool("columns").unwrap().sample().is_none(), "its columns are not known");

    let everything = json!({
        "database": "d", "table": "t", "include_tables": ["u", "v w"], "extend_fields": ["@ip", "+site"],
    });
    assert_eq!(
        call(&toolbox, "everything", everything),
        "sql \"d\" format = \"json\" and include = (\"u\", \"v w\") and extend = (@ip, +site) \
         \"SELECT * FROM \\\"t\\\" LIMIT 100\""
    );
}

#[test]
fn what_was_added_to_the_form_of_all_else_works() {
    let toolbox = load("good/additions.yaml");
    let nodes = json!({"nodes": ["10.0.0.1:32148", "plant-1"]});
    assert_eq!(
        call(&toolbox, "site_status", nodes),
        "\"10.0.0.1:32148\", \"plant-1\" -> get status"
    );
    let details = json!({"nodes": ["a:1"], "details": true});
    assert_eq!(call(&toolbox, "site_status", details), "\"a:1\" -> get status include statistics");
    assert_eq!(
        call(&toolbox, "formatted", json!({"database": "d", "prefix": "x\" y"})),
        "get columns where format = \"mcp\" and dbms = \"d\" and table = \"x\\\" y_readings\""
    );
    let policy = json!({"policy": {"device": {"name": "a \"b\"", "n": 1}}});
    assert_eq!(
        call(&toolbox, "site_policy", policy),
        "blockchain insert where policy = {\"device\": {\"name\": \"a \\\"b\\\"\", \"n\": 1}} and local = true"
    );
    assert!(!toolbox.tool("site_policy").unwrap().annotations.read_only);
    let words = toolbox.tool("words").unwrap();
    assert_eq!(words.kind, Kind::Cli);
    let bound = words.bind(&object(json!({"name": "a b", "tags": ["x", "y"]}))).unwrap();
    let program = bound.program().unwrap().program;
    let good = folder("tests/data/good").canonicalize().unwrap();
    assert_eq!(program.path, good.join("./words"));
    assert_eq!(program.folder, Some(good.join("..")));
    assert_eq!(program.args, ["list", "--name=a b", "--tag=x", "--tag=y", "--", "a b"]);
    assert!(words.annotations.read_only && words.annotations.open_world);
    // Nobody said what it does, so it may do anything.
    let unknown = toolbox.tool("unknown_effect").unwrap();
    assert!(!unknown.annotations.read_only && unknown.annotations.open_world);
    assert!(refused(&toolbox, "words", json!({"name": "a\0b"})).contains("NUL"));

    let prompt = &toolbox.prompts()[0];
    assert_eq!(
        prompt.text(&object(json!({"site": "A", "since": "Monday"}))).unwrap(),
        "Look at the site A since Monday; write {site} as it is."
    );
    assert_eq!(
        prompt.text(&object(json!({"site": "{since}"}))).unwrap(),
        "Look at the site {since}; write {site} as it is."
    );
    let errors = prompt.text(&object(json!({"sit": "A"}))).unwrap_err().to_string();
    assert_eq!(errors, "sit: unknown argument; did you mean \"site\"?\nsite: is missing");

    let resource = &toolbox.resources()[0];
    assert_eq!(resource.variables, ["database", "table"]);
    let bound = resource.bind(&object(json!({"database": "d", "table": "t u"}))).unwrap();
    assert_eq!(
        *bound.command,
        *"get columns where dbms = \"d\" and table = \"t u\" and format = json"
    );
}

#[test]
fn values_of_the_environment_are_values() {
    let text = r#"
tools:
  - name: columns
    description: "Columns of ${SITE:-the} site"
    command: get columns where dbms = ${DATABASE} and table = "${PREFIX:-a b}_{table}"
    input_schema:
      properties: {table: {type: string, default: "${TABLE}"}}
"#;
    let around = Surroundings::of([("DATABASE", "x and table = y) system ls"), ("TABLE", "t")]);
    let toolbox = Toolbox::from_text("t.yaml", text, &around).unwrap();
    assert_eq!(toolbox.tools()[0].description, "Columns of the site");
    assert_eq!(
        call(&toolbox, "columns", json!({})),
        "get columns where dbms = \"x and table = y) system ls\" and table = \"a b_t\""
    );
}

#[test]
fn files_include_others_and_never_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let tool =
        |name: &str| format!("tools: [{{name: {name}, description: d, command: get status}}]\n");
    fs::create_dir(folder.path().join("more")).unwrap();
    write("more/b.yaml", &format!("include: [../c.yaml]\n{}", tool("b")));
    write("c.yaml", &format!("{}toolsets: {{all: [c]}}\n", tool("c")));
    write(
        "a.yaml",
        &format!("include: [more/b.yaml, c.yaml]\n{}toolsets: {{all: [a, b]}}\n", tool("a")),
    );
    let path = folder.path().join("a.yaml");
    let toolbox = Toolbox::load(&path, &Surroundings::empty()).unwrap();
    let names: Vec<_> = toolbox.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["c", "b", "a"]);
    assert_eq!(toolbox.toolsets()[0].tools, ["c", "b", "a"]);
    assert_eq!(toolbox.files().len(), 3);
    assert!(toolbox.text().starts_with("include: [more/b.yaml"));

    write("c.yaml", "include: [a.yaml]\n");
    let told = Toolbox::load(&path, &Surroundings::empty()).unwrap_err().to_string();
    assert!(told.contains("c.yaml:1:11: the file includes itself"), "{told}");
    write("a.yaml", "include: [none.yaml]\n");
    let told = Toolbox::load(&path, &Surroundings::empty()).unwrap_err().to_string();
    assert!(told.contains("a.yaml:1:11: cannot read") && told.contains("none.yaml"), "{told}");
    let told = Toolbox::load(&folder.path().join("no.yaml"), &Surroundings::empty()).unwrap_err();
    assert!(told.to_string().contains("no.yaml: cannot read"), "{told}");
}

#[test]
fn the_schema_that_is_shipped_is_current() {
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    golden(&folder("tools.schema.json"), &text);
}

#[test]
fn the_shipped_tools_are_all_there_and_short() {
    let toolbox = Toolbox::builtin().unwrap_or_else(|problems| panic!("{problems}"));
    let mut names: Vec<_> = toolbox.tools().iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    let expected = [
        "cancel_job",
        "data_location",
        "explain",
        "fetch_rows",
        "get_schema",
        "help",
        "job_status",
        "list_database_schema",
        "list_databases",
        "list_nodes",
        "list_policies",
        "list_tables",
        "monitor_nodes",
        "node_status",
        "query",
        "query_with_increments",
        "sample",
        "server_info",
        "sql",
    ];
    assert_eq!(names, expected);
    let listed = toolbox.tools().iter().map(|tool| {
        json!({
            "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema,
            "annotations": {"readOnlyHint": tool.annotations.read_only},
        })
    });
    let bytes = listed.collect::<Value>().to_string().len();
    assert!(bytes < 7200, "{bytes} bytes leave too little room under 8 KB");
    assert_eq!(toolbox.prompts().len(), 3);
    for tool in toolbox.tools() {
        assert_eq!(tool.annotations.read_only, tool.name != "cancel_job", "{}", tool.name);
    }
}

#[test]
fn calls_of_the_shipped_tools_are_the_commands_that_they_say() {
    let toolbox = Toolbox::builtin().unwrap();
    let calls = [
        ("list_databases", json!({})),
        ("list_tables", json!({"database": "water"})),
        ("list_database_schema", json!({})),
        ("get_schema", json!({"database": "water", "table": "pumps"})),
        ("sample", json!({"database": "water", "table": "pumps"})),
        ("query", json!({"database": "water", "table": "pumps"})),
        (
            "query",
            json!({
                "database": "water", "table": "pumps", "select": ["site", "avg(value) as mean"],
                "where": "value > 9 or site = 'x'", "group_by": ["site"], "having": "avg(value) > 1",
                "order_by": ["mean desc", "site"], "limit": 5, "offset": 10,
            }),
        ),
        (
            "query",
            json!({"database": "water", "table": "pumps", "where": "", "order_by": [], "group_by": null}),
        ),
        ("sql", json!({"database": "water", "sql": "select 'a\"b' from t -- \\"})),
        (
            "query_with_increments",
            json!({
                "database": "water", "table": "pumps", "time_column": "ts", "unit": "hour",
                "select": ["avg(value)", "max(value) as top"], "start": "2026-01-01", "where": "site = 'x'",
            }),
        ),
        ("fetch_rows", json!({"cursor": "0b6c"})),
        ("explain", json!({"database": "water", "sql": "select 1"})),
        ("list_nodes", json!({})),
        ("data_location", json!({})),
        ("data_location", json!({"database": "water", "table": "pumps"})),
        ("monitor_nodes", json!({})),
        ("monitor_nodes", json!({"what": "cpu", "nodes": ["10.0.0.1:32148", "plant-1"]})),
        ("monitor_nodes", json!({"nodes": []})),
        ("list_policies", json!({})),
        ("list_policies", json!({"type": "operator", "where": "name = a or port > 5"})),
        ("node_status", json!({})),
        ("server_info", json!({})),
        ("job_status", json!({})),
        ("job_status", json!({"job": 8})),
        ("cancel_job", json!({"job": 8})),
    ];
    let lines = calls.map(|(name, arguments)| {
        format!("{name} {arguments}\n    {}\n", call(&toolbox, name, arguments.clone()))
    });
    golden(&folder("tests/data/calls.txt"), &lines.concat());
}

#[test]
fn calls_of_edgelakes_tools_are_the_commands_that_they_say() {
    let toolbox = Toolbox::edgelake().unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(toolbox.tools().len(), 19);
    let calls = [
        ("checkStatus", json!({"mode": "execute"})),
        ("getNodesList", json!({"mode": "execute"})),
        ("dataLocation", json!({"mode": "execute"})),
        ("dataLocation", json!({"dbms": "new_company", "table": "rand_data", "mode": "execute"})),
        ("listNetworkDatabases", json!({"mode": "execute"})),
        ("listLocalDatabases", json!({"mode": "execute"})),
        ("listLocalDatabases", json!({"nodes": "127.0.0.1:33148", "mode": "execute"})),
        ("listTables", json!({"dbms": "new_company", "mode": "execute"})),
        ("listColumns", json!({"dbms": "new_company", "table": "rand_data", "mode": "execute"})),
        ("monitorNodes", json!({"status_type": "cpu", "mode": "execute"})),
        (
            "monitorNodes",
            json!({
                "status_type": "status", "nodes": "127.0.0.1:33148,127.0.0.1:33158", "mode": "execute",
            }),
        ),
        ("monitorNodes", json!({"mode": "execute", "nodes": ""})),
        ("listPolicyTypes", json!({"mode": "execute"})),
        ("listPolicies", json!({"policyType": "operator", "mode": "execute"})),
        (
            "listPolicies",
            json!({
                "policyType": "operator", "whereCond": "name = operator1 or name = operator2",
            }),
        ),
        ("getRootPolicies", json!({"mode": "execute"})),
        ("getPolicyChildren", json!({"whereCond": "name = cluster1", "mode": "execute"})),
        ("listCommandsIndex", json!({"mode": "execute"})),
        ("listCommandsByIndex", json!({"key": "blockchain"})),
        ("helpCommand", json!({"command": "get columns"})),
        ("executeQuery", json!({"dbms": "new_company", "sql": "SELECT count(*) FROM rand_data"})),
        (
            "executeQuery",
            json!({
                "dbms": "new_company", "sql": "SELECT 1", "data_nodes": "127.0.0.1:33148", "mode": "execute",
            }),
        ),
        (
            "queryWithIncrement",
            json!({
                "dbms": "new_company", "table": "rand_data", "timeUnit": "hour", "intervalLength": 12,
                "timeColumn": "timestamp", "projections": ["min(timestamp)", "avg(value)"],
                "startTime": "2026-01-01T00:00:00Z", "endTime": "'2026-01-02'", "mode": "execute",
            }),
        ),
        ("getClusterNodeMapping", json!({"company": "New Company", "dbms": "new_company"})),
        ("listNetworkConnections", json!({"mode": "execute"})),
    ];
    let lines = calls.map(|(name, arguments)| {
        format!("{name} {arguments}\n    {}\n", call(&toolbox, name, arguments.clone()))
    });
    golden(&folder("tests/data/edgelake_calls.txt"), &lines.concat());
    assert!(refused(&toolbox, "executeQuery", json!({"mode": "curl"})).contains("mode: must be"));
}

#[test]
fn what_is_wrong_with_arguments_is_told_at_once() {
    let toolbox = Toolbox::builtin().unwrap();
    let told = refused(
        &toolbox,
        "query",
        json!({
            "table": "pumps; drop table pumps", "where": "value > (select 1)", "limit": "ten",
            "order_by": ["value desc; --"], "oder_by": [], "select": ["avg(value"],
        }),
    );
    let mut lines: Vec<_> = told.lines().collect();
    lines.sort_unstable();
    golden(&folder("tests/data/wrong_arguments.txt"), &format!("{}\n", lines.join("\n")));
}

#[test]
fn a_file_adds_to_the_tools_that_come_with_edgemere() {
    let text =
        "include: [edgemere]\ntools:\n  - {name: mine, description: Mine., command: get status}\n";
    let toolbox = Toolbox::from_text("mine.yaml", text, &Surroundings::empty()).unwrap();
    assert!(toolbox.tool("mine").is_some() && toolbox.tool("query").is_some());
    assert_eq!(toolbox.tools().len(), Toolbox::builtin().unwrap().tools().len() + 1);
    let twice = text.replace("name: mine", "name: query");
    let problems = Toolbox::from_text("mine.yaml", &twice, &Surroundings::empty()).unwrap_err();
    assert!(problems.to_string().contains("query"), "{problems}");
}
