//! Validation of values against their schema. Unchanged parts of an object are not validated again: a value
//! accepted earlier (under an older schema, for example) does not block an unrelated change.

use super::{
    correlate::{Correlated, check_duplicates, has_duplicates, is_unchanged},
    format,
    node::{Additional, Bounds, Identity, Junctors, Node, NodeType},
};
use tenure_meta::{
    FieldError, FieldErrors, FieldPath,
    object_meta::{canonical, version_fault},
};
use tenure_profile::Improvement;
use tenure_value::{Array, Object, Value};

/// The maximum number of errors reported for an object.
pub(crate) const MOST_FAULTS: usize = 100;

/// How much work one object may take: a schema can apply thousands of patterns and alternatives to one long value. A value
/// that is checked against one schema costs [`VALUE_WORK`], a byte that is matched against a pattern 1.
const MAX_WORK: usize = 64 << 20;
/// The work of one look at one value.
const VALUE_WORK: usize = 8;

/// What was found so far, and how much work is left.
struct Findings {
    errors: FieldErrors,
    /// Items that appear twice in a list with keys or in a set.
    duplicates: FieldErrors,
    /// How much was right: of alternatives that are all wrong, Kubernetes reports the one with the most.
    matched: usize,
    work: usize,
}

impl Findings {
    fn with_work(work: usize) -> Findings {
        Findings { errors: FieldErrors::default(), duplicates: FieldErrors::default(), matched: 0, work }
    }

    /// Adds an error of a value as a whole, which Kubernetes reports without its path.
    fn push_whole(&mut self, detail: String) {
        self.push(FieldError::invalid("<nil>", &Value::from(""), detail));
    }

    fn push(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// Takes work off what is left. Returns false, with an error, when it is used up.
    fn spend(&mut self, work: usize, path: &FieldPath<'_>) -> bool {
        if self.work == 0 {
            return false;
        }
        self.work = self.work.saturating_sub(work);
        if self.work == 0 {
            let detail = "validation takes too long: the schema has too many patterns or alternatives for a value of this size";
            self.push(FieldError::forbidden(path, detail));
        }
        self.work > 0
    }
}

/// Validates a new value, or one that replaces an old value with the same node.
pub(crate) fn check(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    errors: &mut FieldErrors,
) {
    let duplicates = check_but_lists(node, value, old, path, errors);
    // An object that has duplicates already may have others.
    if !duplicates.is_empty() && !old.is_some_and(|old| has_duplicates(node, old)) {
        errors.extend(duplicates.into_vec());
    }
}

/// Validates a default, whose lists may have duplicates.
pub(crate) fn check_default(node: &Node, value: &Value, path: &FieldPath<'_>, errors: &mut FieldErrors) {
    if let (Identity::Root, Some(fields)) = (node.identity, value.as_object()) {
        let mut found = Findings::with_work(MAX_WORK);
        check_identity(fields, path, &mut found);
        errors.extend(found.errors.into_vec());
    }
    check_but_lists(node, value, None, path, errors);
}

/// Validates a value and returns what is wrong with its lists.
fn check_but_lists(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    errors: &mut FieldErrors,
) -> FieldErrors {
    let mut findings = Findings { errors: std::mem::take(errors), ..Findings::with_work(MAX_WORK) };
    check_value(node, value, old, path, &mut findings);
    *errors = findings.errors;
    findings.duplicates
}

fn check_value(node: &Node, value: &Value, old: Option<&Value>, path: &FieldPath<'_>, errors: &mut Findings) {
    // An object is compared field by field: its version and its kind are validated whether or not anything changes.
    let unchanged = node.identity != Identity::Root && old.is_some_and(|old| is_unchanged(node, value, old));
    if unchanged || errors.errors.len() >= MOST_FAULTS || !errors.spend(VALUE_WORK, path) {
        return;
    }
    check_type(node, value, path, errors);
    if value.is_null() {
        return check_values(node, value, path, errors);
    }
    // Every check counts, as does the value; those of the type, of alternatives and of values are for all.
    errors.matched += 5;
    if let Some(junctors) = &node.junctors {
        check_junctors(junctors, value, path, errors);
    }
    let bounds = node.bounds.as_deref();
    match value {
        Value::String(text) => {
            errors.matched += 1;
            if let Some(bounds) = bounds {
                check_text(bounds, value, text, path, errors);
            }
            check_format(node, value, path, errors);
        }
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
            errors.matched += 2;
            check_range(node, value, path, errors);
            if let Some(bounds) = bounds {
                check_number(node, bounds, value, path, errors);
            }
        }
        Value::Array(items) => {
            errors.matched += 2;
            check_items(node, items, old.and_then(Value::as_array), path, errors);
            if let Some(bounds) = bounds {
                check_size(items.len(), bounds.min_items, bounds.max_items, "items", path, errors);
            }
        }
        _ => {}
    }
    check_values(node, value, path, errors);
    if let Value::Object(fields) = value {
        errors.matched += 1;
        if let Some(bounds) = bounds {
            let (least, most) = (bounds.min_properties, bounds.max_properties);
            check_size(fields.len(), least, most, "properties", path, errors);
        }
        check_fields(node, fields, old.and_then(Value::as_object), path, errors);
    }
}

/// Checks the type of a value. A format decides too: numbers and objects are compared with it, and texts and lists with it alone,
/// unless they should be numbers.
fn check_type(node: &Node, value: &Value, path: &FieldPath<'_>, errors: &mut Findings) {
    let expected = node.node_type.word();
    let (found, is_number) = (word(value), value.as_f64().is_some());
    let is_right = match value {
        Value::Null => node.nullable || node.node_type == NodeType::Any,
        _ => is_of(node.node_type, value),
    };
    let takes_numbers =
        matches!(node.node_type, NodeType::Integer | NodeType::Number | NodeType::IntOrString);
    let is_left_to_format = matches!(value, Value::String(_) | Value::Array(_)) && !takes_numbers;
    if is_right || !node.format.is_empty() && is_left_to_format {
        errors.matched += 1;
        return;
    }
    let (expected, found) = match value {
        Value::Null | Value::String(_) | Value::Array(_) => (expected, found),
        _ if node.format.is_empty() => (expected, found),
        Value::Int(_) | Value::UInt(_) => (node.format.as_str(), "int64"),
        Value::Float(_) => (node.format.as_str(), "float64"),
        _ => (node.format.as_str(), ""),
    };
    if is_number && node.format.as_str() == found {
        errors.matched += 1;
        return;
    }
    let detail = format!("{path} in body must be of type {expected}: {found:?}");
    errors.push(FieldError::type_invalid(path, found, &detail));
}

/// Checks that a value is one of those that are allowed.
fn check_values(node: &Node, value: &Value, path: &FieldPath<'_>, errors: &mut Findings) {
    if let Some(values) = node.bounds.as_ref().and_then(|bounds| bounds.values.as_ref())
        && errors.spend(values.len(), path)
        && !values.iter().any(|other| other.same(value))
    {
        errors.push(FieldError::not_supported(path, value, values.iter()));
    }
}

/// Checks that a number is one that its type and its format have.
fn check_range(node: &Node, value: &Value, path: &FieldPath<'_>, errors: &mut Findings) {
    if format::number_is(&node.format, value) && (node.node_type != NodeType::Integer || is_whole(value)) {
        return;
    }
    if !node.profile.has(Improvement::ReportWrongTypesOnce) {
        errors.push_whole(format!("Checked {}", range_fault(node, path)));
    } else if is_of(node.node_type, value) {
        let shown = value.to_string();
        let detail = format!("{path} in body must be of type {}: {shown:?}", node.format);
        errors.push(FieldError::type_invalid(path, &shown, &detail));
    }
}

fn range_fault(node: &Node, path: &FieldPath<'_>) -> String {
    let word = node.node_type.word();
    match node.format.as_str() {
        "" => format!("value must be of type {word} (default format) in {path}"),
        format => format!("value must be of type {word} with format {format} in {path}"),
    }
}

/// Whether a value has a type; an integral float that fits 64 bits is an integer.
fn is_of(ty: NodeType, value: &Value) -> bool {
    match ty {
        NodeType::Any => true,
        NodeType::Object => matches!(value, Value::Object(_)),
        NodeType::Array => matches!(value, Value::Array(_)),
        NodeType::String => matches!(value, Value::String(_)),
        NodeType::Integer => is_whole(value),
        NodeType::Number => value.as_f64().is_some(),
        NodeType::Boolean => matches!(value, Value::Bool(_)),
        NodeType::IntOrString => is_whole(value) || matches!(value, Value::String(_)),
    }
}

fn is_whole(value: &Value) -> bool {
    match value {
        Value::Int(_) => true,
        Value::Float(number) => number.get().fract() == 0.0 && number.get().abs() < MOST_WHOLE,
        _ => false,
    }
}

/// Numbers from here on are not 64-bit integers.
const MOST_WHOLE: f64 = 9_223_372_036_854_775_808.0;

/// Returns the schema type of a value.
fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) => "integer",
        Value::UInt(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check_number(node: &Node, bounds: &Bounds, value: &Value, path: &FieldPath<'_>, errors: &mut Findings) {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let is_exact = node.profile.has(Improvement::ExactBounds);
    // Kubernetes checks a bound as it checks a number.
    let is_of_type = |bound: &Value| node.node_type != NodeType::Integer || is_whole(bound);
    let mut misfits = [
        ("MultipleOf", &bounds.multiple_of),
        ("Minimum boundary", &bounds.minimum),
        ("Maximum boundary", &bounds.maximum),
    ]
    .into_iter()
    .filter(|(_, bound)| !is_exact && bound.as_ref().is_some_and(|bound| !is_of_type(bound)));
    misfits.by_ref().for_each(|(name, _)| errors.push_whole(format!("{name} {}", range_fault(node, path))));
    let mut say =
        |detail: String| errors.push(FieldError::invalid(path, value, format!("{path} in body {detail}")));
    // Kubernetes compares whole numbers with whole bounds alone.
    let bound = |bound: &Option<Value>| match (bound, value) {
        (Some(Value::Float(bound)), Value::Int(_) | Value::UInt(_))
            if !is_exact && is_of_type(&Value::Float(*bound)) =>
        {
            Some(Value::Int(bound.get() as i64))
        }
        (bound, _) => bound.clone(),
    };
    if let Some(factor) = &bound(&bounds.multiple_of)
        && (!is_multiple(value, factor) || !is_exact && *factor == Value::Int(0))
    {
        say(format!("should be a multiple of {factor}"));
    }
    if let Some(least) = &bound(&bounds.minimum) {
        match (compare(value, least), bounds.exclusive_minimum) {
            (Less, false) => say(format!("should be greater than or equal to {least}")),
            (Less | Equal, true) => say(format!("should be greater than {least}")),
            _ => {}
        }
    }
    if let Some(most) = &bound(&bounds.maximum) {
        match (compare(value, most), bounds.exclusive_maximum) {
            (Greater, false) => say(format!("should be less than or equal to {most}")),
            (Greater | Equal, true) => say(format!("should be less than {most}")),
            _ => {}
        }
    }
}

fn compare(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::UInt(_), Value::Int(_)) => std::cmp::Ordering::Greater,
        (Value::Int(_), Value::UInt(_)) => std::cmp::Ordering::Less,
        _ => a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default()),
    }
}

fn is_multiple(value: &Value, factor: &Value) -> bool {
    if let (Value::Int(value), Value::Int(factor)) = (value, factor) {
        return *factor == 0 || value.checked_rem(*factor).unwrap_or(0) == 0;
    }
    let (value, factor) = (value.as_f64().unwrap_or_default(), factor.as_f64().unwrap_or_default());
    if factor == 0.0 {
        return true;
    }
    // Most decimal fractions are not exact: 0.3 is a multiple of 0.1 although the quotient is not integral.
    let times = value / factor;
    (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0)
}

/// Checks the bounds of a text, up to the first that it exceeds.
fn check_text(bounds: &Bounds, value: &Value, text: &str, path: &FieldPath<'_>, errors: &mut Findings) {
    // The number of bytes may already decide.
    let length = || text.chars().count() as u64;
    if let Some(most) = bounds.max_length.filter(|most| text.len() as u64 > *most && length() > *most) {
        errors.push(FieldError::too_long(path, most));
    } else if let Some(least) = bounds.min_length.filter(|least| length() < *least) {
        let detail = format!("{path} in body should be at least {least} chars long");
        errors.push(FieldError::invalid(path, value, detail));
    } else if let Some(pattern) = &bounds.pattern
        && errors.spend(text.len(), path)
        && !pattern.matches(text)
    {
        let detail = format!("{path} in body should match '{}'", pattern.source());
        errors.push(FieldError::invalid(path, value, &detail));
    }
}

fn check_size(
    size: usize,
    least: Option<u64>,
    most: Option<u64>,
    what: &str,
    path: &FieldPath<'_>,
    errors: &mut Findings,
) {
    if let Some(least) = least.filter(|least| (size as u64) < *least) {
        let detail = format!("{path} in body should have at least {least} {what}");
        errors.push(FieldError::invalid(path, &Value::from(size as u64), &detail));
    }
    if let Some(most) = most.filter(|most| size as u64 > *most) {
        errors.push(FieldError::too_many(path, size, most));
    }
}

fn check_format(node: &Node, value: &Value, path: &FieldPath<'_>, errors: &mut Findings) {
    let Some(text) = value.as_str().filter(|_| !node.format.is_empty()) else { return };
    match format::string_is(&node.format, text) {
        None => return,
        Some(true) => {}
        Some(false) => {
            let detail = format!("{path} in body must be of type {}: {text:?}", node.format);
            errors.push(FieldError::type_invalid(path, text, &detail));
        }
    }
    errors.matched += 1;
}

fn check_junctors(junctors: &Junctors, value: &Value, path: &FieldPath<'_>, errors: &mut Findings) {
    let try_with = |node: &Node, errors: &mut Findings| {
        let mut inner = Findings::with_work(errors.work);
        check_value(node, value, None, path, &mut inner);
        // An alternative that could not be checked to its end is reported once, for all of them.
        let is_whole = errors.spend(errors.work - inner.work, path);
        (is_whole && inner.errors.is_empty(), inner)
    };
    let merge = |found: Option<Findings>, errors: &mut Findings| {
        if let Some(found) = found {
            errors.matched += found.matched;
            errors.errors.extend(found.errors.into_vec());
        }
    };
    let say = |detail: String, errors: &mut Findings| {
        if errors.work > 0 {
            errors.push_whole(format!("\"{path}\" {detail}"));
        }
    };
    for (nodes, is_one) in [(&junctors.any_of, false), (&junctors.one_of, true)] {
        let (mut valid, mut first, mut best) = (0, None, None::<Findings>);
        for node in nodes.iter() {
            let (holds, found) = try_with(node, errors);
            if holds {
                valid += 1;
                first = first.or(Some(found));
                if !is_one {
                    break;
                }
            } else if valid == 0 && best.as_ref().is_none_or(|best| found.matched > best.matched) {
                best = Some(found);
            }
        }
        match (nodes.is_empty(), is_one, valid) {
            (true, ..) => {}
            (_, false, 0) => say("must validate at least one schema (anyOf)".into(), errors),
            (_, true, 0) => {
                say("must validate one and only one schema (oneOf). Found none valid".into(), errors);
            }
            (_, true, 2..) => {
                let detail = "must validate one and only one schema (oneOf). Found";
                say(format!("{detail} {valid} valid alternatives"), errors);
            }
            _ => {}
        }
        match valid {
            0 => merge(best, errors),
            1 => merge(first, errors),
            _ => {}
        }
    }
    let mut valid = 0;
    for node in &junctors.all_of {
        let (holds, found) = try_with(node, errors);
        valid += usize::from(holds);
        merge(Some(found), errors);
    }
    if valid < junctors.all_of.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        say(format!("must validate all the schemas (allOf){none}"), errors);
    }
    if junctors.not.as_ref().is_some_and(|node| try_with(node, errors).0) {
        say("must not validate the schema (not)".into(), errors);
    }
}

fn check_fields(
    node: &Node,
    fields: &Object,
    old: Option<&Object>,
    path: &FieldPath<'_>,
    errors: &mut Findings,
) {
    if !errors.spend(node.required.len(), path) {
        return;
    }
    if node.identity == Identity::Embedded {
        check_identity(fields, path, errors);
    }
    for (name, value) in fields {
        let before = old.and_then(|old| old.get(name));
        if node.identity != Identity::None && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            // Old and new object were converted to the same version, so that a change of the version does not show.
            let before = before.filter(|_| name == "metadata");
            if let (Identity::Root, Some(below)) = (node.identity, node.field(name)) {
                check_value(below, value, before, &path.field(name), errors);
            }
            continue;
        }
        let below = match (node.field(name), &node.additional) {
            (Some(below), _) => below,
            (None, Additional::Each(below)) => below,
            _ => continue,
        };
        check_value(below, value, before, &path.field(name), errors);
    }
    for name in node.required.iter().filter(|name| !fields.contains(name)) {
        errors.push(FieldError::required(path.field(name), ""));
    }
}

/// Whether a text is a DNS-1035 label except for its case, as kinds are.
fn is_kind(text: &str) -> bool {
    const LONGEST: usize = 63;
    text.len() <= LONGEST
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the errors in the identity of a resource as one text; `None` if it has none.
pub(crate) fn identity_fault(resource: &Object) -> Option<String> {
    let fields = match resource.get("metadata") {
        None => resource.clone(),
        Some(metadata) => match canonical(Some(metadata)) {
            Ok(decoded) => {
                resource.with("metadata", decoded.value.unwrap_or_else(|| Object::default().into()))
            }
            Err(error) => return Some(format!("metadata: {}", error.message)),
        },
    };
    let mut found = Findings::with_work(MAX_WORK);
    check_identity(&fields, &FieldPath::root(), &mut found);
    let texts: Vec<String> =
        found.errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Validates the identity of an embedded resource.
fn check_identity(fields: &Object, path: &FieldPath<'_>, errors: &mut Findings) {
    for name in ["apiVersion", "kind"] {
        match fields.get(name) {
            Some(Value::String(text)) if !text.is_empty() => {}
            None | Some(Value::String(_)) => errors.push(FieldError::required(path.field(name), "")),
            Some(other) => {
                let detail =
                    format!("{} in body must be of type string: {:?}", path.field(name), word(other));
                errors.push(FieldError::type_invalid(path.field(name), word(other), &detail));
            }
        }
    }
    if let Some(Value::String(text)) = fields.get("apiVersion")
        && let Some(detail) = version_fault(text)
    {
        errors.push(FieldError::invalid(path.field("apiVersion"), &text.clone().into(), detail));
    }
    if let Some(Value::String(text)) = fields.get("kind")
        && !text.is_empty()
        && !is_kind(text)
    {
        let detail = "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
        errors.push(FieldError::invalid(path.field("kind"), &text.clone().into(), detail));
    }
    if let Some(metadata) = fields.get("metadata") {
        super::metadata::check_embedded(metadata, &path.field("metadata"), &mut errors.errors);
    }
}

fn check_items(node: &Node, items: &Array, old: Option<&Array>, path: &FieldPath<'_>, errors: &mut Findings) {
    let correlated = Correlated::new(&node.list, old);
    if let Some(item_node) = node.items.as_deref() {
        for (at, item) in items.iter().enumerate() {
            check_value(item_node, item, correlated.before(at, item), &path.index(at), errors);
        }
    }
    check_duplicates(&node.list, items, path, &mut errors.duplicates);
}
