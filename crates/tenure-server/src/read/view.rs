//! The views of objects: whole, metadata only, or a table.

use super::{Reader, list_body::ListMetadata};
use hyper::StatusCode;
use tenure_catalog::{
    Target,
    object::{Document, Stored, partial, shown_as},
};
use tenure_fields::FieldSet;
use tenure_http::{Encoding, Format, MetaVersion, Request, Response, View};
use tenure_meta::{ApiError, Reason};
use tenure_value::Value;

impl Reader {
    /// Returns one object.
    pub fn show(
        &self,
        code: StatusCode,
        target: &Target,
        request: &Request,
        format: Format,
        stored: &Stored,
    ) -> Result<Response, ApiError> {
        self.show_document(code, target, request, format, stored, None)
    }

    /// Returns one object, whose JSON is known already where a write has just stored it.
    pub fn show_document(
        &self,
        code: StatusCode,
        target: &Target,
        request: &Request,
        format: Format,
        stored: &Stored,
        document: Option<&Document>,
    ) -> Result<Response, ApiError> {
        if (format.encoding, format.view) == (Encoding::Json, View::Whole) {
            let fields = |fields: &FieldSet, out: &mut Vec<u8>| self.fields_v1_cache.write(fields, out);
            let text = match document {
                Some(document) => document.with_metadata(stored, format.managed_fields, fields),
                None => stored.to_json(format.managed_fields, fields),
            };
            return Ok(Response::new(code, format.encoding.media_type(), text));
        }
        let object = stored_view(stored, format);
        let document = match format.view {
            View::Whole => object,
            View::PartialObjectMetadata => partial(&object, format.meta_version),
            View::PartialObjectMetadataList => {
                return Err(not_acceptable(
                    "you requested PartialObjectMetadataList, but the requested object is not a list",
                ));
            }
            View::Table => {
                let metadata = ListMetadata { revision: stored.revision, ..ListMetadata::default() };
                self.table(target, request, format, std::slice::from_ref(&object), &metadata)?
            }
        };
        Ok(Response::document(code, &document, format))
    }

    /// Returns a list of objects.
    pub fn show_list(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
        items: &[Stored],
        metadata: &ListMetadata,
    ) -> Result<Response, ApiError> {
        let resource = &target.handler.resource;
        let objects: Vec<Value> = items.iter().map(|stored| stored_view(stored, format)).collect();
        let document = match format.view {
            View::Whole => {
                let items = objects.into_iter().map(|object| target.handler.list_item(object));
                list(&resource.api_version, &resource.list_kind, items, metadata.of(&target.handler))
            }
            View::PartialObjectMetadataList => {
                let version = format.meta_version;
                let items = objects.iter().map(|object| partial(object, version));
                let kind = "PartialObjectMetadataList";
                let shown = list(version.api_version(), kind, items, metadata.value());
                match (objects.is_empty(), shown) {
                    // A list of metadata without items has none at all, as in Kubernetes.
                    (true, Value::Object(fields)) => fields.with("items", Value::Null).into(),
                    (_, shown) => shown,
                }
            }
            View::PartialObjectMetadata => {
                let list_type = target.handler.go_list_type();
                return Err(not_acceptable(&format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{list_type})"
                )));
            }
            View::Table => self.table(target, request, format, &objects, metadata)?,
        };
        Ok(Response::document(StatusCode::OK, &document, format))
    }

    fn table(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
        objects: &[Value],
        metadata: &ListMetadata,
    ) -> Result<Value, ApiError> {
        let include = request.query.get("includeObject").map_or("", |value| value.as_str());
        let object_of: fn(&Value, MetaVersion) -> Value = match include {
            "" | "Metadata" => partial,
            "Object" => |object, _| object.clone(),
            "None" => |_, _| Value::Null,
            other => return Err(unknown_row_object(other)),
        };
        let now = self.objects.clock.now();
        let rows = objects.iter().map(|object| {
            let cells = Value::array(target.handler.strategy().table_cells(object, now));
            Value::object([("cells", cells), ("object", object_of(object, format.meta_version))])
        });
        Ok(Value::object([
            ("kind", Value::from("Table")),
            ("apiVersion", Value::from(format.meta_version.api_version())),
            ("metadata", metadata.value()),
            ("columnDefinitions", target.handler.strategy().table_columns()),
            ("rows", Value::array(rows)),
        ]))
    }
}

/// Returns the error of a table whose rows shall contain something unknown.
pub(super) fn unknown_row_object(given: &str) -> ApiError {
    ApiError::bad_request(format!(
        "Unable to convert to Table as requested: includeObject: Invalid value: {given:?}: must be 'Metadata', 'Object', 'None', or empty"
    ))
}

fn stored_view(stored: &Stored, format: Format) -> Value {
    shown_as(&stored.object, &stored.managers, format.managed_fields, stored.revision)
}

fn list(api_version: &str, kind: &str, items: impl Iterator<Item = Value>, metadata: Value) -> Value {
    Value::object([
        ("apiVersion", Value::from(api_version)),
        ("kind", Value::from(kind)),
        ("metadata", metadata),
        ("items", Value::array(items)),
    ])
}

fn not_acceptable(message: &str) -> ApiError {
    ApiError::new(Reason::NotAcceptable, message)
}
