//! Tells the program its commit and profile. The commit is that of the variable `TENURE_COMMIT`, of a crate as cargo packages it, of an
//! archive of the sources, or of the checkout; a debug build does not ask for the latter, so that a commit rebuilds nothing. The same
//! sources and variable give the same build.

use std::{env, fs, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TENURE_COMMIT");
    let given = env::var("TENURE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(packaged).or_else(archived).or_else(checked_out).unwrap_or_default();
    println!("cargo::rustc-env=TENURE_COMMIT={commit}");
    println!("cargo::rustc-env=TENURE_PROFILE={}", profile());
}

/// Returns the commit that `cargo package` writes into a crate.
fn packaged() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let commit = text.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    is_commit(commit).then(|| commit.to_owned())
}

/// Returns the commit that `git archive` writes into the sources, as .gitattributes asks it to.
fn archived() -> Option<String> {
    println!("cargo::rerun-if-changed=commit.txt");
    let commit = fs::read_to_string("commit.txt").ok()?.trim().to_owned();
    is_commit(&commit).then_some(commit)
}

/// Returns the commit of the checkout, which may be one of several work trees, for releases.
fn checked_out() -> Option<String> {
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") || !Path::new("../../.git").exists() {
        return None;
    }
    // The log changes with every commit, the head only with the branch.
    for name in ["HEAD", "logs/HEAD"] {
        let file = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    git(&["rev-parse", "HEAD"]).filter(|commit| is_commit(commit))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the name of the profile: that of the folder of the build, which `PROFILE` only knows as debug or release.
fn profile() -> String {
    let out = env::var("OUT_DIR").unwrap_or_default();
    let folders = Path::new(&out).ancestors();
    let folder = folders.skip_while(|path| !path.ends_with("build")).nth(1);
    let name = folder.and_then(Path::file_name).and_then(|name| name.to_str());
    name.map(str::to_owned).or_else(|| env::var("PROFILE").ok()).unwrap_or_default()
}
