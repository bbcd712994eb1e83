//! A version of a custom resource: its schema, its columns, and the processing of its objects.

use super::version_rank::version_rank;
use crate::{
    fill, metadata,
    node::{self, Node},
    path::SimplePath,
    prune, rules, scale,
    table::{self, Column},
    validate,
};
use std::{collections::HashMap, sync::Arc};
use tenure_meta::{
    DecodeError, Decoded, FieldError, FieldErrorKind, FieldErrors, FieldPath, Previous, ScalePaths,
    Timestamp, ValueExt,
};
use tenure_profile::Profile;
use tenure_value::{Text, Value};

const RULES_NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// Errors after which rules are not evaluated: a value may have another type or be larger than the rules are made for.
const BLOCKING: [FieldErrorKind; 5] = [
    FieldErrorKind::NotSupported,
    FieldErrorKind::Required,
    FieldErrorKind::TooLong,
    FieldErrorKind::TooMany,
    FieldErrorKind::TypeInvalid,
];

/// How a `null` that is neither allowed nor defaulted is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Dropped,
    Kept,
}

/// One version of a custom resource.
#[derive(Debug)]
pub struct Version {
    /// The name: `v1`.
    pub name: Text,
    /// Group and name: `example.com/v1`.
    pub api_version: Text,
    /// Whether the version is served.
    pub is_served: bool,
    /// Whether this is the storage version.
    pub is_storage: bool,
    /// The deprecation warning; empty if the version is not deprecated.
    pub deprecation: Text,
    /// Whether objects have a status subresource.
    pub has_status: bool,
    /// The paths of the scale subresource, if there is one.
    pub scale: Option<ScalePaths>,
    /// The columns of a table, without the name.
    pub columns: Box<[Column]>,
    /// The paths of the selectable fields: `.spec.color`.
    pub selectable: Box<[SimplePath]>,
    pub(crate) node: Arc<Node>,
    schema: Value,
}

impl Version {
    /// Whether objects are validated by expressions.
    pub fn has_rules(&self) -> bool {
        self.node.rules_within
    }

    pub(super) fn read(
        group: &str,
        version: &Value,
        spec: &Value,
        earlier: &HashMap<Value, Arc<Node>>,
        profile: Profile,
    ) -> Version {
        let name = version.text("name");
        let schema = version.at(["schema", "openAPIV3Schema"]).cloned().unwrap_or_default();
        let path = |value: &Value, name: &str| {
            SimplePath::split(&value.text(name)).map(|path| path.names).unwrap_or_default()
        };
        let kind = spec.at(["names", "kind"]).and_then(Value::as_str).unwrap_or_default();
        let deprecation = match (version.flag("deprecated"), version.text("deprecationWarning")) {
            (false, _) => Text::default(),
            (true, words) if words.is_empty() => {
                let newer = spec
                    .items("versions")
                    .iter()
                    .filter(|version| version.flag("served") && !version.flag("deprecated"));
                let newer = newer.map(|version| version.text("name")).max_by_key(|name| version_rank(name));
                let newer = newer.filter(|newer| version_rank(newer) > version_rank(&name));
                let instead = newer.map(|newer| format!("; use {group}/{newer} {kind}")).unwrap_or_default();
                format!("{group}/{name} {kind} is deprecated{instead}").into()
            }
            (true, words) => words,
        };
        Version {
            api_version: format!("{group}/{name}").into(),
            is_served: version.flag("served"),
            is_storage: version.flag("storage"),
            deprecation,
            has_status: version.at(["subresources", "status"]).is_some_and(|status| !status.is_null()),
            scale: version.at(["subresources", "scale"]).filter(|scale| !scale.is_null()).map(|scale| {
                ScalePaths {
                    spec: path(scale, "specReplicasPath"),
                    status: path(scale, "statusReplicasPath"),
                    selector: path(scale, "labelSelectorPath"),
                }
            }),
            columns: Column::read_all(version.items("additionalPrinterColumns")),
            selectable: version
                .items("selectableFields")
                .iter()
                .filter_map(|field| SimplePath::parse(&field.text("jsonPath")))
                .collect(),
            node: earlier.get(&schema).cloned().unwrap_or_else(|| Arc::new(Node::root(&schema, profile))),
            name,
            schema,
        }
    }

    /// Returns the `openAPIV3Schema` of the definition.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Decodes a body, or the result of a patch, as an object of this version: unknown fields are dropped and
    /// reported, metadata becomes canonical, a `null` that is neither allowed nor defaulted is dropped,
    /// defaults are filled in. The memory of the body is shared where nothing changes.
    pub fn complete(&self, body: &Value) -> Result<Decoded, Box<DecodeError>> {
        self.decode(body, Previous::UNKNOWN, Nulls::Dropped)
    }

    /// Decodes a body that replaces a live object; parts that still share its memory are already decoded.
    pub fn complete_after(&self, body: &Value, before: Previous<'_>) -> Result<Decoded, Box<DecodeError>> {
        self.decode(body, before, Nulls::Dropped)
    }

    /// Decodes the result of an apply in the same way, except that a `null` is kept: if it is not allowed,
    /// validation reports it.
    pub fn complete_applied(&self, body: &Value) -> Result<Decoded, Box<DecodeError>> {
        self.decode(body, Previous::UNKNOWN, Nulls::Kept)
    }

    /// Decodes the result of an apply to a live object; parts that still share its memory are already
    /// decoded.
    pub fn complete_applied_after(
        &self,
        body: &Value,
        before: Previous<'_>,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.decode(body, before, Nulls::Kept)
    }

    fn decode(&self, body: &Value, before: Previous<'_>, nulls: Nulls) -> Result<Decoded, Box<DecodeError>> {
        let Decoded { mut value, mut strict_errors, warnings } = metadata::decode(body, before)?;
        let mut dropped = Vec::new();
        let root = FieldPath::root();
        value = prune::prune(&self.node, &value, before, &root, &mut dropped).unwrap_or(value);
        if nulls == Nulls::Dropped {
            value = node::drop_nulls(&self.node, &value, before).unwrap_or(value);
        }
        let mut embedded = Vec::new();
        metadata::decode_embedded(&self.node, &mut value, &root, &mut embedded)?;
        let mut unknown: Vec<String> =
            dropped.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        // Of the metadata, of the object, and of the metadata of what it embeds, as clients know them.
        for errors in [&mut strict_errors, &mut unknown, &mut embedded] {
            errors.sort();
            errors.dedup();
        }
        strict_errors.append(&mut unknown);
        strict_errors.append(&mut embedded);
        value = match fill::fill(&self.node, &value, before) {
            Ok(filled) => filled.unwrap_or(value),
            Err(error) => {
                return Err(Box::new(DecodeError { path: String::new(), message: error.to_string() }));
            }
        };
        Ok(Decoded { value: self.with_embedded(value), strict_errors, warnings })
    }

    /// Makes the metadata of embedded resources canonical where it comes from defaults.
    fn with_embedded(&self, mut value: Value) -> Value {
        if self.node.embedded_within && self.node.defaults_within {
            // The definition was refused if its defaults could not be decoded.
            let decoded =
                metadata::decode_embedded(&self.node, &mut value, &FieldPath::root(), &mut Vec::new());
            decoded.unwrap_or_default();
        }
        value
    }

    /// Returns a stored object as it reads under the current schema: unknown fields are dropped, new defaults
    /// filled in, and a `null` that is no longer allowed and empty parts of the metadata are dropped. For the storage version.
    pub fn read_stored(&self, object: &Value) -> Value {
        let value = self.trim(object);
        let value = metadata::read_stored(&value).unwrap_or(value);
        let value = node::drop_nulls(&self.node, &value, Previous::UNKNOWN).unwrap_or(value);
        match fill::fill_stored(&self.node, &value) {
            Some(filled) => self.with_embedded(filled),
            None => value,
        }
    }

    /// Returns a complete object as the next read returns it: without any `null` that is not allowed, which
    /// is all that reading changes. Parts that share the live memory have none.
    pub fn without_nulls(&self, object: Value, before: Previous<'_>) -> Value {
        node::drop_nulls(&self.node, &object, before).unwrap_or(object)
    }

    /// Returns an object without fields that this version does not have; a `null` stays, to be validated. An object of
    /// another version gets no further defaults: they come from the version that it was written and stored in.
    pub(super) fn trim(&self, object: &Value) -> Value {
        let value = prune::prune(&self.node, object, Previous::UNKNOWN, &FieldPath::root(), &mut Vec::new());
        value.unwrap_or_else(|| object.clone())
    }

    /// Returns the errors in the content of a new object; its metadata is validated like that of every kind.
    pub fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        self.validate(object, None, &mut Vec::new())
    }

    /// Returns the errors in an update of the status: the rest of the object is not validated, except by rules.
    pub fn validate_status_update(
        &self,
        object: &Value,
        old: &Value,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let mut errors = FieldErrors::default();
        if let (Some(node), Some(status)) = (self.node.field("status"), object.get("status")) {
            let mut inner = FieldErrors::default();
            validate::check(node, status, old.get("status"), &FieldPath::root(), &mut inner);
            errors.extend(inner.into_vec().into_iter().map(|error| error.below("status")));
        }
        if let Some(paths) = &self.scale {
            scale::check_status(paths, object, &mut errors);
        }
        self.validate_rules(object, Some(old), errors, warnings)
    }

    /// Returns the errors in the content of an updated object. Unchanged parts are validated by rules alone: what violates one that
    /// does not compare it with the old one is warned of.
    pub fn validate_update(
        &self,
        object: &Value,
        old: &Value,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        self.validate(object, Some(old), warnings)
    }

    fn validate(&self, object: &Value, old: Option<&Value>, warnings: &mut Vec<String>) -> Vec<FieldError> {
        let mut errors = FieldErrors::default();
        validate::check(&self.node, object, old, &FieldPath::root(), &mut errors);
        if let Some(paths) = &self.scale {
            scale::check_spec(paths, object, &mut errors);
            scale::check_status(paths, object, &mut errors);
        }
        self.validate_rules(object, old, errors, warnings)
    }

    /// Evaluates the rules, unless the object has errors after which a rule could not be evaluated.
    fn validate_rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        mut errors: FieldErrors,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        if !self.node.rules_within {
            return errors.into_vec();
        }
        if errors.iter().any(|error| BLOCKING.contains(&error.kind)) {
            errors.push(FieldError::invalid("<nil>", &Value::Null, RULES_NOT_CHECKED));
            return errors.into_vec();
        }
        warnings.extend(rules::Validation::run(&self.node, object, old, &mut errors));
        errors.into_vec()
    }

    /// Returns the column definitions of a table.
    pub fn column_definitions(&self) -> Value {
        table::definitions(&self.columns)
    }

    /// Returns the cells of an object in a table.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        table::cells(&self.columns, object, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Definition;

    #[test]
    fn skipping_the_live_memory_does_not_change_the_result() {
        let definition: Value = r#"{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
            "names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
            "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
              "a":{"type":"object","properties":{"x":{"type":"integer","default":1},"y":{"type":"string"}}},
              "l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer","default":2},"y":{"type":"string"}}}},
              "t":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}}}}}]}}"#
            .parse()
            .unwrap();
        let definition = Definition::read(&definition, Profile::kubernetes()).unwrap();
        let version = &definition.versions[0];
        let object = |spec: &str| {
            let text = format!(
                r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"w","labels":{{"a":"b"}}}},"spec":{spec}}}"#
            );
            text.parse::<Value>().unwrap()
        };
        let live = version.read_stored(&object(
            r#"{"a":{"y":"1"},"l":[{"y":"1"},{"y":"2"}],"t":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}}"#,
        ));
        let spec = live.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        let items = spec.get("l").and_then(Value::as_array).cloned().unwrap_or_default();
        let new: Value = r#"{"y":"3","z":true,"x":null}"#.parse().unwrap();
        let with = |name: &str, value: Value| {
            Value::Object(live.as_object().cloned().unwrap_or_default().with("spec", spec.with(name, value)))
        };
        let lists = [
            vec![items[1].clone(), items[0].clone()],
            vec![items[0].clone(), new.clone(), items[1].clone()],
            vec![items[1].clone()],
        ];
        let mut changed = vec![live.clone(), with("a", new.clone()), with("a", Value::Null), with("b", new)];
        changed.extend(lists.map(|items| with("l", Value::array(items))));
        let before = Previous::of(&live);
        for object in changed {
            let known = |decoded: Decoded| (decoded.value, decoded.strict_errors);
            assert_eq!(
                version.complete_after(&object, before).map(known),
                version.complete(&object).map(known),
                "{object}"
            );
            assert_eq!(
                version.complete_applied_after(&object, before).map(known),
                version.complete_applied(&object).map(known),
                "{object}"
            );
            let complete = version.complete_applied(&object).unwrap().value;
            assert_eq!(
                version.without_nulls(complete.clone(), before),
                version.read_stored(&complete),
                "{object}"
            );
        }
        assert!(version.complete_applied_after(&live, before).unwrap().value.ptr_eq(&live));
    }
}
