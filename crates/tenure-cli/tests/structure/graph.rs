//! Import circles. Modules are compared as siblings: an import between two modules counts for the children of their common parent
//! that contain them, so that folders form no circle either. A module and its descendants may import each other.

use crate::modules::{Crate, Names};
use std::collections::{BTreeMap, BTreeSet};

/// The children of one parent: which of them imports which, and an import that shows it.
type Siblings = BTreeMap<String, BTreeMap<String, String>>;

/// Returns the circles of a crate, each described in a line.
pub fn circles(library: &Crate) -> Vec<String> {
    let mut graphs: BTreeMap<Names, Siblings> = BTreeMap::new();
    for (importer, module) in &library.modules {
        for path in &module.mentions {
            let Some(imported) = library.home(path) else { continue };
            let common = importer.iter().zip(&imported).take_while(|(a, b)| a == b).count();
            if common == importer.len() || common == imported.len() {
                continue;
            }
            let (from, to) = (importer[common].clone(), imported[common].clone());
            let shown = format!("{} uses {}", importer.join("::"), path.join("::"));
            let siblings = graphs.entry(importer[..common].to_vec()).or_default();
            siblings.entry(from).or_default().entry(to).or_insert(shown);
        }
    }
    graphs.iter().flat_map(|(parent, siblings)| circles_among(parent, siblings)).collect()
}

fn circles_among(parent: &Names, siblings: &Siblings) -> Vec<String> {
    let mut found = Vec::new();
    let mut counted: BTreeSet<String> = BTreeSet::new();
    let reachable: BTreeMap<&String, BTreeSet<String>> =
        siblings.keys().map(|name| (name, reachable(siblings, name))).collect();
    for (name, reached) in &reachable {
        if !reached.contains(*name) || counted.contains(*name) {
            continue;
        }
        let circle: Vec<&String> = reachable
            .keys()
            .copied()
            .filter(|other| reached.contains(*other) && reachable[other].contains(*name))
            .collect();
        let imports =
            circle.iter().flat_map(|from| siblings[*from].iter()).filter(|(to, _)| circle.contains(to));
        let imports: Vec<&str> = imports.map(|(_, shown)| shown.as_str()).collect();
        let place = if parent.is_empty() { "the root".into() } else { parent.join("::") };
        let names = circle.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        found.push(format!("below {place}: {names}\n    {}", imports.join("\n    ")));
        counted.extend(circle.into_iter().cloned());
    }
    found
}

/// Returns every sibling that one leads to by imports.
fn reachable(siblings: &Siblings, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_string()];
    while let Some(next) = open.pop() {
        for to in siblings.get(&next).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to.clone()) {
                open.push(to.clone());
            }
        }
    }
    reached
}
