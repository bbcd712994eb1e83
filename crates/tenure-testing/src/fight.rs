//! Managers that fight over a field: one writes it, another overwrites it, and the first writes it again.

use crate::{
    AssertionError,
    server::TestServer,
    write_log::{FieldChange, Shown, Write},
};
use serde_json::Value as Json;
use std::{collections::BTreeMap, fmt};

/// A field that two or more managers keep overwriting.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fight {
    /// The object in a few words, such as `Deployment default/web`.
    pub subject: String,
    /// The field.
    pub path: String,
    /// Who wrote it, in order: revision, manager and value. Repeated writes of one manager count once.
    pub rounds: Vec<(u64, String, Option<Json>)>,
}

impl fmt::Display for Fight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, field {}:", self.subject, self.path)?;
        for (revision, manager, value) in &self.rounds {
            write!(f, "\n    {revision}: {manager} set {}", Shown(value))?;
        }
        Ok(())
    }
}

impl TestServer {
    /// Returns the fields over which managers fought since a revision: one manager wrote a field again after another had overwritten
    /// it.
    pub fn fights_since(&self, revision: u64) -> Vec<Fight> {
        fights(&self.writes_since(revision))
    }

    /// Checks that no two managers fight over a field; the error says who wrote what.
    pub fn expect_no_fights(&self) -> Result<(), AssertionError> {
        let fights = self.fights_since(0);
        if fights.is_empty() {
            return Ok(());
        }
        let listed: Vec<String> = fights.iter().map(|fight| format!("  {fight}")).collect();
        Err(AssertionError::new(format!(
            "managers fight: one writes what another has overwritten\n{}",
            listed.join("\n")
        )))
    }
}

type Rounds = BTreeMap<(String, String), Vec<(u64, String, Option<Json>)>>;

fn fights(writes: &[Write]) -> Vec<Fight> {
    let mut rounds = Rounds::new();
    let mut found = Vec::new();
    for write in writes {
        if write.before.is_none() || write.after.is_none() {
            // A new object of the same name is counted from zero.
            let subject = write.subject();
            found.extend(take(&mut rounds, |round| *round == subject));
        }
        for FieldChange { path, after, .. } in &write.changes {
            let rounds = rounds.entry((write.subject(), path.clone())).or_default();
            match rounds.last_mut() {
                Some(last) if last.1 == write.manager => (last.0, last.2) = (write.revision, after.clone()),
                _ => rounds.push((write.revision, write.manager.clone(), after.clone())),
            }
        }
    }
    found.extend(take(&mut rounds, |_| true));
    found
}

/// Takes the fights over the fields of some objects; fields that were not fought over are forgotten.
fn take(rounds: &mut Rounds, is_wanted: impl Fn(&String) -> bool) -> Vec<Fight> {
    let (ended, open): (Rounds, Rounds) =
        std::mem::take(rounds).into_iter().partition(|((subject, _), _)| is_wanted(subject));
    *rounds = open;
    let fight = |((subject, path), rounds): ((String, String), Vec<_>)| Fight { subject, path, rounds };
    ended.into_iter().map(fight).filter(|fight| fight.rounds.len() >= 3 && repeats(fight)).collect()
}

/// Whether a manager came back.
fn repeats(fight: &Fight) -> bool {
    let managers: Vec<&String> = fight.rounds.iter().map(|(_, manager, _)| manager).collect();
    managers.iter().enumerate().any(|(at, manager)| managers[at + 1..].contains(manager))
}
