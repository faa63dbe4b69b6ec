//! Files below a folder, by a path that an untrusted caller chose.

use std::{fs, path::Path};

use super::super::open_below;

#[test]
fn a_path_leads_to_files_below_the_folder_and_nowhere_else() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("in");
    fs::create_dir_all(folder.join("a")).unwrap();
    fs::write(folder.join("a/x.csv"), "x").unwrap();
    fs::write(around.path().join("secret"), "s").unwrap();
    for inside in ["a/x.csv", "./a/x.csv", "a/./x.csv"] {
        assert!(open_below(&folder, Path::new(inside)).is_ok(), "{inside}");
    }
    let absolute = folder.join("a/x.csv");
    for outside in ["../secret", "a/../../secret", "/etc/passwd", "", ".", "..", "a", "none"] {
        assert!(open_below(&folder, Path::new(outside)).is_err(), "{outside}");
    }
    assert!(open_below(&folder, &absolute).is_err(), "a whole path is none from the folder");
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(around.path().join("secret"), folder.join("link")).unwrap();
        symlink(around.path(), folder.join("up")).unwrap();
        symlink("a/x.csv", folder.join("near")).unwrap();
        for link in ["link", "up/secret", "near"] {
            assert!(open_below(&folder, Path::new(link)).is_err(), "{link}");
        }
    }
}
