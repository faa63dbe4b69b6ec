//! Links, pipes and what else is no file.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    process::Command,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{Tree, list, names, text};

#[test]
fn no_link_is_followed() {
    let tree =
        Tree::of(&["secret/golem.yaml", "secret/key", "app/golem.yaml", "app/sub/golem.yaml"]);
    let app = |name: &str| tree.path("app").join(name);
    symlink(tree.path("secret/key"), app("golem-out.yaml")).unwrap();
    symlink("../secret/key", app("golem-up.yaml")).unwrap();
    symlink("/etc/passwd", app("golem-passwd.yaml")).unwrap();
    symlink("golem.yaml", app("golem-in.yaml")).unwrap();
    symlink("golem-loop.yaml", app("golem-loop.yaml")).unwrap();
    symlink("nowhere", app("golem-nowhere.yaml")).unwrap();
    symlink(tree.path("secret"), app("linked")).unwrap();
    symlink("sub", app("linked-in")).unwrap();
    symlink(".", app("round")).unwrap();
    symlink(tree.path("secret/key"), tree.path("golem.yaml")).unwrap();
    let manifests = tree.manifests("app");
    assert_eq!(names(&manifests), ["golem.yaml", "sub/golem.yaml"]);
    for name in [
        "golem-out.yaml",
        "golem-up.yaml",
        "golem-passwd.yaml",
        "golem-in.yaml",
        "golem-loop.yaml",
        "golem-nowhere.yaml",
        "linked/golem.yaml",
        "linked-in/golem.yaml",
        "round/golem.yaml",
        "../golem.yaml",
    ] {
        assert_eq!(text(&manifests, &tree.uri(&format!("app/{name}"))), None, "{name}");
    }
    assert_eq!(text(&manifests, &tree.uri("golem.yaml")), None, "a link in a folder above");
}

#[test]
fn a_folder_that_is_given_as_a_link_is_what_it_leads_to() {
    let tree = Tree::of(&["real/app/golem.yaml", "real/golem.yaml"]);
    symlink("real/app", tree.path("link")).unwrap();
    assert_eq!(tree.names("link"), ["golem.yaml", "../golem.yaml"]);
    assert_eq!(list(&tree.manifests("link"))[0].uri, tree.uri("real/app/golem.yaml"));
}

#[test]
fn pipes_sockets_and_folders_are_no_manifests() {
    let tree = Tree::of(&["golem.yaml", "golem-folder.yaml/x"]);
    let pipe = tree.path("golem-pipe.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = UnixListener::bind(tree.path("golem-socket.yaml")).unwrap();
    let manifests = tree.manifests("");
    assert_eq!(names(&manifests), ["golem.yaml"]);
    // Reading a pipe that nobody writes to would never end.
    for name in ["golem-pipe.yaml", "golem-socket.yaml", "golem-folder.yaml"] {
        assert_eq!(text(&manifests, &tree.uri(name)), None, "{name}");
    }
    drop(socket);
}

/// Says that it is over when it is dropped, also when a check fails: who waits for it must not hang.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Somebody puts links in the place of a folder and of a file, again and again, while both are read.
#[test]
fn a_link_that_is_put_there_at_the_last_moment_is_not_followed() {
    let tree = Tree::of(&["app/sub/golem.yaml", "app/golem.yaml"]);
    tree.write("secret/golem.yaml", "SECRET");
    let is_over = AtomicBool::new(false);
    let swap = |name: &str, secret: &str| {
        let (place, kept) =
            (tree.path(name), tree.path(&format!("{}-kept", name.replace('/', "-"))));
        let link = tree.path(&format!("{}-link", name.replace('/', "-")));
        let mut swaps = 0_u64;
        while !is_over.load(Relaxed) {
            symlink(tree.path(secret), &link).unwrap();
            fs::rename(&place, &kept).unwrap();
            fs::rename(&link, &place).unwrap();
            fs::rename(&place, &link).unwrap();
            fs::rename(&kept, &place).unwrap();
            fs::remove_file(&link).unwrap();
            swaps += 1;
        }
        swaps
    };
    let manifests = tree.manifests("app");
    std::thread::scope(|scope| {
        let folders = scope.spawn(|| swap("app/sub", "secret"));
        let files = scope.spawn(|| swap("app/golem.yaml", "secret/golem.yaml"));
        let over = Over(&is_over);
        let mut whole = 0;
        for _ in 0..2_000 {
            for name in ["app/sub/golem.yaml", "app/golem.yaml"] {
                let read = text(&manifests, &tree.uri(name));
                assert_ne!(read.as_deref(), Some("SECRET"));
                whole += u32::from(read.is_some());
            }
        }
        drop(over);
        let swaps = folders.join().unwrap().min(files.join().unwrap());
        assert!(whole > 0 && swaps > 0, "{whole} read, {swaps} swaps");
    });
}
