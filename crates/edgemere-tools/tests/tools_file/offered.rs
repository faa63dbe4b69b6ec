//! What agents are offered: files for EdgeLake as they are, instructions, and a list that is short.

use super::*;

/// The snippets of the documents that Edgemere was made from, as they stand there.
#[test]
fn every_snippet_for_edgelake_loads_unchanged() {
    let mut loaded = 0;
    for entry in fs::read_dir(folder("tests/data/seeds")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = format!("tools:\n{}", fs::read_to_string(&path).unwrap());
        match Toolbox::from_text(&name, &text, &Surroundings::empty()) {
            Ok(toolbox) => {
                assert_eq!(toolbox.tools().len(), 1, "{name}");
                assert!(!toolbox.tools()[0].description.is_empty(), "{name}");
                loaded += 1;
            }
            // Its command is a placeholder, and no command.
            Err(problems) if name.contains("new_tool") => {
                assert!(problems.to_string().contains("get something"), "{problems}");
            }
            Err(problems) => panic!("{problems}"),
        }
    }
    assert_eq!(loaded, 7);
}

#[test]
fn the_builder_of_an_edgelake_file_takes_what_it_knows() {
    let listed = load("seeds.yaml");
    let arguments = json!({
        "database": "d", "table": "t", "select": ["a", "count(*)"], "group_by": ["a"],
        "order_by": ["a DESC", {"column": "b"}], "offset": 5,
    });
    for name in ["bare", "some"] {
        assert_eq!(
            call(&listed, name, arguments.clone()),
            "network -> sql \"d\" format = \"mcp:columns\" \"SELECT a, count(*) FROM \\\"t\\\" \
             GROUP BY a ORDER BY a DESC, b asc LIMIT 100 OFFSET 5\"",
            "{name}"
        );
    }
    // Agents are shown what the file lists, or all when it lists nothing.
    let shown = |name: &str| {
        let properties = &listed.tool(name).unwrap().input_schema["properties"];
        properties.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(shown("some"), ["database", "table"]);
    assert!(shown("bare").contains(&"order_by".to_owned()), "{:?}", shown("bare"));
    assert!(refused(&listed, "own", arguments).contains("group_by: unknown argument"));
    assert!(refused(&listed, "bare", json!({"database": "d"})).contains("table: is missing"));
}

/// What is listed has one type, and what is taken has both: agents send either.
#[test]
fn rows_are_ordered_by_texts_and_by_objects() {
    let toolbox = Toolbox::builtin().unwrap();
    let by = |order_by: Value| json!({"database": "d", "table": "t", "order_by": order_by});
    let built = call(
        &toolbox,
        "query",
        by(json!([{"column": "a", "direction": "DESC"}, {"column": "b"}, "c desc"])),
    );
    assert!(built.contains("ORDER BY a desc, b asc, c desc LIMIT 100"), "{built}");
    let wrong = refused(&toolbox, "query", by(json!([5])));
    assert!(wrong.contains("order_by[0]"), "{wrong}");
    let wrong = refused(&toolbox, "query", by(json!([{"column": "a", "direction": "up"}])));
    assert!(wrong.contains("order_by"), "{wrong}");
    let listed = &toolbox.tool("query").unwrap().input_schema["properties"]["order_by"];
    assert_eq!(listed["items"], json!({"type": "string"}));
}

#[test]
fn a_whole_select_stands_for_what_it_would_be_built_of() {
    let toolbox = Toolbox::builtin().unwrap();
    let sql = "SELECT 1 FROM a JOIN b USING (x)";
    let whole = call(&toolbox, "query", json!({"database": "d", "sql": sql, "stream": true}));
    assert_eq!(whole, format!("network -> sql \"d\" format = \"mcp:columns\" \"{sql}\""));
    let built = call(&toolbox, "query", json!({"database": "d", "table": "t"}));
    assert!(built.contains("FROM \\\"t\\\" LIMIT 100"), "{built}");
    assert!(refused(&toolbox, "query", json!({"database": "d"})).contains("table: is missing"));
}

#[test]
fn an_argument_says_whether_some_nodes_will_do() {
    let toolbox = Toolbox::builtin().unwrap();
    let subset = |arguments: Value| bind(toolbox.tool("sql").unwrap(), arguments).subset;
    assert!(!subset(json!({"database": "d", "sql": "SELECT 1"})));
    assert!(subset(json!({"database": "d", "sql": "SELECT 1", "subset": true})));
    let wrong = "tools:\n  - name: a\n    command:\n      template: get status\n      \
                 headers: {subset: \"{all}\"}\n";
    let problems = Toolbox::from_text("a.yaml", wrong, &Surroundings::empty()).unwrap_err();
    assert!(problems.to_string().contains("neither yes nor no"), "{problems}");
}

/// Every word with an underscore in the instructions is a tool of the same file.
#[test]
fn instructions_name_no_tool_that_is_not_there() {
    for toolbox in [Toolbox::builtin().unwrap(), Toolbox::edgelake().unwrap()] {
        let instructions = toolbox.instructions().unwrap();
        let words = instructions.split(|c: char| !c.is_alphanumeric() && c != '_');
        // These are keys of answers.
        let keys = ["next_cursor"];
        for word in words.filter(|word| word.contains('_') && !keys.contains(word)) {
            assert!(toolbox.tool(word).is_some(), "{word}");
        }
    }
    let none = Toolbox::from_text("a.yaml", "tools: []", &Surroundings::empty()).unwrap();
    assert_eq!(none.instructions(), None);
}

/// One first call, said the same in the instructions and in the descriptions.
#[test]
fn one_tool_is_the_one_to_start_with() {
    let toolbox = Toolbox::builtin().unwrap();
    let starts = toolbox.tools().iter().filter(|tool| tool.description.contains("Start here"));
    let starts: Vec<_> = starts.map(|tool| tool.name.as_str()).collect();
    assert_eq!(starts.len(), 1, "{starts:?}");
    assert!(toolbox.instructions().unwrap().contains(&format!("Start with {}.", starts[0])));
}

/// What a tool does is in its file and nowhere else.
#[test]
fn no_tool_is_known_by_name_in_the_code() {
    let crates = folder("..");
    let mut names: Vec<String> = Vec::new();
    for toolbox in [Toolbox::builtin().unwrap(), Toolbox::edgelake().unwrap()] {
        names.extend(toolbox.tools().iter().map(|tool| tool.name.clone()));
    }
    // Plain words stand in code for other things; and this is a method of EdgeLake's files.
    names.retain(|name| name.contains('_') && name != "server_info");
    assert!(names.len() > 10, "{names:?}");
    let folders = [
        "edgemere-tools/src",
        "mcp-serve/src",
        "clap-serve/src",
        "edgemere/src/server/mcp",
        "edgemere/src/cli/mcp",
        "edgemere/src/remote",
    ];
    let mut files = 0;
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| crates.join(folder)).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&path).unwrap_or_default();
        // Tests may call tools, and comments may name them.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let known = words.filter(|word| names.iter().any(|name| name == word));
            assert_eq!(known.collect::<Vec<_>>(), [""; 0], "{}: {line}", path.display());
        }
    }
    assert!(files > 100, "{files} files were read");
}

/// Every agent reads all of it before it does anything.
#[test]
fn the_list_of_tools_is_short_and_plain() {
    const TOKENS_MAX: usize = 1_400;
    const TOKEN_BYTES: usize = 4;
    let path = folder("../edgemere/tests/data/tools_list.json");
    let list: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let bytes = list.to_string().len();
    assert!(bytes <= TOKENS_MAX * TOKEN_BYTES, "{} tokens", bytes / TOKEN_BYTES);
    fn check(value: &Value, around: &str) {
        match value {
            Value::Object(object) => {
                assert!(!object.contains_key("additionalProperties"), "{around}");
                let kind = object.get("type");
                assert!(!kind.is_some_and(Value::is_array), "{around}: a choice of types");
                if object.get("enum").is_some_and(Value::is_array) {
                    assert!(kind.is_some_and(Value::is_string), "{around}: an enum without a type");
                }
                object.iter().for_each(|(key, value)| check(value, &format!("{around}/{key}")));
            }
            Value::Array(values) => values.iter().for_each(|value| check(value, around)),
            _ => {}
        }
    }
    check(&list, "");
}
