//! The fields of built-in kinds that hold bytes: base64 in JSON, the bytes themselves in CBOR. A test compares them with the
//! protobuf messages.

/// The paths of byte fields by version and kind. `*` is any item of a list or entry of a map.
const BYTE_FIELDS: [(&str, &str, &[&[&str]]); 8] = [
    (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        &[&["webhooks", "*", "clientConfig", "caBundle"]],
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        &[&["webhooks", "*", "clientConfig", "caBundle"]],
    ),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &[&["spec", "conversion", "webhook", "clientConfig", "caBundle"]],
    ),
    ("apiregistration.k8s.io/v1", "APIService", &[&["spec", "caBundle"]]),
    (
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        &[&["spec", "request"], &["status", "certificate"]],
    ),
    ("certificates.k8s.io/v1", "PodCertificateRequest", &[&["spec", "stubPKCS10Request"]]),
    ("v1", "ConfigMap", &[&["binaryData", "*"]]),
    ("v1", "Secret", &[&["data", "*"]]),
];

/// The field of every object that holds bytes if managers are in their compact form; otherwise it is an object.
const MANAGERS: &[&str] = &["metadata", "managedFields", "*", "fieldsV1"];

/// Which byte fields can be below a place in a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteFields {
    paths: &'static [&'static [&'static str]],
    /// The paths that lead through this place, as bits; [`MANAGERS`] is the one after the last.
    active: u8,
    depth: u8,
}

impl ByteFields {
    /// No byte fields.
    pub const NONE: ByteFields = ByteFields { paths: &[], active: 0, depth: 0 };

    /// Returns the byte fields of a kind.
    pub fn of(api_version: &str, kind: &str) -> ByteFields {
        let known = BYTE_FIELDS.iter().find(|(version, known, _)| *known == kind && *version == api_version);
        let paths = known.map_or(&[][..], |(_, _, paths)| *paths);
        ByteFields { paths, active: (2 << paths.len()) - 1, depth: 0 }
    }

    /// Whether nothing below can be a byte field.
    pub fn is_none(self) -> bool {
        self.active == 0
    }

    /// Returns what applies below a field, or below an item of a list for `*`.
    pub fn below(self, name: &str) -> ByteFields {
        if self.active == 0 {
            return self;
        }
        let all = self.paths.iter().chain([&MANAGERS]).enumerate();
        let leads = all.filter(|(bit, path)| {
            let step = path.get(usize::from(self.depth));
            self.active >> bit & 1 == 1 && step.is_some_and(|step| *step == name || *step == "*")
        });
        let active = leads.fold(0, |active, (bit, _)| active | 1 << bit);
        ByteFields { active, depth: self.depth + 1, ..self }
    }

    /// Whether this place is itself a byte field.
    pub fn is_here(self) -> bool {
        let mut all = self.paths.iter().chain([&MANAGERS]).enumerate();
        self.active != 0
            && all.any(|(bit, path)| self.active >> bit & 1 == 1 && path.len() == usize::from(self.depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tenure_value::Value;

    /// Collects the paths below a message that hold bytes.
    fn collect(messages: &Value, message: &str, path: &[String], found: &mut BTreeSet<Vec<String>>) {
        let fields = messages.get(message).and_then(Value::as_object);
        for (name, row) in fields.into_iter().flatten() {
            let Some(row) = row.as_str() else { continue };
            let type_word = row.split(' ').next_back().unwrap_or_default();
            let type_word = type_word.trim_start_matches(['!', '?', '~']);
            let repeated = type_word.starts_with("[]") || type_word.starts_with("{}");
            let type_word = type_word.trim_start_matches("[]").trim_start_matches("{}");
            let mut below = path.to_vec();
            // The fields of an embedded message have no name of their own.
            if !name.starts_with('@') && !name.is_empty() {
                below.push(name.to_string());
            }
            below.extend(repeated.then(|| "*".to_string()));
            match type_word {
                "bytes" => {
                    found.insert(below);
                }
                _ if below.len() < 8 => collect(messages, type_word, &below, found),
                _ => {}
            }
        }
    }

    #[test]
    fn the_byte_fields_are_those_of_the_protobuf_messages() {
        let table: Value = include_str!("../../data/protobuf.json").parse().expect("the table of messages");
        let messages = table.get("messages").expect("messages");
        let mut expected = BTreeSet::new();
        for (kind, message) in table.get("kinds").and_then(Value::as_object).into_iter().flatten() {
            let mut found = BTreeSet::new();
            collect(messages, message.as_str().unwrap_or_default(), &[], &mut found);
            let (api_version, kind) = kind.split_once(' ').expect("a version and a kind");
            if !kind.ends_with("List") {
                let path = |path: Vec<String>| format!("{api_version} {kind} {}", path.join("."));
                expected.extend(found.into_iter().map(path));
            }
        }
        let path = |(api_version, kind, paths): &(&str, &str, &[&[&str]])| {
            let prefix = format!("{api_version} {kind}");
            paths.iter().map(move |path| format!("{prefix} {}", path.join("."))).collect::<Vec<_>>()
        };
        let actual: BTreeSet<String> = BYTE_FIELDS.iter().flat_map(path).collect();
        assert_eq!(actual, expected);
    }

    #[test]
    fn a_place_is_found_by_its_path() {
        let here = |fields: ByteFields, path: &[&str]| {
            path.iter().fold(fields, |fields, name| fields.below(name)).is_here()
        };
        let request = ByteFields::of("certificates.k8s.io/v1", "CertificateSigningRequest");
        assert!(here(request, &["spec", "request"]) && here(request, &["status", "certificate"]));
        assert!(!here(request, &["spec", "certificate"]) && !here(request, &["spec"]));
        assert!(here(ByteFields::of("v1", "Secret"), &["data", "a"]));
        assert!(!here(ByteFields::of("v1", "ConfigMap"), &["data", "a"]));
        let widget = ByteFields::of("example.com/v1", "Widget");
        assert!(here(widget, &["metadata", "managedFields", "*", "fieldsV1"]));
        assert!(!here(widget, &["data", "a"]) && widget.below("spec").is_none());
    }
}
