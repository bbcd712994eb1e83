//! The data directory of a server: what others could read is made private.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};
use tenure_transport::serving::{Credentials, create_private_directory};

#[test]
fn what_others_could_read_is_made_private() {
    let directory = tempfile::TempDir::new().unwrap();
    let directory = directory.path().join("data");
    create_private_directory(&directory).unwrap();
    let open = || Credentials::open(&directory, "127.0.0.1:6443".parse().unwrap(), None).unwrap().token;
    let token = open();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let publish = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let files = ["token", "ca.key", "kubeconfig"].map(|name| directory.join(name));
    publish(&directory, 0o755);
    files.iter().for_each(|file| publish(file, 0o644));
    // What a start that was interrupted left behind.
    fs::write(directory.join("token.new"), "").unwrap();
    publish(&directory.join("token.new"), 0o666);
    create_private_directory(&directory).unwrap();
    assert_eq!(open(), token);
    assert_eq!((mode(&directory), files.each_ref().map(|file| mode(file))), (0o700, [0o600; 3]));
    fs::remove_file(&files[0]).unwrap();
    assert_ne!(open(), token);
    assert_eq!(mode(&files[0]), 0o600);
    publish(&directory, 0o1777);
    let error = create_private_directory(&directory).unwrap_err().to_string();
    assert!(error.ends_with("everyone can write to it; choose a directory inside it"), "{error}");
}
