//! GET and LIST. What is there and at which revision the store says; the bytes of an object that somebody has read
//! before are at hand. Selectors choose while reading.

mod continue_token;
pub(crate) mod encode_cache;
pub(crate) mod event_cache;
pub(crate) mod fields_v1_cache;
mod list_body;
pub(crate) mod list_cache;
pub(crate) mod scan;
pub(crate) mod view;
pub(crate) mod watch;

use crate::{
    Answer, Failure, FieldSelector, LabelSelector,
    kinds::Resource,
    object::{Stored, key, prefix},
    read::{
        encode_cache::{EncodedObject, Form, Standing},
        list_body::list_of,
        view::ListMetadata,
    },
    server::{Request, Server},
    target::Target,
};
use hyper::StatusCode;
use std::collections::VecDeque;
use tenure_store::{Entry, ListRequest, Store};
use tenure_value::Value;

/// Reads all objects of a resource in a namespace, or in all of them.
pub(crate) async fn all(store: &dyn Store, of: &Resource, namespace: &str) -> Result<Vec<Stored>, Failure> {
    let listing = store.list(ListRequest::prefix(prefix(of, namespace))).await?;
    listing.entries.iter().map(Stored::read).collect()
}

impl Server {
    /// Answers with one object, or with a subresource that is read like one.
    pub(crate) async fn get(&self, target: &Target, request: &Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        let whole = matches!(
            target.subresource.as_str(),
            "" | "status" | "ephemeralcontainers" | "resize" | "approval"
        );
        if whole && let Some(form) = Form::of(&target.served, format, Standing::Alone) {
            let key = key(&target.served.resource, &target.namespace, &target.name);
            let entry = match self.may_be_known(request).await? {
                true => self.store.peek(key.as_bytes())?,
                false => self.store.get(key.as_bytes()).await?,
            };
            let entry = entry.ok_or_else(|| target.not_found())?;
            let printed = self.printed(&target.served, &entry, &form).await?;
            return Ok(Answer::new(StatusCode::OK, format.encoding.media_type(), printed.bytes));
        }
        let stored = match self.may_be_known(request).await? {
            true => self.peek(target).await?,
            false => self.read(target).await?,
        };
        let stored = stored.ok_or_else(|| target.not_found())?;
        match target.subresource.as_str() {
            _ if whole => self.show(StatusCode::OK, target, request, format, &stored),
            "scale" => self.show_scale(StatusCode::OK, target, &stored, format),
            "log" => self.log(&stored, request),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    /// Tells whether a request is content with what this server knows: it names a version that is not newer.
    async fn may_be_known(&self, request: &Request) -> Result<bool, Failure> {
        let Some(version) = request.query.given("resourceVersion") else { return Ok(false) };
        let revision = crate::read::scan::parse_version(version).map_err(Failure::bad_request)?;
        if revision <= self.store.known() {
            return Ok(true);
        }
        let current = self.store.revision().await?;
        if revision > current {
            return Err(crate::read::scan::too_large(revision, current));
        }
        Ok(false)
    }

    /// Reads the target's current object.
    pub(crate) async fn read(&self, target: &Target) -> Result<Option<Stored>, Failure> {
        let key = key(&target.served.resource, &target.namespace, &target.name);
        let entry = self.store.get(key.as_bytes()).await?;
        self.found(target, key, entry).await
    }

    /// Reads all objects of a resource in a namespace, or in all of them.
    pub(crate) async fn read_all(&self, of: &Resource, namespace: &str) -> Result<Vec<Stored>, Failure> {
        all(&*self.store, of, namespace).await
    }

    /// Reads an object of the cluster of a built-in resource, given by its group and name, as it is stored.
    pub(crate) async fn find_builtin(
        &self,
        (group, resource): (&str, &str),
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        let Some(resource) = crate::kinds::registry().find(group, "v1", resource) else { return Ok(None) };
        let entry = self.store.get(key(resource, "", name).as_bytes()).await?;
        entry.map(|entry| Stored::read(&entry).map(|stored| stored.object)).transpose()
    }

    /// Reads the target's object as this server knows it, which may be behind another's write.
    pub(crate) async fn peek(&self, target: &Target) -> Result<Option<Stored>, Failure> {
        let key = key(&target.served.resource, &target.namespace, &target.name);
        let entry = self.store.peek(key.as_bytes())?;
        self.found(target, key, entry).await
    }

    async fn found(
        &self,
        target: &Target,
        key: String,
        entry: Option<Entry>,
    ) -> Result<Option<Stored>, Failure> {
        match entry {
            Some(entry) => {
                if let Some(read) = self.decode_cache.get_read(&key, entry.modified, &target.served) {
                    return Ok(Some(read));
                }
                let stored = match self.decode_cache.get(&key, entry.modified) {
                    Some(stored) => stored,
                    None => {
                        let stored = Stored::read(&entry)?;
                        self.decode_cache.put(key.clone(), stored.clone());
                        stored
                    }
                };
                let read = self.for_reading_one(&target.served, stored).await?;
                self.decode_cache.put_read(&key, &target.served, &read);
                Ok(Some(read))
            }
            None => Ok(None),
        }
    }

    /// Answers with a collection.
    pub(crate) async fn list(&self, target: &Target, request: &Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer().with_streams())?;
        let selection = Selection::of(target, request)?;
        let form = Form::of(&target.served, format, Standing::InList).filter(|_| !target.served.asks());
        let Some(form) = form else {
            let (items, metadata) = self.select(target, request, &selection).await?;
            return self.show_list(target, request, format, &items, &metadata);
        };
        let mut scan = self.scan(target, request, &selection).await?;
        if scan.is_whole() {
            return self.list_whole(target, format, &form, scan).await;
        }
        let mut items = Vec::new();
        while let Some(entry) = scan.next().await? {
            if let Some(printed) = self.selected(target, &selection, &entry, &form).await? {
                items.push(printed.bytes);
                scan.keep();
            }
        }
        list_of(&target.served, format, items, &scan.metadata())
    }

    /// Returns an entry in a form if it is meant. Most are decided on without being decoded.
    async fn selected(
        &self,
        target: &Target,
        selection: &Selection,
        entry: &Entry,
        form: &Form,
    ) -> Result<Option<EncodedObject>, Failure> {
        match selection.decide(&entry.key, None) {
            Some(false) => return Ok(None),
            Some(true) => return self.printed(&target.served, entry, form).await.map(Some),
            None => {}
        }
        let labels = self.encode_cache.labels(&entry.key, entry.modified);
        match labels.and_then(|labels| selection.decide(&entry.key, Some(&labels))) {
            Some(false) => return Ok(None),
            Some(true) => return self.printed(&target.served, entry, form).await.map(Some),
            None => {}
        }
        let stored = self.for_reading_one(&target.served, self.decoded(entry)?).await?;
        if !selection.matches(&stored.object) {
            let labels = stored.object.at(["metadata", "labels"]).cloned().unwrap_or_default();
            self.encode_cache.put_labels(&entry.key, entry.modified, labels);
            return Ok(None);
        }
        let printed = form.print(&target.served, &stored)?;
        self.encode_cache.put(&entry.key, entry.modified, form.clone(), printed.clone());
        Ok(Some(printed))
    }

    /// Reads a page of a collection.
    pub(crate) async fn select(
        &self,
        target: &Target,
        request: &Request,
        selection: &Selection,
    ) -> Result<(Vec<Stored>, ListMetadata), Failure> {
        let mut scan = self.scan(target, request, selection).await?;
        let mut items = Vec::new();
        let mut converted = VecDeque::new();
        while let Some(entry) = scan.next().await? {
            if converted.is_empty() {
                // A webhook is asked for many at once.
                let others = if target.served.asks() { scan.at_hand() } else { &[] };
                let batch = std::iter::once(&entry).chain(others).map(|entry| self.decoded(entry));
                let batch = batch.collect::<Result<Vec<_>, _>>()?;
                converted = self.for_reading(&target.served, batch).await?.into();
            }
            let stored = converted.pop_front().filter(|stored| selection.matches(&stored.object));
            if let Some(stored) = stored {
                items.push(stored);
                scan.keep();
            }
        }
        Ok((items, scan.metadata()))
    }
}

/// Which objects of a collection a request means.
#[derive(Clone, Default)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    /// The one name the path means, where it names an object.
    name: Option<String>,
}

impl Selection {
    /// Reads the selectors of a request.
    pub fn of(target: &Target, request: &Request) -> Result<Selection, Failure> {
        let text = |name: &str| request.query.get(name).map_or("", |value| value.as_str()).to_string();
        let labels = LabelSelector::parse(&text("labelSelector"))?;
        let fields = FieldSelector::parse(&text("fieldSelector"))?;
        let fields = fields.resolve(target.served.selectable_fields())?;
        let name = (!target.name.is_empty()).then(|| target.name.to_string());
        Ok(Selection { labels, fields, name })
    }

    /// Whether all objects are meant.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.name.is_none()
    }

    /// Decides on an object from its key in the store, and its labels if they are known; nothing if that is not enough.
    pub fn decide(&self, key: &[u8], labels: Option<&Value>) -> Option<bool> {
        let mut segments =
            key.rsplit(|byte| *byte == b'/').map(|part| std::str::from_utf8(part).unwrap_or(""));
        let name = segments.next().unwrap_or_default();
        // Above the name of an object without a namespace is its resource, which the fields do not ask for.
        let namespace = (key.iter().filter(|byte| **byte == b'/').count() == 4)
            .then(|| segments.next())
            .flatten()
            .unwrap_or_default();
        if self.name.as_deref().is_some_and(|wanted| wanted != name) {
            return Some(false);
        }
        let by_labels = match labels {
            _ if self.labels.is_everything() => Some(true),
            Some(labels) => Some(self.labels.matches(Some(labels))),
            None => None,
        };
        match (self.fields.decide(name, namespace), by_labels) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    /// Returns the one name that can be meant, if there is but one.
    pub fn only_name(&self) -> Option<&str> {
        self.name.as_deref().or_else(|| self.fields.name().map(|name| name.as_str()))
    }

    /// Whether an object is meant.
    pub fn matches(&self, object: &Value) -> bool {
        self.name
            .as_deref()
            .is_none_or(|name| object.at(["metadata", "name"]).and_then(Value::as_str) == Some(name))
            && self.labels.matches(object.at(["metadata", "labels"]))
            && self.fields.matches(object)
    }
}
