//! Plans for the places where changes are reviewed: a comment, annotations, a test report. A view takes plans with the places of their
//! manifests and returns text; it decides nothing about ownership. A new format is a file here.

mod junit;
mod markdown;
mod sarif;

pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;

use crate::{
    field_lines::{self, Wanted},
    place::{Place, STANDARD_INPUT},
    source,
};
use std::collections::{BTreeMap, HashMap};
use tenure_fields::Path;
use tenure_ownership::{Action, Manifest, Plan};

/// A plan and the place of its manifest.
pub struct PlacedPlan<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The file, or the template that a stream was rendered from.
    pub file: String,
    /// The line at which the object begins, counted from 1.
    pub line: usize,
    lines: HashMap<Path, usize>,
}

impl<'a> PlacedPlan<'a> {
    /// Places plans: finds the lines of the fields that they are about, in the files of their manifests.
    pub fn all(plans: &'a [Plan], manifests: &[Manifest<'_>], places: &[Place]) -> Vec<PlacedPlan<'a>> {
        let mut placed: Vec<PlacedPlan<'a>> = plans
            .iter()
            .zip(places)
            .map(|(plan, place)| PlacedPlan {
                plan,
                file: shown(place),
                line: place.line().filter(|_| place.template().is_none()).unwrap_or(1),
                lines: HashMap::new(),
            })
            .collect();
        let mut files: BTreeMap<&std::path::Path, Vec<usize>> = BTreeMap::new();
        for (at, (plan, place)) in plans.iter().zip(places).enumerate() {
            let is_file =
                place.file().as_os_str() != STANDARD_INPUT && source::address(place.file()).is_none();
            if is_file && place.template().is_none() && plan.action() != Action::Unchanged {
                files.entry(place.file()).or_default().push(at);
            }
        }
        for (file, members) in files {
            // What was read before can be read again; otherwise lines stay those of the objects.
            let Ok(text) = std::fs::read_to_string(file) else { continue };
            let (mut wanted, mut wanted_places) = (Vec::new(), Vec::new());
            for at in members {
                let (Some(plan), Some(manifest), Some(place)) =
                    (plans.get(at), manifests.get(at), places.get(at))
                else {
                    continue;
                };
                let conflicts = plan.conflicts().iter().map(|conflict| &conflict.path);
                let fields = conflicts
                    .chain(plan.zeros.iter().map(|zero| &zero.path))
                    .chain(plan.lingering.iter().map(|field| &field.path));
                for path in fields {
                    wanted.push(Wanted { document: place.number(), tokens: tokens(path, manifest, place) });
                    wanted_places.push((at, path.clone()));
                }
            }
            for ((at, path), line) in wanted_places.into_iter().zip(field_lines::find(&text, &wanted)) {
                if let Some(placed) = placed.get_mut(at).filter(|_| line > 0) {
                    placed.lines.insert(path, line);
                }
            }
        }
        placed
    }

    /// Returns the line of a field, or that of the object.
    pub fn line_of(&self, path: &Path) -> usize {
        self.lines.get(path).copied().unwrap_or(self.line)
    }
}

fn shown(place: &Place) -> String {
    match (place.template(), place.file().as_os_str() == STANDARD_INPUT) {
        (Some(template), _) => template.to_owned(),
        (None, true) => "stdin".to_owned(),
        (None, false) => place.file().to_string_lossy().trim_start_matches("./").to_owned(),
    }
}

/// Returns what leads to a field, or to its nearest parent that is in the manifest.
fn tokens(path: &Path, manifest: &Manifest<'_>, place: &Place) -> Vec<String> {
    let pointer = (1..=path.len()).rev().find_map(|end| {
        let parent = Path::from(path.get(..end).unwrap_or_default());
        let pointer = parent.pointer(&manifest.config, manifest.ty)?;
        pointer.resolve(&manifest.config).is_some().then(|| pointer.to_string())
    });
    let item = place.position().map(|position| ["items".to_owned(), position.to_string()]);
    let unescaped = |token: &str| token.replace("~1", "/").replace("~0", "~");
    let below = pointer.unwrap_or_default();
    item.into_iter().flatten().chain(below.split('/').skip(1).map(unescaped)).collect()
}

/// Returns a number with its noun.
fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
