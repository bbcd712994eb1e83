//! Addresses and node ports that are free.

use crate::services::{
    ip_address::address_key,
    service_cidr::{ServiceCidr, resource, service_cidrs},
};
use std::{collections::HashSet, net::IpAddr};
use tenure_builtin::{
    allocate::{AddressRange, PortRange},
    role::IP_ADDRESSES,
};
use tenure_catalog::{Objects, object::prefix};
use tenure_meta::ApiError;
use tenure_store::ListRequest;
use tenure_value::Text;

/// How many free ports are looked up for a service: one for each of its own and the health check.
const PORTS_AHEAD: usize = 8;
/// How many random ports are tried.
const PORT_TRIES: usize = 64;
/// How many random addresses of a network are tried before the addresses in use are listed.
const ADDRESS_TRIES: usize = 16;

/// Addresses and ports that were free when they were looked up.
#[derive(Debug, Default)]
pub struct FreeValues {
    address: Option<Text>,
    ports: Vec<u16>,
}

impl FreeValues {
    /// Looks up free addresses and ports.
    pub async fn find(objects: &Objects) -> Result<FreeValues, ApiError> {
        let cidrs = service_cidrs(objects).await?;
        let address = free_address(objects, &cidrs).await?.map(|address| address.to_string().into());
        Ok(FreeValues { address, ports: free_ports(objects).await? })
    }

    /// Takes an address.
    pub fn cluster_ip(&mut self) -> Option<Text> {
        self.address.take()
    }

    /// Takes a port.
    pub fn node_port(&mut self) -> Option<u16> {
        self.ports.pop()
    }
}

async fn free_address(objects: &Objects, cidrs: &[ServiceCidr]) -> Result<Option<IpAddr>, ApiError> {
    let ready = cidrs.iter().filter(|cidr| cidr.is_ready());
    let ranges = ready.flat_map(|cidr| cidr.ranges.iter().copied()).filter(|range| range.is_ipv4());
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

async fn free_ports(objects: &Objects) -> Result<Vec<u16>, ApiError> {
    let PortRange { first, last } = PortRange::DEFAULT;
    let count = u128::from(last - first) + 1;
    let mut ports = Vec::new();
    for _ in 0..PORT_TRIES {
        let random = objects.identifiers.draw(&["port"]) % count;
        let port = first + u16::try_from(random).unwrap_or_default();
        if !ports.contains(&port) && objects.store.get(port_key(port).as_bytes()).await?.is_none() {
            ports.push(port);
        }
        if ports.len() == PORTS_AHEAD {
            break;
        }
    }
    Ok(ports)
}

/// Returns the key that allocates a node port.
pub(crate) fn port_key(port: u16) -> String {
    format!("claims/port/{port}")
}
