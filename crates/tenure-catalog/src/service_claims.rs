//! Cluster IPs and node ports of services. A claim is a key of its own in the store, written in the transaction that writes the
//! service: two services cannot have one address, and a service that is deleted releases its claims.

use crate::{Objects, ResourceHandler};
use std::{collections::BTreeSet, net::Ipv4Addr};
use tenure_builtin::{
    allocate::{self, AddressRange, PortRange},
    role::Role,
};
use tenure_meta::{ApiError, Cause, FieldError};
use tenure_store::{Expected, Transaction};
use tenure_value::{Text, Value};

/// The node ports.
const PORTS: std::ops::Range<u16> = 30_000..32_768;
/// How many free ports are looked up for a service: one for each of its own and the health check.
const PORTS_AHEAD: usize = 8;
/// How many random candidates are tried.
const TRIES: usize = 64;

/// Addresses and ports that were free when they were looked up.
pub struct Allocator {
    addresses: Vec<Text>,
    ports: Vec<u16>,
}

impl Allocator {
    /// Looks up free addresses and ports.
    pub async fn open(objects: &Objects, range: AddressRange) -> Result<Allocator, ApiError> {
        let mut allocator = Allocator { addresses: Vec::new(), ports: Vec::new() };
        for _ in 0..TRIES {
            if !allocator.addresses.is_empty() && allocator.ports.len() == PORTS_AHEAD {
                break;
            }
            let random = objects.identifiers.draw(&["address"]);
            if allocator.addresses.is_empty()
                && let Some(address) = range.next(random as u32, |_| false)
                && let address = Text::from(address.to_string())
                && objects.store.get(address_key(&address).as_bytes()).await?.is_none()
            {
                allocator.addresses.push(address);
            }
            let port = PORTS.start + ((random >> 64) as u16) % (PORTS.end - PORTS.start);
            let fresh = !allocator.ports.contains(&port);
            if fresh
                && allocator.ports.len() < PORTS_AHEAD
                && objects.store.get(port_key(port).as_bytes()).await?.is_none()
            {
                allocator.ports.push(port);
            }
        }
        Ok(allocator)
    }

    /// Takes an address.
    pub fn cluster_ip(&mut self) -> Option<Text> {
        self.addresses.pop()
    }

    /// Takes a port.
    pub fn node_port(&mut self) -> Option<u16> {
        self.ports.pop()
    }
}

/// Returns what is wrong with the addresses and ports that a service requests: outside of the ranges, or allocated already.
/// `asked` is the service as the client wrote it, `new` the service as it will be stored.
pub async fn errors(
    objects: &Objects,
    addresses: AddressRange,
    handler: &ResourceHandler,
    old: &Value,
    asked: &Value,
    new: &Value,
) -> Result<Vec<Cause>, ApiError> {
    let added = Claims::between(handler, old, new).added;
    if added.is_empty() {
        return Ok(Vec::new());
    }
    let holdings = allocate::holdings(asked);
    let wanted = holdings.addresses.iter().map(|address| address_key(&address.to_string()));
    let mut taken = BTreeSet::new();
    for claim in wanted.chain(holdings.ports.iter().copied().map(port_key)).filter(|key| added.contains(key))
    {
        if objects.store.get(claim.as_bytes()).await?.is_some() {
            taken.insert(claim);
        }
    }
    let ports = PortRange::DEFAULT;
    let address_is_taken = |address: Ipv4Addr| taken.contains(&address_key(&address.to_string()));
    let port_is_taken = |port: u16| taken.contains(&port_key(port));
    let errors = allocate::check(new, addresses, ports, address_is_taken, port_is_taken);
    Ok(errors.iter().map(FieldError::cause).collect())
}

fn address_key(address: &str) -> String {
    format!("claims/address/{address}")
}

fn port_key(port: u16) -> String {
    format!("claims/port/{port}")
}

/// What a write of a service allocates and releases.
pub struct Claims {
    added: Vec<String>,
    released: Vec<String>,
}

impl Claims {
    /// Compares the allocations of the old and the new object; other kinds have none.
    pub fn between(handler: &ResourceHandler, old: &Value, new: &Value) -> Claims {
        let (old, new) = (held(handler, old), held(handler, new));
        Claims {
            added: new.difference(&old).cloned().collect(),
            released: old.difference(&new).cloned().collect(),
        }
    }

    /// Adds the claims to the transaction that writes the object under a key.
    pub fn add(&self, key: &str, mut transaction: Transaction) -> Transaction {
        for claim in &self.added {
            transaction = transaction.put(claim.clone(), Expected::Absent, key.to_string());
        }
        for claim in &self.released {
            transaction = transaction.delete(claim.clone(), Expected::Anything);
        }
        transaction
    }

    /// Adds the release of all allocations of an object to the transaction that removes it.
    pub fn release(handler: &ResourceHandler, object: &Value, mut transaction: Transaction) -> Transaction {
        for claim in held(handler, object) {
            transaction = transaction.delete(claim, Expected::Anything);
        }
        transaction
    }
}

/// Returns the keys of the allocations of a service.
fn held(handler: &ResourceHandler, object: &Value) -> BTreeSet<String> {
    if handler.role != Role::Service {
        return BTreeSet::new();
    }
    let holdings = allocate::holdings(object);
    let addresses = holdings.addresses.iter().map(|address| address_key(&address.to_string()));
    addresses.chain(holdings.ports.into_iter().map(port_key)).collect()
}
