//! Where the recordings are. The repository has all conversations that were written by hand and a sample of the randomised ones; the
//! complete recordings are in the folder that `TENURE_SHARED` names, or in `shared` beside the repository. Tests include this file.

#![allow(dead_code, reason = "each test uses a part")]

use std::{
    env,
    fmt::Debug,
    path::{Path, PathBuf},
    str::FromStr,
};

/// The version of Kubernetes whose answers the recordings are, but for those in `v1.37`.
pub const VERSION: &str = "1.36";

/// Members of objects that recordings have as `TIME`.
pub const TIMES: [&str; 6] = [
    "creationTimestamp",
    "deletionTimestamp",
    "lastPhaseTransitionTime",
    "lastTransitionTime",
    "lastUpdateTime",
    "time",
];

/// Returns that version, as the type that a test needs.
pub fn version<T: FromStr<Err: Debug>>() -> T {
    VERSION.parse().expect("a version that is served")
}

/// Returns the folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a file or a folder of the complete recordings, if they are there.
pub fn complete(path: &str) -> Option<PathBuf> {
    let beside = || repository().join("../shared");
    let folder = env::var_os("TENURE_SHARED").map_or_else(beside, PathBuf::from);
    Some(folder.join(path)).filter(|path| path.exists())
}

/// Returns the folder of the randomised conversations: all of them, or the sample.
pub fn randomised() -> PathBuf {
    complete("conformance/fuzz").unwrap_or_else(|| repository().join("conformance/fuzz"))
}

/// Returns the folder of the single bad requests: all of them, or the sample.
pub fn bad_requests() -> PathBuf {
    complete("conformance/bad").unwrap_or_else(|| repository().join("conformance/bad"))
}

/// Returns the folders of all conversations.
pub fn conversations() -> [PathBuf; 2] {
    [repository().join("conformance/scenarios"), randomised()]
}
