//! GET and LIST. A list is read at one revision however many pages it takes; selectors choose while reading.

use super::{
    Api, Request,
    object::{Stored, key, prefix},
    page::Page,
    target::Target,
    view::ListMetadata,
};
use crate::{Answer, Failure, FieldSelector, LabelSelector, Reason};
use hyper::StatusCode;
use tenure_store::{Error, ListRequest, Revision};
use tenure_value::Value;

/// How many entries are read from the store at once while a selector chooses among them.
const CHUNK: usize = 1000;

impl Api {
    /// Answers with one object, or with a subresource that is read like one.
    pub(crate) async fn get(&self, target: &Target, request: &Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        let stored = self.read(target).await?.ok_or_else(|| target.not_found())?;
        match target.subresource.as_str() {
            "" | "status" | "ephemeralcontainers" | "resize" | "approval" => {
                self.show(StatusCode::OK, target, request, format, &stored)
            }
            "scale" => self.show_scale(StatusCode::OK, target, &stored, format),
            "log" => self.log(&stored, request),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    /// Reads the target's object at the version of the request.
    pub(crate) async fn read(&self, target: &Target) -> Result<Option<Stored>, Failure> {
        let key = key(&target.served.resource, &target.namespace, &target.name);
        match self.store.get(key.as_bytes()).await? {
            Some(entry) => {
                let stored = match self.recent.get(&key, entry.modified) {
                    Some(stored) => stored,
                    None => {
                        let stored = Stored::read(&entry)?;
                        self.recent.put(key, stored.clone());
                        stored
                    }
                };
                self.for_reading_one(&target.served, stored).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// Answers with a collection.
    pub(crate) async fn list(&self, target: &Target, request: &Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        let selection = Selection::of(target, request)?;
        let (items, metadata) = self.select(target, request, &selection).await?;
        self.show_list(target, request, format, &items, &metadata)
    }

    /// Reads a page of a collection.
    pub(crate) async fn select(
        &self,
        target: &Target,
        request: &Request,
        selection: &Selection,
    ) -> Result<(Vec<Stored>, ListMetadata), Failure> {
        let query = &request.query;
        let limit = query.integer("limit")?.filter(|limit| *limit > 0).map(|limit| limit as usize);
        let page = query.given("continue").map(|token| Page::parse(token)).transpose()?;
        let mut at = self.revision_to_read(request, page.as_ref()).await?;
        let prefix = prefix(&target.served.resource, &target.namespace);
        let mut from = page.as_ref().map_or_else(String::new, |page| format!("{prefix}{}", page.start));
        let mut items: Vec<Stored> = Vec::new();
        loop {
            let wanted = limit.map(|limit| limit - items.len());
            let mut list = ListRequest::prefix(prefix.clone()).from(from.clone());
            list.limit = if selection.is_everything() { wanted } else { Some(CHUNK) };
            list.at = at;
            let listing = self.store.list(list).await.map_err(|error| match (error, &page) {
                (Error::TooOld { .. }, Some(page)) => page.expired(),
                (Error::TooOld { .. }, None) => {
                    Failure::new(Reason::Expired, "The resourceVersion for the provided list is too old.")
                }
                (error, _) => error.into(),
            })?;
            at = Some(listing.revision);
            let mut metadata = ListMetadata { revision: listing.revision, ..ListMetadata::default() };
            let read = listing.entries.iter().map(Stored::read).collect::<Result<Vec<_>, _>>()?;
            let read = self.for_reading(&target.served, read).await?;
            for (position, stored) in read.into_iter().enumerate() {
                if !selection.matches(&stored.object) {
                    continue;
                }
                items.push(stored);
                if limit.is_some_and(|limit| items.len() == limit) {
                    let next =
                        listing.entries.get(position + 1).map(|entry| &entry.key).or(listing.next.as_ref());
                    if let Some(next) = next {
                        let start = String::from_utf8_lossy(&next[prefix.len()..]).into_owned();
                        metadata.resume = Some(Page { revision: Some(listing.revision), start }.token());
                        let rest = listing.entries.len() - position - 1 + listing.remaining;
                        metadata.remaining = selection.is_everything().then_some(rest);
                    }
                    return Ok((items, metadata));
                }
            }
            match &listing.next {
                Some(next) => from = String::from_utf8_lossy(next).into_owned(),
                None => return Ok((items, metadata)),
            }
        }
    }

    /// Reads all of a collection that a selection means, at one revision.
    pub(crate) async fn select_all(
        &self,
        target: &Target,
        selection: &Selection,
    ) -> Result<(Vec<Stored>, Revision), Failure> {
        let listing =
            self.store.list(ListRequest::prefix(prefix(&target.served.resource, &target.namespace))).await?;
        let read = listing.entries.iter().map(Stored::read).collect::<Result<Vec<_>, _>>()?;
        let mut items = self.for_reading(&target.served, read).await?;
        items.retain(|stored| selection.matches(&stored.object));
        Ok((items, listing.revision))
    }

    /// Finds the revision a list is read at; none for the current one.
    async fn revision_to_read(
        &self,
        request: &Request,
        page: Option<&Page>,
    ) -> Result<Option<Revision>, Failure> {
        let query = &request.query;
        let option = |reason: &str, field: &str, message: String| {
            Failure::invalid_option("ListOptions", reason, field, message)
        };
        if query.get("sendInitialEvents").is_some() {
            return Err(option(
                "FieldValueForbidden",
                "sendInitialEvents",
                "Forbidden: sendInitialEvents is forbidden for list".into(),
            ));
        }
        let version = query.given("resourceVersion");
        let matching = query.given("resourceVersionMatch").map(|word| word.as_str());
        let forbidden = |message: String| {
            option("FieldValueForbidden", "resourceVersionMatch", format!("Forbidden: {message}"))
        };
        match (matching, version) {
            (None | Some("Exact" | "NotOlderThan"), Some(_)) | (None, None) => {}
            (Some("Exact" | "NotOlderThan"), None) => {
                return Err(forbidden(
                    "resourceVersionMatch is forbidden unless resourceVersion is provided".into(),
                ));
            }
            (Some(other), _) => {
                let message = format!(
                    "Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\", \"\""
                );
                return Err(option("FieldValueNotSupported", "resourceVersionMatch", message));
            }
        }
        if let Some(page) = page {
            if version.is_some_and(|version| version != "0") {
                return Err(Failure::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Ok(page.revision);
        }
        let Some(version) = version else { return Ok(None) };
        let revision = parse_version(version)
            .map_err(|why| Failure::bad_request(format!("invalid resource version: {why}")))?;
        if matching == Some("Exact") && revision == Revision::ZERO {
            return Err(forbidden(
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"".into(),
            ));
        }
        let current = self.store.revision().await?;
        if revision > current {
            return Err(too_large(revision, current));
        }
        // A first page without a match asks for exactly that version where the version is not 0.
        let exact = matching == Some("Exact")
            || matching.is_none()
                && revision != Revision::ZERO
                && query.integer("limit")?.is_some_and(|limit| limit > 0);
        Ok(exact.then_some(revision))
    }
}

/// Reads a resource version.
pub(crate) fn parse_version(text: &str) -> Result<Revision, String> {
    text.parse().map(Revision::from_number).map_err(|_| {
        format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax; use a version that the server gave, or 0")
    })
}

fn too_large(asked: Revision, current: Revision) -> Failure {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let mut failure = Failure::new(Reason::Timeout, message);
    failure.retry_after = Some(1);
    failure.with_causes(vec![crate::Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        field: String::new(),
        extension: None,
    }])
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
        fields.check(&target.served.selectable_fields())?;
        let name = (!target.name.is_empty()).then(|| target.name.to_string());
        Ok(Selection { labels, fields, name })
    }

    /// Whether all objects are meant.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.name.is_none()
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
