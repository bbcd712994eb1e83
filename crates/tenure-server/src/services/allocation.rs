//! What a write of a service allocates and releases.

use crate::services::{
    free::port_key,
    ip_address::{address_key, ip_address, parent_service},
    service_cidr::service_cidrs,
};
use std::{collections::BTreeSet, net::IpAddr, sync::Arc};
use tenure_builtin::{
    allocate::{self, Holdings, PortRange},
    role::{IP_ADDRESSES, Role},
};
use tenure_catalog::{
    Objects, ResourceHandler,
    history::{Author, History, HistoryVerb},
    object::{Stored, encode, meta_text},
};
use tenure_meta::{ApiError, Cause, FieldError, GroupVersionResource};
use tenure_store::{Error, Expected, ListRequest, Transaction};
use tenure_value::Value;

/// Where stores of earlier versions have the addresses of services.
const FORMER_CLAIMS: &str = "claims/address/";

/// Allocates the addresses and node ports of services.
pub struct ServiceAllocator {
    objects: Arc<Objects>,
    history: Arc<History>,
}

/// Returns the addresses and ports of an object; only services have any.
fn holdings(handler: &ResourceHandler, object: &Value) -> Holdings {
    if handler.role == Role::Service { allocate::holdings(object) } else { Holdings::default() }
}

impl ServiceAllocator {
    /// Returns the allocator over a store.
    pub fn new(objects: Arc<Objects>, history: Arc<History>) -> ServiceAllocator {
        ServiceAllocator { objects, history }
    }

    /// Returns what is wrong with the addresses and ports that a service requests: outside of the ranges, or allocated already.
    /// `asked` is the service as the client wrote it, `new` the service as it will be stored.
    pub async fn errors(
        &self,
        handler: &ResourceHandler,
        old: &Value,
        asked: &Value,
        new: &Value,
    ) -> Result<Vec<Cause>, ApiError> {
        let added = holdings(handler, new).without(&holdings(handler, old));
        if added == Holdings::default() {
            return Ok(Vec::new());
        }
        let requested = holdings(handler, asked);
        let (mut addresses, mut ports) = (BTreeSet::new(), BTreeSet::new());
        for address in added.addresses.intersection(&requested.addresses) {
            if self.objects.store.get(address_key(*address)?.as_bytes()).await?.is_some() {
                addresses.insert(*address);
            }
        }
        for port in added.ports.intersection(&requested.ports) {
            if self.objects.store.get(port_key(*port).as_bytes()).await?.is_some() {
                ports.insert(*port);
            }
        }
        let cidrs = match added.addresses.is_empty() {
            true => Vec::new(),
            false => service_cidrs(&self.objects).await?,
        };
        // Addresses that the service has already stay, even if their ServiceCIDR is being deleted.
        let is_in_range = |address: IpAddr| {
            !added.addresses.contains(&address)
                || cidrs.iter().any(|cidr| cidr.is_ready() && cidr.contains(address))
        };
        let errors = allocate::check(
            new,
            is_in_range,
            PortRange::DEFAULT,
            |address| addresses.contains(&address),
            |port| ports.contains(&port),
        );
        Ok(errors.iter().map(FieldError::cause).collect())
    }

    /// Checks that a valid service has an address, which it does not get if none is free.
    pub fn check_allocated(&self, handler: &ResourceHandler, service: &Value) -> Result<(), ApiError> {
        let spec = |name: &str| service.at(["spec", name]).and_then(Value::as_str).unwrap_or_default();
        if handler.role != Role::Service || spec("type") == "ExternalName" || !spec("clusterIP").is_empty() {
            return Ok(());
        }
        let name = meta_text(service, "name");
        Err(ApiError::internal(format!(
            "Internal error occurred: failed to allocate a serviceIP for Service {name:?}: range is full"
        )))
    }

    /// Adds what a service allocates and releases to the transaction that writes it under a key. Returns `None` if a ServiceCIDR
    /// has changed since the service was validated.
    pub async fn write(
        &self,
        handler: &ResourceHandler,
        key: &str,
        old: &Value,
        new: &Value,
        mut transaction: Transaction,
    ) -> Result<Option<Transaction>, ApiError> {
        let (old, now) = (holdings(handler, old), holdings(handler, new));
        let (added, released) = (now.without(&old), old.without(&now));
        for port in added.ports {
            transaction = transaction.put(port_key(port), Expected::Absent, key.to_string());
        }
        for port in released.ports {
            transaction = transaction.delete(port_key(port), Expected::Anything);
        }
        for address in released.addresses {
            transaction = self.release(key, address, transaction).await?;
        }
        if added.addresses.is_empty() {
            return Ok(Some(transaction));
        }
        let cidrs = service_cidrs(&self.objects).await?;
        let mut required = BTreeSet::new();
        for address in added.addresses {
            let cidr = cidrs.iter().find(|cidr| cidr.is_ready() && cidr.contains(address));
            let Some(cidr) = cidr else { return Ok(None) };
            if required.insert(&cidr.name) {
                let (key, revision) = cidr.version()?;
                transaction = transaction.require(key, Expected::At(revision));
            }
            transaction = self.allocate(address, new, transaction)?;
        }
        Ok(Some(transaction))
    }

    /// Adds the release of all that an object has to the transaction that removes it.
    pub async fn remove(
        &self,
        handler: &ResourceHandler,
        key: &str,
        object: &Value,
        transaction: Transaction,
    ) -> Result<Transaction, ApiError> {
        let written = self.write(handler, key, object, &Value::Null, transaction).await?;
        written.ok_or_else(|| ApiError::internal("the release of addresses needs no ServiceCIDR"))
    }

    fn allocate(
        &self,
        address: IpAddr,
        service: &Value,
        transaction: Transaction,
    ) -> Result<Transaction, ApiError> {
        let (object, managers) = ip_address(&self.objects, address, service)?;
        let key = address_key(address)?;
        let put = transaction.put(key.clone(), Expected::Absent, encode(&object, &managers)?);
        self.record(put, &key, HistoryVerb::Create, None, Some((&object, &managers)))
    }

    /// Releases an address, unless its IPAddress is gone or belongs to something else.
    async fn release(
        &self,
        service: &str,
        address: IpAddr,
        transaction: Transaction,
    ) -> Result<Transaction, ApiError> {
        let key = address_key(address)?;
        let Some(entry) = self.objects.store.get(key.as_bytes()).await? else { return Ok(transaction) };
        let stored = Stored::read(&entry)?;
        if parent_service(&stored.object).as_deref() != Some(service) {
            return Ok(transaction);
        }
        let removed = transaction.delete(key.clone(), Expected::At(entry.modified));
        self.record(removed, &key, HistoryVerb::Delete, Some(&stored), None)
    }

    fn record(
        &self,
        transaction: Transaction,
        key: &str,
        verb: HistoryVerb,
        before: Option<&Stored>,
        after: Option<(&Value, &tenure_apply::Managers)>,
    ) -> Result<Transaction, ApiError> {
        let GroupVersionResource { group, version, resource: name } = IP_ADDRESSES;
        let handler = self.objects.catalog.resource(group, version, name)?;
        let author = Author { verb, user: "system:apiserver", manager: "", subresource: "" };
        let recorded = self.history.record(transaction, &handler, key, &author, before, after);
        recorded.map(|(transaction, _)| transaction)
    }

    /// Creates the IPAddresses of a service that were deleted. Returns whether they exist now, which is not the case if
    /// something else was written at the same time.
    pub async fn restore(&self, handler: &ResourceHandler, service: &str) -> Result<bool, ApiError> {
        let Some(entry) = self.objects.store.get(service.as_bytes()).await? else { return Ok(true) };
        let object = Stored::read(&entry)?.object;
        let mut transaction = Transaction::new();
        for address in holdings(handler, &object).addresses {
            if self.objects.store.get(address_key(address)?.as_bytes()).await?.is_none() {
                transaction = self.allocate(address, &object, transaction)?;
            }
        }
        if transaction.operations().is_empty() {
            return Ok(true);
        }
        self.commit(transaction.require(service.to_owned(), Expected::At(entry.modified))).await
    }

    /// Creates the IPAddresses of addresses that an earlier version allocated.
    pub async fn migrate(&self) -> Result<(), ApiError> {
        let listing = self.objects.store.list(ListRequest::prefix(FORMER_CLAIMS)).await?;
        for claim in &listing.entries {
            let text = std::str::from_utf8(&claim.key).ok().and_then(|key| key.strip_prefix(FORMER_CLAIMS));
            let mut transaction = Transaction::new().delete(claim.key.clone(), Expected::At(claim.modified));
            if let Some(address) = text.and_then(|text| text.parse().ok())
                && self.objects.store.get(address_key(address)?.as_bytes()).await?.is_none()
                && let Some(service) = self.objects.store.get(&claim.value.bytes()).await?
            {
                transaction = self.allocate(address, &Stored::read(&service)?.object, transaction)?;
            }
            // On a conflict another server has done the same.
            self.commit(transaction).await?;
        }
        Ok(())
    }

    async fn commit(&self, transaction: Transaction) -> Result<bool, ApiError> {
        match self.objects.store.commit(transaction).await {
            Ok(_) => Ok(true),
            Err(Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
