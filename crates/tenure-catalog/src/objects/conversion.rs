//! Conversion between the versions of a resource. Most conversions are pure; a definition may name a webhook instead, which is
//! asked about many objects at once.

use super::{Objects, webhook_route};
use crate::{
    catalog::{Conversions, ResourceHandler},
    object::Stored,
};
use std::time::Duration;
use tenure_apply::Managers;
use tenure_crd::{Conversion, ConversionReview, Definition, WEBHOOK_TIMEOUT_SECONDS, Webhook};
use tenure_meta::ApiError;
use tenure_store::{Entry, Revision};
use tenure_value::{Text, Value};

/// The most objects in one request to a webhook, and about how many bytes they have together.
const BATCH: (usize, usize) = (500, 4 << 20);

impl Objects {
    /// Returns stored objects at the version of the handler.
    pub async fn convert_from_storage(
        &self,
        handler: &ResourceHandler,
        stored: Vec<Stored>,
    ) -> Result<Vec<Stored>, ApiError> {
        let Some((definition, webhook)) = webhook_of(handler) else {
            let convert = |stored: Stored| convert(handler, stored);
            return stored.into_iter().map(convert).collect();
        };
        let objects: Vec<Value> = stored.iter().map(|stored| definition.as_written(&stored.object)).collect();
        let objects =
            Box::pin(self.convert_by_webhook(definition, webhook, &objects, &handler.resource.api_version))
                .await?;
        Ok(stored.into_iter().zip(objects).map(|(stored, object)| Stored { object, ..stored }).collect())
    }

    /// Returns a stored object at the version of the handler.
    pub async fn convert_one_from_storage(
        &self,
        handler: &ResourceHandler,
        stored: Stored,
    ) -> Result<Stored, ApiError> {
        if webhook_of(handler).is_none() {
            return convert(handler, stored);
        }
        let one = self.convert_from_storage(handler, vec![stored]).await?.pop();
        one.ok_or_else(|| ApiError::internal("the conversion webhook returned no object"))
    }

    /// Returns the object of an entry at the version of the handler. For handlers without a conversion webhook.
    pub fn read_stored(&self, handler: &ResourceHandler, entry: &Entry) -> Result<Stored, ApiError> {
        convert(handler, self.decode(entry)?)
    }

    /// Returns the object of an entry at the version of the handler, without its managers. For handlers without a conversion
    /// webhook.
    pub fn read_object(&self, handler: &ResourceHandler, entry: &Entry) -> Result<Value, ApiError> {
        let cached = self.decoded(entry).map_or_else(|| Stored::read_object(entry), Ok)?;
        convert(handler, cached).map(|stored| stored.object)
    }

    /// Returns an object at the version of storage.
    pub async fn convert_to_storage(
        &self,
        handler: &ResourceHandler,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let Some((definition, webhook)) = webhook_of(handler) else {
            return handler.convert_to_storage(object, None);
        };
        let (group, version) = &handler.resource.storage;
        self.convert_one_by_webhook(definition, webhook, object, &format!("{group}/{version}")).await
    }

    /// Asks the webhook for the conversion that the decision on ownership missed; returns whether there was any.
    pub async fn fetch_conversion(
        &self,
        handler: &ResourceHandler,
        conversions: &Conversions,
    ) -> Result<bool, ApiError> {
        let Some((object, version)) = conversions.take_wanted() else { return Ok(false) };
        let Some((definition, webhook)) = webhook_of(handler) else { return Ok(false) };
        let converted = self.convert_one_by_webhook(definition, webhook, &object, &version).await?;
        conversions.add(object, version, converted);
        Ok(true)
    }

    /// Returns an object of one version of a resource at another.
    pub async fn convert_between(
        &self,
        from: &ResourceHandler,
        to: &ResourceHandler,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let object = self.convert_to_storage(from, object).await?;
        let stored = Stored { object, managers: Managers::default(), revision: Revision::ZERO };
        Ok(self.convert_one_from_storage(to, stored).await?.object)
    }

    async fn convert_one_by_webhook(
        &self,
        definition: &Definition,
        webhook: &Webhook,
        object: &Value,
        api_version: &str,
    ) -> Result<Value, ApiError> {
        let converted =
            Box::pin(self.convert_by_webhook(definition, webhook, std::slice::from_ref(object), api_version))
                .await?;
        converted
            .into_iter()
            .next()
            .ok_or_else(|| ApiError::internal("the conversion webhook returned no object"))
    }

    /// Converts objects with the webhook and prunes the results; objects that are at the version already are not sent.
    /// Callers box this future: it is rare, and large.
    async fn convert_by_webhook(
        &self,
        definition: &Definition,
        webhook: &Webhook,
        objects: &[Value],
        api_version: &str,
    ) -> Result<Vec<Value>, ApiError> {
        let is_there = |object: &Value| object.get("apiVersion").and_then(Value::as_str) == Some(api_version);
        let mut converted = Vec::with_capacity(objects.len());
        let wanted: Vec<&Value> = objects.iter().filter(|object| !is_there(object)).collect();
        for batch in batches(wanted) {
            let uid = Text::from(self.identifiers.uuid(&["conversion", api_version]));
            let review = ConversionReview::new(uid, &webhook.review_versions, api_version, batch);
            let timeout = Duration::from_secs(WEBHOOK_TIMEOUT_SECONDS);
            let request = review.request_body();
            let endpoint = webhook_route(&*self.store, &webhook.target).await;
            let response = match endpoint.and_then(|endpoint| endpoint.with_timeout(timeout)) {
                Ok(endpoint) => {
                    let limit = response_limit;
                    self.webhooks.post(&webhook.ca_bundle, &endpoint, &request, timeout, limit).await
                }
                Err(why) => Err(why),
            };
            let response = response.map_err(|why| ApiError::internal(review.failed(&why)))?;
            converted.extend(review.converted_objects(&response).map_err(ApiError::internal)?);
        }
        let mut converted = converted.into_iter();
        let all = objects.iter().map(|object| match is_there(object) {
            true => object.clone(),
            false => definition.trimmed(&converted.next().unwrap_or_default(), api_version),
        });
        Ok(all.collect())
    }
}

/// Divides objects into batches.
fn batches(objects: Vec<&Value>) -> Vec<Vec<&Value>> {
    let (mut batches, mut bytes) = (Vec::<Vec<&Value>>::new(), 0);
    for object in objects {
        match batches.last_mut().filter(|batch| batch.len() < BATCH.0 && bytes < BATCH.1) {
            Some(batch) => batch.push(object),
            None => {
                batches.push(vec![object]);
                bytes = 0;
            }
        }
        bytes += text_bytes(object);
    }
    batches
}

/// Returns about how many bytes a document has as text.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(text_bytes).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + 4 + text_bytes(value)).sum::<usize>() + 2
        }
        _ => 5,
    }
}

/// Returns the longest response to a request: converted objects are about as long as the originals.
fn response_limit(request_bytes: usize) -> usize {
    (4 << 20).max(4 * request_bytes)
}

/// Returns the conversion webhook of a resource, if it has one.
fn webhook_of(handler: &ResourceHandler) -> Option<(&Definition, &Webhook)> {
    let definition = handler.definition()?;
    match &definition.conversion {
        Conversion::Webhook(webhook) => Some((definition, webhook)),
        Conversion::None => None,
    }
}

fn convert(handler: &ResourceHandler, stored: Stored) -> Result<Stored, ApiError> {
    if handler.strategy().stores_as_served() && !handler.is_custom() {
        return Ok(match handler.strategy().as_read(&stored.object) {
            Some(object) => Stored { object, ..stored },
            None => stored,
        });
    }
    Ok(Stored { object: handler.convert_from_storage(&stored.object)?, ..stored })
}
