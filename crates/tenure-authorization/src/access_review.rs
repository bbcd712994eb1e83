//! The user and the access that a `SubjectAccessReview`, or its self or local variant, checks.

use crate::rbac::{FieldWrite, NO_FIELDS};
use tenure_builtin::invalid_struct;
use tenure_fields::{FieldSet, Path};
use tenure_meta::{
    Attributes, FieldError, FieldErrorKind, FieldSelector, LabelSelector, ResourceAttributes, UserInfo,
    format,
};
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_value::{Limits, Object, Text, Value, yaml};

/// The annotation of a review that lists the fields a write would change, as one path or a list of paths.
pub const FIELDS_ANNOTATION: &str = "tenure.dev/fields";
/// The annotation of a review that names the field manager of the write.
pub const MANAGER_ANNOTATION: &str = "tenure.dev/field-manager";
/// The annotation of a review that sets whether the write forces conflicts: `true` or `false`.
pub const FORCE_ANNOTATION: &str = "tenure.dev/force";

/// The subject of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewScope<'r> {
    /// The client itself: `SelfSubjectAccessReview`.
    Client,
    /// The user that the review names: `SubjectAccessReview`.
    User,
    /// The user that the review names, in the namespace of the request: `LocalSubjectAccessReview`.
    UserInNamespace(&'r str),
}

/// A valid review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessReview {
    /// The user that the review names; without a name if the client is the subject.
    pub user: UserInfo,
    /// The access to check.
    pub attributes: Attributes,
    /// The write to check, if the review names fields.
    pub write: Option<ReviewedWrite>,
    /// The selectors that cannot be read and are ignored. RBAC does not look at selectors.
    pub evaluation_errors: Vec<String>,
}

/// The write that a review checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewedWrite {
    /// The fields that it would change.
    pub fields: FieldSet,
    /// The field manager; may be empty.
    pub manager: Text,
    /// Whether it would force conflicts.
    pub force: bool,
}

impl ReviewedWrite {
    /// Returns the write as field rules see it.
    pub fn as_field_write(&self) -> FieldWrite<'_> {
        FieldWrite { changed: &self.fields, reordered: &NO_FIELDS, manager: &self.manager, force: self.force }
    }

    /// Reads the annotations of a review; `None` if it does not name fields.
    fn read(review: &Value, errors: &mut Vec<FieldError>) -> Option<ReviewedWrite> {
        let annotations = review.at(["metadata", "annotations"])?;
        let [fields, manager, force] =
            [FIELDS_ANNOTATION, MANAGER_ANNOTATION, FORCE_ANNOTATION].map(|key| given(annotations, key));
        if fields.is_none() && manager.is_none() && force.is_none() {
            return None;
        }
        let mut wrong = |key: &str, detail: String| {
            let value = given(annotations, key).unwrap_or(&Value::Null);
            errors.push(FieldError::invalid(format!("metadata.annotations[{key}]"), value, detail));
        };
        let mut write = ReviewedWrite {
            manager: manager.and_then(Value::as_str).unwrap_or_default().into(),
            ..ReviewedWrite::default()
        };
        match force.and_then(Value::as_str) {
            None | Some("false") => {}
            Some("true") => write.force = true,
            Some(_) => wrong(FORCE_ANNOTATION, "must be \"true\" or \"false\"".into()),
        }
        let listed = fields.and_then(Value::as_str).unwrap_or_default();
        match field_set(listed) {
            Ok(fields) => write.fields = fields,
            Err(detail) => wrong(FIELDS_ANNOTATION, detail),
        }
        Some(write)
    }
}

/// Reads one path, or a list of paths as YAML or JSON.
fn field_set(listed: &str) -> Result<FieldSet, String> {
    let paths = match listed.trim() {
        "" => Vec::new(),
        list if list.starts_with('[') => {
            let list = yaml::parse(list.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
            texts(Some(&list))
        }
        path => vec![path.into()],
    };
    let mut fields = FieldSet::default();
    for path in &paths {
        let path = Path::parse(path)
            .map_err(|error| format!("{path:?} is not a path such as .spec.replicas: {error}"))?;
        fields.insert(path.elements());
    }
    Ok(fields)
}

impl AccessReview {
    /// Reads a review, or returns its errors.
    ///
    /// ```
    /// use tenure_authorization::{AccessReview, ReviewScope};
    /// use tenure_profile::KubernetesVersion;
    ///
    /// let review = r#"{"spec": {"user": "ann", "resourceAttributes": {"verb": "list", "resource": "pods"}}}"#;
    /// let review = AccessReview::read(ReviewScope::User, &review.parse()?, KubernetesVersion::DEFAULT).unwrap();
    /// assert_eq!(review.user.name, "ann");
    /// assert_eq!(review.attributes.verb(), "list");
    /// # Ok::<(), tenure_value::Error>(())
    /// ```
    pub fn read(
        scope: ReviewScope<'_>,
        review: &Value,
        version: KubernetesVersion,
    ) -> Result<AccessReview, Vec<FieldError>> {
        let spec = review.get("spec").unwrap_or(&Value::Null);
        let mut errors = Vec::new();
        let user = named_user(spec);
        check_kind(spec, version, &mut errors);
        if scope != ReviewScope::Client && user.name.is_empty() && user.groups.is_empty() {
            let detail = "at least one of user or group must be specified";
            errors.push(FieldError::invalid("spec.user", &Value::from(""), detail));
        }
        let resource = given(spec, "resourceAttributes").unwrap_or(&Value::Null);
        let mut evaluation_errors = Vec::new();
        for (field, is_label) in [("fieldSelector", false), ("labelSelector", true)] {
            let Some(selector) = given(resource, field) else { continue };
            let path = format!("spec.resourceAttributes.{field}");
            if !check_selector(selector, &path, is_label, &mut errors) {
                evaluation_errors.push(format!("{path} ignored due to parse error"));
            }
        }
        let write = ReviewedWrite::read(review, &mut errors);
        check_metadata(scope, review, &mut errors);
        if let ReviewScope::UserInNamespace(namespace) = scope {
            check_namespace(namespace, spec, &mut errors);
        }
        match errors.is_empty() {
            true => Ok(AccessReview { user, attributes: attributes(spec), write, evaluation_errors }),
            false => Err(errors),
        }
    }
}

fn given<'v>(value: &'v Value, field: &str) -> Option<&'v Value> {
    value.get(field).filter(|value| !value.is_null())
}

fn texts(list: Option<&Value>) -> Vec<Text> {
    let list = list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    list.filter_map(Value::as_str).map(Text::from).collect()
}

fn text(value: &Value, field: &str) -> Text {
    value.get(field).and_then(Value::as_str).unwrap_or_default().into()
}

/// Reads the user that a review names.
fn named_user(spec: &Value) -> UserInfo {
    let extra = spec.get("extra").and_then(Value::as_object);
    let extra = extra.into_iter().flat_map(|extra| extra.iter());
    UserInfo {
        name: text(spec, "user"),
        uid: text(spec, "uid"),
        groups: texts(spec.get("groups")),
        extra: extra.map(|(key, values)| (key.clone(), texts(Some(values)))).collect(),
    }
}

/// Reads the access that a review checks.
fn attributes(spec: &Value) -> Attributes {
    if let Some(attributes) = given(spec, "nonResourceAttributes") {
        return Attributes::NonResource { verb: text(attributes, "verb"), path: text(attributes, "path") };
    }
    let attributes = spec.get("resourceAttributes").unwrap_or(&Value::Null);
    Attributes::Resource(ResourceAttributes {
        verb: text(attributes, "verb"),
        group: text(attributes, "group"),
        version: text(attributes, "version"),
        resource: text(attributes, "resource"),
        subresource: text(attributes, "subresource"),
        namespace: text(attributes, "namespace"),
        name: text(attributes, "name"),
        field_selector: field_selector(attributes.get("fieldSelector").unwrap_or(&Value::Null)).into(),
        label_selector: label_selector(attributes.get("labelSelector").unwrap_or(&Value::Null)).into(),
    })
}

/// Returns the field selector of a review as text, without what cannot be read.
fn field_selector(selector: &Value) -> String {
    let raw = text(selector, "rawSelector");
    if FieldSelector::parse(&raw).is_ok_and(|selector| !selector.is_everything()) {
        return raw.into();
    }
    let term = |requirement: &Value| match (
        text(requirement, "operator").as_str(),
        &texts(requirement.get("values"))[..],
    ) {
        ("In", [value]) => Some(FieldSelector::term(&text(requirement, "key"), true, value)),
        ("NotIn", [value]) => Some(FieldSelector::term(&text(requirement, "key"), false, value)),
        _ => None,
    };
    requirements(selector).filter_map(term).collect::<Vec<_>>().join(",")
}

/// Returns the label selector of a review as text, without what cannot be read.
fn label_selector(selector: &Value) -> String {
    let raw = text(selector, "rawSelector");
    if LabelSelector::parse(&raw).is_ok_and(|selector| !selector.is_everything()) {
        return raw.into();
    }
    let term = |requirement: &Value| {
        let (key, values) = (text(requirement, "key"), texts(requirement.get("values")));
        let is_plain = |value: &Text| !value.contains(|c: char| c.is_whitespace() || "=!,()<>".contains(c));
        let values = || values.iter().all(is_plain).then(|| values.join(","));
        match text(requirement, "operator").as_str() {
            "In" => Some(format!("{key} in ({})", values()?)),
            "NotIn" => Some(format!("{key} notin ({})", values()?)),
            "Exists" => Some(key.into()),
            "DoesNotExist" => Some(format!("!{key}")),
            _ => None,
        }
    };
    requirements(selector).filter_map(term).collect::<Vec<_>>().join(",")
}

fn requirements(selector: &Value) -> impl Iterator<Item = &Value> {
    selector.get("requirements").and_then(Value::as_array).into_iter().flat_map(|list| list.iter())
}

/// Checks that a review names either a resource or a path.
fn check_kind(spec: &Value, version: KubernetesVersion, errors: &mut Vec<FieldError>) {
    const ONE: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    let is_whole = version.has(Behaviour::ReviewsWrongAsWhole);
    match (given(spec, "resourceAttributes"), given(spec, "nonResourceAttributes")) {
        (Some(_), Some(attributes)) if is_whole => errors.push(invalid_struct("spec", attributes, ONE)),
        (Some(_), Some(attributes)) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            errors.push(invalid_struct("spec.nonResourceAttributes", attributes, detail));
        }
        (None, None) => {
            let path = if is_whole { "spec" } else { "spec.resourceAttributes" };
            errors.push(FieldError::invalid(path, &Value::Null, ONE));
        }
        _ => {}
    }
}

/// Checks that a review in a namespace is about a resource in that namespace.
fn check_namespace(namespace: &str, spec: &Value, errors: &mut Vec<FieldError>) {
    let resource = given(spec, "resourceAttributes").map(|resource| text(resource, "namespace"));
    if let Some(requested) = resource.filter(|requested| requested != namespace) {
        let path = "spec.resourceAttributes.namespace";
        errors.push(FieldError::invalid(path, &Value::from(requested), "must match metadata.namespace"));
    }
    if let Some(attributes) = given(spec, "nonResourceAttributes") {
        let path = "spec.nonResourceAttributes";
        errors.push(invalid_struct(path, attributes, "disallowed on this kind of request"));
    }
}

/// Checks that a review has no metadata of its own.
fn check_metadata(scope: ReviewScope<'_>, review: &Value, errors: &mut Vec<FieldError>) {
    let metadata = review.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let (metadata, detail) = match scope {
        ReviewScope::UserInNamespace(namespace) => {
            (metadata.with("namespace", namespace), "must be empty except for namespace")
        }
        _ => (metadata, "must be empty"),
    };
    let metadata = match metadata.get("annotations").and_then(Value::as_object) {
        Some(annotations) if annotations.iter().all(|(key, _)| key.starts_with("tenure.dev/")) => {
            metadata.without("annotations")
        }
        _ => metadata,
    };
    let own = metadata.without("managedFields").without("creationTimestamp");
    let is_own = |name: &str| name != "namespace" || !matches!(scope, ReviewScope::UserInNamespace(_));
    if own.iter().any(|(name, _)| is_own(name)) {
        let message = format!("Invalid value: {}: {detail}", ordered(&metadata, &METADATA));
        errors.push(FieldError::with_message(FieldErrorKind::Invalid, "metadata", message));
    }
}

/// The members of metadata and of an entry of its managers, in the order of Kubernetes.
const METADATA: [&str; 11] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
const MANAGER: [&str; 7] =
    ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// Returns members of an object as JSON, in an order.
fn ordered(object: &Object, names: &[&str]) -> String {
    let member = |name: &&str| {
        let value = object.get(name)?;
        let shown = match (*name, value.as_array()) {
            ("managedFields", Some(entries)) => {
                let entries = entries.iter().filter_map(Value::as_object);
                let entries: Vec<String> = entries.map(|entry| ordered(entry, &MANAGER)).collect();
                format!("[{}]", entries.join(","))
            }
            _ => value.to_string(),
        };
        Some(format!("\"{name}\":{shown}"))
    };
    format!("{{{}}}", names.iter().filter_map(member).collect::<Vec<_>>().join(","))
}

/// Checks a selector; whether it can be read.
fn check_selector(selector: &Value, path: &str, is_label: bool, errors: &mut Vec<FieldError>) -> bool {
    let raw = text(selector, "rawSelector");
    let requirements = selector.get("requirements").and_then(Value::as_array).map(|list| list.items());
    let requirements = requirements.unwrap_or_default();
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => {
            let detail = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(format!("{path}.rawSelector"), &Value::from(raw), detail));
            true
        }
        (true, true) => {
            let detail = format!("when {path} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(format!("{path}.requirements"), detail));
            true
        }
        (false, true) if is_label => LabelSelector::parse(&raw).is_ok(),
        (false, true) => FieldSelector::parse(&raw).is_ok(),
        (true, false) => {
            let check = |(at, requirement)| {
                check_requirement(requirement, &format!("{path}.requirements[{at}]"), is_label, errors)
            };
            // Each one is checked, so that all errors are reported.
            requirements.iter().enumerate().map(check).filter(|is_valid| !is_valid).count() == 0
        }
    }
}

/// Checks a requirement of a selector; whether it can be read.
fn check_requirement(given: &Value, path: &str, is_label: bool, errors: &mut Vec<FieldError>) -> bool {
    let (key, operator, values) = (text(given, "key"), text(given, "operator"), texts(given.get("values")));
    if is_label {
        let wrong = |detail| FieldError::invalid(format!("{path}.key"), &Value::from(key.clone()), detail);
        errors.extend(format::qualified_name(&key).into_iter().map(wrong));
    } else if key.is_empty() {
        errors.push(FieldError::required(format!("{path}.key"), "must be specified"));
    }
    match operator.as_str() {
        "In" | "NotIn" => {
            if values.is_empty() {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{path}.values"), detail));
            }
            // A field is compared with one value.
            is_label || values.len() == 1
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{path}.values"), detail));
            }
            is_label
        }
        _ if is_label => {
            let value = Value::from(operator);
            let detail = "not a valid selector operator";
            errors.push(FieldError::new(FieldErrorKind::Invalid, format!("{path}.operator"), &value, detail));
            true
        }
        _ => false,
    }
}
