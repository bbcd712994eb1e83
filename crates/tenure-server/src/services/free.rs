//! Addresses and node ports that are free.

use crate::services::{
    ip_address::address_key,
    service_cidr::{ServiceCidr, resource, service_cidrs},
};
use std::{collections::HashSet, net::IpAddr};
use tenure_builtin::{
    allocate::{AddressRange, PortRange},
    role::IP_ADDRESSES,
    service::ports,
};
use tenure_catalog::{Objects, object::prefix};
use tenure_meta::{ApiError, IpFamily};
use tenure_store::ListRequest;
use tenure_value::{Text, Value};

/// How many random ports are tried for each that is needed before the ports in use are listed.
const PORT_TRIES: usize = 4;
/// How many random addresses of a network are tried before the addresses in use are listed.
const ADDRESS_TRIES: usize = 16;

/// Addresses and ports that were free when they were looked up.
#[derive(Debug)]
pub struct FreeValues {
    families: Vec<IpFamily>,
    addresses: Vec<IpAddr>,
    ports: Vec<u16>,
}

impl FreeValues {
    /// Looks up an address of each family, and as many ports as a service may need.
    pub async fn find(
        objects: &Objects,
        families: &[IpFamily],
        service: &Value,
    ) -> Result<FreeValues, ApiError> {
        let cidrs = service_cidrs(objects).await?;
        let mut addresses = Vec::new();
        for family in families {
            addresses.extend(free_address(objects, &cidrs, *family).await?);
        }
        let ports = free_ports(objects, ports::count(service)).await?;
        Ok(FreeValues { families: families.to_vec(), addresses, ports })
    }

    /// Returns the families of which services get addresses.
    pub fn families(&self) -> &[IpFamily] {
        &self.families
    }

    /// Takes an address of a family.
    pub fn cluster_ip(&mut self, family: IpFamily) -> Option<Text> {
        let at = self.addresses.iter().position(|address| IpFamily::of(*address) == family)?;
        Some(self.addresses.swap_remove(at).to_string().into())
    }

    /// Takes a port.
    pub fn node_port(&mut self) -> Option<u16> {
        self.ports.pop()
    }
}

async fn free_address(
    objects: &Objects,
    cidrs: &[ServiceCidr],
    family: IpFamily,
) -> Result<Option<IpAddr>, ApiError> {
    let ready = cidrs.iter().filter(|cidr| cidr.is_ready());
    let ranges = ready.flat_map(|cidr| cidr.ranges.iter().copied()).filter(|range| range.family() == family);
    let mut in_use = None;
    for range in ranges {
        for _ in 0..ADDRESS_TRIES {
            let random = objects.identifiers.draw(&["address"]);
            let Some(address) = range.candidate(random) else { break };
            if objects.store.get(address_key(address)?.as_bytes()).await?.is_none() {
                return Ok(Some(address));
            }
        }
        let in_use = match &mut in_use {
            Some(known) => known,
            None => in_use.insert(addresses_in_use(objects).await?),
        };
        if let Some(address) = next_free(objects, range, in_use) {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

fn next_free(objects: &Objects, range: AddressRange, in_use: &HashSet<IpAddr>) -> Option<IpAddr> {
    range.next(objects.identifiers.draw(&["address"]), |address| in_use.contains(&address))
}

/// Lists the addresses in use.
async fn addresses_in_use(objects: &Objects) -> Result<HashSet<IpAddr>, ApiError> {
    let prefix = prefix(resource(IP_ADDRESSES)?, "");
    let listing = objects.store.list(ListRequest::prefix(prefix.clone())).await?;
    let name = |key: &[u8]| std::str::from_utf8(key.get(prefix.len()..)?).ok()?.parse().ok();
    Ok(listing.entries.iter().filter_map(|entry| name(&entry.key)).collect())
}

/// Finds as many free ports as a service needs, or all that are left.
async fn free_ports(objects: &Objects, needed: usize) -> Result<Vec<u16>, ApiError> {
    let PortRange { first, last } = PortRange::DEFAULT;
    let count = u128::from(last - first) + 1;
    let needed = needed.min(usize::from(last - first) + 1);
    let mut found = Vec::new();
    let mut known = HashSet::new();
    for _ in 0..needed * PORT_TRIES {
        if found.len() == needed {
            return Ok(found);
        }
        let random = objects.identifiers.draw(&["port"]) % count;
        let port = first + u16::try_from(random).unwrap_or_default();
        if known.insert(port) && objects.store.get(port_key(port).as_bytes()).await?.is_none() {
            found.push(port);
        }
    }
    if found.len() < needed {
        let listing = objects.store.list(ListRequest::prefix(PORTS)).await?;
        let port = |key: &[u8]| std::str::from_utf8(key.get(PORTS.len()..)?).ok()?.parse().ok();
        let taken = listing.entries.iter().filter_map(|entry| port(&entry.key));
        let taken: HashSet<u16> = taken.chain(found.iter().copied()).collect();
        let free = (first..=last).filter(|port| !taken.contains(port));
        found.extend(free.take(needed - found.len()));
    }
    Ok(found)
}

/// The prefix of the keys that allocate node ports.
const PORTS: &str = "claims/port/";

/// Returns the key that allocates a node port.
pub(crate) fn port_key(port: u16) -> String {
    format!("{PORTS}{port}")
}
