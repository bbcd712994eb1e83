//! Whether a set contains a path at a given path of a type.

use crate::{FieldSet, PathElement};
use tenure_schema::{TypePath, TypeStep};

impl FieldSet {
    /// Whether the set contains a path that matches a type path or starts with it.
    ///
    /// ```
    /// use tenure_fields::fields_v1;
    ///
    /// let pod = tenure_schema::Schema::builtin().kind("v1", "Pod").unwrap();
    /// let set = fields_v1::parse(br#"{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{}}}}}"#).unwrap();
    /// assert!(set.reaches(&pod.locate("spec.containers.image").unwrap().path));
    /// assert!(!set.reaches(&pod.locate("spec.containers.ports").unwrap().path));
    /// ```
    pub fn reaches(&self, place: &TypePath) -> bool {
        reaches(self, place.steps())
    }
}

fn reaches(set: &FieldSet, steps: &[TypeStep]) -> bool {
    let Some((first, rest)) = steps.split_first() else { return !set.is_empty() };
    set.nodes()
        .iter()
        .filter(|node| match (first, &node.element) {
            (TypeStep::Field(name), PathElement::Field(field)) => name == field,
            (TypeStep::Value, PathElement::Field(_)) => true,
            (TypeStep::Item, PathElement::Key(_) | PathElement::Value(_) | PathElement::Index(_)) => true,
            _ => false,
        })
        .any(|node| rest.is_empty() || reaches(&node.children, rest))
}

#[cfg(test)]
mod tests {
    use crate::fields_v1;
    use tenure_schema::Schema;

    #[test]
    fn a_set_reaches_type_paths_at_and_above_its_paths() {
        let text = br#"{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:command":{}}}}}"#;
        let set = fields_v1::parse(text).unwrap();
        let pod = Schema::builtin().kind("v1", "Pod").unwrap();
        for (names, expected) in [
            ("", true),
            ("metadata.labels", true),
            ("metadata.labels.*", true),
            ("metadata.annotations", false),
            ("spec.containers", true),
            ("spec.containers[]", true),
            ("spec.containers.command", true),
            ("spec.containers.command[]", false),
            ("spec.containers.image", false),
            ("status", false),
        ] {
            assert_eq!(set.reaches(&pod.locate(names).unwrap().path), expected, "{names}");
        }
    }
}
