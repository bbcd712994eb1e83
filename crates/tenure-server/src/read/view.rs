//! The views of objects that clients ask for: whole, as metadata alone, as a table. One function for one
//! object and one for a list, so that every verb answers alike.

use crate::{
    Answer, Encoding, Failure, Format, Reason, View,
    catalog::handler::Served,
    object::{Document, ShowManagers, Stored, key, shown},
    read::encode_cache::{Form, Standing},
    server::{Request, Server},
    target::Target,
    write::pipeline::{Outcome, Written},
};
use hyper::StatusCode;
use tenure_fields::FieldSet;
use tenure_store::Revision;
use tenure_value::{Object, Value};

/// What a list says besides its items.
#[derive(Default)]
pub(crate) struct ListMetadata {
    pub revision: Revision,
    pub resume: Option<String>,
    pub remaining: Option<usize>,
}

impl ListMetadata {
    /// Returns the `metadata` of a list of whole objects. One of custom objects says that it ends by an empty token, one of
    /// built-in kinds by none.
    pub fn of(&self, served: &Served) -> Value {
        self.with_token(served.is_custom().then_some(""))
    }

    /// Returns the `metadata` of a table, or of a list of metadata.
    pub fn value(&self) -> Value {
        self.with_token(None)
    }

    fn with_token(&self, at_the_end: Option<&str>) -> Value {
        let mut fields = vec![("resourceVersion", Value::from(self.revision.to_string()))];
        if let Some(token) = self.resume.as_deref().or(at_the_end) {
            fields.push(("continue", Value::from(token)));
        }
        if let Some(remaining) = self.remaining {
            fields.push(("remainingItemCount", Value::from(remaining as u64)));
        }
        Value::object(fields)
    }
}

impl Server {
    /// Answers with one object.
    pub(crate) fn show(
        &self,
        code: StatusCode,
        target: &Target,
        request: &Request,
        format: Format,
        stored: &Stored,
    ) -> Result<Answer, Failure> {
        self.show_printed(code, target, request, format, stored, None)
    }

    /// Answers with what became of a write.
    pub(crate) fn show_written(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
        written: &Written,
    ) -> Result<Answer, Failure> {
        let stored = &written.stored;
        let show = |code, document| self.show_printed(code, target, request, format, stored, document);
        let answer = match &written.outcome {
            Outcome::Created => show(StatusCode::CREATED, None)?,
            Outcome::Changed(document) => show(StatusCode::OK, document.as_ref())?,
            Outcome::Unchanged => match Form::of(&target.served, format, Standing::Alone) {
                Some(form) => {
                    let key = key(&target.served.resource, &target.namespace, &target.name).into();
                    let printed = self.printed_live(&target.served, &key, stored, &form)?;
                    Answer::new(StatusCode::OK, format.encoding.media_type(), printed.bytes)
                }
                None => show(StatusCode::OK, None)?,
            },
        };
        Ok(answer.with_warnings(&written.warnings))
    }

    fn show_printed(
        &self,
        code: StatusCode,
        target: &Target,
        request: &Request,
        format: Format,
        stored: &Stored,
        document: Option<&Document>,
    ) -> Result<Answer, Failure> {
        if (format.encoding, format.view) == (Encoding::Json, View::Whole) {
            let managers = if format.without_managers { ShowManagers::No } else { ShowManagers::Yes };
            let fields = |fields: &FieldSet, out: &mut Vec<u8>| self.fields_v1_cache.write(fields, out);
            let text = match document {
                Some(document) => document.with_metadata(stored, managers, fields),
                None => stored.to_json(managers, fields),
            };
            return Ok(Answer::new(code, format.encoding.media_type(), text));
        }
        let object = stored_view(stored, format);
        let document = match format.view {
            View::Whole => object,
            View::PartialObjectMetadata => partial(&object),
            View::PartialObjectMetadataList => {
                return Err(not_acceptable(
                    "you requested PartialObjectMetadataList, but the requested object is no list",
                ));
            }
            View::Table => {
                let metadata = ListMetadata { revision: stored.revision, ..ListMetadata::default() };
                self.table(target, request, std::slice::from_ref(&object), &metadata)?
            }
        };
        Ok(Answer::document(code, &document, format))
    }

    /// Answers with a list of objects.
    pub(crate) fn show_list(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
        items: &[Stored],
        metadata: &ListMetadata,
    ) -> Result<Answer, Failure> {
        let resource = &target.served.resource;
        let objects: Vec<Value> = items.iter().map(|stored| stored_view(stored, format)).collect();
        let document = match format.view {
            View::Whole => {
                let items = objects.into_iter().map(|object| target.served.as_item(object));
                list(
                    &resource.api_version,
                    &format!("{}List", resource.kind),
                    items,
                    metadata.of(&target.served),
                )
            }
            View::PartialObjectMetadataList => {
                let items = objects.iter().map(partial);
                list("meta.k8s.io/v1", "PartialObjectMetadataList", items, metadata.value())
            }
            View::PartialObjectMetadata => {
                return Err(not_acceptable(
                    "you requested PartialObjectMetadata, but the requested object is a list",
                ));
            }
            View::Table => self.table(target, request, &objects, metadata)?,
        };
        Ok(Answer::document(StatusCode::OK, &document, format))
    }

    fn table(
        &self,
        target: &Target,
        request: &Request,
        objects: &[Value],
        metadata: &ListMetadata,
    ) -> Result<Value, Failure> {
        let include = request.query.get("includeObject").map_or("", |value| value.as_str());
        let object_of: fn(&Value) -> Value = match include {
            "" | "Metadata" => partial,
            "Object" => Value::clone,
            "None" => |_| Value::Null,
            other => {
                return Err(Failure::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
                )));
            }
        };
        let now = self.now();
        let rows = objects.iter().map(|object| {
            let cells = Value::array(target.served.cells(object, now));
            Value::object([("cells", cells), ("object", object_of(object))])
        });
        Ok(Value::object([
            ("kind", Value::from("Table")),
            ("apiVersion", Value::from("meta.k8s.io/v1")),
            ("metadata", metadata.value()),
            ("columnDefinitions", target.served.columns()),
            ("rows", Value::array(rows)),
        ]))
    }
}

fn stored_view(stored: &Stored, format: Format) -> Value {
    if format.without_managers { shown(&stored.object, None, Some(stored.revision)) } else { stored.shown() }
}

fn list(api_version: &str, kind: &str, items: impl Iterator<Item = Value>, metadata: Value) -> Value {
    Value::object([
        ("apiVersion", Value::from(api_version)),
        ("kind", Value::from(kind)),
        ("metadata", metadata),
        ("items", Value::array(items)),
    ])
}

/// Returns an object's metadata as an object of its own.
pub(crate) fn partial(object: &Value) -> Value {
    Value::object([
        ("apiVersion", Value::from("meta.k8s.io/v1")),
        ("kind", Value::from("PartialObjectMetadata")),
        ("metadata", object.get("metadata").cloned().unwrap_or_else(|| Object::default().into())),
    ])
}

fn not_acceptable(message: &str) -> Failure {
    Failure::new(Reason::NotAcceptable, message)
}
