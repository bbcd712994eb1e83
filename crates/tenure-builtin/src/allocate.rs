//! Allocation of cluster IPs and node ports for services. The caller knows which are in use; this module has
//! the ranges, checks the values that a service requests, and finds the next free one.

use std::net::{IpAddr, Ipv4Addr};
use tenure_meta::{FieldError, Seen};
use tenure_value::Value;

/// The range of cluster IPs: a network, without its first and last address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    network: u32,
    bits: u8,
}

impl AddressRange {
    /// The default range.
    pub const DEFAULT: AddressRange = AddressRange { network: u32::from_be_bytes([10, 0, 0, 0]), bits: 16 };

    /// Parses `10.0.0.0/16`; `None` if the text is not an IPv4 network.
    pub fn parse(text: &str) -> Option<AddressRange> {
        let (address, bits) = text.split_once('/')?;
        let bits: u8 = bits.parse().ok().filter(|bits| (8..=30).contains(bits))?;
        let address = u32::from(address.parse::<Ipv4Addr>().ok()?);
        Some(AddressRange { network: address >> (32 - bits) << (32 - bits), bits })
    }

    /// Returns the number of allocatable addresses.
    pub fn len(self) -> u32 {
        (1 << (32 - self.bits)) - 2
    }

    /// Whether the range is empty, which is never the case.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the first address that can be assigned.
    pub fn first(self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 1)
    }

    /// Whether an address is in the range.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        let offset = u32::from(address).wrapping_sub(self.network);
        (1..=self.len()).contains(&offset)
    }

    /// Returns the first free address from an offset that the caller chooses (at random, so that addresses
    /// are not reused at once); `None` if all are in use.
    pub fn next(self, start: u32, is_taken: impl Fn(Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
        let count = self.len();
        let at = |step: u32| Ipv4Addr::from(self.network + 1 + (start % count + step) % count);
        (0..count).map(at).find(|address| !is_taken(*address))
    }
}

/// The range of node ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The first port.
    pub first: u16,
    /// The last port.
    pub last: u16,
}

impl PortRange {
    /// The default range.
    pub const DEFAULT: PortRange = PortRange { first: 30_000, last: 32_767 };

    /// Whether a port is in the range.
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// Returns the first free port from an offset; `None` if all are in use.
    pub fn next(self, start: u16, is_taken: impl Fn(u16) -> bool) -> Option<u16> {
        let count = u32::from(self.last - self.first) + 1;
        let at = |step: u32| self.first + ((u32::from(start) % count + step) % count) as u16;
        (0..count).map(at).find(|port| !is_taken(*port))
    }
}

/// The addresses and node ports of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Its addresses.
    pub addresses: Vec<Ipv4Addr>,
    /// Its node ports.
    pub ports: Vec<u16>,
}

/// Returns the addresses and node ports of a service.
pub fn holdings(service: &Value) -> Holdings {
    let items = |name: &str| service.at(["spec", name]).and_then(Value::as_array).map(|items| items.items());
    let list = items("clusterIPs").unwrap_or_default().iter();
    let mut addresses: Vec<Ipv4Addr> = list
        .chain(service.at(["spec", "clusterIP"]))
        .filter_map(|address| address.as_str()?.parse().ok())
        .collect();
    addresses.dedup();
    let port = |value: Option<&Value>| u16::try_from(value?.as_i64()?).ok().filter(|port| *port != 0);
    let mut ports: Vec<u16> = Vec::new();
    for of in items("ports").unwrap_or_default() {
        // A port number can serve several protocols of a service.
        ports.extend(port(of.get("nodePort")).filter(|port| !ports.contains(port)));
    }
    ports.extend(port(service.at(["spec", "healthCheckNodePort"])));
    Holdings { addresses, ports }
}

/// Checks the values that a service requests against the ranges and the values in use.
pub fn check(
    service: &Value,
    addresses: AddressRange,
    ports: PortRange,
    address_is_taken: impl Fn(Ipv4Addr) -> bool,
    port_is_taken: impl Fn(u16) -> bool,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list = service.at(["spec", "clusterIPs"]).cloned().unwrap_or_default();
    for text in
        list.as_array().map(|items| items.items()).unwrap_or_default().iter().filter_map(Value::as_str)
    {
        let why = match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) if !addresses.contains(address) => {
                "the provided network does not match the current range"
            }
            Ok(IpAddr::V4(address)) if address_is_taken(address) => "provided IP is already allocated",
            Ok(IpAddr::V6(_)) => "the cluster has no IPv6 addresses for services",
            _ => continue,
        };
        let detail = format!("failed to allocate IP {text}: {why}");
        errors.push(FieldError::invalid("spec.clusterIPs", &list, detail));
    }
    let wanted = service
        .at(["spec", "ports"])
        .and_then(Value::as_array)
        .map(|items| items.items())
        .unwrap_or_default();
    let mut seen = Seen::default();
    for (at, port) in wanted.iter().enumerate() {
        let Some(number) = port.get("nodePort").and_then(Value::as_i64).filter(|number| *number != 0) else {
            continue;
        };
        let path = format!("spec.ports[{at}].nodePort");
        let known = u16::try_from(number).ok().filter(|port| ports.contains(*port));
        let why = match known {
            None => format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                ports.first, ports.last
            ),
            Some(port) if !seen.contains(&port) && port_is_taken(port) => {
                "provided port is already allocated".into()
            }
            Some(port) => {
                seen.insert(port);
                continue;
            }
        };
        errors.push(FieldError::invalid(&path, &Value::from(number), why));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_free_address_is_found_and_the_ends_are_never_allocated() {
        let range = AddressRange::parse("10.1.2.0/30").unwrap();
        assert_eq!(range.len(), 2);
        let taken = |address: Ipv4Addr| address.octets()[3] == 1;
        assert_eq!(range.next(0, taken), Some(Ipv4Addr::new(10, 1, 2, 2)));
        assert_eq!(range.next(7, |_| false), Some(Ipv4Addr::new(10, 1, 2, 2)));
        assert_eq!(range.next(0, |_| true), None);
        assert!(!range.contains(Ipv4Addr::new(10, 1, 2, 0)) && !range.contains(Ipv4Addr::new(10, 1, 2, 3)));
        assert!(AddressRange::parse("10.0.0.0/33").is_none() && AddressRange::parse("x/16").is_none());
    }

    #[test]
    fn the_next_free_port_wraps_around() {
        let range = PortRange { first: 30_000, last: 30_002 };
        assert_eq!(range.next(2, |port| port == 30_002), Some(30_000));
        assert_eq!(range.next(0, |_| true), None);
    }

    #[test]
    fn requested_values_must_be_free_and_in_range() {
        let service: Value = r#"{"spec":{"clusterIPs":["1.2.3.4"],"clusterIP":"1.2.3.4","ports":[{"nodePort":30001},{"nodePort":80},{"nodePort":30001}]}}"#.parse().unwrap();
        let errors =
            check(&service, AddressRange::DEFAULT, PortRange::DEFAULT, |_| false, |port| port == 30_001);
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(
            paths,
            ["spec.clusterIPs", "spec.ports[0].nodePort", "spec.ports[1].nodePort", "spec.ports[2].nodePort"]
        );
        assert_eq!(holdings(&service).ports, [30_001, 80]);
    }
}
