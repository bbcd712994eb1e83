//! The documents name files, folders and functions that exist.

use crate::modules;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The endings of files besides sources: a name with a folder that ends so is a path.
const ENDINGS: [&str; 4] = [".json", ".md", ".toml", ".txt"];
/// The top folders of the repository: a name that begins with one is a path.
const FOLDERS: [&str; 7] = ["bench/", "conformance/", "crates/", "docs/", "examples/", "scripts/", "tools/"];
/// Folders that hold no sources.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Returns all files and folders below a folder.
fn everything(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_path_buf()];
    let mut at = 0;
    while let Some(folder) = found.get(at).cloned() {
        at += 1;
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let kept = entries.filter(|entry| !SKIPPED.iter().any(|name| entry.file_name() == *name));
        found.extend(kept.map(|entry| entry.path()));
    }
    found
}

/// Returns what a document has between backquotes, outside of its examples.
fn quoted(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

fn is_path(name: &str) -> bool {
    let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || "_-./".contains(letter));
    is_plain
        && (name.ends_with(".rs")
            || name.contains('/') && ENDINGS.iter().any(|ending| name.ends_with(ending))
            || FOLDERS.iter().any(|folder| name.starts_with(folder)))
}

/// Splits `Type::function`.
fn function(name: &str) -> Option<(&str, &str)> {
    let (receiver, function) = name.trim_end_matches("()").split_once("::")?;
    let is_word = |word: &str| word.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let is_function = receiver.starts_with(char::is_uppercase) && function.starts_with(char::is_lowercase);
    (is_function && is_word(receiver) && is_word(function)).then_some((receiver, function))
}

#[test]
fn documents_name_what_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let all = everything(&root);
    let sources: Vec<String> =
        modules::sources(&root.join("crates")).into_iter().map(|(_, text)| text).collect();
    let documents = all.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut missing = Vec::new();
    for document in documents.filter(|path| !path.ends_with("CHANGELOG.md")) {
        let text = fs::read_to_string(document).expect("a document can be read");
        for name in quoted(&text) {
            let exists = match function(name) {
                Some((receiver, function)) => {
                    let function = format!("fn {function}");
                    sources.iter().any(|source| source.contains(&function) && source.contains(receiver))
                }
                None if is_path(name) => all.iter().any(|path| path.ends_with(name.trim_end_matches('/'))),
                None => true,
            };
            if !exists {
                missing
                    .push(format!("{}: {name}", document.strip_prefix(&root).unwrap_or(document).display()));
            }
        }
    }
    assert!(missing.is_empty(), "these do not exist:\n{}", missing.join("\n"));
}

#[test]
fn crates_use_only_crates_above_them_in_the_architecture() {
    let crates = crate::folders("crates");
    let root = crates[0].parent().and_then(Path::parent).expect("the repository");
    let text = fs::read_to_string(root.join("docs/internals/architecture.md")).expect("the architecture");
    let order: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| `tenure")?.split('`').next()).collect();
    let position = |name: &str| order.iter().position(|part| name.strip_prefix("tenure") == Some(part));
    let mut wrong = Vec::new();
    for path in &crates {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(own) = position(&name) else {
            wrong.push(format!("{name} is not in docs/internals/architecture.md"));
            continue;
        };
        let manifest = fs::read_to_string(path.join("Cargo.toml")).expect("a manifest");
        let used = manifest.split("\n[").filter(|section| section.starts_with("dependencies]"));
        let used = used.flat_map(str::lines).filter_map(|line| line.split([' ', '.']).next());
        let below = used.filter(|used| position(used).is_some_and(|position| position > own));
        wrong.extend(below.map(|used| format!("{name} uses {used}, which is below it")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The anchors of a document's headings, as they are linked.
fn anchors(text: &str) -> Vec<String> {
    let headings =
        text.lines().filter_map(|line| line.strip_prefix('#')).map(|line| line.trim_start_matches('#'));
    let anchor = |heading: &str| {
        let kept =
            heading.trim().chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_of_documents_lead_to_files_and_headings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let mut broken = Vec::new();
    for document in
        everything(&root).iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"))
    {
        let text = fs::read_to_string(document).expect("a document can be read");
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.contains([' ', '\n', '`'])) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => document.clone(),
                path => document.parent().unwrap_or(&root).join(path),
            };
            let leads = || {
                anchors(&fs::read_to_string(&target).unwrap_or_default())
                    .iter()
                    .any(|heading| heading == anchor)
            };
            if !target.exists() || !anchor.is_empty() && !leads() {
                broken
                    .push(format!("{}: {link}", document.strip_prefix(&root).unwrap_or(document).display()));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}
