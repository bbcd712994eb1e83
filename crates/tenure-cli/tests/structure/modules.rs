//! The modules of a crate: what each defines, which names it imports, and which paths it mentions.

use crate::tokens::tokens;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The names from the root of the crate to a module or an item.
pub type Names = Vec<String>;

/// A crate.
pub struct Crate {
    pub modules: BTreeMap<Names, Module>,
}

/// A module, with its inline modules.
#[derive(Default)]
pub struct Module {
    /// The items that it defines.
    items: BTreeSet<String>,
    /// The names that it imports or exports, and the paths they stand for.
    names: BTreeMap<String, Target>,
    /// The paths whose names it imports all.
    globs: Vec<Target>,
    /// Every path into the crate that it mentions.
    pub mentions: BTreeSet<Names>,
}

/// The target of an import.
enum Target {
    /// A path from the root of the crate.
    Crate(Names),
    /// A path that begins with a child of the module whose path has this many names, or with the name of another crate.
    ChildOrOther { path: Names, module: usize },
}

/// Returns the source files of a folder with their texts.
pub fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources can be listed") {
            let path = entry.expect("a folder entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file can be read");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

impl Crate {
    /// Reads the crate whose sources are in a folder.
    pub fn read(folder: &Path) -> Crate {
        Crate::new(folder, sources(folder))
    }

    /// Builds a crate from its files.
    pub fn new(folder: &Path, files: Vec<(PathBuf, String)>) -> Crate {
        let mut modules: BTreeMap<Names, Module> = BTreeMap::new();
        for (path, text) in files {
            let relative = path.strip_prefix(folder).expect("a file below the folder").with_extension("");
            let mut names: Names = relative.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            if names.last().is_some_and(|last| last == "mod") || names == ["lib"] || names == ["main"] {
                names.pop();
            }
            let tokens = tokens(&text);
            Reader { tokens: &tokens, module: modules.entry(names.clone()).or_default(), file: &names }
                .read();
        }
        Crate { modules }
    }

    /// Returns the module that defines the target of a path, through any re-exports; `None` for other crates.
    pub fn home(&self, path: &[String]) -> Option<Names> {
        self.resolve(path, 0)
    }

    /// Returns the target of an import from the root of the crate; `None` if that is in another crate.
    fn inside<'t>(&self, target: &'t Target) -> Option<&'t [String]> {
        let is_child = |path: &[String], module: usize| {
            let (module, rest) = path.split_at(module);
            self.modules.contains_key(&path[..=module.len()]) || self.modules[module].items.contains(&rest[0])
        };
        match target {
            Target::Crate(path) => Some(path),
            Target::ChildOrOther { path, module } => is_child(path, *module).then_some(path),
        }
    }

    fn resolve(&self, path: &[String], depth: usize) -> Option<Names> {
        const REEXPORTS: usize = 16;
        let known = (0..=path.len()).rev().find(|count| self.modules.contains_key(&path[..*count]))?;
        let (module, rest) = path.split_at(known);
        let Some(name) = rest.first() else { return Some(module.to_vec()) };
        let node = &self.modules[module];
        if depth == REEXPORTS || node.items.contains(name) {
            return Some(module.to_vec());
        }
        if let Some(target) = node.names.get(name) {
            let target = self.inside(target)?;
            return self.resolve(&[target, &rest[1..]].concat(), depth + 1);
        }
        for glob in node.globs.iter().filter_map(|glob| self.inside(glob)) {
            let found = self.resolve(&[glob, rest].concat(), depth + 1);
            if found.as_ref().is_some_and(|found| self.modules[found].items.contains(name)) {
                return found;
            }
        }
        Some(module.to_vec())
    }
}

/// Reads the tokens of one file.
struct Reader<'a> {
    tokens: &'a [String],
    module: &'a mut Module,
    file: &'a Names,
}

/// An import: the path, and the name that it introduces.
struct Import {
    path: Names,
    name: String,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut at = 0;
        let mut depth = 0;
        // The inline modules around the current token, each with the depth of its braces.
        let mut inside: Vec<(String, usize)> = Vec::new();
        while at < self.tokens.len() {
            let token = self.tokens[at].as_str();
            let next = self.tokens.get(at + 1).map_or("", String::as_str);
            match token {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if inside.last().is_some_and(|(_, opened)| *opened == depth) {
                        inside.pop();
                    }
                }
                "mod" if self.tokens.get(at + 2).is_some_and(|token| token == "{") => {
                    self.module.items.insert(next.into());
                    inside.push((next.into(), depth));
                }
                "struct" | "enum" | "trait" | "fn" | "const" | "static" | "type" | "union" => {
                    let name = if matches!(next, "fn" | "unsafe" | "mut") { "" } else { next };
                    if !name.is_empty() {
                        self.module.items.insert(name.into());
                    }
                }
                "macro_rules" => {
                    self.module.items.insert(self.tokens.get(at + 2).cloned().unwrap_or_default());
                }
                // Not `+ use<>` of a return type.
                "use" if next != "<" => {
                    let mut imports = Vec::new();
                    at = self.tree(at + 1, Vec::new(), &mut imports);
                    for import in imports {
                        self.import(import, &inside);
                    }
                    continue;
                }
                "crate" | "super" if next == "::" && (at == 0 || self.tokens[at - 1] != "::") => {
                    let (path, end) = self.path(at);
                    if let Some(path) = self.absolute(path, &inside) {
                        self.module.mentions.insert(path);
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads a path of names, and returns the position after it.
    fn path(&self, mut at: usize) -> (Names, usize) {
        let mut path = vec![self.tokens[at].clone()];
        while self.tokens.get(at + 1).is_some_and(|token| token == "::") {
            match self.tokens.get(at + 2) {
                Some(name) if name.starts_with(|first: char| first.is_alphabetic() || first == '_') => {
                    path.push(name.clone());
                    at += 2;
                }
                _ => break,
            }
        }
        (path, at + 1)
    }

    /// Reads the tree of a `use`, and returns the position after it.
    fn tree(&self, mut at: usize, mut prefix: Names, imports: &mut Vec<Import>) -> usize {
        while at < self.tokens.len() {
            match self.tokens[at].as_str() {
                "::" => at += 1,
                "{" => {
                    at += 1;
                    while self.tokens.get(at).is_some_and(|token| token != "}") {
                        at = self.tree(at, prefix.clone(), imports);
                        at += usize::from(self.tokens.get(at).is_some_and(|token| token == ","));
                    }
                    return at + 1;
                }
                "*" => {
                    imports.push(Import { path: prefix, name: "*".into() });
                    return at + 1;
                }
                "," | "}" | ";" => break,
                "as" => {
                    let name = self.tokens.get(at + 1).cloned().unwrap_or_default();
                    imports.push(Import { path: prefix, name });
                    return at + 2;
                }
                name => {
                    prefix.push(name.into());
                    at += 1;
                }
            }
        }
        if prefix.last().is_some_and(|last| last == "self") {
            prefix.pop();
        }
        if let Some(name) = prefix.last().cloned() {
            imports.push(Import { path: prefix, name });
        }
        at
    }

    fn import(&mut self, Import { path, name }: Import, inside: &[(String, usize)]) {
        let first = path.first().cloned().unwrap_or_default();
        let target = match self.absolute(path.clone(), inside) {
            Some(path) => {
                if matches!(first.as_str(), "crate" | "super") {
                    self.module.mentions.insert(path.clone());
                }
                Target::Crate(path)
            }
            None => {
                let module = self.file.len();
                Target::ChildOrOther { path: [self.file.clone(), path.clone()].concat(), module }
            }
        };
        match name.as_str() {
            "*" => self.module.globs.push(target),
            // Inline modules count as part of their file; their imports introduce no name of it.
            _ if !inside.is_empty() => {}
            // `use self::x`, or an external crate under its own name.
            _ if path == [name.clone()] => {}
            _ => drop(self.module.names.insert(name, target)),
        }
    }

    /// Returns a path that begins with `crate`, `self` or `super` from the root of the crate.
    fn absolute(&self, path: Names, inside: &[(String, usize)]) -> Option<Names> {
        let mut base: Names = self.file.iter().chain(inside.iter().map(|(name, _)| name)).cloned().collect();
        let mut rest = path.as_slice();
        match rest.first()?.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
            }
            _ => return None,
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|name| name == "super") {
            base.pop();
            rest = &rest[1..];
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }
}
