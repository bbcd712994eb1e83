//! The types of live objects. Built-in kinds have the types of the pack, at the server's version of Kubernetes or the nearest one: how
//! their lists and maps merge is part of their API. All others have the types that the server publishes as OpenAPI v3, compiled once per
//! group and version; servers before 1.24 publish only v2, one document for all.

use super::Cluster;
use crate::ClientError;
use parking_lot::Mutex;
use std::collections::HashMap;
use tenure_schema::{Schema, SchemaError, TypeRef, openapi};
use tenure_value::Value;

/// The compiled schemas. Each lives as long as the process.
#[derive(Default)]
pub(super) struct Schemas {
    /// By group and version; `None` if the server publishes none. What a server publishes as v2 is under `ALL`.
    by_version: Mutex<HashMap<String, Option<&'static Schema>>>,
    /// By address, where that contains a hash of the document.
    by_address: Mutex<HashMap<String, &'static Schema>>,
}

impl Schemas {
    /// Forgets which schemas are current; those that did not change are not compiled again.
    pub fn expire(&self) {
        self.by_version.lock().clear();
    }
}

/// The key of a schema for all groups and versions.
const ALL: &str = "*";

impl Cluster {
    /// Returns the type of a kind; untyped if the server does not publish it.
    pub async fn type_of(&self, api_version: &str, kind: &str) -> Result<TypeRef<'static>, ClientError> {
        if let Some(built_in) = Schema::builtin_at(self.profile().await?.version()).kind(api_version, kind) {
            return Ok(built_in);
        }
        let known = self.schemas.by_version.lock().get(api_version).copied();
        let schema = match known {
            Some(schema) => schema,
            None => {
                let schema = self.compile(api_version).await?;
                self.schemas.by_version.lock().insert(api_version.to_owned(), schema);
                schema
            }
        };
        Ok(schema.and_then(|schema| schema.kind(api_version, kind)).unwrap_or_else(TypeRef::untyped))
    }

    /// Returns the types of every group and version that the server publishes.
    pub async fn all_types(&self) -> Result<Vec<&'static Schema>, ClientError> {
        let Some(index) = self.find("/openapi/v3").await? else {
            return Ok(self.compile_v2().await?.into_iter().collect());
        };
        let mut schemas = Vec::new();
        for (name, _) in index.get("paths").and_then(Value::as_object).into_iter().flatten() {
            // Documents of other paths contain no types.
            let api_version = match name.split('/').collect::<Vec<_>>().as_slice() {
                ["api", version] => (*version).to_owned(),
                ["apis", group, version] => format!("{group}/{version}"),
                _ => continue,
            };
            schemas.extend(self.compile(&api_version).await?);
        }
        Ok(schemas)
    }

    async fn compile(&self, api_version: &str) -> Result<Option<&'static Schema>, ClientError> {
        let Some(index) = self.find("/openapi/v3").await? else { return self.compile_v2().await };
        let name = match api_version.contains('/') {
            true => format!("apis/{api_version}"),
            false => format!("api/{api_version}"),
        };
        let url = index.at(["paths", &name, "serverRelativeURL"]).and_then(Value::as_str);
        let hashed = url.filter(|url| url.contains("hash="));
        let known = hashed.and_then(|url| self.schemas.by_address.lock().get(url).copied());
        if known.is_some() {
            return Ok(known);
        }
        let Some(document) = (match url {
            Some(url) => self.find(url).await?,
            None => None,
        }) else {
            return Ok(None);
        };
        let schema = keep(api_version, openapi::compile_v3(&document))?;
        if let Some(url) = hashed {
            self.schemas.by_address.lock().insert(url.to_owned(), schema);
        }
        Ok(Some(schema))
    }

    /// Compiles the OpenAPI v2 document, once.
    async fn compile_v2(&self) -> Result<Option<&'static Schema>, ClientError> {
        let known = self.schemas.by_version.lock().get(ALL).copied();
        if let Some(schema) = known {
            return Ok(schema);
        }
        let document = self.find("/openapi/v2").await?;
        let schema = document.map(|document| keep(ALL, openapi::compile_v2(&document))).transpose()?;
        self.schemas.by_version.lock().insert(ALL.to_owned(), schema);
        Ok(schema)
    }
}

fn keep(api_version: &str, compiled: Result<Schema, SchemaError>) -> Result<&'static Schema, ClientError> {
    let compiled =
        compiled.map_err(|problem| ClientError::OpenApi { api_version: api_version.into(), problem })?;
    Ok(Box::leak(Box::new(compiled)))
}
