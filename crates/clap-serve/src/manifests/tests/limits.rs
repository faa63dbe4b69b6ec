//! However much there is, it is looked at within limits.

use mcp_serve::Body;

use super::{ManifestLimits, Tree, list, names, read, text};
use crate::manifests::walk::walk;

fn cut(manifests: &crate::manifests::Manifests) -> bool {
    walk(&manifests.0.rules).is_cut
}

#[test]
fn so_deep_and_no_deeper() {
    let tree = Tree::of(&["1/2/3/4/5/6/7/8/golem.yaml", "1/2/3/4/5/6/7/8/9/golem.yaml"]);
    let manifests = tree.manifests("");
    assert_eq!(names(&manifests), ["1/2/3/4/5/6/7/8/golem.yaml"]);
    assert_eq!(text(&manifests, &tree.uri("1/2/3/4/5/6/7/8/9/golem.yaml")), None);
    assert!(!cut(&manifests));
    let manifests = manifests.within(ManifestLimits { depth_max: 0, ..Default::default() });
    assert_eq!(names(&manifests), [""; 0]);
}

#[test]
fn so_far_up_and_no_farther() {
    let tree = Tree::of(&["golem.yaml", "1/golem.yaml", "1/2/golem.yaml", "1/2/3/golem.yaml"]);
    let limits = ManifestLimits { parents_max: 2, ..Default::default() };
    let manifests = tree.manifests("1/2/3").within(limits);
    assert_eq!(names(&manifests), ["golem.yaml", "../golem.yaml", "../../golem.yaml"]);
    assert_eq!(text(&manifests, &tree.uri("golem.yaml")), None);
    let limits = ManifestLimits { parents_max: 0, ..Default::default() };
    assert_eq!(names(&tree.manifests("1/2/3").within(limits)), ["golem.yaml"]);
}

#[test]
fn ten_thousand_manifests_are_cut_to_the_nearest_thousand() {
    let tree = Tree::of(&["golem.yaml", "app/a/golem.yaml", "app/golem.yaml", "app/z/golem.yaml"]);
    for number in 0..10_000 {
        std::fs::write(tree.path("app/a").join(format!("golem-{number:05}.yaml")), "").unwrap();
    }
    let manifests = tree.manifests("app");
    let found = names(&manifests);
    assert_eq!(found.len(), 1_000);
    assert_eq!(found[..2], ["golem.yaml", "a/golem-00000.yaml"]);
    assert_eq!(found[998..], ["a/golem-00997.yaml", "../golem.yaml"]);
    assert!(cut(&manifests));
    assert_eq!(names(&manifests), found, "always the same ones");
}

#[test]
fn ten_thousand_other_files_are_in_nobodys_way() {
    let tree = Tree::of(&["golem.yaml", "zzz/golem.yaml"]);
    for number in 0..10_000 {
        std::fs::write(tree.path("").join(format!("{number}.txt")), "").unwrap();
    }
    assert_eq!(tree.names(""), ["golem.yaml", "zzz/golem.yaml"]);
    assert!(!cut(&tree.manifests("")));
    let few = ManifestLimits { entries_max: 100, ..Default::default() };
    let manifests = tree.manifests("").within(few);
    assert!(cut(&manifests) && list(&manifests).len() <= 2);
}

#[test]
fn of_many_folders_the_nearest_are_looked_at() {
    let tree = Tree::of(&["golem.yaml", "a/b/c/golem.yaml", "z/golem.yaml"]);
    for number in 0..100 {
        std::fs::create_dir_all(tree.path(&format!("a/{number}/x/y"))).unwrap();
    }
    let within = |folders_max| {
        tree.manifests("").within(ManifestLimits { folders_max, ..Default::default() })
    };
    // The way up has a share of it.
    let above = tree.manifests("").0.rules.parents().len();
    assert_eq!(names(&within(above + 3)), ["golem.yaml", "z/golem.yaml"]);
    assert!(cut(&within(above + 3)));
    assert_eq!(names(&within(above + 1)), ["golem.yaml"]);
    assert_eq!(names(&within(0)), [""; 0]);
    assert_eq!(names(&within(1000)), ["golem.yaml", "a/b/c/golem.yaml", "z/golem.yaml"]);
    assert!(!cut(&within(1000)));
}

#[test]
fn what_is_too_long_is_listed_and_not_read() {
    let tree = Tree::of(&["golem.yaml", "golem-long.yaml"]);
    let bytes_max = usize::try_from(ManifestLimits::default().file_bytes_max).unwrap();
    tree.write("golem.yaml", &"x".repeat(bytes_max));
    tree.write("golem-long.yaml", &"x".repeat(bytes_max + 1));
    let manifests = tree.manifests("");
    let whole = read(&manifests, &tree.uri("golem.yaml")).unwrap();
    assert_eq!(whole, Some(Body::Text("x".repeat(bytes_max))));
    assert_eq!(list(&manifests)[0].size, Some(1_048_577));
    let fault = read(&manifests, &tree.uri("golem-long.yaml")).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "\"golem-long.yaml\" has 1048577 bytes, and a manifest that is read here at most 1048576: \
         read it in parts, with another tool"
    );
}
