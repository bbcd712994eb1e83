//! The objects of the store as admission reads them.

use super::{Objects, webhook_route};
use crate::{
    catalog::ResourceHandler,
    object::{bare, metadata, with_metadata},
    target::{Target, Verb},
};
use async_trait::async_trait;
use tenure_admission::{Cluster, ResourceVariant, ServiceEndpoint};
use tenure_crd::WebhookTarget;
use tenure_meta::{ApiError, Scope};
use tenure_profile::Profile;
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Text, Value};

#[async_trait]
impl Cluster for Objects {
    fn profile(&self) -> Profile {
        self.catalog.profile()
    }

    fn scope(&self, api_version: &str, kind: &str) -> Option<Scope> {
        self.catalog.resource_of_kind(api_version, kind).map(|handler| handler.resource.scope)
    }

    async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let Some(handler) = self.catalog.resource_of_kind(api_version, kind) else { return Ok(None) };
        let (verb, subresource) = (Verb::Get, Text::default());
        let target = Target { verb, handler, namespace: namespace.into(), name: name.into(), subresource };
        Ok(self.read(&target).await?.map(|stored| stored.object))
    }

    async fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, ApiError> {
        let Some(handler) = self.catalog.resource_of_kind(api_version, kind) else { return Ok(Vec::new()) };
        let stored = self.read_all(&handler.resource, namespace).await?;
        let stored = self.convert_from_storage(&handler, stored).await?;
        Ok(stored.into_iter().map(|stored| stored.object).collect())
    }

    async fn convert(
        &self,
        object: &Value,
        from: &ResourceVariant,
        to: &ResourceVariant,
    ) -> Result<Value, ApiError> {
        let (from, to) = (handler_of(self, from)?, handler_of(self, to)?);
        let converted = self.convert_between(&from, &to, &bare(object)).await?;
        Ok(with_managers(converted, object))
    }

    fn with_type(
        &self,
        variant: &ResourceVariant,
        with: &mut (dyn FnMut(TypeRef<'_>) + Send),
    ) -> Result<(), ApiError> {
        let handler = handler_of(self, variant)?;
        match handler.resource.kind == variant.kind.2 {
            true => with(handler.type_ref()),
            // A scale, a binding and the like are of built-in kinds, regardless of their resource.
            false => {
                let ty = Schema::builtin_at(self.catalog.profile().version())
                    .kind(&variant.api_version(), &variant.kind.2);
                with(ty.unwrap_or_else(TypeRef::untyped));
            }
        }
        Ok(())
    }

    fn random(&self, purpose: &[&str]) -> u128 {
        self.identifiers.draw(purpose)
    }

    async fn webhook_endpoint(&self, target: &WebhookTarget) -> Result<ServiceEndpoint, String> {
        webhook_route(&*self.store, target).await
    }
}

fn handler_of(objects: &Objects, variant: &ResourceVariant) -> Result<ResourceHandler, ApiError> {
    objects.catalog.resource(&variant.group, &variant.version, &variant.resource)
}

/// Returns a converted object with the fields of the server, which conversion drops.
fn with_managers(converted: Value, given: &Value) -> Value {
    let kept = metadata(given);
    let fields = ["managedFields", "resourceVersion"].iter().fold(metadata(&converted), |fields, name| {
        match kept.get(name) {
            Some(value) => fields.with(*name, value.clone()),
            None => fields,
        }
    });
    with_metadata(&converted, fields)
}
