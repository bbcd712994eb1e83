//! One version for all that a release consists of: crates, packages for other languages, extensions, and the documents that name it.

use std::{fs, path::Path};

/// The files that name the version, and what stands before it in each.
const PLACES: &[(&str, &[&str])] = &[
    ("bindings/Cargo.toml", &["\nversion = \""]),
    (
        "bindings/node/package.json",
        &["\n  \"version\": \"", "\"tenure-linux-x64-gnu\": \"", "\"tenure-darwin-arm64\": \""],
    ),
    ("bindings/node/package.json", &["\"tenure-linux-arm64-gnu\": \"", "\"tenure-darwin-x64\": \""]),
    ("docs/ci.md", &["tenure-dev/tenure@v", "\n        version: ", "\n  ref: v", "TENURE_VERSION: "]),
    ("extensions/ci/gitlab.yml", &["ref: v"]),
    ("extensions/ci/install.sh", &["the release, such as "]),
    ("extensions/headlamp/package.json", &["\n  \"version\": \""]),
    ("extensions/helm/plugin.yaml", &["\nversion: "]),
];

/// Returns the versions that follow a text.
fn after<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
    let found = text.split(before).skip(1);
    found.map(|rest| &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())]).collect()
}

/// Returns name and version of each package of Tenure in a lock file.
fn locked(text: &str) -> Vec<(&str, &str)> {
    let packages = text.split("[[package]]\nname = \"").skip(1);
    let named = packages.filter_map(|package| Some((package.split('"').next()?, package)));
    let own = named.filter(|(name, package)| {
        (*name == "tenure" || name.starts_with("tenure-")) && !package.contains("\nsource = ")
    });
    own.filter_map(|(name, package)| Some((name, after(package, "\nversion = \"").first().copied()?)))
        .collect()
}

#[test]
fn everything_that_is_released_has_one_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read =
        |name: &str| fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let version = env!("CARGO_PKG_VERSION");
    let mut wrong = Vec::new();
    let mut check = |place: String, found: &[&str]| match found {
        [] => wrong.push(format!("{place}: no version is found")),
        found => wrong.extend(
            found
                .iter()
                .filter(|found| **found != version)
                .map(|found| format!("{place}: {found} instead of {version}")),
        ),
    };
    for (file, places) in PLACES {
        let text = read(file);
        for before in *places {
            check(format!("{file}, after {:?}", before.trim()), &after(&text, before));
        }
    }
    for line in
        read("Cargo.toml").lines().filter(|line| line.starts_with("tenure") && line.contains("path = "))
    {
        check(format!("Cargo.toml: {line}"), &after(line, "version = \""));
    }
    for file in ["Cargo.lock", "bindings/Cargo.lock"] {
        let text = read(file);
        let packages = locked(&text);
        assert!(packages.len() > 30, "{file}: {packages:?}");
        // What is not published has no version of its own.
        let released = packages.into_iter().filter(|(name, _)| root.join("crates").join(name).exists());
        released.for_each(|(name, found)| check(format!("{file}: {name}"), &[found]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_changelog_begins_with_this_version() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CHANGELOG.md"))
        .expect("a changelog");
    let versions = after(&text, "\n## ");
    assert_eq!(versions.first(), Some(&env!("CARGO_PKG_VERSION")), "{versions:?}");
    let numbers: Vec<Vec<u32>> = versions
        .iter()
        .map(|version| version.split('.').map(|part| part.parse().expect("a version in a heading")).collect())
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "the newest version is first: {versions:?}");
}
