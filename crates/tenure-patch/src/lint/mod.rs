//! Checking a patch or a manifest without applying it: what would be refused, ignored or surprising. No live document
//! is needed; every finding says where, what, and how to fix it.

mod finding;
mod lists;

pub use finding::{Finding, Problem};

use crate::strategic::{Directive, PATCH, directive, field_type, item_type, lookup};
use std::collections::HashSet;
use tenure_fields::{Path, PathElement};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Object, Text, Value};

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A strategic merge patch.
    Patch,
    /// A whole object, from which patches are calculated.
    Manifest,
}

/// Checks a patch or a manifest of a type.
///
/// ```
/// use tenure_patch::lint::{self, Subject};
/// use tenure_schema::Schema;
///
/// let patch = r#"{"spec": {"containers": [{"image": "x"}]}}"#.parse().unwrap();
/// let findings = lint::lint(&patch, Schema::builtin().kind("v1", "Pod").unwrap(), Subject::Patch);
/// assert_eq!(
///     findings[0].to_string(),
///     ".spec.containers[0]: the entry has no value for its merge key \"name\"; set it",
/// );
/// ```
pub fn lint(document: &Value, ty: TypeRef<'_>, subject: Subject) -> Vec<Finding> {
    let mut linter = Linter { subject, path: Path::default(), findings: Vec::new() };
    if matches!(ty.get(), Type::Untyped) {
        linter.report(Problem::NoSchema);
    }
    match document {
        Value::Object(map) => linter.map(map, ty),
        other => linter.report(Problem::NotAnObject(other.clone())),
    }
    linter.findings
}

struct Linter {
    subject: Subject,
    path: Path,
    findings: Vec<Finding>,
}

impl Linter {
    fn report(&mut self, problem: Problem) {
        self.findings.push(Finding { path: self.path.clone(), problem });
    }

    fn below(&mut self, step: PathElement, check: impl FnOnce(&mut Linter)) {
        self.path.push(step);
        check(self);
        self.path.pop();
    }

    fn map(&mut self, map: &Object, ty: TypeRef<'_>) {
        let word = map.get(PATCH).and_then(Value::as_str);
        let replaces = self.subject == Subject::Patch && word == Some("replace");
        for (name, value) in map {
            match directive(name, ty) {
                Some(found) => {
                    self.below(PathElement::field(name.clone()), |linter| {
                        linter.directive(found, name, value, map, ty)
                    });
                }
                None => self.below(PathElement::field(name.clone()), |linter| match replaces {
                    true => linter.literal(value, field_type(ty, name)),
                    false => linter.field(name, value, map, ty),
                }),
            }
        }
    }

    fn field(&mut self, name: &Text, value: &Value, map: &Object, ty: TypeRef<'_>) {
        let Ok(meta) = lookup(ty, name, value) else {
            if !value.is_scalar() || ty.field(name).is_none() && matches!(ty.get(), Type::Struct(_)) {
                self.report(Problem::UnknownField(name.clone()));
            }
            return;
        };
        match value {
            Value::Object(below) if meta.replaces() => self.literal(&below.clone().into(), meta.ty),
            Value::Object(below) => self.map(below, meta.ty),
            Value::Array(list) => self.list(name, list, map, meta),
            _ => {}
        }
    }

    /// Checks a directive; the path ends with its name.
    fn directive(&mut self, found: Directive<'_>, name: &Text, value: &Value, map: &Object, ty: TypeRef<'_>) {
        if self.subject == Subject::Manifest {
            return self.report(Problem::DirectiveInManifest(name.clone()));
        }
        match found {
            Directive::Unknown => self.report(Problem::UnknownDirective(name.clone())),
            Directive::Nameless => self.report(Problem::NamelessDirective(name.clone())),
            Directive::Patch if !matches!(value.as_str(), Some("replace" | "delete")) => {
                self.report(Problem::UnknownValue {
                    directive: name.clone(),
                    value: value.clone(),
                    right: "\"replace\" or \"delete\"",
                });
            }
            Directive::Patch => {}
            Directive::RetainKeys => self.retain_keys(value, map, ty),
            Directive::MergeKeys => self.merge_keys(value),
            Directive::Order(list) => self.order_of(name, list, value, ty),
            Directive::Deletions(list) => self.deletions(name, list, value, ty),
        }
    }

    fn retain_keys(&mut self, value: &Value, map: &Object, ty: TypeRef<'_>) {
        let Some(listed) =
            value.as_array().filter(|listed| listed.iter().all(|name| name.as_str().is_some()))
        else {
            return self.report(Problem::UnknownValue {
                directive: Text::new_static("$retainKeys"),
                value: value.clone(),
                right: "a list of field names",
            });
        };
        let listed: HashSet<&str> = listed.iter().filter_map(Value::as_str).collect();
        for (name, field) in map {
            let is_listed = listed.contains(name.as_str());
            if !field.is_null() && !is_listed && directive(name, ty).is_none() {
                self.report(Problem::NotRetained(name.clone()));
            }
        }
    }

    fn merge_keys(&mut self, value: &Value) {
        let steps = self.path.elements();
        let in_entry = matches!(steps.len().checked_sub(2).map(|at| &steps[at]), Some(PathElement::Index(_)));
        let is_list = value
            .as_array()
            .is_some_and(|keys| !keys.is_empty() && keys.iter().all(|key| key.as_str().is_some()));
        if !in_entry {
            self.report(Problem::Misplaced {
                directive: Text::new_static("$patchMergeKey"),
                right: "in every entry of a list",
            });
        } else if !is_list {
            let directive = Text::new_static("$patchMergeKey");
            self.report(Problem::UnknownValue {
                directive,
                value: value.clone(),
                right: "a list of key names",
            });
        }
    }

    /// Checks that a directive names a list of the type.
    fn names_list(&mut self, name: &Text, list: &str, value: &Value, ty: TypeRef<'_>) {
        let meta = lookup(ty, list, value);
        if !meta.is_ok_and(|meta| matches!(meta.ty.get(), Type::List(_) | Type::Untyped)) {
            self.report(Problem::Misplaced { directive: name.clone(), right: "beside a list of that name" });
        }
        if value.as_array().is_none() {
            self.report(Problem::UnknownValue {
                directive: name.clone(),
                value: value.clone(),
                right: "a list",
            });
        }
    }

    /// Checks an order: the entries of a list of maps are ordered by maps with their keys, not by scalars.
    fn order_of(&mut self, name: &Text, list: &str, value: &Value, ty: TypeRef<'_>) {
        self.names_list(name, list, value, ty);
        let is_list_of_maps = lookup(ty, list, value)
            .is_ok_and(|meta| matches!(item_type(meta.ty).get(), Type::Struct(_) | Type::Map(_)));
        let entries = value.as_array().into_iter().flatten();
        if let Some(scalar) = entries.into_iter().find(|entry| is_list_of_maps && entry.as_object().is_none())
        {
            self.report(Problem::UnknownValue {
                directive: name.clone(),
                value: scalar.clone(),
                right: "maps, each with the merge key of an entry",
            });
        }
    }

    fn deletions(&mut self, name: &Text, list: &str, value: &Value, ty: TypeRef<'_>) {
        self.names_list(name, list, value, ty);
        let is_scalar_list = match lookup(ty, list, value) {
            Ok(meta) => matches!(item_type(meta.ty).get(), Type::Scalar(_) | Type::Untyped),
            Err(_) => true,
        };
        if !is_scalar_list {
            let right = "beside a list of scalars; delete a map with $patch: delete in its entry";
            self.report(Problem::Misplaced { directive: name.clone(), right });
        }
    }

    /// Checks a value that is taken literally: directives in it have no effect.
    fn literal(&mut self, value: &Value, ty: TypeRef<'_>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    self.below(PathElement::field(name.clone()), |linter| match directive(name, ty) {
                        Some(_) => linter.report(Problem::Ineffective(name.clone())),
                        None => linter.literal(value, field_type(ty, name)),
                    });
                }
            }
            Value::Array(list) => {
                for (at, item) in list.iter().enumerate() {
                    self.below(PathElement::Index(at as i64), |linter| linter.literal(item, item_type(ty)));
                }
            }
            _ => {}
        }
    }
}
