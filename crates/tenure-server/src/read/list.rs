//! LIST: a collection, or a page of it. What an index cannot select is selected during the scan.

use crate::read::{
    Reader,
    encode_cache::{EncodedForm, EncodedObject, Placement},
    list_body::{Items, ListMetadata, list_of},
    scan::{BYTES_PER_STORED_BYTE, Scan},
    selection::Selection,
};
use std::{collections::VecDeque, sync::Arc};
use tenure_catalog::{Target, object::Stored};
use tenure_http::{Format, Request, Reservation, Response};
use tenure_meta::ApiError;
use tenure_store::Entry;

/// A page of a collection.
pub struct Selected {
    /// The objects.
    pub items: Vec<Stored>,
    /// The metadata of their list.
    pub metadata: ListMetadata,
    /// The memory of the items.
    pub memory: Option<Reservation>,
}

impl Reader {
    /// Returns a collection. Its objects are encoded for the response, unless caches have them in its form.
    pub async fn list(self: &Arc<Self>, target: &Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer().with_streams())?;
        let selection = Selection::of(target, request, self.objects.catalog.profile())?;
        let form = EncodedForm::of(&target.handler, format, Placement::InList)
            .filter(|_| !target.handler.has_conversion_webhook());
        let Some(form) = form else {
            let Selected { items, metadata, memory } = self.select(target, request, &selection).await?;
            let mut response = self.show_list(target, request, format, &items, &metadata)?;
            response.memory = memory;
            return Ok(response);
        };
        let mut scan = self.scan(target, request, &selection).await?;
        match self.list_cached(target, format, &form, &mut scan).await? {
            Some(response) => Ok(response),
            None => self.list_scanned(target, format, &form, &selection, scan).await,
        }
    }

    /// Reads what no cache and no index answers, entry by entry.
    async fn list_scanned(
        &self,
        target: &Target,
        format: Format,
        form: &EncodedForm,
        selection: &Selection,
        mut scan: Scan<'_>,
    ) -> Result<Response, ApiError> {
        let mut items = Vec::new();
        while let Some(entry) = scan.next().await? {
            let encoded = match scan.is_exact() {
                true => Some(self.encoded(&target.handler, &entry, form).await?),
                false => self.selected(target, selection, &entry, form).await?,
            };
            if let Some(encoded) = encoded {
                scan.keep(encoded.bytes.len())?;
                items.push(encoded.bytes);
            }
        }
        let items = Items::Encoded { count: items.len(), pieces: items };
        let mut response = list_of(&target.handler, format, items, &scan.metadata())?;
        response.memory = scan.take_memory();
        Ok(response)
    }

    /// Returns an entry in a form if it is selected. Most entries are not decoded for this.
    async fn selected(
        &self,
        target: &Target,
        selection: &Selection,
        entry: &Entry,
        form: &EncodedForm,
    ) -> Result<Option<EncodedObject>, ApiError> {
        match selection.decide(&entry.key, None) {
            Some(false) => return Ok(None),
            Some(true) => return self.encoded(&target.handler, entry, form).await.map(Some),
            None => {}
        }
        let labels = self.encode_cache.labels(&entry.key, entry.modified);
        match labels.and_then(|labels| selection.decide(&entry.key, Some(&labels))) {
            Some(false) => return Ok(None),
            Some(true) => return self.encoded(&target.handler, entry, form).await.map(Some),
            None => {}
        }
        let stored =
            self.objects.convert_one_from_storage(&target.handler, self.objects.decode(entry)?).await?;
        if !selection.matches(&stored.object) {
            let labels = stored.object.at(["metadata", "labels"]).cloned().unwrap_or_default();
            self.encode_cache.put_labels(&entry.key, entry.modified, labels);
            return Ok(None);
        }
        let encoded = form.encode(&target.handler, &stored)?;
        self.encode_cache.put(&entry.key, entry.modified, form.clone(), encoded.clone());
        Ok(Some(encoded))
    }

    /// Reads a page of a collection.
    pub async fn select(
        &self,
        target: &Target,
        request: &Request,
        selection: &Selection,
    ) -> Result<Selected, ApiError> {
        let mut scan = self.scan(target, request, selection).await?;
        let mut items = Vec::new();
        let mut converted = VecDeque::new();
        while let Some(entry) = scan.next().await? {
            if converted.is_empty() {
                // A webhook converts many objects in one call.
                let others = if target.handler.has_conversion_webhook() { scan.at_hand() } else { &[] };
                let batch = std::iter::once(&entry).chain(others).map(|entry| self.objects.decode(entry));
                let batch = batch.collect::<Result<Vec<_>, _>>()?;
                converted = self.objects.convert_from_storage(&target.handler, batch).await?.into();
            }
            let stored = converted.pop_front().filter(|stored| selection.matches(&stored.object));
            if let Some(stored) = stored {
                scan.keep(entry.value.len() * BYTES_PER_STORED_BYTE)?;
                items.push(stored);
            }
        }
        Ok(Selected { items, metadata: scan.metadata(), memory: scan.take_memory() })
    }
}
