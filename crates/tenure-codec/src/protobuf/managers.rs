//! Encodes managers directly: a document of their field sets would be larger than the object. The bytes equal
//! those of `metadata.managedFields` in the document, which a test checks.

use super::wire::{LENGTH, Writer};
use tenure_apply::{ManagedFieldsForm, Managers};
use tenure_fields::fields_v1;

/// The field number of `managedFields`, the last one of the metadata.
const MANAGED_FIELDS: u32 = 17;
const MANAGER: u32 = 1;
const OPERATION: u32 = 2;
const API_VERSION: u32 = 3;
const TIME: u32 = 4;
const FIELDS_TYPE: u32 = 6;
const FIELDS: u32 = 7;
const SUBRESOURCE: u32 = 8;

/// The managers of a document and the form in which they are written.
#[derive(Clone, Copy, Debug)]
pub struct ShownManagers<'a> {
    /// The managers.
    pub managers: &'a Managers,
    /// Their form.
    pub form: ManagedFieldsForm,
}

impl<'a> ShownManagers<'a> {
    /// Shows managers with `FieldsV1`.
    pub fn new(managers: &'a Managers) -> ShownManagers<'a> {
        ShownManagers { managers, form: ManagedFieldsForm::FieldsV1 }
    }
}

/// Writes the managers at the end of the metadata of an object.
pub(super) fn write(shown: ShownManagers<'_>, out: &mut Writer) {
    match shown.form {
        ManagedFieldsForm::Omitted => {}
        ManagedFieldsForm::Compact if !shown.managers.is_empty() => match shown.managers.to_compact() {
            Ok(compact) => {
                out.key(MANAGED_FIELDS, LENGTH);
                let entry = out.begin();
                out.field(FIELDS_TYPE, compact.fields_type.as_bytes());
                out.key(FIELDS, LENGTH);
                let fields = out.begin();
                // The bytes themselves, which no JSON begins like.
                out.field(1, &compact.bytes);
                out.end(fields);
                out.end(entry);
            }
            Err(_) => write_entries(shown.managers, out),
        },
        _ => write_entries(shown.managers, out),
    }
}

fn write_entries(managers: &Managers, out: &mut Writer) {
    for manager in managers {
        out.key(MANAGED_FIELDS, LENGTH);
        let entry = out.begin();
        out.field(MANAGER, manager.name.as_bytes());
        out.field(OPERATION, manager.operation.as_str().as_bytes());
        out.field(API_VERSION, manager.api_version.as_bytes());
        if let Some(time) = manager.time {
            out.key(TIME, LENGTH);
            let start = out.begin();
            out.number(1, time.unix() as u64);
            out.number(2, 0);
            out.end(start);
        }
        out.field(FIELDS_TYPE, b"FieldsV1");
        out.key(FIELDS, LENGTH);
        let fields = out.begin();
        out.key(1, LENGTH);
        let text = out.begin();
        out.append(|out| fields_v1::write(&manager.fields, out));
        out.end(text);
        out.end(fields);
        out.field(SUBRESOURCE, manager.subresource.as_bytes());
        out.end(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{decode, encode, encode_with_managers, item, item_with_managers};
    use super::ShownManagers;
    use tenure_apply::{ManagedFieldsForm, Manager, Managers, Operation, Timestamp};
    use tenure_fields::fields_v1;
    use tenure_value::{Limits, Value};

    fn manager(name: &str, subresource: &str, time: Option<i64>, fields: &str) -> Manager {
        Manager {
            name: name.into(),
            operation: if subresource.is_empty() { Operation::Apply } else { Operation::Update },
            api_version: "v1".into(),
            subresource: subresource.into(),
            time: time.map(Timestamp::from_unix),
            fields: fields_v1::parse(fields.as_bytes()).unwrap(),
        }
    }

    #[test]
    fn separate_managers_encode_like_those_in_the_document() {
        let long: Vec<String> = (0..500).map(|at| format!(r#""f:key-{at:03}":{{}}"#)).collect();
        let managers = Managers::new([
            manager(
                "alice",
                "",
                Some(1_794_708_869),
                r#"{"f:spec":{"f:containers":{"k:{\"name\":\"a<b\"}":{".":{},"f:image":{}}}}}"#,
            ),
            manager("bob \"b\" & co", "status", Some(-1), "{}"),
            manager("", "scale", None, &format!(r#"{{"f:data":{{{}}}}}"#, long.join(","))),
        ]);
        for document in [
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u"},"spec":{"containers":[{"name":"c"}]}}"#,
            r#"{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"a"},"template":{"metadata":{"name":"b"},"spec":{}}}"#,
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"finalizers":["f"],"name":"a"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}"#,
            r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"a"}}"#,
        ] {
            let bare: Value = document.parse().unwrap();
            for managers in [Managers::default(), managers.clone()] {
                let metadata = bare.get("metadata").and_then(Value::as_object).unwrap();
                let metadata = if managers.is_empty() {
                    metadata.clone()
                } else {
                    metadata.with("managedFields", managers.to_value())
                };
                let whole =
                    Value::Object(bare.as_object().unwrap().with("metadata", Value::Object(metadata)));
                assert_eq!(
                    encode_with_managers(&bare, Some(ShownManagers::new(&managers))).unwrap(),
                    encode(&whole).unwrap()
                );
                assert_eq!(
                    item_with_managers(&bare, Some(ShownManagers::new(&managers))).unwrap(),
                    item(&whole).unwrap()
                );
            }
            assert_eq!(encode_with_managers(&bare, None).unwrap(), encode(&bare).unwrap());
        }
    }

    #[test]
    fn compact_managers_are_bytes_and_decode_to_the_same() {
        let fields = r#"{"f:data":{"f:k":{}},"f:metadata":{"f:labels":{".":{},"f:app":{}}}}"#;
        let managers = Managers::new([manager("alice", "", Some(1_794_708_869), fields)]);
        let bare: Value =
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#.parse().unwrap();
        let shown = ShownManagers { managers: &managers, form: ManagedFieldsForm::Compact };
        let bytes = encode_with_managers(&bare, Some(shown)).unwrap();
        let compact = managers.to_compact().unwrap().bytes;
        assert!(bytes.windows(compact.len()).any(|window| window == compact));
        let read = decode(&bytes, &Limits::default()).unwrap();
        let entries = read.at(["metadata", "managedFields"]).unwrap();
        assert_eq!(*entries, managers.to_value_as(ManagedFieldsForm::Compact));
        assert_eq!(Managers::from_value(entries).unwrap(), managers);
        let omitted = ShownManagers { managers: &managers, form: ManagedFieldsForm::Omitted };
        assert_eq!(encode_with_managers(&bare, Some(omitted)).unwrap(), encode(&bare).unwrap());
    }
}
