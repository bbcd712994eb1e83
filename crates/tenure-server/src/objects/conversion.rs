//! Objects at the version that somebody asks for. Most conversions need nobody; those of a definition with a webhook
//! ask it, many objects in one question. Ownership is decided by pure functions that cannot wait: what they miss
//! they say, it is fetched, and they are asked again.

use crate::{
    Failure,
    catalog::handler::Served,
    custom::{Conversion, Definition, Review, WEBHOOK_TIMEOUT_SECONDS, Webhook},
    object::Stored,
    objects::webhook_route,
    server::Server,
};
use parking_lot::Mutex;
use std::time::Duration;
use tenure_value::{Text, Value};

/// How many objects one question to a webhook has at most.
const BATCH: usize = 500;

impl Server {
    /// Returns objects of the store at the version of the path.
    pub(crate) async fn for_reading(
        &self,
        served: &Served,
        stored: Vec<Stored>,
    ) -> Result<Vec<Stored>, Failure> {
        let Some((definition, webhook)) = webhook_of(served) else {
            return stored.into_iter().map(|stored| served.for_reading(stored)).collect();
        };
        let objects: Vec<Value> = stored.iter().map(|stored| definition.as_written(&stored.object)).collect();
        let objects = Box::pin(self.ask(definition, webhook, &objects, &served.resource.api_version)).await?;
        Ok(stored.into_iter().zip(objects).map(|(stored, object)| Stored { object, ..stored }).collect())
    }

    /// Returns one object of the store at the version of the path.
    pub(crate) async fn for_reading_one(&self, served: &Served, stored: Stored) -> Result<Stored, Failure> {
        if webhook_of(served).is_none() {
            return served.for_reading(stored);
        }
        let one = self.for_reading(served, vec![stored]).await?.pop();
        one.ok_or_else(|| Failure::internal("a conversion lost its object"))
    }

    /// Returns an object at the version of storage.
    pub(crate) async fn for_storing(&self, served: &Served, object: &Value) -> Result<Value, Failure> {
        let Some((definition, webhook)) = webhook_of(served) else { return served.for_storing(object) };
        let (group, version) = &served.resource.storage;
        self.ask_one(definition, webhook, object, &format!("{group}/{version}")).await
    }

    /// Fetches what ownership missed and keeps it for the next attempt.
    pub(crate) async fn fetch(&self, served: &Served, conversions: &Conversions) -> Result<bool, Failure> {
        let Some((object, version)) = conversions.take_wanted() else { return Ok(false) };
        let Some((definition, webhook)) = webhook_of(served) else { return Ok(false) };
        let converted = self.ask_one(definition, webhook, &object, &version).await?;
        conversions.learn(object, version, converted);
        Ok(true)
    }

    async fn ask_one(
        &self,
        definition: &Definition,
        webhook: &Webhook,
        object: &Value,
        api_version: &str,
    ) -> Result<Value, Failure> {
        let converted =
            Box::pin(self.ask(definition, webhook, std::slice::from_ref(object), api_version)).await?;
        converted.into_iter().next().ok_or_else(|| Failure::internal("a conversion lost its object"))
    }

    /// Converts objects by the webhook, without what the version does not know; those at the version already are not
    /// asked for. What waits for this is boxed: it is rare, and large enough to be felt wherever a request is moved.
    async fn ask(
        &self,
        definition: &Definition,
        webhook: &Webhook,
        objects: &[Value],
        api_version: &str,
    ) -> Result<Vec<Value>, Failure> {
        let is_there = |object: &Value| object.get("apiVersion").and_then(Value::as_str) == Some(api_version);
        let mut converted = Vec::with_capacity(objects.len());
        let wanted: Vec<&Value> = objects.iter().filter(|object| !is_there(object)).collect();
        for batch in wanted.chunks(BATCH) {
            let uid = Text::from(uuid::Uuid::new_v4().to_string());
            let review = Review::new(uid, &webhook.review_versions, api_version, batch.to_vec());
            let timeout = Duration::from_secs(WEBHOOK_TIMEOUT_SECONDS);
            let question = review.question();
            let answer = match webhook_route::to(&*self.store, &webhook.target).await {
                Ok(endpoint) => {
                    let limit = response_limit;
                    self.webhooks.post(&webhook.ca_bundle, &endpoint, &question, timeout, limit).await
                }
                Err(why) => Err(why),
            };
            let answer = answer.map_err(|why| Failure::internal(review.failed(&why)))?;
            converted.extend(review.answer(&answer).map_err(Failure::internal)?);
        }
        let mut converted = converted.into_iter();
        let all = objects.iter().map(|object| match is_there(object) {
            true => object.clone(),
            false => definition.trimmed(&converted.next().unwrap_or_default(), api_version),
        });
        Ok(all.collect())
    }
}

/// Returns the longest response to a request: converted objects are about as long as the originals.
fn response_limit(request_bytes: usize) -> usize {
    (4 << 20).max(4 * request_bytes)
}

/// Returns the webhook by which the versions of a resource are converted, if there is one.
fn webhook_of(served: &Served) -> Option<(&Definition, &Webhook)> {
    let definition = served.definition()?;
    match &definition.conversion {
        Conversion::Webhook(webhook) => Some((definition, webhook)),
        Conversion::None => None,
    }
}

/// What a webhook has converted for one write.
#[derive(Default)]
pub(crate) struct Conversions(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Objects, versions, and the objects at those versions.
    done: Vec<(Value, Text, Value)>,
    /// What was asked for last and is not known.
    wanted: Option<(Value, Text)>,
}

impl Conversions {
    /// Returns an object at a version if it is known; otherwise it is what is wanted next.
    pub fn find(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut known = self.0.lock();
        let done = known.done.iter().find(|(from, version, _)| version == api_version && from == object);
        let found = done.map(|(_, _, converted)| converted.clone());
        if found.is_none() {
            known.wanted = Some((object.clone(), api_version.into()));
        }
        found
    }

    fn take_wanted(&self) -> Option<(Value, Text)> {
        self.0.lock().wanted.take()
    }

    fn learn(&self, object: Value, api_version: Text, converted: Value) {
        self.0.lock().done.push((object, api_version, converted));
    }
}
