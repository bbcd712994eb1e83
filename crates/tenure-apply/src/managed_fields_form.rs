//! The forms in which `managedFields` is shown and stored.

use crate::{
    ApplyError, Managers,
    compact_managers::{self, CompactManagers},
};
use tenure_fields::FieldSet;
use tenure_value::{
    Value, base64,
    json::{self, Style},
};

/// How `metadata.managedFields` is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ManagedFieldsForm {
    /// As an entry with `FieldsV1` for each manager.
    #[default]
    FieldsV1,
    /// As one entry for all managers, in the compact encoding.
    Compact,
    /// Not at all.
    Omitted,
}

impl Managers {
    /// Encodes all managers with the current table.
    pub fn to_compact(&self) -> Result<CompactManagers, ApplyError> {
        Ok(CompactManagers { fields_type: CompactManagers::fields_type()?, bytes: self.encode()? })
    }

    /// Encodes all managers for a store.
    pub fn encode(&self) -> Result<Vec<u8>, ApplyError> {
        compact_managers::encode(self.iter())
    }

    /// Decodes all managers of a store, in the order in which they were encoded.
    pub fn decode(bytes: &[u8]) -> Result<Managers, ApplyError> {
        compact_managers::decode(bytes).map(Managers::new)
    }

    /// Returns the value of `metadata.managedFields` in a form. Managers that have no compact form, because they own far more than
    /// any object has, are shown as `FieldsV1`.
    pub fn to_value_as(&self, form: ManagedFieldsForm) -> Value {
        match form {
            ManagedFieldsForm::Omitted => Value::Null,
            ManagedFieldsForm::FieldsV1 => self.to_value(),
            ManagedFieldsForm::Compact => match self.to_compact() {
                Ok(compact) => Value::array([compact.to_value()]),
                Err(_) => self.to_value(),
            },
        }
    }

    /// Appends the value of `metadata.managedFields` in a form as JSON; `fields` appends a set, as for
    /// [`write_json`](Managers::write_json).
    pub fn write_json_as(
        &self,
        form: ManagedFieldsForm,
        out: &mut Vec<u8>,
        fields: impl Fn(&FieldSet, &mut Vec<u8>),
    ) {
        if form != ManagedFieldsForm::Compact {
            return self.write_json(out, fields);
        }
        let Ok(compact) = self.to_compact() else { return self.write_json(out, fields) };
        out.extend_from_slice(b"[{\"fieldsType\":");
        json::write_text(&compact.fields_type, Style::Kubernetes, out);
        out.extend_from_slice(b",\"fieldsV1\":\"");
        out.extend_from_slice(base64::encode(&compact.bytes).as_bytes());
        out.extend_from_slice(b"\"}]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Manager, Operation, Timestamp};
    use tenure_fields::fields_v1;

    fn managers() -> Managers {
        let manager = |name: &str, operation, subresource: &str, fields: &str| Manager {
            name: name.into(),
            operation,
            api_version: "apps/v1".into(),
            subresource: subresource.into(),
            time: Timestamp::parse("2026-01-02T03:04:05Z"),
            fields: fields_v1::parse(fields.as_bytes()).unwrap(),
        };
        Managers::new([
            manager(
                "kubectl",
                Operation::Apply,
                "",
                r#"{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}}}"#,
            ),
            manager("controller", Operation::Update, "status", r#"{"f:status":{"f:replicas":{}}}"#),
        ])
    }

    #[test]
    fn compact_managers_are_read_as_they_were_written() {
        for managers in [Managers::default(), managers()] {
            for form in [ManagedFieldsForm::Compact, ManagedFieldsForm::FieldsV1] {
                let value = managers.to_value_as(form);
                assert_eq!(Managers::from_value(&value).unwrap(), managers);
                let mut text = Vec::new();
                managers.write_json_as(form, &mut text, fields_v1::write);
                assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
            }
        }
        let compact = managers().to_value_as(ManagedFieldsForm::Compact).to_string();
        assert!(compact.len() * 2 < managers().to_value().to_string().len(), "{compact}");
    }

    #[test]
    fn entries_of_another_table_are_refused() {
        let CompactManagers { fields_type, bytes } = managers().to_compact().unwrap();
        let error = |fields_type: &str, bytes: &[u8]| {
            let entry = CompactManagers { fields_type: fields_type.into(), bytes: bytes.to_vec() }.to_value();
            Managers::from_value(&Value::array([entry])).unwrap_err().to_string()
        };
        let unknown = error("Compact/00000000000000000000000000000000", &bytes);
        assert!(unknown.contains("send the managers as FieldsV1"), "{unknown}");
        let mut other = bytes.clone();
        other[0] ^= 0x7f;
        assert!(error(&fields_type, &other).contains("were not written with table"));
        assert!(error(&fields_type, &[]).contains("were not written with table"));
        assert!(error(&fields_type, &bytes[..bytes.len() - 1]).contains("fieldsV1: "));
        let entry = Value::object([("fieldsType", Value::from(fields_type)), ("fieldsV1", Value::from("*"))]);
        let text = Managers::from_value(&Value::array([entry])).unwrap_err().to_string();
        assert!(text.contains("expected base64"), "{text}");
    }
}
