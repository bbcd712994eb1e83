//! What admission reads of this server.

use crate::{
    Failure,
    catalog::handler::Served,
    object::{Stored, bare, metadata, with_metadata},
    objects::webhook_route,
    server::Server,
    target::{Target, Verb},
};
use async_trait::async_trait;
use tenure_admission::{Cluster, Endpoint, ResourceVariant};
use tenure_apply::Managers;
use tenure_crd::WebhookTarget;
use tenure_meta::{ApiError, Scope};
use tenure_schema::{Schema, TypeRef};
use tenure_store::Revision;
use tenure_value::{Text, Value};

#[async_trait]
impl Cluster for Server {
    fn scope(&self, api_version: &str, kind: &str) -> Option<Scope> {
        self.served_kind(api_version, kind).map(|served| served.resource.scope)
    }

    async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let Some(served) = self.served_kind(api_version, kind) else { return Ok(None) };
        let (verb, subresource) = (Verb::Get, Text::default());
        let target = Target { verb, served, namespace: namespace.into(), name: name.into(), subresource };
        Ok(self.read(&target).await?.map(|stored| stored.object))
    }

    async fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, ApiError> {
        let Some(served) = self.served_kind(api_version, kind) else { return Ok(Vec::new()) };
        let stored = self.read_all(&served.resource, namespace).await?;
        let stored = self.for_reading(&served, stored).await?;
        Ok(stored.into_iter().map(|stored| stored.object).collect())
    }

    async fn convert(
        &self,
        object: &Value,
        from: &ResourceVariant,
        to: &ResourceVariant,
    ) -> Result<Value, ApiError> {
        let (from, to) = (self.variant(from)?, self.variant(to)?);
        let stored = self.for_storing(&from, &bare(object)).await?;
        let stored = Stored { object: stored, managers: Managers::default(), revision: Revision::ZERO };
        let converted = self.for_reading_one(&to, stored).await?.object;
        Ok(with_managers(converted, object))
    }

    fn with_type(
        &self,
        variant: &ResourceVariant,
        with: &mut (dyn FnMut(TypeRef<'_>) + Send),
    ) -> Result<(), ApiError> {
        let served = self.variant(variant)?;
        match served.resource.kind == variant.kind.2 {
            true => with(served.type_ref()),
            // A scale, a binding and the like are of built-in kinds, whatever resource they belong to.
            false => {
                let of = Schema::builtin().kind(&variant.api_version(), &variant.kind.2);
                with(of.unwrap_or_else(TypeRef::untyped));
            }
        }
        Ok(())
    }

    async fn webhook_endpoint(&self, target: &WebhookTarget) -> Result<Endpoint, String> {
        webhook_route::to(&*self.store, target).await
    }
}

impl Server {
    fn variant(&self, variant: &ResourceVariant) -> Result<Served, Failure> {
        self.served(&variant.group, &variant.version, &variant.resource)
    }
}

/// Returns a converted object with the fields of the server, which conversion drops.
fn with_managers(converted: Value, of: &Value) -> Value {
    let kept = metadata(of);
    let fields = ["managedFields", "resourceVersion"].iter().fold(metadata(&converted), |fields, name| {
        match kept.get(name) {
            Some(value) => fields.with(*name, value.clone()),
            None => fields,
        }
    });
    with_metadata(&converted, fields)
}
