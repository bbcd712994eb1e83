//! The structure of the sources: modules of a crate import each other in one direction only, no file grows too large, and
//! built-in kinds are named only where they are the subject.

mod documents;
mod graph;
mod kinds;
mod modules;
mod phases;
mod tokens;
mod versions;

use modules::Crate;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The most lines of a file.
const FILE_LINES: usize = 800;

/// The crates of the product, then the tools.
fn crates() -> Vec<PathBuf> {
    [folders("crates"), folders("tools")].concat()
}

/// The crates of a folder of the repository.
fn folders(name: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let entries = fs::read_dir(root.join(name)).expect("the folder of the crates can be listed");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder entry").path()).collect();
    found.retain(|path| path.join("src").is_dir());
    found.sort();
    assert!(found.len() > 3, "crates are found in {name}");
    found
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

#[test]
fn modules_of_a_crate_import_each_other_in_one_direction() {
    let mut circles = Vec::new();
    for path in crates() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = graph::circles(&Crate::read(&path.join("src")));
        circles.extend(found.into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(circles.is_empty(), "{} import circles:\n{}", circles.len(), circles.join("\n"));
}

#[test]
fn every_source_file_is_a_module() {
    let mut orphans = Vec::new();
    for path in crates() {
        for (file, _) in modules::sources(&path.join("src")) {
            let name = file.file_stem().unwrap_or_default();
            let folder = file.parent().unwrap_or(Path::new(""));
            let (name, folder) = match name == "mod" {
                true => (folder.file_name().unwrap_or_default(), folder.parent().unwrap_or(Path::new(""))),
                false => (name, folder),
            };
            if ["lib", "main"].iter().any(|root| name == *root) || folder.ends_with("bin") {
                continue;
            }
            let name = name.to_string_lossy();
            let parents = ["mod.rs", "lib.rs", "main.rs"].map(|parent| folder.join(parent));
            let parents = parents.into_iter().chain([folder.with_extension("rs")]);
            let mentions = |parent: &PathBuf| {
                let text = fs::read_to_string(parent).unwrap_or_default();
                tokens::tokens(&text).iter().any(|token| *token == name)
                    || text.contains(&format!("#[cfg(test)]\nmod {name};"))
            };
            if !parents.into_iter().any(|parent| mentions(&parent)) {
                orphans.push(file.display().to_string());
            }
        }
    }
    assert!(orphans.is_empty(), "these files are not compiled:\n{}", orphans.join("\n"));
}

#[test]
fn every_crate_says_whether_its_api_is_public() {
    let says = |path: &Path| {
        let root =
            ["src/lib.rs", "src/main.rs"].map(|root| fs::read_to_string(path.join(root)).unwrap_or_default());
        let readme = fs::read_to_string(path.join("README.md")).unwrap_or_default();
        let text = root.concat() + &readme;
        text.contains("exists") && (text.contains("Public API: ") || text.contains("Internal: "))
    };
    let silent: Vec<PathBuf> = folders("crates").into_iter().filter(|path| !says(path)).collect();
    assert!(silent.is_empty(), "the root says why the crate exists, and Public API or Internal: {silent:?}");
}

#[test]
fn files_stay_small() {
    let mut large = Vec::new();
    let mut sizes = Vec::new();
    for path in crates() {
        let files = modules::sources(&path.join("src"));
        let of_file: Vec<(usize, &PathBuf)> = files.iter().map(|(path, text)| (lines(text), path)).collect();
        for (lines, file) in of_file {
            if lines > FILE_LINES {
                large.push(format!("{}: {lines} lines, more than {FILE_LINES}", file.display()));
            }
            sizes.push((lines, file.clone()));
        }
    }
    sizes.sort();
    let (largest, median) = (&sizes[sizes.len() - 1], sizes[sizes.len() / 2].0);
    println!("{} files, median {median} lines; largest {}: {}", sizes.len(), largest.1.display(), largest.0);
    assert!(large.is_empty(), "{}", large.join("\n"));
}

#[test]
fn circles_are_found_through_reexports_and_folders() {
    let files = |sources: &[(&str, &str)]| -> Vec<String> {
        let files = sources.iter().map(|(path, text)| (PathBuf::from(path), text.to_string()));
        graph::circles(&Crate::new(Path::new(""), files.collect()))
    };
    let none: [&[(&str, &str)]; 4] = [
        &[
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "use crate::b::B; struct A;"),
            ("b.rs", "struct B;"),
        ],
        &[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod c; use c::C; struct A;"),
            ("a/c.rs", "use super::A; struct C;"),
        ],
        &[("lib.rs", "mod a; mod b;"), ("a.rs", "// crate::b::B\n"), ("b.rs", "use crate::a::{self};")],
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; struct B;"),
        ],
    ];
    for case in none {
        assert_eq!(files(case), Vec::<String>::new(), "{case:?}");
    }
    let some: [&[(&str, &str)]; 4] = [
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; struct A;"),
            ("b.rs", "fn b(_: super::a::A) {} struct B;"),
        ],
        &[
            ("lib.rs", "mod a; mod b; pub use {a::A, b::B};"),
            ("a.rs", "use crate::B; struct A;"),
            ("b.rs", "use super::A; struct B;"),
        ],
        &[
            ("lib.rs", "mod a; mod b; pub use a::*; pub use b::B;"),
            ("a.rs", "use crate::B; pub struct A;"),
            ("b.rs", "use crate::A; pub struct B;"),
        ],
        // No file imports itself over another, but the folders do.
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod x; mod y;"),
            ("a/x.rs", "use crate::b::z::Z; struct X;"),
            ("a/y.rs", "struct Y;"),
            ("b/mod.rs", "mod z; mod w;"),
            ("b/z.rs", "struct Z;"),
            ("b/w.rs", "use crate::a::y::Y;"),
        ],
    ];
    for case in some {
        assert_eq!(files(case).len(), 1, "{case:?}");
    }
}
