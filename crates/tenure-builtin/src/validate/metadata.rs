//! The steps in which a kind validates an update: its metadata as that of an object and as that of a changed one, its content,
//! and what may not change. Kinds differ in the order, and in how often; a client sees it where there are several errors.

use crate::data::{self, DataError, VALIDATION};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use tenure_meta::{Registry, Resource};
use tenure_value::{Text, Value};

/// A step of the validation of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The metadata of an object.
    Metadata,
    /// The changes of the metadata.
    MetadataChanges,
    /// The selector that the server generates for a job.
    GeneratedSelector,
    /// The names of the pods of an indexed job.
    PodNames,
    /// The content of the object.
    Content,
    /// What may not change.
    Changes,
}

/// The letters of the steps in the data.
const LETTERS: [(char, Step); 6] = [
    ('m', Step::Metadata),
    ('u', Step::MetadataChanges),
    ('g', Step::GeneratedSelector),
    ('n', Step::PodNames),
    ('s', Step::Content),
    ('i', Step::Changes),
];

/// The steps of kinds that the data does not list.
const USUAL: &[Step] = &[Step::MetadataChanges, Step::Content, Step::Changes];

/// The steps by API version and kind, and whether they are those of a status.
pub(crate) struct UpdateSteps(HashMap<(Text, Text, bool), Box<[Step]>, RandomState>);

impl UpdateSteps {
    /// Compiles the rows of the data.
    pub(crate) fn new(registry: &Registry, document: &Value) -> Result<UpdateSteps, DataError> {
        let mut all = HashMap::default();
        for (name, letters) in data::members(VALIDATION, document, "updateSteps")? {
            let kind = name.strip_suffix("/status").unwrap_or(name);
            let served =
                kind.split_once(' ').filter(|(version, kind)| registry.of_kind(version, kind).is_some());
            let Some((version, kind)) = served else {
                return Err(DataError::new(VALIDATION, name, "no such kind is served"));
            };
            let letters = letters.as_str().unwrap_or_default().chars();
            let step = |letter| LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, step)| *step);
            let steps = letters.map(|letter| {
                step(letter)
                    .ok_or_else(|| DataError::new(VALIDATION, name, format!("unknown step {letter:?}")))
            });
            let is_status = name.ends_with("/status");
            all.insert((version.into(), kind.into(), is_status), steps.collect::<Result<_, _>>()?);
        }
        Ok(UpdateSteps(all))
    }

    /// Returns the steps of an update of an object, or of its status.
    pub(crate) fn of(&self, resource: &Resource, is_status: bool) -> &[Step] {
        let key = (resource.api_version.clone(), resource.kind.clone(), is_status);
        self.0.get(&key).map_or(USUAL, |steps| steps)
    }
}
