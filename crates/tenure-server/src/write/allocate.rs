//! Addresses and node ports of services. A claim is a key of its own in the store, written in the transaction that
//! writes the service: two services cannot have one address, and a service that goes takes its claims with it.

use crate::{
    Cause, Failure,
    catalog::handler::Served,
    kinds::{
        FieldError,
        allocate::{self, AddressRange, PortRange},
    },
    server::Server,
};
use std::{collections::BTreeSet, net::Ipv4Addr};
use tenure_store::{Expected, Transaction};
use tenure_value::{Text, Value};

/// The first address of services and the number of addresses; the first and the last are not given away.
const ADDRESSES: (Ipv4Addr, u32) = (Ipv4Addr::new(10, 0, 0, 0), 65_536);
/// The node ports.
const PORTS: std::ops::Range<u16> = 30_000..32_768;
/// How many are found before a service is made: one address, and a port for each of its own and the health check.
const PORTS_AHEAD: usize = 8;
/// How often a random one is looked at before all are.
const TRIES: usize = 64;

/// Addresses and ports that were free a moment ago.
pub(crate) struct Allocator {
    addresses: Vec<Text>,
    ports: Vec<u16>,
}

impl Allocator {
    /// Finds free ones.
    pub async fn open(api: &Server) -> Result<Allocator, Failure> {
        let mut allocator = Allocator { addresses: Vec::new(), ports: Vec::new() };
        for _ in 0..TRIES {
            if !allocator.addresses.is_empty() && allocator.ports.len() == PORTS_AHEAD {
                break;
            }
            let random = uuid::Uuid::new_v4().as_u128();
            let address = address(1 + (random as u32) % (ADDRESSES.1 - 2));
            if allocator.addresses.is_empty()
                && api.store.get(address_key(&address).as_bytes()).await?.is_none()
            {
                allocator.addresses.push(address);
            }
            let port = PORTS.start + ((random >> 64) as u16) % (PORTS.end - PORTS.start);
            let fresh = !allocator.ports.contains(&port);
            if fresh
                && allocator.ports.len() < PORTS_AHEAD
                && api.store.get(port_key(port).as_bytes()).await?.is_none()
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

/// Says what is wrong with what a service asks for by name: it is outside of the ranges, or another's. `asked` is the
/// service as the client wrote it, `new` what becomes of it.
pub(crate) async fn faults(
    api: &Server,
    served: &Served,
    old: &Value,
    asked: &Value,
    new: &Value,
) -> Result<Vec<Cause>, Failure> {
    let added = Claims::between(served, old, new).added;
    if added.is_empty() {
        return Ok(Vec::new());
    }
    let holdings = allocate::holdings(asked);
    let wanted = holdings.addresses.iter().map(|address| address_key(&address.to_string()));
    let mut taken = BTreeSet::new();
    for claim in wanted.chain(holdings.ports.iter().copied().map(port_key)).filter(|key| added.contains(key))
    {
        if api.store.get(claim.as_bytes()).await?.is_some() {
            taken.insert(claim);
        }
    }
    let (addresses, ports) = (AddressRange::DEFAULT, PortRange::DEFAULT);
    let address_is_taken = |address: Ipv4Addr| taken.contains(&address_key(&address.to_string()));
    let port_is_taken = |port: u16| taken.contains(&port_key(port));
    let errors = allocate::check(new, addresses, ports, address_is_taken, port_is_taken);
    Ok(errors.iter().map(FieldError::cause).collect())
}

fn address(number: u32) -> Text {
    Ipv4Addr::from(u32::from(ADDRESSES.0) + number).to_string().into()
}

fn address_key(address: &str) -> String {
    format!("claims/address/{address}")
}

fn port_key(port: u16) -> String {
    format!("claims/port/{port}")
}

/// What a write of a service claims and gives back.
pub(crate) struct Claims {
    added: Vec<String>,
    released: Vec<String>,
}

impl Claims {
    /// Compares what the old and the new object hold; other kinds hold nothing.
    pub fn between(served: &Served, old: &Value, new: &Value) -> Claims {
        let (old, new) = (held(served, old), held(served, new));
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

    /// Adds the release of all that an object holds to the transaction that removes it.
    pub fn release(served: &Served, object: &Value, mut transaction: Transaction) -> Transaction {
        for claim in held(served, object) {
            transaction = transaction.delete(claim, Expected::Anything);
        }
        transaction
    }
}

/// Returns the keys of what a service holds.
fn held(served: &Served, object: &Value) -> BTreeSet<String> {
    let resource = &served.resource;
    if !(resource.group.is_empty() && resource.name == "services") {
        return BTreeSet::new();
    }
    let holdings = allocate::holdings(object);
    let addresses = holdings.addresses.iter().map(|address| address_key(&address.to_string()));
    addresses.chain(holdings.ports.into_iter().map(port_key)).collect()
}
