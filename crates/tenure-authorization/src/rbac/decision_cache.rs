//! Recent decisions. A decision depends on the policy, the name and the groups of the user, and the attributes of the
//! request; it is valid until the policy changes.

use super::Policy;
use crate::Decision;
use foldhash::fast::RandomState;
use std::{
    hash::BuildHasher,
    sync::{Mutex, PoisonError},
};
use tenure_meta::{Attributes, UserInfo};
use tenure_value::Text;

/// How many pairs of decisions are remembered; a power of two.
const PAIRS: usize = 2048;
/// Decisions about users with more groups are not remembered.
const MOST_GROUPS: usize = 64;

/// Recent decisions, each in the pair that its hash names. A new decision displaces the one of its pair that was not used last, so
/// that two that are needed in turn stay.
pub struct DecisionCache {
    /// Need not resist attackers: decisions with the same hash displace each other, and cost no more time.
    hasher: RandomState,
    pairs: Box<[Mutex<Pair>]>,
}

/// Two decisions, the one that was used last first. Boxed, so that a server without requests has no room for them.
type Pair = [Option<Box<Entry>>; 2];

struct Entry {
    generation: u64,
    name: Text,
    groups: Vec<Text>,
    attributes: Attributes,
    decision: Decision,
}

impl Default for DecisionCache {
    fn default() -> DecisionCache {
        let pairs = (0..PAIRS).map(|_| Mutex::default()).collect();
        DecisionCache { hasher: RandomState::default(), pairs }
    }
}

impl DecisionCache {
    /// Decides as [`Policy::authorize`] does, from the cache if the same request was decided before.
    pub fn authorize(&self, policy: &Policy, user: &UserInfo, attributes: &Attributes) -> Decision {
        if user.is_in(UserInfo::MASTERS) || user.groups.len() > MOST_GROUPS {
            return policy.authorize(user, attributes);
        }
        let generation = policy.generation();
        let asked = judged(attributes);
        let hash = self.hasher.hash_one((&user.name, &user.groups, asked)) as usize;
        let pair = &self.pairs[hash % PAIRS];
        let is_same = |entry: &Entry| {
            entry.generation == generation
                && entry.name == user.name
                && entry.groups == user.groups
                && judged(&entry.attributes) == asked
        };
        let known = |pair: &mut Pair| {
            let at = pair.iter().position(|entry| entry.as_deref().is_some_and(is_same))?;
            pair.swap(0, at);
            pair[0].as_deref().map(|entry| entry.decision.clone())
        };
        if let Some(decision) = known(&mut pair.lock().unwrap_or_else(PoisonError::into_inner)) {
            return decision;
        }
        let decision = policy.authorize(user, attributes);
        let entry = Box::new(Entry {
            generation,
            name: user.name.clone(),
            groups: user.groups.clone(),
            attributes: attributes.clone(),
            decision: decision.clone(),
        });
        let mut pair = pair.lock().unwrap_or_else(PoisonError::into_inner);
        pair.swap(0, 1);
        pair[0] = Some(entry);
        decision
    }
}

/// Returns what roles are compared with: whether a resource is asked for, and the attributes but for version and selectors.
fn judged(attributes: &Attributes) -> (bool, [&str; 6]) {
    match attributes {
        Attributes::Resource(resource) => (
            true,
            [
                &resource.verb,
                &resource.group,
                &resource.resource,
                &resource.subresource,
                &resource.namespace,
                &resource.name,
            ],
        ),
        Attributes::NonResource { verb, path } => (false, [verb, path, "", "", "", ""]),
    }
}
