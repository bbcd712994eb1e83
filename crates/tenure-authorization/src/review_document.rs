//! A `SubjectAccessReview` of a request, as a webhook that authorizes requests is sent it.

use tenure_meta::{Attributes, FieldSelector, LabelSelector, ResourceAttributes, UserInfo};
use tenure_transport::ReviewVersion;
use tenure_value::{Object, Text, Value};

const GROUP: &str = "authorization.k8s.io";
const KIND: &str = "SubjectAccessReview";

/// Returns the access review of a spec of the version `v1`.
///
/// ```
/// use tenure_meta::{Attributes, UserInfo};
/// use tenure_transport::ReviewVersion;
/// use tenure_authorization::{review_spec, subject_access_review};
///
/// let get = Attributes::NonResource { verb: "get".into(), path: "/metrics".into() };
/// let spec = review_spec(&UserInfo::new("ann").with_group("ops"), &get);
/// assert_eq!(
///     subject_access_review(ReviewVersion::V1beta1, &spec).to_string(),
///     r#"{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview","metadata":{},"spec":{"group":["ops"],"nonResourceAttributes":{"path":"/metrics","verb":"get"},"user":"ann"}}"#
/// );
/// ```
pub fn subject_access_review(version: ReviewVersion, spec: &Value) -> Value {
    let spec = match version {
        ReviewVersion::V1 => spec.clone(),
        ReviewVersion::V1beta1 => with_group(spec),
    };
    Value::object([
        ("apiVersion", Value::from(format!("{GROUP}/{}", version.name()))),
        ("kind", Value::from(KIND)),
        ("metadata", Value::object::<&str>([])),
        ("spec", spec),
    ])
}

/// Returns a spec with the groups under the name that `v1beta1` has for them.
fn with_group(spec: &Value) -> Value {
    let spec = spec.as_object().cloned().unwrap_or_default();
    match spec.get("groups").cloned() {
        Some(groups) => Value::Object(spec.without("groups").with("group", groups)),
        None => Value::Object(spec),
    }
}

/// Returns the spec of a review of a request, in the version `v1`.
pub fn review_spec(user: &UserInfo, attributes: &Attributes) -> Value {
    let texts = |list: &[Text]| Value::array(list.iter().cloned().map(Value::from));
    let mut spec = Object::default();
    for (field, text) in [("uid", &user.uid), ("user", &user.name)] {
        if !text.is_empty() {
            spec = spec.with(field, text.clone());
        }
    }
    if !user.groups.is_empty() {
        spec = spec.with("groups", texts(&user.groups));
    }
    if !user.extra.is_empty() {
        spec = spec.with(
            "extra",
            Value::object(user.extra.iter().map(|(key, values)| (key.clone(), texts(values)))),
        );
    }
    Value::Object(match attributes {
        Attributes::Resource(resource) => spec.with("resourceAttributes", resource_attributes(resource)),
        Attributes::NonResource { verb, path } => {
            let attributes = [("path", Value::from(path.clone())), ("verb", Value::from(verb.clone()))];
            spec.with("nonResourceAttributes", Value::object(attributes))
        }
    })
}

fn resource_attributes(attributes: &ResourceAttributes) -> Value {
    let texts = [
        ("group", &attributes.group),
        ("name", &attributes.name),
        ("namespace", &attributes.namespace),
        ("resource", &attributes.resource),
        ("subresource", &attributes.subresource),
        ("verb", &attributes.verb),
        ("version", &attributes.version),
    ];
    let given = texts.into_iter().filter(|(_, text)| !text.is_empty());
    let mut fields: Vec<(&str, Value)> =
        given.map(|(field, text)| (field, Value::from(text.clone()))).collect();
    let mut select = |field: &'static str, requirements: Vec<Value>| {
        if !requirements.is_empty() {
            fields.push((field, Value::object([("requirements", Value::array(requirements))])));
        }
    };
    // A selector that cannot be read is left out: the review is about more objects then.
    if let Ok(selector) = FieldSelector::parse(&attributes.field_selector) {
        let requirement = |(field, equal, value): (&Text, bool, &Text)| {
            expression(field, if equal { "In" } else { "NotIn" }, std::slice::from_ref(value))
        };
        select("fieldSelector", selector.requirements().map(requirement).collect());
    }
    if let Ok(selector) = LabelSelector::parse(&attributes.label_selector) {
        let requirement =
            |(label, operator, values): (&Text, &str, &[Text])| expression(label, operator, values);
        select("labelSelector", selector.requirements().map(requirement).collect());
    }
    Value::object(fields)
}

fn expression(key: &Text, operator: &str, values: &[Text]) -> Value {
    let mut fields = vec![("key", Value::from(key.clone())), ("operator", Value::from(operator))];
    if !values.is_empty() {
        fields.push(("values", Value::array(values.iter().cloned().map(Value::from))));
    }
    Value::object(fields)
}
