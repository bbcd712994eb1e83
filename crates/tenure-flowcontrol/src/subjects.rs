//! Which flow schemas a user can match at all. Most schemas are for a few components, and every request is classified: those that name
//! other users and groups are not looked at.

use crate::rule::{Rule, Subject};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use tenure_meta::UserInfo;
use tenure_value::Text;

/// The places of schemas by what their subjects name. A user cannot add to it, so that its hashes need not resist attackers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SubjectIndex {
    by_user: HashMap<Text, Vec<usize>, RandomState>,
    by_group: HashMap<Text, Vec<usize>, RandomState>,
    /// Those with a wildcard or a service account.
    others: Vec<usize>,
}

impl SubjectIndex {
    /// Creates the index of the schemas with these rules, in the order of the schemas.
    pub(crate) fn new<'r>(rules: impl Iterator<Item = &'r [Rule]>) -> SubjectIndex {
        let mut index = SubjectIndex::default();
        for (place, rules) in rules.enumerate() {
            for subject in rules.iter().flat_map(|rule| &rule.subjects) {
                let places = match subject {
                    Subject::User(name) if name != "*" => index.by_user.entry(name.clone()).or_default(),
                    Subject::Group(name) if name != "*" => index.by_group.entry(name.clone()).or_default(),
                    _ => &mut index.others,
                };
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        index
    }

    /// Returns the places of the schemas that a user may match, in no order; some may come twice.
    pub(crate) fn candidates<'a>(&'a self, user: &'a UserInfo) -> impl Iterator<Item = usize> {
        let of_user = self.by_user.get(&user.name);
        let of_groups = user.groups.iter().filter_map(|group| self.by_group.get(group));
        of_user.into_iter().chain(of_groups).flatten().chain(&self.others).copied()
    }
}
