//! What a write of a service allocates and releases.

use crate::services::{
    free::port_key,
    ip_address::{address_key, ip_address, parent_service},
    service_cidr::service_cidrs,
};
use std::{
    collections::{BTreeSet, HashSet},
    net::IpAddr,
    sync::Arc,
};
use tenure_builtin::{
    allocate::{self, Holdings, PortRange, ServiceNetworks},
    role::{IP_ADDRESSES, Role},
    service::{self, RequestedAddresses, ports::Refusal},
};
use tenure_catalog::{
    Objects, ResourceHandler,
    history::{Author, History, HistoryVerb},
    object::{Stored, encode, meta_text},
};
use tenure_meta::{ApiError, Cause, FieldError, GroupVersionResource, IpFamily, ValueExt, format};
use tenure_store::{Error, Expected, ListRequest, Transaction};
use tenure_value::Value;

/// Where stores of earlier versions have the addresses of services.
const FORMER_CLAIMS: &str = "claims/address/";

/// Allocates the addresses and node ports of services.
pub struct ServiceAllocator {
    objects: Arc<Objects>,
    history: Arc<History>,
    networks: ServiceNetworks,
}

/// Checks that a service has addresses of all of its families, which it does not get if none is free.
fn check_allocated(service: &Value) -> Result<(), ApiError> {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    let (addresses, families) = (spec.items("clusterIPs"), spec.items("ipFamilies"));
    let is_headless = addresses.first().and_then(Value::as_str) == Some("None");
    if spec.text("type") == "ExternalName" || is_headless || addresses.len() >= families.len() {
        return Ok(());
    }
    let name = meta_text(service, "name");
    Err(ApiError::internal_error(format!(
        "failed to allocate a serviceIP for Service {name:?}: range is full"
    )))
}

/// Returns the error of an IPAddress whose service has a name that no object has.
fn unnamed_parent(address: &str, name: &str) -> Option<String> {
    const PATH: &str = "spec.parentRef.name";
    let causes: Vec<Cause> = match name {
        "" => vec![FieldError::required(PATH, "").cause()],
        _ => format::path_segment(name)
            .into_iter()
            .map(|fault| FieldError::invalid(PATH, &name.into(), fault).cause())
            .collect(),
    };
    (!causes.is_empty())
        .then(|| ApiError::invalid(IP_ADDRESSES.group, "IPAddress", address, causes).message.clone())
}

/// Returns the addresses and ports of an object; only services have any.
fn holdings(handler: &ResourceHandler, object: &Value) -> Holdings {
    if handler.role == Role::Service { allocate::holdings(object) } else { Holdings::default() }
}

impl ServiceAllocator {
    /// Returns the allocator over a store.
    pub fn new(objects: Arc<Objects>, history: Arc<History>, networks: ServiceNetworks) -> ServiceAllocator {
        ServiceAllocator { objects, history, networks }
    }

    /// Returns the networks of which services get addresses.
    pub fn networks(&self) -> ServiceNetworks {
        self.networks
    }

    /// Returns the families of which services get addresses, first the one that they get by default.
    pub fn families(&self) -> &[IpFamily] {
        self.networks.families()
    }

    /// Returns why a service does not get the families, addresses and ports that it asks for. Kubernetes allocates before it
    /// validates, so that this comes before all other errors. `admitted` is the service as the client wrote it, `new` the service
    /// as it will be stored.
    pub async fn errors(
        &self,
        handler: &ResourceHandler,
        old: Option<&Value>,
        [admitted, new]: [&Value; 2],
        is_dry_run: bool,
    ) -> Result<Vec<Cause>, ApiError> {
        if handler.role != Role::Service {
            return Ok(Vec::new());
        }
        let families = self.families();
        let refusals = service::refusals(old, admitted, families);
        if !refusals.is_empty() {
            return Ok(refusals.iter().map(FieldError::cause).collect());
        }
        let requested = service::requested_addresses(old, admitted, families);
        if let Some(error) = self.address_error(&requested, new, is_dry_run).await? {
            return Ok(vec![error.cause()]);
        }
        check_allocated(new)?;
        let mut taken = HashSet::new();
        for port in service::ports::added(old, admitted) {
            if self.objects.store.get(port_key(port).as_bytes()).await?.is_some() {
                taken.insert(port);
            }
        }
        let range = (!is_dry_run).then_some(PortRange::DEFAULT);
        match service::ports::check(old, admitted, range, &|port| taken.contains(&port)) {
            Ok(()) => Ok(Vec::new()),
            Err(Refusal::Field(error)) => Ok(vec![error.cause()]),
            Err(Refusal::Failure(error)) => Err(error),
        }
    }

    /// Returns why a service does not get an address: none of the networks has it, or another service, or its IPAddress cannot name
    /// the service.
    async fn address_error(
        &self,
        requested: &RequestedAddresses,
        service: &Value,
        is_dry_run: bool,
    ) -> Result<Option<FieldError>, ApiError> {
        let unnamed = |address: &str| unnamed_parent(address, meta_text(service, "name"));
        let refused = |detail| Ok(Some(FieldError::invalid("spec.clusterIPs", &requested.shown, detail)));
        if requested.added.is_empty() {
            // What is allocated is known by now.
            let given = service
                .at(["spec"])
                .and_then(|spec| spec.items("clusterIPs").first())
                .and_then(Value::as_str);
            let address = given.filter(|_| requested.is_allocating && !is_dry_run);
            return match address.and_then(unnamed) {
                Some(why) => refused(format!("failed to allocate IP: {why}")),
                None => Ok(None),
            };
        }
        let cidrs = service_cidrs(&self.objects).await?;
        for (address, written) in &requested.added {
            let family = IpFamily::of(*address);
            let of_family = cidrs.iter().flat_map(|cidr| &cidr.ranges).find(|range| range.family() == family);
            let unnamed = unnamed(&address.to_string());
            // A dry run asks one network of Kubernetes, and does not look for the address.
            let why = match (is_dry_run, of_family) {
                (true, Some(range)) if range.contains(*address) => continue,
                (true, Some(range)) => format!(
                    "the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}"
                ),
                _ if !cidrs.iter().any(|cidr| cidr.is_ready() && cidr.contains(*address)) => {
                    "the provided network does not match the current range".into()
                }
                _ if unnamed.is_some() => unnamed.unwrap_or_default(),
                _ if self.objects.store.get(address_key(*address)?.as_bytes()).await?.is_some() => {
                    "provided IP is already allocated".into()
                }
                _ => continue,
            };
            return refused(format!("failed to allocate IP {written}: {why}"));
        }
        Ok(None)
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
        if handler.role != Role::Service {
            return Ok(Some(transaction));
        }
        let (old, now) = (allocate::holdings(old), allocate::holdings(new));
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
