//! Looking over a patch or a manifest without applying it: what would be refused, ignored or understood
//! otherwise than its author may think. Nothing live is needed; every finding says where, what, and the fix.

mod finding;
mod lists;

pub use finding::{Finding, Problem};

use crate::strategic::{Directive, UnmarkedLists, directive, plan};
use tenure_fields::{Path, PathElement};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Object, Text, Value};

/// What a document is meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A strategic merge patch.
    Patch,
    /// A whole object, from which a patch will be calculated.
    Manifest,
}

/// Looks over a patch or a manifest of a type.
///
/// ```
/// use tenure_patch::lint::{self, Subject};
/// use tenure_schema::Schema;
///
/// let patch = r#"{"spec": {"containers": [{"image": "x"}]}}"#.parse().unwrap();
/// let findings = lint::lint(&patch, Schema::builtin().kind("v1", "Pod").unwrap(), Subject::Patch);
/// assert_eq!(
///     findings[0].to_string(),
///     ".spec.containers[0]: the entry has no value for its merge key \"name\"; give it one",
/// );
/// ```
pub fn lint(document: &Value, ty: TypeRef<'_>, subject: Subject) -> Vec<Finding> {
    let mut look =
        Look { subject, unmarked: UnmarkedLists::Merge, path: Path::default(), findings: Vec::new() };
    if matches!(ty.get(), Type::Untyped) {
        look.find(Problem::NoSchema);
    }
    match document {
        Value::Object(map) => look.map(map, ty),
        other => look.find(Problem::NotAnObject(other.clone())),
    }
    look.findings
}

struct Look {
    subject: Subject,
    unmarked: UnmarkedLists,
    path: Path,
    findings: Vec<Finding>,
}

impl Look {
    fn find(&mut self, problem: Problem) {
        self.findings.push(Finding { path: self.path.clone(), problem });
    }

    fn below(&mut self, step: PathElement, look: impl FnOnce(&mut Look)) {
        self.path.push(step);
        look(self);
        self.path.pop();
    }

    fn map(&mut self, map: &Object, ty: TypeRef<'_>) {
        let word = map.get("$patch").and_then(Value::as_str);
        let replaces = self.subject == Subject::Patch && word == Some("replace");
        for (name, value) in map {
            match directive(name, ty) {
                Some(found) => {
                    self.below(PathElement::field(name.clone()), |look| {
                        look.directive(found, name, value, map, ty)
                    });
                }
                None => self.below(PathElement::field(name.clone()), |look| match replaces {
                    true => look.literal(value, plan::below(ty, name)),
                    false => look.field(name, value, map, ty),
                }),
            }
        }
    }

    fn field(&mut self, name: &Text, value: &Value, map: &Object, ty: TypeRef<'_>) {
        let Ok(position) = plan::position(ty, name, value) else {
            if !value.is_scalar() || ty.field(name).is_none() && matches!(ty.get(), Type::Struct(_)) {
                self.find(Problem::UnknownField(name.clone()));
            }
            return;
        };
        match value {
            Value::Object(below) if plan::replaces(position.marks) => {
                self.literal(&below.clone().into(), position.ty)
            }
            Value::Object(below) => self.map(below, position.ty),
            Value::Array(list) => self.list(name, list, map, position),
            _ => {}
        }
    }

    /// Looks over a directive; the path ends with its name.
    fn directive(&mut self, found: Directive<'_>, name: &Text, value: &Value, map: &Object, ty: TypeRef<'_>) {
        if self.subject == Subject::Manifest {
            return self.find(Problem::DirectiveInManifest(name.clone()));
        }
        match found {
            Directive::Unknown => self.find(Problem::UnknownDirective(name.clone())),
            Directive::Nameless => self.find(Problem::NamelessDirective(name.clone())),
            Directive::Patch if !matches!(value.as_str(), Some("replace" | "delete")) => {
                self.find(Problem::UnknownValue {
                    directive: name.clone(),
                    value: value.clone(),
                    right: "\"replace\" or \"delete\"",
                });
            }
            Directive::Patch => {}
            Directive::RetainKeys => self.retain_keys(value, map, ty),
            Directive::MergeKeys => self.merge_keys(value),
            Directive::Order(list) => self.names_list(name, list, value, ty),
            Directive::Deletions(list) => self.deletions(name, list, value, ty),
        }
    }

    fn retain_keys(&mut self, value: &Value, map: &Object, ty: TypeRef<'_>) {
        let Some(listed) =
            value.as_array().filter(|listed| listed.iter().all(|name| name.as_str().is_some()))
        else {
            return self.find(Problem::UnknownValue {
                directive: Text::new_static("$retainKeys"),
                value: value.clone(),
                right: "a list of field names",
            });
        };
        for (name, field) in map {
            let is_listed = listed.iter().any(|listed| listed.as_str() == Some(name));
            if !field.is_null() && !is_listed && directive(name, ty).is_none() {
                self.find(Problem::NotRetained(name.clone()));
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
            self.find(Problem::Misplaced {
                directive: Text::new_static("$patchMergeKey"),
                right: "in every entry of a list",
            });
        } else if !is_list {
            let directive = Text::new_static("$patchMergeKey");
            self.find(Problem::UnknownValue {
                directive,
                value: value.clone(),
                right: "a list of key names",
            });
        }
    }

    /// Looks whether a directive names a list of the type.
    fn names_list(&mut self, name: &Text, list: &str, value: &Value, ty: TypeRef<'_>) {
        let position = plan::position(ty, list, value);
        if !position.is_ok_and(|position| matches!(position.ty.get(), Type::List(_) | Type::Untyped)) {
            self.find(Problem::Misplaced { directive: name.clone(), right: "beside a list of that name" });
        }
        if value.as_array().is_none() {
            self.find(Problem::UnknownValue {
                directive: name.clone(),
                value: value.clone(),
                right: "a list",
            });
        }
    }

    fn deletions(&mut self, name: &Text, list: &str, value: &Value, ty: TypeRef<'_>) {
        self.names_list(name, list, value, ty);
        let is_scalar_list = match plan::position(ty, list, value) {
            Ok(position) => matches!(plan::item(position.ty).get(), Type::Scalar(_) | Type::Untyped),
            Err(_) => true,
        };
        if !is_scalar_list {
            let right = "beside a list of scalars; delete a map with $patch: delete in its entry";
            self.find(Problem::Misplaced { directive: name.clone(), right });
        }
    }

    /// Looks over what replaces word for word: directives in it have no effect.
    fn literal(&mut self, value: &Value, ty: TypeRef<'_>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    self.below(PathElement::field(name.clone()), |look| match directive(name, ty) {
                        Some(_) => look.find(Problem::Ineffective(name.clone())),
                        None => look.literal(value, plan::below(ty, name)),
                    });
                }
            }
            Value::Array(list) => {
                for (at, item) in list.iter().enumerate() {
                    self.below(PathElement::Index(at as i64), |look| look.literal(item, plan::item(ty)));
                }
            }
            _ => {}
        }
    }
}
