//! The types of live objects. Built-in kinds have those of the pack, whatever the server: how their lists and maps
//! merge is part of their API and does not change, and nothing needs to be asked. All others have those that the
//! server publishes as OpenAPI v3, compiled once for each group and version; a server before 1.24 publishes v2 alone, one
//! document of everything.

use super::Cluster;
use crate::Error;
use std::{cell::RefCell, collections::HashMap};
use tenure_schema::{Schema, SchemaError, TypeRef, openapi};
use tenure_value::Value;

/// What was compiled so far, by group and version; nothing where the server has no types. A schema lives as long as
/// the program, which ends when its command has. What a server without version 3 publishes stands under `WHOLE`.
pub type Schemas = RefCell<HashMap<String, Option<&'static Schema>>>;

/// What stands for all groups and versions.
const WHOLE: &str = "*";

impl Cluster {
    /// Returns the type of a kind; untyped where the server does not say.
    pub async fn type_of(&self, api_version: &str, kind: &str) -> Result<TypeRef<'static>, Error> {
        if let Some(built_in) = Schema::builtin().kind(api_version, kind) {
            return Ok(built_in);
        }
        let known = self.schemas.borrow().get(api_version).copied();
        let schema = match known {
            Some(schema) => schema,
            None => {
                let schema = self.compile(api_version).await?;
                self.schemas.borrow_mut().insert(api_version.to_owned(), schema);
                schema
            }
        };
        Ok(schema.and_then(|schema| schema.kind(api_version, kind)).unwrap_or_else(TypeRef::untyped))
    }

    /// Returns the types of every group and version that the server publishes.
    pub async fn all_types(&self) -> Result<Vec<&'static Schema>, Error> {
        let Some(index) = self.find("/openapi/v3").await? else {
            return Ok(self.compile_whole().await?.into_iter().collect());
        };
        let mut schemas = Vec::new();
        for (name, _) in index.get("paths").and_then(Value::as_object).into_iter().flatten() {
            // Beside groups and versions there are documents about other paths, which have no types.
            let api_version = match name.split('/').collect::<Vec<_>>().as_slice() {
                ["api", version] => (*version).to_owned(),
                ["apis", group, version] => format!("{group}/{version}"),
                _ => continue,
            };
            schemas.extend(self.compile(&api_version).await?);
        }
        Ok(schemas)
    }

    async fn compile(&self, api_version: &str) -> Result<Option<&'static Schema>, Error> {
        let Some(index) = self.find("/openapi/v3").await? else { return self.compile_whole().await };
        let name = match api_version.contains('/') {
            true => format!("apis/{api_version}"),
            false => format!("api/{api_version}"),
        };
        let place = index.at(["paths", &name, "serverRelativeURL"]).and_then(Value::as_str);
        let Some(document) = (match place {
            Some(place) => self.find(place).await?,
            None => None,
        }) else {
            return Ok(None);
        };
        kept(api_version, openapi::compile_v3(&document)).map(Some)
    }

    /// Compiles what a server without version 3 publishes, once.
    async fn compile_whole(&self) -> Result<Option<&'static Schema>, Error> {
        let known = self.schemas.borrow().get(WHOLE).copied();
        if let Some(schema) = known {
            return Ok(schema);
        }
        let document = self.find("/openapi/v2").await?;
        let schema = document.map(|document| kept(WHOLE, openapi::compile_v2(&document))).transpose()?;
        self.schemas.borrow_mut().insert(WHOLE.to_owned(), schema);
        Ok(schema)
    }
}

fn kept(api_version: &str, compiled: Result<Schema, SchemaError>) -> Result<&'static Schema, Error> {
    let compiled =
        compiled.map_err(|problem| Error::BadSchema { api_version: api_version.into(), problem })?;
    Ok(Box::leak(Box::new(compiled)))
}
