//! An object as clients read it, made from the bytes of the store without reading it as a document: what the API adds to the
//! metadata is inserted into the stored text, and what items of lists do not have is left out. For kinds that are stored as they
//! are served.

use tenure_apply::{ManagedFieldsForm, Managers};
use tenure_fields::fields_v1;
use tenure_store::Entry;
use tenure_value::{Limits, Value, json};

/// Whether the object has its `apiVersion` and `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeMeta {
    /// It does.
    Kept,
    /// It does not, as items of lists of built-in kinds.
    Omitted,
}

/// An object as JSON, and its labels.
#[derive(Debug, PartialEq)]
pub struct Spliced {
    /// The text.
    pub text: Vec<u8>,
    /// The labels, `null` if there are none.
    pub labels: Value,
}

/// Returns the object of an entry as JSON; `None` if its text is not as expected or `is_shown` says that it is not shown so: it has to be
/// read as a document.
pub fn splice(
    entry: &Entry,
    form: ManagedFieldsForm,
    type_meta: TypeMeta,
    is_shown: impl Fn(&[u8]) -> bool,
) -> Option<Spliced> {
    let value = entry.value.bytes();
    let (compact, text) = crate::object::split(&value).ok()?;
    if !is_shown(text) {
        return None;
    }
    let seams = Seams::of(text, type_meta)?;
    let managers = match form {
        ManagedFieldsForm::FieldsV1 | ManagedFieldsForm::Compact => Managers::decode(compact).ok()?,
        ManagedFieldsForm::Omitted => Managers::default(),
    };
    let mut out = Vec::with_capacity(text.len() + 64 + 6 * compact.len());
    let mut from = 0;
    for (start, end) in seams.cuts.into_iter().flatten() {
        out.extend_from_slice(text.get(from..start)?);
        from = end;
    }
    let [managers_at, version_at] = seams.inserts;
    out.extend_from_slice(text.get(from..managers_at)?);
    if !managers.is_empty() {
        out.extend_from_slice(b"\"managedFields\":");
        managers.write_json_as(form, &mut out, fields_v1::write);
        out.push(b',');
    }
    out.extend_from_slice(text.get(managers_at..version_at)?);
    out.extend_from_slice(b"\"resourceVersion\":\"");
    out.extend_from_slice(itoa::Buffer::new().format(entry.modified.get()).as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(text.get(version_at..)?);
    let labels = match seams.labels {
        Some((start, end)) => json::parse(text.get(start..end)?, &Limits::TRUSTED).ok()?,
        None => Value::Null,
    };
    Some(Spliced { text: out, labels })
}

/// Returns the labels of the object of an entry, `null` if there are none, without reading more of it than is before them; `None` if
/// its text is not as expected.
pub fn labels(entry: &Entry) -> Option<Value> {
    json::parse(labels_text(&entry.value.bytes())?, &Limits::TRUSTED).ok()
}

/// Returns the text of the labels of the object in a value of the store, which is what [`labels`] reads.
pub fn labels_text(value: &[u8]) -> Option<&[u8]> {
    let (_, text) = crate::object::split(value).ok()?;
    let Some(metadata) = Member::find(text, 0, b"metadata")? else { return Some(b"null") };
    match Member::find(text, metadata.value, b"labels")? {
        Some(labels) => text.get(labels.value..labels.end),
        None => Some(b"null"),
    }
}

/// The places of a text where something is added or left out.
struct Seams {
    /// `apiVersion` and `kind`, with the commas behind them, if they are left out.
    cuts: [Option<(usize, usize)>; 2],
    /// Where `managedFields` and `resourceVersion` go.
    inserts: [usize; 2],
    /// The value of `metadata.labels`.
    labels: Option<(usize, usize)>,
}

impl Seams {
    fn of(text: &[u8], type_meta: TypeMeta) -> Option<Seams> {
        let mut seams = Seams { cuts: [None; 2], inserts: [0; 2], labels: None };
        let mut has_metadata = false;
        let mut at = 1;
        if text.first() != Some(&b'{') {
            return None;
        }
        while let Some(member) = Member::at(text, at)? {
            at = member.end + 1;
            let cut = type_meta == TypeMeta::Omitted && !has_metadata;
            match member.name {
                // The members are sorted: metadata comes after both.
                b"apiVersion" if cut => seams.cuts[0] = Some((member.start, at)),
                b"kind" if cut => seams.cuts[1] = Some((member.start, at)),
                b"metadata" => {
                    has_metadata = true;
                    seams.look_into(text, member.value)?;
                }
                _ => {}
            }
        }
        let is_complete = has_metadata && seams.inserts.iter().all(|insert| *insert > 0);
        (is_complete && at == text.len()).then_some(seams)
    }

    fn look_into(&mut self, text: &[u8], metadata: usize) -> Option<()> {
        if text.get(metadata) != Some(&b'{') {
            return None;
        }
        let mut at = metadata + 1;
        while let Some(member) = Member::at(text, at)? {
            at = member.end + 1;
            match member.name {
                b"managedFields" | b"resourceVersion" => return None,
                b"labels" => self.labels = Some((member.value, member.end)),
                _ => {}
            }
            for (insert, name) in self.inserts.iter_mut().zip([&b"managedFields"[..], b"resourceVersion"]) {
                if *insert == 0 && member.name > name {
                    *insert = member.start;
                }
            }
            // The rest of the metadata is of no interest.
            if self.inserts[1] > 0 {
                return Some(());
            }
        }
        Some(())
    }
}

/// A member of an object in a text: where it, its value and its end are.
struct Member<'t> {
    name: &'t [u8],
    start: usize,
    value: usize,
    end: usize,
}

impl<'t> Member<'t> {
    /// Returns the member at a place; `Some(None)` at the end of the object.
    fn at(text: &'t [u8], start: usize) -> Option<Option<Member<'t>>> {
        // Behind the last member, its comma or brace has been skipped.
        if text.get(start - 1) == Some(&b'}') {
            return Some(None);
        }
        match text.get(start)? {
            b'}' => return Some(None),
            b'"' => {}
            _ => return None,
        }
        let name_end = string_end(text, start)?;
        if text.get(name_end) != Some(&b':') {
            return None;
        }
        let value = name_end + 1;
        let end = value_end(text, value)?;
        matches!(text.get(end), Some(b',' | b'}')).then_some(())?;
        Some(Some(Member { name: text.get(start + 1..name_end - 1)?, start, value, end }))
    }

    /// Returns the member of a name of the object at a place, whose members are sorted; `Some(None)` if it has none.
    fn find(text: &'t [u8], object: usize, name: &[u8]) -> Option<Option<Member<'t>>> {
        if text.get(object) != Some(&b'{') {
            return None;
        }
        let mut at = object + 1;
        while let Some(member) = Member::at(text, at)?.filter(|member| member.name <= name) {
            if member.name == name {
                return Some(Some(member));
            }
            at = member.end + 1;
        }
        Some(None)
    }
}

/// Returns where the string that starts at a place ends, behind its quote.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Returns where the value that starts at a place ends.
fn value_end(text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0usize);
    loop {
        match text.get(at)? {
            b'"' => {
                at = string_end(text, at)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Stored, encode};
    use bytes::Bytes;
    use tenure_apply::{Manager, Operation, Timestamp};
    use tenure_store::Revision;

    const OBJECTS: [&str; 8] = [
        r#"{"apiVersion":"v1","data":{"a":"{\"x\":[1]}","b\\":"\\","kind":"x"},"kind":"ConfigMap","metadata":{"annotations":{"managedFields":"}"},"creationTimestamp":"t","labels":{"a":"b","c":""},"name":"a","namespace":"n","uid":"u"}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u"},"spec":{"containers":[{"name":"c"},[],{}],"n":-1.5e3,"t":true},"status":{}}"#,
        r#"{"kind":"Pod","metadata":{"uid":"u"}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"}}"#,
        r#"{"kind":"Pod","metadata":{"managedFields":[],"uid":"u"}}"#,
        r#"{"metadata":{}}"#,
        r#"{"kind":"Pod"}"#,
        "{}",
    ];

    const FORMS: [ManagedFieldsForm; 3] =
        [ManagedFieldsForm::FieldsV1, ManagedFieldsForm::Compact, ManagedFieldsForm::Omitted];

    #[test]
    fn a_spliced_object_is_the_one_that_is_printed() {
        let fields = fields_v1::parse(br#"{"f:data":{"f:a":{}}}"#).unwrap();
        let manager = Manager {
            name: "alice".into(),
            operation: Operation::Update,
            api_version: "v1".into(),
            subresource: "".into(),
            time: Timestamp::parse("2026-01-02T03:04:05Z"),
            fields,
        };
        for managers in [Managers::default(), Managers::new([manager])] {
            for (place, text) in OBJECTS.into_iter().enumerate() {
                let object: Value = text.parse().unwrap();
                let revision = Revision::from_number(77);
                let value = encode(&object, &managers).unwrap();
                let entry =
                    Entry { key: Bytes::new(), value: value.into(), created: revision, modified: revision };
                assert_eq!(
                    labels(&entry),
                    Some(object.at(["metadata", "labels"]).cloned().unwrap_or_default())
                );
                for form in FORMS {
                    for type_meta in [TypeMeta::Kept, TypeMeta::Omitted] {
                        let spliced = splice(&entry, form, type_meta, |_| true);
                        assert_eq!(spliced.is_some(), place < 3, "{text}");
                        let Some(spliced) = spliced else { continue };
                        let item = match (&object, type_meta) {
                            (Value::Object(fields), TypeMeta::Omitted) => {
                                fields.without("apiVersion").without("kind").into()
                            }
                            _ => object.clone(),
                        };
                        let printed = Stored { object: item, managers: managers.clone(), revision }
                            .to_json(form, fields_v1::write);
                        assert_eq!(String::from_utf8(spliced.text), String::from_utf8(printed));
                        let labels = object.at(["metadata", "labels"]).cloned().unwrap_or_default();
                        assert_eq!(spliced.labels, labels);
                    }
                }
            }
        }
    }

    #[test]
    fn a_broken_text_is_not_spliced() {
        let text = OBJECTS[0].as_bytes();
        for end in 0..text.len() {
            assert!(Seams::of(&text[..end], TypeMeta::Omitted).is_none(), "{end}");
        }
    }
}
