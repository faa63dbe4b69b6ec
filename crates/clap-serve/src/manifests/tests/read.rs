//! What can be read, and by which address.

use mcp_serve::{Body, Resources};

use super::{Tree, read, text};

#[test]
fn text_is_text_and_the_rest_is_bytes() {
    let tree = Tree::of(&["golem.yaml", "golem-empty.yaml"]);
    std::fs::write(tree.path("golem-latin1.yaml"), b"name: caf\xe9").unwrap();
    tree.write("golem-empty.yaml", "");
    let manifests = tree.manifests("");
    let body = |file: &str| read(&manifests, &tree.uri(file)).unwrap();
    assert_eq!(body("golem.yaml"), Some(Body::Text("golem.yaml".to_owned())));
    assert_eq!(body("golem-empty.yaml"), Some(Body::Text(String::new())));
    assert_eq!(body("golem-latin1.yaml"), Some(Body::Bytes(b"name: caf\xe9".to_vec())));
}

#[test]
fn nothing_else_can_be_read() {
    let tree = Tree::of(&[
        "golem.yaml",
        "other/golem.yaml",
        "app/golem.yaml",
        "app/.env",
        "app/.git/golem.yaml",
        "app/secrets.yaml",
        "app/sub/golem.yaml",
        "app/target/golem.yaml",
    ]);
    let manifests = tree.manifests("app");
    let good = tree.uri("app/golem.yaml");
    assert!(text(&manifests, &good).is_some() && manifests.may_subscribe(&good));
    let (app, root) = (tree.uri("app"), tree.path("app").display().to_string());
    for bad in [
        // Other files.
        "file:///etc/passwd".to_owned(),
        format!("{app}/.env"),
        format!("{app}/secrets.yaml"),
        format!("{app}/.git/golem.yaml"),
        format!("{app}/target/golem.yaml"),
        format!("{app}/sub"),
        format!("{app}/nothing/golem.yaml"),
        app.clone(),
        format!("{app}/"),
        tree.uri("other/golem.yaml"),
        tree.uri("app2/golem.yaml"),
        tree.uri("appgolem.yaml"),
        // The same files, by other ways.
        format!("{app}/../golem.yaml"),
        format!("{app}/../app/golem.yaml"),
        format!("{app}/../other/golem.yaml"),
        format!("{app}/sub/../golem.yaml"),
        format!("{app}/./golem.yaml"),
        format!("{app}//golem.yaml"),
        format!("{app}/sub//golem.yaml"),
        format!("{app}/golem.yaml/"),
        format!("{app}/golem.yaml?"),
        format!("{app}/golem.yaml?x=1"),
        format!("{app}/golem.yaml#"),
        format!(" {good}"),
        format!("{good} "),
        format!("{good}\n"),
        // Percents.
        format!("{app}/%2e%2e/golem.yaml"),
        format!("{app}/%2E%2E/other/golem.yaml"),
        format!("{app}/..%2fother%2fgolem.yaml"),
        format!("{app}/sub%2Fgolem.yaml"),
        format!("{app}/%252e%252e/golem.yaml"),
        format!("{app}/golem.yaml%00"),
        format!("{app}/golem.yaml%00.txt"),
        format!("{app}/golem-%00.yaml"),
        format!("{app}/%67olem.yaml"),
        format!("{app}/golem%2Eyaml"),
        format!("{app}/golem-%0.yaml"),
        format!("{app}/golem-%FF.yaml"),
        format!("{app}/golem-\0.yaml"),
        // Other machines and schemes.
        format!("file://localhost{root}/golem.yaml"),
        format!("file://host{root}/golem.yaml"),
        format!("file://{root}@host/golem.yaml"),
        format!("file:{root}/golem.yaml"),
        format!("file:/{root}/golem.yaml"),
        format!("file:////{root}/golem.yaml"),
        format!("FILE://{root}/golem.yaml"),
        format!("http://{root}/golem.yaml"),
        format!("{root}/golem.yaml"),
        "golem.yaml".to_owned(),
        "../golem.yaml".to_owned(),
        "file://".to_owned(),
        String::new(),
    ] {
        assert_eq!(text(&manifests, &bad), None, "{bad}");
    }
}

#[test]
fn what_may_be_there_can_be_subscribed_to() {
    let tree = Tree::of(&["app/golem.yaml"]);
    let manifests = tree.manifests("app");
    for good in ["app/golem.yaml", "app/golem-later.yaml", "app/a/golem.yaml", "golem.yaml"] {
        assert!(manifests.may_subscribe(&tree.uri(good)), "{good}");
    }
    for bad in ["app/.env", "app/.git/golem.yaml", "other/golem.yaml", "app/../golem.yaml"] {
        assert!(!manifests.may_subscribe(&tree.uri(bad)), "{bad}");
    }
}
