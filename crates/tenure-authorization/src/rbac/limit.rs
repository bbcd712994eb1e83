//! The limits of granted rules: the fields that their write permissions are for, and whether one limit is within others.
//!
//! A user may grant a permission for fields if the permissions of the user cover all of them: by rules that permit each field
//! to each manager, with force if it is granted with force, as often as it is granted. What cannot be decided by comparing patterns counts as not covered.

use super::{FieldPattern, FieldRule, PolicyRule, rule::ALL};
use tenure_value::Text;

/// The verbs that change objects.
pub(crate) const WRITE_VERBS: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// What limits the write permissions of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit<'p> {
    /// Field rules: writes to a resource that none of them names are not limited.
    Fields(&'p [FieldRule]),
    /// No write at all: the field rules cannot be read, or no role grants the rule that an aggregated role has collected.
    NoWrite,
}

/// A rule that a role grants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantedRule<'p> {
    /// The rule.
    pub rule: &'p PolicyRule,
    /// What limits it.
    pub limit: Limit<'p>,
}

impl<'p> Limit<'p> {
    /// Returns the field rules that limit writes to a resource; `None` if they are not limited.
    pub(crate) fn of(self, group: &str, resource: &str, subresource: &str) -> Option<Vec<&'p FieldRule>> {
        let Limit::Fields(rules) = self else { return Some(Vec::new()) };
        let limiting: Vec<&FieldRule> =
            rules.iter().filter(|rule| rule.limits(group, resource, subresource)).collect();
        (!limiting.is_empty()).then_some(limiting)
    }

    /// Whether this limits nothing.
    pub(super) fn is_none(self) -> bool {
        self == Limit::Fields(&[])
    }
}

impl<'p> GrantedRule<'p> {
    /// Returns a rule without a limit.
    pub fn unlimited(rule: &'p PolicyRule) -> GrantedRule<'p> {
        GrantedRule { rule, limit: Limit::Fields(&[]) }
    }

    /// Returns what the write permissions of the rule are limited to, in words; `None` if they are not limited.
    pub(crate) fn limit_text(&self) -> Option<String> {
        if !self.rule.verbs.iter().any(|verb| is_write(verb)) {
            return None;
        }
        match self.limit {
            Limit::NoWrite => Some(format!("no write is permitted by {}", self.rule)),
            Limit::Fields(rules) => {
                let touching = rules.iter().filter(|limit| limit.touches(self.rule));
                let texts: Vec<String> =
                    touching.map(|limit| format!("writes are limited to {limit}")).collect();
                (!texts.is_empty()).then(|| texts.join("; "))
            }
        }
    }
}

/// Whether a verb of a rule is for writes, among others.
pub(super) fn is_write(verb: &str) -> bool {
    verb == ALL || WRITE_VERBS.contains(&verb)
}

/// Whether the rules that a user has permit all that another rule permits. `budget` is how many patterns may still be compared;
/// `None` if that is too few.
pub(super) fn is_within(requested: &FieldRule, owned: &[&FieldRule], budget: &mut usize) -> Option<bool> {
    let any = |managers: &[Text]| managers.is_empty() || managers.iter().any(|name| name == ALL);
    let managers: Vec<Option<&Text>> = match any(&requested.managers) {
        true => vec![None],
        false => requested.managers.iter().map(Some).collect(),
    };
    let fields: Vec<Option<&FieldPattern>> = match requested.fields.is_empty() {
        true => vec![None],
        false => requested.fields.iter().map(Some).collect(),
    };
    for manager in managers {
        for field in &fields {
            let mut covered = false;
            for own in owned {
                let exceptions =
                    (own.except_fields.len() + 1).saturating_mul(requested.except_fields.len() + 1);
                *budget =
                    budget.checked_sub(exceptions.saturating_add(own.fields.len() + own.managers.len()))?;
                let permits_manager =
                    any(&own.managers) || manager.is_some_and(|name| own.managers.contains(name));
                if permits_manager && covers_field(own, *field, requested) {
                    covered = true;
                    break;
                }
            }
            if !covered {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// Whether a rule permits what another one permits of a field, or of all fields.
fn covers_field(own: &FieldRule, field: Option<&FieldPattern>, requested: &FieldRule) -> bool {
    let contains = || match field {
        Some(field) => own.fields.iter().any(|pattern| pattern.contains_pattern(field)),
        None => false,
    };
    // What is excepted is outside of the field, or excepted by the other rule, too.
    let is_respected = |except: &FieldPattern| {
        field.is_some_and(|field| !except.meets(field))
            || requested.except_fields.iter().any(|other| other.contains_pattern(except))
    };
    let is_as_often = match (own.changes_per_minute, requested.changes_per_minute) {
        (None, _) => true,
        (Some(own), Some(requested)) => requested <= own,
        (Some(_), None) => false,
    };
    (own.force || !requested.force)
        && is_as_often
        && (own.fields.is_empty() || contains())
        && own.except_fields.iter().all(is_respected)
}
