//! Managers that fight: they keep overwriting one field of one object, and at least one of them puts back a value of its own
//! that another had replaced. A manager that changes its own fields, however often, is not in a fight, and neither is one that
//! takes a field over once.
//!
//! Only takeovers are looked at: changes of a value that take ownership from another manager. In a healthy cluster they are
//! rare, so that the detector costs next to nothing and needs little memory, which is bounded in any case.

use crate::{
    Values,
    secret::{WITHHELD, is_hidden},
};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};
use tenure_apply::Managers;
use tenure_fields::Path;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// How often values must be put back before it is a fight.
const RESTORATIONS: u64 = 3;
/// How often a manager must overwrite others to be part of a fight; a single takeover is not a fight.
const OVERWRITES: u64 = 2;
/// After how many milliseconds without an overwrite a fight is over.
const PATIENCE: u64 = 60 * 60 * 1000;
/// After how many milliseconds a continuing fight is reported again.
const REPORT_AGAIN: u64 = 60 * 1000;
/// The most contested fields that are remembered in one generation; there are two.
const MOST_FIELDS: usize = 2048;
/// The most managers of one field that are counted separately.
const MOST_SIDES: usize = 4;
/// The most fields of one write that are looked at.
const MOST_TAKEOVERS: usize = 32;
/// The longest text of a value that is kept.
const VALUE_TEXT: usize = 80;

/// A change of a value that took its field from another manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Takeover {
    /// The field.
    pub path: Path,
    /// The manager that owned it.
    pub from: String,
    /// The value that was replaced; `None` if the field was not set.
    pub old: Option<Value>,
    /// The new value; `None` if the field was removed.
    pub new: Option<Value>,
}

/// Returns the fields that a manager took from others by changing their values.
pub fn takeovers(
    manager: &str,
    before: (&Value, &Managers),
    after: (&Value, &Managers),
    ty: TypeRef<'_>,
) -> Vec<Takeover> {
    let mut found: Vec<Takeover> = Vec::new();
    for owner in before.1.iter().filter(|owner| owner.name != manager) {
        let kept = after.1.get(&owner.identity()).map(|owner| &owner.fields);
        if kept.is_some_and(|kept| *kept == owner.fields) {
            continue;
        }
        let lost = kept.map_or_else(|| owner.fields.clone(), |kept| owner.fields.difference(kept));
        for path in lost.leaves().iter().take(MOST_TAKEOVERS) {
            let (old, new) = (path.resolve(before.0, ty), path.resolve(after.0, ty));
            if old != new && !found.iter().any(|known| known.path == path) {
                let (old, new) = (old.cloned(), new.cloned());
                found.push(Takeover { path, from: owner.name.to_string(), old, new });
            }
        }
    }
    found
}

/// A field that managers fight over.
#[derive(Clone, Debug, PartialEq)]
pub struct Fight {
    /// The object, by its key in the store.
    pub key: String,
    /// The field.
    pub path: String,
    /// The managers, those who overwrite most first.
    pub sides: Vec<Side>,
    /// How often the field was overwritten.
    pub overwrites: u64,
    /// When the first overwrite was, in milliseconds since 1970.
    pub since: u64,
    /// When the last one was.
    pub last: u64,
}

/// One manager in a fight.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The manager.
    pub manager: String,
    /// The value that it set last, as JSON; empty if it removed the field.
    pub value: String,
    /// How often it overwrote the value of another.
    pub overwrites: u64,
    /// When it did so first, in milliseconds since 1970.
    since: u64,
    fingerprint: u64,
}

#[derive(Clone, Debug)]
struct Contest {
    fight: Fight,
    restorations: u64,
    last_writer: String,
    reported: Option<u64>,
}

impl Contest {
    fn is_fight(&self) -> bool {
        let fighters = self.fight.sides.iter().filter(|side| side.overwrites >= OVERWRITES).count();
        self.restorations >= RESTORATIONS && fighters >= 2
    }

    fn shown(&self) -> Fight {
        let mut fight = self.fight.clone();
        fight.sides.retain(|side| side.overwrites >= OVERWRITES);
        fight.overwrites = fight.sides.iter().map(|side| side.overwrites).sum();
        fight.since = fight.sides.iter().map(|side| side.since).min().unwrap_or(fight.since);
        fight.sides.sort_by(|a, b| b.overwrites.cmp(&a.overwrites).then_with(|| a.manager.cmp(&b.manager)));
        fight
    }

    /// Returns the place of a manager, which takes that of the least active one if there are too many.
    fn side(&mut self, manager: &str, now: u64) -> usize {
        let sides = &mut self.fight.sides;
        if let Some(place) = sides.iter().position(|side| side.manager == manager) {
            return place;
        }
        let (manager, value) = (manager.to_owned(), String::new());
        let new = Side { manager, value, overwrites: 0, since: now, fingerprint: 0 };
        if sides.len() < MOST_SIDES {
            sides.push(new);
            return sides.len() - 1;
        }
        let least =
            sides.iter().enumerate().min_by_key(|(_, side)| side.overwrites).map_or(0, |(place, _)| place);
        sides[least] = new;
        least
    }
}

/// Finds fights while objects are written.
#[derive(Debug, Default)]
pub struct Fights {
    young: HashMap<u64, Contest>,
    old: HashMap<u64, Contest>,
}

impl Fights {
    /// Notes that a manager took a field over at a time, in milliseconds since 1970. Returns the fight if it is time to report
    /// it: when it is found, and once a minute while it continues. Values that are withheld are compared, and not kept.
    pub fn observe(
        &mut self,
        key: &str,
        manager: &str,
        takeover: &Takeover,
        values: Values,
        now: u64,
    ) -> Option<Fight> {
        let path = takeover.path.quoted().to_string();
        let id = fingerprint(&(key, &path));
        let known = self.young.remove(&id).or_else(|| self.old.remove(&id));
        let mut contest = known
            .filter(|contest| {
                contest.fight.key == key
                    && contest.fight.path == path
                    && now.saturating_sub(contest.fight.last) <= PATIENCE
            })
            .unwrap_or_else(|| new_contest(key, path, now));
        contest.note(manager, takeover, values, now);
        let due = contest.reported.is_none_or(|reported| now.saturating_sub(reported) >= REPORT_AGAIN);
        let report = (contest.is_fight() && due).then(|| {
            contest.reported = Some(now);
            contest.shown()
        });
        if self.young.len() >= MOST_FIELDS {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id, contest);
        report
    }

    /// How long ago an overwrite may be that still counts, in milliseconds.
    pub const MEMORY: u64 = PATIENCE;
    /// The fewest writes of an object that can be a fight.
    pub const FEWEST_WRITES: usize = RESTORATIONS as usize;

    /// Adds what was found in the records of earlier writes. A field that was contested meanwhile keeps what is known of it.
    pub fn recall(&mut self, earlier: Fights) {
        for (id, contest) in earlier.old.into_iter().chain(earlier.young) {
            if self.young.len() < MOST_FIELDS && !self.old.contains_key(&id) {
                self.young.entry(id).or_insert(contest);
            }
        }
    }

    /// Returns the fights that are not over, those with the most overwrites first.
    pub fn current(&self, now: u64) -> Vec<Fight> {
        let contests = self.young.values().chain(self.old.values());
        let current = contests.filter(|one| one.is_fight() && now.saturating_sub(one.fight.last) <= PATIENCE);
        let mut fights: Vec<Fight> = current.map(Contest::shown).collect();
        fights.sort_by(|a, b| {
            b.overwrites.cmp(&a.overwrites).then_with(|| (&a.key, &a.path).cmp(&(&b.key, &b.path)))
        });
        fights
    }
}

fn new_contest(key: &str, path: String, now: u64) -> Contest {
    let key = key.to_owned();
    Contest {
        fight: Fight { key, path, sides: Vec::new(), overwrites: 0, since: now, last: now },
        restorations: 0,
        last_writer: String::new(),
        reported: None,
    }
}

impl Contest {
    fn note(&mut self, manager: &str, takeover: &Takeover, values: Values, now: u64) {
        let shown = |value: String| match is_hidden(&takeover.path, values) && !value.is_empty() {
            true => WITHHELD.to_owned(),
            false => shortened(value),
        };
        let loser = self.side(&takeover.from, now);
        // The other side may have written through another server.
        if self.last_writer == manager {
            self.fight.sides[loser].overwrites += 1;
        }
        let value = text(takeover.old.as_ref());
        self.fight.sides[loser].fingerprint = fingerprint(&value);
        self.fight.sides[loser].value = shown(value);
        let value = text(takeover.new.as_ref());
        let fingerprint = fingerprint(&value);
        let writer = self.side(manager, now);
        let side = &mut self.fight.sides[writer];
        if side.fingerprint == fingerprint {
            self.restorations += 1;
        }
        side.fingerprint = fingerprint;
        side.value = shown(value);
        side.overwrites += 1;
        self.fight.last = now;
        manager.clone_into(&mut self.last_writer);
    }
}

fn text(value: Option<&Value>) -> String {
    value.map(Value::to_string).unwrap_or_default()
}

fn shortened(mut text: String) -> String {
    if text.len() > VALUE_TEXT {
        let end = (0..=VALUE_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Never zero, which means no value.
fn fingerprint(impl_hash: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    impl_hash.hash(&mut hasher);
    hasher.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takeover(path: &str, from: &str, old: i64, new: i64) -> Takeover {
        let path = Path::parse(path).unwrap();
        Takeover { path, from: from.to_owned(), old: Some(old.into()), new: Some(new.into()) }
    }

    #[test]
    fn two_that_put_back_their_values_fight() {
        let mut fights = Fights::default();
        let mut reports = Vec::new();
        for round in 0..10 {
            reports.extend(fights.observe(
                "a",
                "blue",
                &takeover(".spec.replicas", "red", 5, 3),
                Values::Kept,
                round * 10,
            ));
            reports.extend(fights.observe(
                "a",
                "red",
                &takeover(".spec.replicas", "blue", 3, 5),
                Values::Kept,
                round * 10 + 5,
            ));
        }
        assert_eq!(reports.len(), 1, "one report a minute");
        let fight = &fights.current(100)[0];
        let sides: Vec<(&str, &str)> =
            fight.sides.iter().map(|side| (side.manager.as_str(), side.value.as_str())).collect();
        assert_eq!(sides, [("blue", "3"), ("red", "5")]);
        assert_eq!(
            (fight.path.as_str(), fight.overwrites, fight.since, fight.last),
            (".spec.replicas", 20, 0, 95)
        );
        assert!(fights.current(100 + PATIENCE).is_empty(), "a fight ends");
    }

    #[test]
    fn who_takes_a_field_once_is_not_part_of_the_fight() {
        let mut fights = Fights::default();
        fights.observe("a", "kubectl", &takeover(".spec.replicas", "blue", 3, 9), Values::Kept, 0);
        fights.observe("a", "blue", &takeover(".spec.replicas", "kubectl", 9, 3), Values::Kept, 1);
        for round in 1..5 {
            fights.observe("a", "red", &takeover(".spec.replicas", "blue", 3, 5), Values::Kept, round * 10);
            fights.observe(
                "a",
                "blue",
                &takeover(".spec.replicas", "red", 5, 3),
                Values::Kept,
                round * 10 + 5,
            );
        }
        let fight = &fights.current(100)[0];
        let names: Vec<&str> = fight.sides.iter().map(|side| side.manager.as_str()).collect();
        assert_eq!((names, fight.overwrites), (vec!["blue", "red"], 9));
    }

    #[test]
    fn one_side_is_enough_to_see_a_fight() {
        let mut fights = Fights::default();
        let mut seen = false;
        for round in 0..6 {
            seen |= fights
                .observe(
                    "a",
                    "git",
                    &takeover(".spec.replicas", "hpa", 5 + round, 2),
                    Values::Kept,
                    round as u64,
                )
                .is_some();
        }
        assert!(seen, "the other side writes through another server, with ever new values");
        assert_eq!(fights.current(9)[0].sides.len(), 2);
    }

    #[test]
    fn handing_over_is_not_a_fight() {
        let mut fights = Fights::default();
        for round in 0..50i64 {
            let (a, b) = (format!("m{round}"), format!("m{}", round + 1));
            let report = fights.observe(
                "a",
                &b,
                &takeover(".spec.replicas", &a, round, round + 1),
                Values::Kept,
                round as u64,
            );
            assert_eq!(report, None);
        }
        // Two that each set a new value every time, such as the time of a heartbeat.
        for round in 0..50i64 {
            let report = fights.observe(
                "b",
                "x",
                &takeover(".data.beat", "y", 2 * round, 2 * round + 1),
                Values::Kept,
                1,
            );
            assert_eq!(report, None);
            let report = fights.observe(
                "b",
                "y",
                &takeover(".data.beat", "x", 2 * round + 1, 2 * round + 2),
                Values::Kept,
                1,
            );
            assert_eq!(report, None);
        }
        assert!(fights.current(60).is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut fights = Fights::default();
        for number in 0..20_000 {
            fights.observe(&number.to_string(), "a", &takeover(".x", "b", 1, 2), Values::Kept, number);
        }
        assert!(fights.young.len() + fights.old.len() <= 2 * MOST_FIELDS);
    }
}
