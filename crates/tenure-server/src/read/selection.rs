//! The selection of objects of a collection, by name, labels and fields.

use super::list_options;
use tenure_catalog::Target;
use tenure_http::Request;
use tenure_meta::{ApiError, FieldSelector, IndexTerm, LabelSelector, ShardSelector};
use tenure_profile::{Improvement, Profile};
use tenure_value::Value;

/// Which objects of a collection a request selects.
#[derive(Clone, Default)]
pub struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    /// The name in the path, if it names one object.
    name: Option<String>,
    shard: Option<ShardSelector>,
}

impl Selection {
    /// Checks the options of a request, and reads its selectors.
    pub fn of(target: &Target, request: &Request, profile: Profile) -> Result<Selection, ApiError> {
        let text = |name: &str| request.query.get(name).map_or("", |value| value.as_str()).to_string();
        list_options::check_numbers(&request.query)?;
        let labels = LabelSelector::parse(&text("labelSelector"))?;
        let fields = FieldSelector::parse(&text("fieldSelector"))?;
        list_options::check(&request.query)?;
        let selectable = target.handler.strategy().selectable_fields();
        let fields = match target.handler.is_custom() {
            true => fields.resolve_custom(selectable)?,
            false => fields.resolve(selectable)?,
        };
        let name = (!target.name.is_empty()).then(|| target.name.to_string());
        let shard = request.query.given("shardSelector").filter(|_| profile.has(Improvement::ShardedLists));
        let shard = shard.map(|text| ShardSelector::parse(text)).transpose()?;
        Ok(Selection { labels, fields, name, shard })
    }

    /// Whether all objects are selected.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything()
            && self.fields.is_everything()
            && self.name.is_none()
            && self.shard.is_none()
    }

    /// Decides about an object by its key in the store, and its labels if they are known; `None` if that is not enough.
    pub fn decide(&self, key: &[u8], labels: Option<&Value>) -> Option<bool> {
        let mut segments =
            key.rsplit(|byte| *byte == b'/').map(|part| std::str::from_utf8(part).unwrap_or(""));
        let name = segments.next().unwrap_or_default();
        // The key of a cluster-scoped object has no segment for the namespace.
        let namespace = (key.iter().filter(|byte| **byte == b'/').count() == 4)
            .then(|| segments.next())
            .flatten()
            .unwrap_or_default();
        if self.name.as_deref().is_some_and(|wanted| wanted != name) {
            return Some(false);
        }
        let by_labels = match labels {
            _ if self.labels.is_everything() => Some(true),
            Some(labels) => Some(self.labels.matches(Some(labels))),
            None => None,
        };
        let by_shard = self.shard.as_ref().map_or(Some(true), |shard| shard.decide(namespace));
        match (self.fields.decide(name, namespace), by_labels, by_shard) {
            (Some(false), ..) | (_, Some(false), _) | (.., Some(false)) => Some(false),
            (Some(true), Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    /// Returns the requirements that an index can answer, and whether these are all of them.
    pub fn index_terms(&self) -> (Vec<IndexTerm>, bool) {
        let ((mut terms, all_labels), (fields, all_fields)) =
            (self.labels.index_terms(), self.fields.index_terms());
        terms.extend(fields);
        (terms, all_labels && all_fields && self.name.is_none() && self.shard.is_none())
    }

    /// Returns the name that every selected object has, if there is one.
    pub fn only_name(&self) -> Option<&str> {
        self.name.as_deref().or_else(|| self.fields.name().map(|name| name.as_str()))
    }

    /// Returns the selector of the shard, as lists repeat it.
    pub fn shard(&self) -> Option<String> {
        self.shard.as_ref().map(ToString::to_string)
    }

    /// Whether an object is selected.
    pub fn matches(&self, object: &Value) -> bool {
        self.name
            .as_deref()
            .is_none_or(|name| object.at(["metadata", "name"]).and_then(Value::as_str) == Some(name))
            && self.labels.matches(object.at(["metadata", "labels"]))
            && self.fields.matches(object)
            && self.shard.as_ref().is_none_or(|shard| shard.matches(object))
    }
}
