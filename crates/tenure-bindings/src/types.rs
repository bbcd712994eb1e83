//! The types of documents: those of definitions and OpenAPI documents that were given, then the built-in ones.

use crate::{Error, ErrorKind};
use std::sync::Arc;
use tenure_crd::Definition;
use tenure_profile::{KubernetesVersion, Profile};
use tenure_schema::{Schema, TypeId, TypeRef, openapi};
use tenure_value::Value;

/// The types that documents are of.
pub struct Types {
    sources: Arc<[Source]>,
    builtin: &'static Schema,
}

impl Default for Types {
    fn default() -> Types {
        Types::of_sources(Vec::new())
    }
}

enum Source {
    /// The kind of a definition, with all its versions.
    Definition(Box<Definition>),
    /// The kinds of an OpenAPI document.
    OpenApi(Schema),
    /// One type, for every document.
    One(Schema, TypeId),
}

impl Types {
    /// Returns the built-in types alone.
    pub fn builtin() -> Types {
        Types::default()
    }

    fn of_sources(sources: Vec<Source>) -> Types {
        Types { sources: sources.into(), builtin: Schema::builtin() }
    }

    /// Returns the same types with the built-in ones of a version of Kubernetes.
    pub(crate) fn at(&self, version: KubernetesVersion) -> Types {
        Types { sources: self.sources.clone(), builtin: Schema::builtin_at(version) }
    }

    /// Returns the types of CustomResourceDefinitions and of OpenAPI v2 and v3 documents, and the built-in ones.
    pub fn of_documents(documents: &[Value]) -> Result<Types, Error> {
        let sources = documents.iter().enumerate().map(|(at, document)| {
            compile(document).map_err(|problem| {
                let place = if documents.len() > 1 { format!("schema {at}: ") } else { String::new() };
                Error::argument(format!("{place}{problem}"))
            })
        });
        Ok(Types::of_sources(sources.collect::<Result<_, _>>()?))
    }

    /// Returns types with which every document is of one type: that of an OpenAPI schema such as
    /// `{"type": "object", "properties": …}`.
    pub fn of_schema(schema: &Value) -> Result<Types, Error> {
        let (schema, id) =
            openapi::compile_one(schema).map_err(|error| Error::argument(error.to_string()))?;
        Ok(Types::of_sources(vec![Source::One(schema, id)]))
    }

    /// Returns the kinds as `apps/v1/Deployment`: those that were given, then the built-in ones.
    pub fn kinds(&self) -> Vec<String> {
        let name = |text: &str| text.replacen(' ', "/", 1);
        self.schemas().flat_map(|schema| schema.kinds().map(|(text, _)| name(text))).collect()
    }

    /// Returns the type of a document: that of the kind that was named, or of its apiVersion and kind.
    pub(crate) fn of(&self, document: &Value, kind: Option<&str>) -> Result<TypeRef<'_>, Error> {
        if let Some(Source::One(schema, id)) = self.sources.first() {
            return Ok(schema.at(*id));
        }
        if let Some(kind) = kind {
            return self.named(kind);
        }
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version.is_empty() || kind.is_empty() {
            return Err(Error::new(
                ErrorKind::UnknownKind,
                "the document does not say its apiVersion and kind; name the kind, such as \"apps/v1/Deployment\"",
            ));
        }
        self.find(api_version, kind).ok_or_else(|| unknown(&format!("{api_version} {kind}")))
    }

    /// Returns the type of a kind.
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        self.schemas().find_map(|schema| schema.kind(api_version, kind))
    }

    /// Returns the definition of a kind, if there is one.
    pub(crate) fn definition(&self, api_version: &str, kind: &str) -> Option<&Definition> {
        let mut definitions = self.sources.iter().filter_map(|source| match source {
            Source::Definition(definition) => Some(&**definition),
            _ => None,
        });
        definitions
            .find(|definition| definition.names.kind == kind && definition.version_of(api_version).is_some())
    }

    /// Whether a kind has its type from what was given.
    pub(crate) fn is_given(&self, api_version: &str, kind: &str) -> bool {
        self.given().any(|schema| schema.kind(api_version, kind).is_some())
    }

    fn given(&self) -> impl Iterator<Item = &Schema> {
        self.sources.iter().map(|source| match source {
            Source::Definition(definition) => &**definition.schema(),
            Source::OpenApi(schema) | Source::One(schema, _) => schema,
        })
    }

    fn schemas(&self) -> impl Iterator<Item = &Schema> {
        self.given().chain([self.builtin])
    }

    /// Finds a kind as `apps/v1/Deployment`, `apps/v1 Deployment` or, if only one has the name, `Deployment`.
    fn named(&self, name: &str) -> Result<TypeRef<'_>, Error> {
        if let Some((api_version, kind)) = name.rsplit_once(['/', ' ']) {
            return self.find(api_version, kind).ok_or_else(|| unknown(name));
        }
        let mut found: Vec<(&str, TypeRef<'_>)> = Vec::new();
        for schema in self.schemas() {
            found.extend(
                schema
                    .kinds()
                    .filter(|(key, _)| key.rsplit(' ').next() == Some(name))
                    .map(|(key, ty)| (key.as_str(), ty)),
            );
            if !found.is_empty() {
                break;
            }
        }
        match found.as_slice() {
            [] => Err(unknown(name)),
            [(_, ty)] => Ok(*ty),
            several => {
                let names: Vec<String> = several.iter().map(|(key, _)| key.replacen(' ', "/", 1)).collect();
                let message = format!("several kinds are named {name}; choose one of {}", names.join(", "));
                Err(Error::new(ErrorKind::UnknownKind, message))
            }
        }
    }
}

fn unknown(name: &str) -> Error {
    let message = format!(
        "no type is known for {name}; give the CustomResourceDefinition or the OpenAPI document that defines it as the schema"
    );
    Error::new(ErrorKind::UnknownKind, message)
}

fn compile(document: &Value) -> Result<Source, String> {
    let text = |error: tenure_schema::SchemaError| error.to_string();
    if document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
        let definition = Definition::read(document, Profile::kubernetes()).map_err(text)?;
        Ok(Source::Definition(Box::new(definition)))
    } else if document.get("swagger").is_some() {
        openapi::compile_v2(document).map(Source::OpenApi).map_err(text)
    } else if document.get("openapi").is_some() {
        openapi::compile_v3(document).map(Source::OpenApi).map_err(text)
    } else {
        Err("it is neither a CustomResourceDefinition nor an OpenAPI v2 or v3 document".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<TypeRef<'_>, Error>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn kinds_are_found_by_document_and_by_name() {
        let types = Types::builtin();
        let deployment: Value = r#"{"apiVersion": "apps/v1", "kind": "Deployment"}"#.parse().unwrap();
        let expected = Schema::builtin().kind("apps/v1", "Deployment").unwrap().id();
        assert_eq!(types.of(&deployment, None).unwrap().id(), expected);
        for name in ["apps/v1/Deployment", "apps/v1 Deployment", "Deployment"] {
            assert_eq!(types.of(&Value::Null, Some(name)).unwrap().id(), expected, "{name}");
        }
        assert!(message(types.of(&Value::Null, None)).contains("name the kind"));
        assert!(message(types.of(&Value::Null, Some("Wizard"))).contains("no type is known for Wizard"));
        assert!(message(types.of(&Value::Null, Some("Event"))).contains("events.k8s.io/v1/Event"));
        assert!(types.kinds().contains(&"v1/Pod".to_owned()));
    }

    #[test]
    fn what_is_no_schema_is_refused_with_its_place() {
        let pod: Value = r#"{"kind": "Pod"}"#.parse().unwrap();
        let problem = |documents: &[Value]| Types::of_documents(documents).err().map(|error| error.message);
        let expected = "it is neither a CustomResourceDefinition nor an OpenAPI v2 or v3 document";
        assert_eq!(problem(std::slice::from_ref(&pod)).as_deref(), Some(expected));
        assert_eq!(problem(&[pod.clone(), pod]), Some(format!("schema 0: {expected}")));
    }
}
