//! All managers of an object, and their form as `managedFields`. Kept in the order in which the API shows
//! them: appliers first, then by time, name, version and endpoint.

use crate::{ApplyError, CompactManagers, Identity, Manager, Operation, Timestamp};
use std::collections::HashMap;
use tenure_fields::{FieldSet, fields_v1};
use tenure_value::{
    Object, ObjectBuilder, Text, Value,
    json::{self, Style},
};

/// The most entries of `managedFields` that are accepted; far more than any object has.
pub const MAX_MANAGERS: usize = 5_000;

/// Up to this number of managers comparing all of them beats an index.
const FEW: usize = 16;

/// The managers of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managers(Vec<Manager>);

impl Managers {
    /// Takes managers in any order. Two of one identity are kept until the next write, for which the later one counts.
    pub fn new(managers: impl IntoIterator<Item = Manager>) -> Managers {
        let mut managers = Managers(managers.into_iter().collect());
        managers.sort();
        managers
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Walks the managers in the order in which they are shown.
    pub fn iter(&self) -> std::slice::Iter<'_, Manager> {
        self.0.iter()
    }

    /// Returns the manager of that identity.
    pub fn get(&self, identity: &Identity<'_>) -> Option<&Manager> {
        self.0.iter().find(|manager| manager.identity().is(identity))
    }

    /// Whether both name the same managers owning the same fields, regardless of the times.
    pub fn same_fields(&self, other: &Managers) -> bool {
        let same = |a: &Manager, b: &Manager| {
            a.identity().is(&b.identity()) && a.api_version == b.api_version && a.fields == b.fields
        };
        if self.len() != other.len() {
            return false;
        }
        if self.iter().zip(other).all(|(a, b)| same(a, b)) {
            return true;
        }
        // Managers are ordered by time, so the same managers may be in another order.
        let by_identity = |managers: &Managers| {
            let mut sorted = managers.0.clone();
            sorted.sort_by(|a, b| a.order_by_identity(b));
            sorted
        };
        by_identity(self).iter().zip(&by_identity(other)).all(|(a, b)| same(a, b))
    }

    /// Returns the union of what all of them own at one version.
    pub fn owned_at(&self, api_version: &str) -> FieldSet {
        self.iter()
            .filter(|manager| manager.api_version == api_version)
            .fold(FieldSet::default(), |owned, manager| owned.union(&manager.fields))
    }

    /// Adds a manager, or replaces the one of the same identity.
    pub(crate) fn put(&mut self, manager: Manager) {
        match self.0.iter_mut().find(|other| other.identity().is(&manager.identity())) {
            Some(other) => *other = manager,
            None => self.0.push(manager),
        }
    }

    /// Adds a manager of whose identity there is none yet.
    pub(crate) fn push(&mut self, manager: Manager) {
        self.0.push(manager);
    }

    /// Returns managers of different identities; of several with one identity the last counts.
    pub(crate) fn unique(managers: Vec<Manager>) -> Managers {
        let mut unique = Managers(Vec::with_capacity(managers.len()));
        if managers.len() <= FEW {
            managers.into_iter().for_each(|manager| unique.put(manager));
            return unique;
        }
        let mut places: HashMap<(Text, Operation, Text, Option<Text>), usize> =
            HashMap::with_capacity(managers.len());
        for manager in managers {
            let version = (manager.operation == Operation::Update).then(|| manager.api_version.clone());
            let key = (manager.name.clone(), manager.operation, manager.subresource.clone(), version);
            let at = *places.entry(key).or_insert(unique.0.len());
            match unique.0.get_mut(at) {
                Some(other) => *other = manager,
                None => unique.0.push(manager),
            }
        }
        unique
    }

    pub(crate) fn sort(&mut self) {
        self.0.sort_by(|a, b| {
            let rank = |manager: &Manager| (manager.operation, manager.time);
            rank(a)
                .cmp(&rank(b))
                .then_with(|| a.name.cmp(&b.name))
                .then_with(|| a.api_version.cmp(&b.api_version))
                .then_with(|| a.subresource.cmp(&b.subresource))
        });
    }

    /// Reads the value of `metadata.managedFields`; `null` is an empty list.
    pub fn from_value(value: &Value) -> Result<Managers, ApplyError> {
        let entries = match value {
            Value::Null => return Ok(Managers::default()),
            Value::Array(entries) => entries,
            other => {
                let problem = format!("expected a list of entries, got {}", other.kind());
                return Err(ApplyError::BadManager { index: 0, problem });
            }
        };
        if entries.len() > MAX_MANAGERS {
            let problem = format!("expected at most {MAX_MANAGERS} entries, got {}", entries.len());
            return Err(ApplyError::BadManager { index: MAX_MANAGERS, problem });
        }
        let mut managers = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let wrong = |problem| ApplyError::BadManager { index, problem };
            match CompactManagers::is_entry(entry) {
                true => managers.extend(CompactManagers::read(entry).map_err(wrong)?),
                false => managers.push(read(entry).map_err(wrong)?),
            }
            if managers.len() > MAX_MANAGERS {
                return Err(wrong(format!("expected at most {MAX_MANAGERS} managers")));
            }
        }
        Ok(Managers::new(managers))
    }

    /// Returns the value of `metadata.managedFields`.
    pub fn to_value(&self) -> Value {
        Value::array(self.iter().map(|manager| Value::Object(write(manager))))
    }

    /// Appends the value of `metadata.managedFields` as JSON, without making a document of it first; `fields` appends a
    /// set, as [`fields_v1::write`] does.
    pub fn write_json(&self, out: &mut Vec<u8>, fields: impl Fn(&FieldSet, &mut Vec<u8>)) {
        out.push(b'[');
        for (at, manager) in self.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            print(manager, out, &fields);
        }
        out.push(b']');
    }
}

impl<'a> IntoIterator for &'a Managers {
    type Item = &'a Manager;
    type IntoIter = std::slice::Iter<'a, Manager>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Manager> for Managers {
    fn from_iter<I: IntoIterator<Item = Manager>>(managers: I) -> Managers {
        Managers::new(managers)
    }
}

fn read(entry: &Value) -> Result<Manager, String> {
    let object = entry.as_object().ok_or_else(|| format!("expected an object, got {}", entry.kind()))?;
    let text = |name: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(Text::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!("{name}: expected a string, got {}", other.kind())),
    };
    let operation = match text("operation")?.as_str() {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        other => return Err(format!("operation: expected Apply or Update, got {other:?}")),
    };
    let api_version = text("apiVersion")?;
    if api_version.is_empty() {
        return Err("apiVersion: must not be empty".to_owned());
    }
    let kind = text("fieldsType")?;
    if kind != "FieldsV1" {
        return Err(format!("fieldsType: expected FieldsV1, got {kind:?}"));
    }
    let time = text("time")?;
    let time =
        match time.as_str() {
            "" => None,
            given => Some(Timestamp::parse(given).ok_or_else(|| {
                format!("time: expected a time such as 2020-01-02T03:04:05Z, got {given:?}")
            })?),
        };
    let fields = match object.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::default(),
        Some(fields) => fields_v1::from_value(fields).map_err(|error| format!("fieldsV1: {error}"))?,
    };
    Ok(Manager {
        name: text("manager")?,
        operation,
        api_version,
        subresource: text("subresource")?,
        time,
        fields,
    })
}

/// Prints what [`write`] makes a document of.
fn print(manager: &Manager, out: &mut Vec<u8>, fields: impl Fn(&FieldSet, &mut Vec<u8>)) {
    let text = |name: &str, text: &str, out: &mut Vec<u8>| {
        if !text.is_empty() {
            out.extend_from_slice(name.as_bytes());
            json::write_text(text, Style::Kubernetes, out);
        }
    };
    out.push(b'{');
    text("\"apiVersion\":", &manager.api_version, out);
    out.extend_from_slice(if manager.api_version.is_empty() { b"" } else { b"," });
    out.extend_from_slice(b"\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
    fields(&manager.fields, out);
    text(",\"manager\":", &manager.name, out);
    text(",\"operation\":", manager.operation.as_str(), out);
    text(",\"subresource\":", &manager.subresource, out);
    if let Some(time) = manager.time {
        text(",\"time\":", &time.text(), out);
    }
    out.push(b'}');
}

fn write(manager: &Manager) -> Object {
    let mut entry = ObjectBuilder::with_capacity(7);
    let mut text = |name: &'static str, text: Text| {
        if !text.is_empty() {
            entry.push(Text::new_static(name), Value::String(text));
        }
    };
    text("apiVersion", manager.api_version.clone());
    text("fieldsType", Text::new_static("FieldsV1"));
    entry.push(Text::new_static("fieldsV1"), fields_v1::to_value(&manager.fields));
    let mut text = |name: &'static str, text: Text| {
        if !text.is_empty() {
            entry.push(Text::new_static(name), Value::String(text));
        }
    };
    text("manager", manager.name.clone());
    text("operation", Text::new_static(manager.operation.as_str()));
    text("subresource", manager.subresource.clone());
    text("time", manager.time.map(|time| Text::from(time.text())).unwrap_or_default());
    entry.finish()
}
