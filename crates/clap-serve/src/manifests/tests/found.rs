//! What is found, and what it is listed as.

use mcp_serve::Link;
use proptest::{collection::vec, prelude::*};

use super::{Tree, files, list, names, text};
use crate::manifests::{ManifestError, Manifests, address};

#[test]
fn the_folder_then_below_then_above() {
    let tree = Tree::of(&[
        "golem.yaml",
        "elsewhere/golem.yaml",
        "work/golem-base.yaml",
        "work/app/golem.yaml",
        "work/app/golem-prod.yaml",
        "work/app/golem.yml",
        "work/app/Golem.yaml",
        "work/app/z/golem.yaml",
        "work/app/a/golem.yaml",
        "work/app/a/z-golem.yaml",
        "work/app/a/b/golem.yaml",
        "work/app/a/golem-2.yaml",
        "work/app/b/c/d/golem-deep.yaml",
        "work/other/golem.yaml",
    ]);
    let expected = [
        "golem-prod.yaml",
        "golem.yaml",
        "a/golem-2.yaml",
        "a/golem.yaml",
        "a/b/golem.yaml",
        "b/c/d/golem-deep.yaml",
        "z/golem.yaml",
        "../golem-base.yaml",
        "../../golem.yaml",
    ];
    assert_eq!(tree.names("work/app"), expected);
    assert_eq!(tree.names("work/app"), expected, "the order stays");
}

#[test]
fn each_is_told_with_its_address_kind_and_size() {
    let tree = Tree::of(&["app/a.toml", "app/b.json", "app/c.al", "app/d e/f.yml", "g.yaml"]);
    let manifests =
        Manifests::around(tree.path("app"), ["*.toml", "*.json", "*.al", "*.yml", "*.yaml"]);
    let link = |file: &str, name: &str, mime_type: &str| Link {
        mime_type: Some(mime_type.to_owned()),
        size: Some(file.len() as u64),
        ..Link::new(tree.uri(file).replace(' ', "%20"), name)
    };
    let expected = [
        link("app/a.toml", "a.toml", "application/toml"),
        link("app/b.json", "b.json", "application/json"),
        link("app/c.al", "c.al", "text/plain"),
        link("app/d e/f.yml", "d e/f.yml", "application/yaml"),
        link("g.yaml", "../g.yaml", "application/yaml"),
    ];
    assert_eq!(list(&manifests.unwrap()), expected);
}

#[test]
fn what_others_made_is_left_out() {
    let tree = Tree::of(&[
        "golem.yaml",
        ".git/golem.yaml",
        ".hidden/golem.yaml",
        "node_modules/golem.yaml",
        "target/golem.yaml",
        "sub/node_modules/deep/golem.yaml",
        "sub/target/golem.yaml",
        "sub/.cache/golem.yaml",
        "sub/targets/golem.yaml",
    ]);
    assert_eq!(tree.names(""), ["golem.yaml", "sub/targets/golem.yaml"]);
    // Somebody who works in such a folder wants what is in it.
    assert_eq!(tree.names("target"), ["golem.yaml", "../golem.yaml"]);
    assert_eq!(tree.names(".hidden"), ["golem.yaml", "../golem.yaml"]);
}

#[test]
fn hidden_files_are_found_only_by_a_pattern_that_begins_with_a_dot() {
    let tree = Tree::of(&[".env", ".golem.yaml", "golem.yaml"]);
    let found = |pattern: &str| names(&Manifests::around(tree.path(""), [pattern]).unwrap());
    assert_eq!(found("*"), ["golem.yaml"]);
    assert_eq!(found("*.yaml"), ["golem.yaml"]);
    assert_eq!(found(".golem.*"), [".golem.yaml"]);
}

#[cfg(unix)]
#[test]
fn where_everybody_may_write_the_way_up_ends() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::of(&["golem.yaml", "shared/golem.yaml", "shared/me/app/golem.yaml"]);
    let anybody = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(tree.path("shared"), anybody).unwrap();
    assert_eq!(tree.names("shared/me/app"), ["golem.yaml"]);
    assert_eq!(tree.names("shared"), ["golem.yaml", "me/app/golem.yaml", "../golem.yaml"]);
    let manifests = tree.manifests("shared/me/app");
    assert_eq!(text(&manifests, &tree.uri("shared/golem.yaml")), None);
}

#[test]
fn odd_names_are_found_and_read() {
    let odd = [
        "golem-a b.yaml",
        "golem-ü€😀.yaml",
        "golem-100%.yaml",
        "golem-%41.yaml",
        "golem-a#b?c.yaml",
        "golem-two\nlines.yaml",
        "golem-\u{1b}[31m.yaml",
        "golem-\\x:y\"z'.yaml",
        "o d%d #/golem.yaml",
        "-rf/golem---.yaml",
    ];
    let tree = Tree::of(&odd);
    let manifests = tree.manifests("");
    let links = list(&manifests);
    assert_eq!(links.len(), odd.len());
    for link in &links {
        let said = text(&manifests, &link.uri).unwrap();
        assert_eq!(address::shown(&said), link.name, "each holds its own path");
        assert!(!link.name.chars().any(char::is_control), "{}", link.name);
        assert!(link.uri.is_ascii() && !link.uri.contains([' ', '#', '?', '\n']), "{}", link.uri);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_left_out() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::of(&["golem.yaml"]);
    let file = std::ffi::OsStr::from_bytes(b"golem-\xff.yaml");
    std::fs::write(tree.path("").join(file), "x").unwrap();
    let folder = tree.path("").join(std::ffi::OsStr::from_bytes(b"sub\xfe"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("golem.yaml"), "x").unwrap();
    assert_eq!(tree.names(""), ["golem.yaml"]);
    assert_eq!(text(&tree.manifests(""), &tree.uri("golem-%FF.yaml")), None);
    assert_eq!(text(&tree.manifests(""), &tree.uri("sub%FE/golem.yaml")), None);
    // The folder itself may have any name.
    let manifests = Manifests::around(&folder, ["golem.yaml"]).unwrap();
    let links = list(&manifests);
    assert_eq!(links[0].uri, tree.uri("sub%FE/golem.yaml"));
    assert_eq!(text(&manifests, &links[0].uri).as_deref(), Some("x"));
}

#[test]
fn a_folder_that_is_not_there_and_a_pattern_that_is_none_are_errors() {
    let tree = Tree::of(&["golem.yaml"]);
    for folder in ["nowhere", "golem.yaml"] {
        let error = Manifests::around(tree.path(folder), ["a"]).unwrap_err();
        assert!(matches!(error, ManifestError::Folder { .. }), "{error}");
    }
    let error = Manifests::around(tree.path(""), ["golem.yaml", "sub/*.yaml"]).unwrap_err();
    assert!(error.to_string().starts_with("\"sub/*.yaml\" is no pattern"), "{error}");
}

#[test]
fn a_folder_that_is_gone_has_no_manifests() {
    let tree = Tree::of(&["app/golem.yaml", "golem.yaml"]);
    let manifests = tree.manifests("app");
    std::fs::remove_dir_all(tree.path("app")).unwrap();
    assert_eq!(names(&manifests), ["../golem.yaml"]);
    assert_eq!(text(&manifests, &tree.uri("app/golem.yaml")), None);
}

const NAMES: &[&str] = &[
    "golem.yaml",
    "golem-x.yaml",
    "golem.yml",
    ".env",
    "target",
    "node_modules",
    ".git",
    "a",
    "b",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In any tree, from any folder in it, by the address of any file in it.
    #[test]
    fn what_is_listed_is_what_can_be_read(
        paths in vec(vec(prop::sample::select(NAMES), 1..6), 1..24),
        from in 0_usize..24,
    ) {
        let tree = Tree::of(&[]);
        for path in paths.iter().map(|path| tree.path(&path.join("/"))) {
            // Where one path needs a file and another a folder the first one has it.
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                std::fs::write(&path, "x").unwrap();
            }
        }
        let all = files(&tree.path(""));
        let folder = all[from % all.len()].parent().unwrap().to_owned();
        let manifests = Manifests::around(&folder, super::PATTERNS).unwrap();
        let mut listed: Vec<String> = list(&manifests).into_iter().map(|link| link.uri).collect();
        let uris = all.iter().map(|path| format!("file://{}", path.display()));
        let mut readable: Vec<String> =
            uris.filter(|uri| text(&manifests, uri).is_some()).collect();
        listed.sort();
        readable.sort();
        prop_assert_eq!(listed, readable);
    }
}
