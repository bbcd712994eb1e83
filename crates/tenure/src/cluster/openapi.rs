//! The types of live objects. Built-in kinds have those of the pack, whatever the server: how their lists and maps
//! merge is part of their API and does not change, and nothing needs to be asked. All others have those that the
//! server publishes as OpenAPI v3, compiled once for each group and version.

use super::Cluster;
use crate::Error;
use std::{cell::RefCell, collections::HashMap};
use tenure_schema::{Schema, TypeRef, openapi};
use tenure_value::Value;

/// What was compiled so far, by group and version; nothing where the server has no types. A schema lives as long as
/// the program, which ends when its command has.
pub type Schemas = RefCell<HashMap<String, Option<&'static Schema>>>;

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
        let index = self.get("/openapi/v3").await?;
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
        let Some(index) = self.find("/openapi/v3").await? else { return Ok(None) };
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
        let compiled = openapi::compile_v3(&document);
        let compiled =
            compiled.map_err(|error| Error::BadSchema { api_version: api_version.into(), problem: error })?;
        Ok(Some(Box::leak(Box::new(compiled))))
    }
}
