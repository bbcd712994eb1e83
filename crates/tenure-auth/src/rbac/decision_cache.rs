//! Recent decisions. A decision depends on the policy, the name and the groups of the user, and the attributes of the
//! request; it is valid until the policy changes.

use super::Policy;
use crate::{Attributes, Decision, UserInfo};
use std::{
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
};
use tenure_value::Text;

/// How many decisions are remembered; a power of two.
const SLOTS: usize = 4096;
/// Decisions about users with more groups are not remembered.
const MOST_GROUPS: usize = 64;

/// Recent decisions, each in the slot that its hash names. A decision that needs an occupied slot takes it over.
pub struct DecisionCache {
    hasher: RandomState,
    slots: Box<[Mutex<Option<Entry>>]>,
}

struct Entry {
    generation: u64,
    name: Text,
    groups: Vec<Text>,
    attributes: Attributes,
    decision: Decision,
}

impl Default for DecisionCache {
    fn default() -> DecisionCache {
        let slots = (0..SLOTS).map(|_| Mutex::new(None)).collect();
        DecisionCache { hasher: RandomState::new(), slots }
    }
}

impl DecisionCache {
    /// Decides as [`Policy::authorize`] does, from the cache if the same request was decided before.
    pub fn authorize(&self, policy: &Policy, user: &UserInfo, attributes: &Attributes) -> Decision {
        if user.is_in(UserInfo::MASTERS) || user.groups.len() > MOST_GROUPS {
            return policy.authorize(user, attributes);
        }
        let generation = policy.generation();
        let hash = self.hasher.hash_one((&user.name, &user.groups, judged(attributes))) as usize;
        let slot = &self.slots[hash % SLOTS];
        if let Some(entry) = &*slot.lock().unwrap_or_else(PoisonError::into_inner)
            && entry.generation == generation
            && entry.name == user.name
            && entry.groups == user.groups
            && judged(&entry.attributes) == judged(attributes)
        {
            return entry.decision.clone();
        }
        let decision = policy.authorize(user, attributes);
        let entry = Entry {
            generation,
            name: user.name.clone(),
            groups: user.groups.clone(),
            attributes: attributes.clone(),
            decision: decision.clone(),
        };
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
        decision
    }
}

/// Returns what roles are compared with: whether a resource is asked for, and the attributes but for version and selectors.
fn judged(attributes: &Attributes) -> (bool, [&str; 6]) {
    match attributes {
        Attributes::Resource(of) => {
            (true, [&of.verb, &of.group, &of.resource, &of.subresource, &of.namespace, &of.name])
        }
        Attributes::NonResource { verb, path } => (false, [verb, path, "", "", "", ""]),
    }
}
