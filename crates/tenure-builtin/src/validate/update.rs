//! Validation of updates: immutable fields by kind, as data; and kinds whose spec has only a few mutable
//! fields.

use super::{
    device,
    diff::diff,
    event,
    go_form::{self, PodLayout},
    job, job_status, migration, pod_certificate, pod_status, pod_update,
    removed_paths::without,
    service, volume, workload,
};
use crate::data::{self, DataError, VALIDATION, only_known};
use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Quantity, Registry, Resource, ValueExt};
use tenure_value::{Text, Value, time::Timestamp};

type Function = fn(&Value, &Value) -> Vec<FieldError>;
/// A function that compares times with that of the write.
type TimedFunction = fn(&Value, &Value, Timestamp) -> Vec<FieldError>;

/// Functions that rows name, and that need the time.
const TIMED_FUNCTIONS: [(&str, TimedFunction); 1] = [("podCertificateStatus", pod_certificate::status)];

/// Functions that rows name.
const FUNCTIONS: [(&str, Function); 11] = [
    ("migrationStatus", migration::migration_status),
    ("nodeTaints", workload::updated_taints),
    ("claimStatus", device::claim_status),
    ("eventSeries", event::updated_series),
    ("jobCompletions", job::changed_completions),
    ("jobStatus", job_status::job_status),
    ("volumeNodeAffinity", volume::node_affinity),
    ("claimedStorage", claimed_storage),
    ("serviceAddresses", service::changed_addresses),
    ("serviceCidrs", service_cidrs),
    ("podStatus", pod_status::pod_status),
];

/// A claim may shrink only while its volume has not grown to the requested size.
fn claimed_storage(old: &Value, new: &Value) -> Vec<FieldError> {
    let amount = |object: &Value, path: [&str; 4]| {
        let found = object.at(path.into_iter().filter(|step| !step.is_empty()));
        found.and_then(Value::as_str).and_then(Quantity::parse).map_or(0, Quantity::nanos)
    };
    let asked = ["spec", "resources", "requests", "storage"];
    let (was, is, has) =
        (amount(old, asked), amount(new, asked), amount(old, ["status", "capacity", "storage", ""]));
    let shrinks = (is < was && is <= has).then(|| {
        let detail = "field can not be less than status.capacity";
        FieldError::new(FieldErrorKind::Forbidden, "spec.resources.requests.storage", &Value::Null, detail)
    });
    shrinks.into_iter().collect()
}

/// The networks of a ServiceCIDR do not change, except that a second one may join the first.
fn service_cidrs(old: &Value, new: &Value) -> Vec<FieldError> {
    let (was, is) = (at(old, "spec").items("cidrs"), at(new, "spec").items("cidrs"));
    let immutable = |path: String, value: &Value| FieldError::invalid(path, value, "field is immutable");
    if was.len() != is.len() && (was.len(), is.len()) != (1, 2) {
        return vec![immutable("spec.cidrs".into(), at(new, "spec.cidrs"))];
    }
    let pairs = was.iter().zip(is).enumerate().filter(|(_, (was, is))| was != is);
    let changed = pairs.map(|(index, (_, is))| immutable(format!("spec.cidrs[{index}]"), is));
    // A network that joins is checked, with the one that stays.
    let joined = if was.len() == is.len() { Vec::new() } else { service::networks(is) };
    changed.chain(joined).collect()
}

/// The update rules, by API version and kind.
pub(crate) struct UpdateRules(HashMap<(Text, Text), Box<[UpdateRule]>, RandomState>);

/// An update rule.
struct UpdateRule {
    when: Box<[Condition]>,
    refusal: Refusal,
}

/// How errors show a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// As JSON.
    Json,
    /// As a struct of Kubernetes.
    Struct,
    /// As a template of pods, or their spec.
    Template(PodLayout),
    /// As the claims of a stateful set.
    Claims,
    /// Not at all, as the generated checks of Kubernetes do.
    Nothing,
}

enum Refusal {
    Call(Function),
    CallAt(TimedFunction),
    /// The changes of a pod, which depend on what is wrong with it.
    Pod,
    Field(ImmutableField),
}

/// A field that an update may not change, and how the error about it reads.
struct ImmutableField {
    at: Text,
    /// Parts of it that are mutable.
    except: Box<[Text]>,
    same: Same,
    kind: FieldErrorKind,
    detail: Text,
    /// Whether the error shows the difference.
    shows_difference: bool,
    /// The path in errors.
    named: Text,
    /// How errors show the value.
    shown: Shown,
    /// What they show instead of nothing.
    zero: Value,
}

/// When a field counts as unchanged.
enum Same {
    Equal,
    /// Items that still exist, identified by a key, are unchanged.
    KeptItems(Text),
    /// Every item still exists, ignoring its fields of these names.
    AllItems(Box<[Text]>),
}

/// A condition on the old object, or on the new one.
struct Condition {
    of_new: bool,
    path: Text,
    test: ConditionTest,
}

enum ConditionTest {
    Present,
    Absent,
    Eq(Value),
    Ne(Value),
    Changed,
    Same,
}

/// The members of a row.
const MEMBERS: [&str; 12] = [
    "as",
    "at",
    "detail",
    "difference",
    "except",
    "fn",
    "forbidden",
    "keepsItemsBut",
    "key",
    "shown",
    "when",
    "zero",
];

impl UpdateRules {
    /// Compiles the rows of a section of the data.
    pub(crate) fn new(
        registry: &Registry,
        document: &Value,
        section: &str,
    ) -> Result<UpdateRules, DataError> {
        let mut all = HashMap::default();
        for (name, rows) in data::members(VALIDATION, document, section)? {
            let served =
                name.split_once(' ').filter(|(version, kind)| registry.of_kind(version, kind).is_some());
            let Some((version, kind)) = served else {
                return Err(DataError::new(VALIDATION, name, "no such kind is served"));
            };
            let rows = rows.as_array().ok_or_else(|| DataError::new(VALIDATION, name, "expected a list"))?;
            let compile = |(at, row): (usize, &Value)| {
                let wrong = |reason| DataError::new(VALIDATION, format!("{section} of {name}[{at}]"), reason);
                UpdateRule::compile(row).map_err(wrong)
            };
            let rules = rows.iter().enumerate().map(compile).collect::<Result<_, _>>()?;
            all.insert((version.into(), kind.into()), rules);
        }
        Ok(UpdateRules(all))
    }

    /// Validates an update with the rules of its kind.
    pub(crate) fn check(
        &self,
        resource: &Resource,
        old: &Value,
        new: &Value,
        now: Timestamp,
        errors: &mut FieldErrors,
    ) {
        let key = (resource.api_version.clone(), resource.kind.clone());
        let Some(rules) = self.0.get(&key) else { return };
        for rule in rules {
            if rule.when.iter().all(|condition| condition.holds(old, new)) {
                match &rule.refusal {
                    Refusal::Pod => pod_update::check(old, new, errors),
                    Refusal::Call(function) => errors.extend(function(old, new)),
                    Refusal::CallAt(function) => errors.extend(function(old, new, now)),
                    Refusal::Field(field) => errors.extend(field.check(old, new)),
                }
            }
        }
    }
}

impl UpdateRule {
    fn compile(row: &Value) -> Result<UpdateRule, String> {
        only_known(row, &MEMBERS)?;
        let conditions = row.items("when").iter().map(Condition::compile);
        let when = conditions.collect::<Result<_, String>>()?;
        if row.get("fn").and_then(Value::as_str) == Some("podUpdate") {
            return Ok(UpdateRule { when, refusal: Refusal::Pod });
        }
        let named = row.get("fn").and_then(Value::as_str).unwrap_or_default();
        if let Some((_, function)) = TIMED_FUNCTIONS.iter().find(|(known, _)| *known == named) {
            return Ok(UpdateRule { when, refusal: Refusal::CallAt(*function) });
        }
        if let Some(name) = row.get("fn").and_then(Value::as_str) {
            let function = FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function);
            let function = function.ok_or_else(|| format!("there is no function {name:?}"))?;
            return Ok(UpdateRule { when, refusal: Refusal::Call(function) });
        }
        let at = row.get("at").and_then(Value::as_str).map(Text::new).ok_or("the row names no field")?;
        let (kind, usual) = match row.flag("forbidden") {
            true => (FieldErrorKind::Forbidden, "may not be changed"),
            false => (FieldErrorKind::Invalid, "field is immutable"),
        };
        let same = match (row.get("key").and_then(Value::as_str), row.get("keepsItemsBut")) {
            (Some(key), None) => Same::KeptItems(key.into()),
            (None, Some(_)) => Same::AllItems(row.texts("keepsItemsBut")),
            (None, None) => Same::Equal,
            (Some(_), Some(_)) => return Err("key and keepsItemsBut exclude each other".into()),
        };
        let field = ImmutableField {
            named: row.get("as").and_then(Value::as_str).map_or(at.clone(), Text::new),
            at,
            except: row.texts("except"),
            same,
            kind,
            detail: row.get("detail").and_then(Value::as_str).unwrap_or(usual).into(),
            shows_difference: row.flag("difference"),
            zero: row.get("zero").cloned().unwrap_or_default(),
            shown: match row.get("shown").and_then(Value::as_str) {
                None => Shown::Json,
                Some("struct") => Shown::Struct,
                Some("template") => Shown::Template(PodLayout::Nested),
                Some("flatTemplate") => Shown::Template(PodLayout::Flat),
                Some("claims") => Shown::Claims,
                Some("nothing") => Shown::Nothing,
                Some(other) => {
                    let known = "struct, template, flatTemplate, claims or nothing";
                    return Err(format!("unknown form {other:?}; use {known}"));
                }
            },
        };
        Ok(UpdateRule { when, refusal: Refusal::Field(field) })
    }
}

impl Condition {
    /// Compiles `[op, path, value]`; the prefix `new-` refers to the new object.
    fn compile(row: &Value) -> Result<Condition, String> {
        let words = row.as_array().map(|words| words.items()).unwrap_or_default();
        let text = |at: usize| words.get(at).and_then(Value::as_str);
        let (Some(word), Some(path)) = (text(0), text(1)) else {
            return Err(format!("a condition is [op, path, value], not {row}"));
        };
        let value = || words.get(2).cloned().ok_or_else(|| format!("{word:?} needs a value: {row}"));
        let test = match word.strip_prefix("new-").unwrap_or(word) {
            "present" => ConditionTest::Present,
            "absent" => ConditionTest::Absent,
            "eq" => ConditionTest::Eq(value()?),
            "ne" => ConditionTest::Ne(value()?),
            "changed" => ConditionTest::Changed,
            "same" => ConditionTest::Same,
            _ => return Err(format!("unknown condition {word:?}: {row}")),
        };
        Ok(Condition { of_new: word.starts_with("new-"), path: path.into(), test })
    }

    fn holds(&self, old: &Value, new: &Value) -> bool {
        let value = at(if self.of_new { new } else { old }, &self.path);
        match &self.test {
            ConditionTest::Present => !is_empty(value),
            ConditionTest::Absent => is_empty(value),
            ConditionTest::Eq(wanted) => value == wanted,
            ConditionTest::Ne(wanted) => value != wanted,
            ConditionTest::Changed => at(old, &self.path) != at(new, &self.path),
            ConditionTest::Same => at(old, &self.path) == at(new, &self.path),
        }
    }
}

impl ImmutableField {
    /// Returns the error of an update, if it changes the field.
    fn check(&self, old: &Value, new: &Value) -> Option<FieldError> {
        let ImmutableField { at: path, except, kind, detail, named, .. } = self;
        let (was, is) = (at(old, path), at(new, path));
        let (was, is) = match except.is_empty() {
            true => (was.clone(), is.clone()),
            false => (without(was, except), without(is, except)),
        };
        let is_same = match &self.same {
            Same::Equal => was == is || is_empty(&was) && is_empty(&is),
            Same::KeptItems(key) => kept_items(&was, &is, key),
            Same::AllItems(changeable) => has_all_items(&was, &is, changeable),
        };
        if is_same {
            return None;
        }
        Some(match (self.shows_difference, self.shown) {
            (true, _) => FieldError::new(*kind, named, &is, format!("{detail}\n{}", diff(&was, &is))),
            (false, Shown::Json) if is.is_null() => FieldError::new(*kind, named, &self.zero, detail),
            (false, Shown::Json) => FieldError::new(*kind, named, &is, detail),
            (false, shown) => {
                let value = at(new, path);
                let quoted = match shown {
                    Shown::Nothing => "null".into(),
                    _ if value.is_null() => "null".into(),
                    Shown::Claims => go_form::of_claims(value),
                    Shown::Template(layout) => go_form::of_template(value, layout),
                    _ => go_form::of_struct(value),
                };
                FieldError::with_message(*kind, named, format!("Invalid value: {quoted}: {detail}"))
            }
        })
    }
}

fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.')
        .filter(|name| !name.is_empty())
        .try_fold(object, |value, name| value.get(name))
        .unwrap_or(&Value::Null)
}

/// Whether there is nothing to lose.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Whether every item that still exists, identified by a key, is unchanged.
fn kept_items(was: &Value, is: &Value, key: &str) -> bool {
    fn items(value: &Value) -> &[Value] {
        value.as_array().map(|items| items.items()).unwrap_or_default()
    }
    // Several items may have one key; then all of them must equal the old one.
    let mut after: HashMap<Option<&Value>, Option<&Value>> = HashMap::new();
    for item in items(is) {
        after
            .entry(item.get(key))
            .and_modify(|one| *one = one.filter(|one| *one == item))
            .or_insert(Some(item));
    }
    items(was).iter().all(|old| after.get(&old.get(key)).is_none_or(|new| *new == Some(old)))
}

/// Whether every item still exists, ignoring its fields of some names.
fn has_all_items(was: &Value, is: &Value, changeable: &[Text]) -> bool {
    let items = |object: &'_ Value| -> Vec<Value> {
        let items = object.as_array().map(|items| items.items()).unwrap_or_default();
        items.iter().map(|item| without(item, changeable)).collect()
    };
    let after: HashSet<Value> = items(is).into_iter().collect();
    items(was).iter().all(|item| after.contains(item))
}
