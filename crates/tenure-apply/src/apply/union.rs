//! Unions with a discriminator, such as the strategy of a Deployment: `type: RollingUpdate` goes with `rollingUpdate`. A
//! configuration that changes the discriminator switches to another member. The former member is often there by default
//! only, and the object would be invalid with it.

use tenure_fields::{FieldSet, PathElement};
use tenure_schema::{ScalarKind, Type, TypeRef};
use tenure_value::{Object, Value};

/// The field that names the member.
const DISCRIMINATOR: &str = "type";

/// A configuration that may switch members of unions.
pub(super) struct Switch<'a> {
    pub config: &'a Value,
    pub live: &'a Value,
    /// Whether a manager owns a place or anything below it.
    pub is_owned: &'a dyn Fn(&[PathElement]) -> bool,
}

impl Switch<'_> {
    /// Returns an object without the members that the configuration switches away from and that have no owner; `None` if there
    /// are none.
    pub fn apply(&self, object: &Value, ty: TypeRef<'_>) -> Option<Value> {
        self.below(object, self.live, self.config, ty, &mut Vec::new())
    }

    fn below(
        &self,
        object: &Value,
        live: &Value,
        config: &Value,
        ty: TypeRef<'_>,
        path: &mut Vec<PathElement>,
    ) -> Option<Value> {
        let (object, config) = (object.as_object()?, config.as_object()?);
        let mut changed: Option<Object> = None;
        if let Some(member) = former_member(live, config, ty) {
            path.push(PathElement::field(&member));
            if object.contains(&member) && !config.contains(&member) && !(self.is_owned)(path) {
                changed = Some(object.without(&member));
            }
            path.pop();
        }
        for (name, declared) in config.iter().filter(|(_, declared)| matches!(declared, Value::Object(_))) {
            let (Some(value), Some(live)) = (object.get(name), live.get(name)) else { continue };
            // What is as it was has the discriminators that it had.
            if value.ptr_eq(live) {
                continue;
            }
            let Some(ty_below) = ty.below(name) else { continue };
            path.push(PathElement::Field(name.clone()));
            if let Some(value) = self.below(value, live, declared, ty_below, path) {
                changed = Some(changed.as_ref().unwrap_or(object).with(name.clone(), value));
            }
            path.pop();
        }
        changed.map(Value::Object)
    }
}

/// Returns the member that the live discriminator names, if the configuration sets another discriminator.
fn former_member(live: &Value, config: &Object, ty: TypeRef<'_>) -> Option<String> {
    let was = live.get(DISCRIMINATOR)?.as_str()?;
    let is = config.get(DISCRIMINATOR)?.as_str()?;
    let is_text =
        matches!(ty.below(DISCRIMINATOR)?.get(), Type::Scalar(scalar) if scalar.kind == ScalarKind::String);
    let mut letters = was.chars();
    let first = letters.next()?;
    let member: String = first.to_lowercase().chain(letters).collect();
    (is_text && was != is && ty.field(&member).is_some()).then_some(member)
}

/// Whether a set contains a path or anything below it.
pub(super) fn contains(set: &FieldSet, path: &[PathElement]) -> bool {
    match path {
        [] => true,
        [element, rest @ ..] => set.node(element).is_some_and(|node| contains(&node.children, rest)),
    }
}
