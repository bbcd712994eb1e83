//! Allocation of cluster IPs and node ports for services. The caller knows which are in use; this module has
//! the ranges, checks the values that a service requests, and finds the next free one.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};
use tenure_meta::IpFamily;
use tenure_value::Value;

/// A network of which services get addresses: all but its first address and, of an IPv4 network, its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    /// The address of the network; an IPv4 address is in the low bits.
    network: u128,
    prefix: u8,
    is_ipv4: bool,
}

/// The part of a range that is left to services that request an address, as long as other addresses are free: a sixteenth of the
/// network, within these limits.
const RESERVED: (u128, u128) = (16, 256);

impl AddressRange {
    /// The default range of a server.
    pub const DEFAULT: AddressRange =
        AddressRange { network: u32::from_be_bytes([10, 0, 0, 0]) as u128, prefix: 16, is_ipv4: true };

    /// Parses a network such as `10.0.0.0/16`; `None` if the text is not one.
    pub fn parse(text: &str) -> Option<AddressRange> {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let prefix: u8 = prefix.parse().ok().filter(|bits| *bits <= bits_of(address))?;
        let range = AddressRange { network: number(address), prefix, is_ipv4: address.is_ipv4() };
        Some(AddressRange { network: range.network & !range.host_mask(), ..range })
    }

    /// Returns the family of its addresses.
    pub fn family(self) -> IpFamily {
        if self.is_ipv4 { IpFamily::V4 } else { IpFamily::V6 }
    }

    /// Whether this is a network of IPv4 addresses.
    pub fn is_ipv4(self) -> bool {
        self.is_ipv4
    }

    /// Returns the number of addresses that can be allocated.
    pub fn len(self) -> u128 {
        self.host_mask().saturating_sub(u128::from(self.is_ipv4))
    }

    /// Whether no address can be allocated.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the first address that can be allocated.
    pub fn first(self) -> IpAddr {
        self.at(0)
    }

    /// Whether an address can be allocated from the range.
    pub fn contains(self, address: IpAddr) -> bool {
        let offset = number(address).wrapping_sub(self.network);
        address.is_ipv4() == self.is_ipv4 && (1..=self.len()).contains(&offset)
    }

    /// Returns an address that a number chooses, outside of the reserved part.
    pub fn candidate(self, random: u128) -> Option<IpAddr> {
        let reserved = self.reserved();
        let count = self.len() - reserved;
        (count > 0).then(|| self.at(reserved + random % count))
    }

    /// Returns the first free address from the candidate on, and then of the reserved part; `None` if all are in use.
    pub fn next(self, random: u128, is_taken: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
        let (reserved, len) = (self.reserved(), self.len());
        let count = len - reserved;
        let start = random.checked_rem(count)?;
        let offsets = (0..count).map(|step| reserved + (start + step) % count).chain(0..reserved);
        offsets.map(|offset| self.at(offset)).find(|address| !is_taken(*address))
    }

    fn at(self, offset: u128) -> IpAddr {
        let address = self.network + 1 + offset;
        match self.is_ipv4 {
            true => Ipv4Addr::from(address as u32).into(),
            false => Ipv6Addr::from(address).into(),
        }
    }

    /// Returns the bits of an address that are not those of the network.
    fn host_mask(self) -> u128 {
        let bits = if self.is_ipv4 { 32 } else { 128 } - u32::from(self.prefix);
        u128::MAX.checked_shr(128 - bits).unwrap_or(0)
    }

    fn reserved(self) -> u128 {
        let size = self.host_mask().saturating_add(1);
        if size <= RESERVED.0 { 0 } else { (size / 16).clamp(RESERVED.0, RESERVED.1).min(self.len()) }
    }
}

/// The networks of which the services of a server get addresses: one, or one of each family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceNetworks {
    primary: AddressRange,
    secondary: Option<AddressRange>,
    families: [IpFamily; 2],
}

impl ServiceNetworks {
    /// The default networks of a server.
    pub const DEFAULT: ServiceNetworks = ServiceNetworks::new(AddressRange::DEFAULT, None);

    const fn new(primary: AddressRange, secondary: Option<AddressRange>) -> ServiceNetworks {
        let families = match primary.is_ipv4 {
            true => [IpFamily::V4, IpFamily::V6],
            false => [IpFamily::V6, IpFamily::V4],
        };
        ServiceNetworks { primary, secondary, families }
    }

    /// Parses a network such as `10.0.0.0/16`, or one of each family, separated by a comma. Services get addresses of the first one
    /// unless they ask for others.
    pub fn parse(text: &str) -> Result<ServiceNetworks, &'static str> {
        const WRONG: &str = "expected a network of 2 to 16,777,214 IPv4 addresses or one of at least 2 IPv6 addresses, such as \
                             10.0.0.0/16, or one of each, such as 10.0.0.0/16,fd00::/108";
        let mut ranges = text.split(',').map(|text| {
            let range = AddressRange::parse(text.trim()).ok_or(WRONG)?;
            let prefixes = if range.is_ipv4 { 8..=30 } else { 0..=126 };
            if prefixes.contains(&range.prefix) { Ok(range) } else { Err(WRONG) }
        });
        let (primary, secondary) = (ranges.next().ok_or(WRONG)??, ranges.next().transpose()?);
        if ranges.next().is_some() {
            return Err("expected at most two networks, one of each family");
        }
        if secondary.is_some_and(|secondary| secondary.is_ipv4 == primary.is_ipv4) {
            return Err("the two networks must be of different families");
        }
        Ok(ServiceNetworks::new(primary, secondary))
    }

    /// Returns the network of which services get addresses by default.
    pub fn primary(self) -> AddressRange {
        self.primary
    }

    /// Returns the networks.
    pub fn ranges(self) -> impl Iterator<Item = AddressRange> {
        [Some(self.primary), self.secondary].into_iter().flatten()
    }

    /// Returns the families of the networks.
    pub fn families(&self) -> &[IpFamily] {
        if self.secondary.is_some() { &self.families } else { &self.families[..1] }
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.is_ipv4 {
            true => write!(out, "{}/{}", Ipv4Addr::from(self.network as u32), self.prefix),
            false => write!(out, "{}/{}", Ipv6Addr::from(self.network), self.prefix),
        }
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
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
    pub addresses: BTreeSet<IpAddr>,
    /// Its node ports.
    pub ports: BTreeSet<u16>,
}

impl Holdings {
    /// Returns what another service, or another version of this one, does not have.
    pub fn without(&self, other: &Holdings) -> Holdings {
        Holdings {
            addresses: self.addresses.difference(&other.addresses).copied().collect(),
            ports: self.ports.difference(&other.ports).copied().collect(),
        }
    }
}

/// Returns the addresses and node ports of a service.
pub fn holdings(service: &Value) -> Holdings {
    let items = |name: &str| service.at(["spec", name]).and_then(Value::as_array).map(|items| items.items());
    let list = items("clusterIPs").unwrap_or_default().iter();
    let addresses = list
        .chain(service.at(["spec", "clusterIP"]))
        .filter_map(|address| address.as_str()?.parse().ok())
        .collect();
    let port = |value: Option<&Value>| u16::try_from(value?.as_i64()?).ok().filter(|port| *port != 0);
    // A port number can serve several protocols of a service.
    let node_ports = items("ports").unwrap_or_default().iter().map(|port| port.get("nodePort"));
    let ports = node_ports.chain([service.at(["spec", "healthCheckNodePort"])]).filter_map(port).collect();
    Holdings { addresses, ports }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// The network, the number of addresses, the first address, addresses inside and outside.
    type Case = (&'static str, u128, &'static str, &'static [&'static str], &'static [&'static str]);

    #[test]
    fn the_ends_of_a_network_are_never_allocated() {
        let cases: [Case; 6] = [
            ("10.1.2.0/30", 2, "10.1.2.1", &["10.1.2.1", "10.1.2.2"], &["10.1.2.0", "10.1.2.3", "10.1.2.4"]),
            ("10.0.0.77/24", 254, "10.0.0.1", &["10.0.0.254"], &["10.0.0.0", "10.0.0.255", "10.0.1.1"]),
            ("10.0.0.0/31", 0, "10.0.0.1", &[], &["10.0.0.0", "10.0.0.1"]),
            ("10.0.0.1/32", 0, "10.0.0.2", &[], &["10.0.0.1", "10.0.0.2"]),
            (
                "2001:db8::/64",
                u64::MAX as u128,
                "2001:db8::1",
                &["2001:db8::ffff:ffff:ffff:ffff"],
                &["2001:db8::", "10.0.0.1"],
            ),
            ("::/0", u128::MAX, "::1", &["ffff::"], &["::", "0.0.0.1"]),
        ];
        for (text, len, first, inside, outside) in cases {
            let range = AddressRange::parse(text).unwrap();
            assert_eq!(
                (range.len(), range.is_empty(), range.first()),
                (len, len == 0, address(first)),
                "{text}"
            );
            assert!(inside.iter().all(|one| range.contains(address(one))), "{text}");
            assert!(!outside.iter().any(|one| range.contains(address(one))), "{text}");
        }
        for text in ["10.0.0.0/33", "x/16", "10.0.0.0", "::/129", "10.0.0.0/", "10.0.0/8"] {
            assert_eq!(AddressRange::parse(text), None, "{text}");
        }
        assert_eq!(AddressRange::parse("10.0.0.77/24").unwrap().to_string(), "10.0.0.0/24");
        assert_eq!(AddressRange::parse("2001:db8::7/64").unwrap().to_string(), "2001:db8::/64");
    }

    #[test]
    fn a_server_has_one_network_or_one_of_each_family() {
        for text in ["10.0.0.0/7", "10.0.0.0/31", "", "10.0.0.0/16,", "10.0.0.0/16,10.1.0.0/16", "::/127"] {
            assert!(ServiceNetworks::parse(text).is_err(), "{text}");
        }
        assert_eq!(ServiceNetworks::parse("10.0.0.0/16"), Ok(ServiceNetworks::DEFAULT));
        let cases = [
            ("10.0.0.0/16", "10.0.0.0/16", &[IpFamily::V4] as &[IpFamily]),
            ("2001:db8::/64", "2001:db8::/64", &[IpFamily::V6]),
            ("10.0.0.0/24,fd00::/112", "10.0.0.0/24,fd00::/112", &[IpFamily::V4, IpFamily::V6]),
            ("fd00::1/112,10.0.0.0/24", "fd00::/112,10.0.0.0/24", &[IpFamily::V6, IpFamily::V4]),
        ];
        for (text, ranges, families) in cases {
            let networks = ServiceNetworks::parse(text).unwrap();
            let shown: Vec<String> = networks.ranges().map(|range| range.to_string()).collect();
            assert_eq!((shown.join(",").as_str(), networks.families()), (ranges, families));
        }
    }

    #[test]
    fn the_next_free_address_is_found_and_the_reserved_part_comes_last() {
        let small = AddressRange::parse("10.1.2.0/30").unwrap();
        assert_eq!(small.next(0, |candidate| candidate == address("10.1.2.1")), Some(address("10.1.2.2")));
        assert_eq!(small.next(7, |_| false), Some(address("10.1.2.2")));
        assert_eq!(
            (small.next(0, |_| true), AddressRange::parse("10.0.0.0/31").unwrap().next(3, |_| false)),
            (None, None)
        );
        let range = AddressRange::parse("10.0.0.0/24").unwrap();
        assert_eq!(range.candidate(0), Some(address("10.0.0.17")));
        assert_eq!(range.candidate(237), Some(address("10.0.0.254")));
        assert_eq!(range.candidate(238), Some(address("10.0.0.17")));
        let above = |candidate: IpAddr| matches!(candidate, IpAddr::V4(v4) if v4.octets()[3] > 16);
        assert_eq!(range.next(5, above), Some(address("10.0.0.1")));
        let large = AddressRange::parse("10.0.0.0/8").unwrap();
        assert_eq!(large.candidate(0), Some(address("10.0.1.1")));
    }

    #[test]
    fn the_next_free_port_wraps_around() {
        let range = PortRange { first: 30_000, last: 30_002 };
        assert_eq!(range.next(2, |port| port == 30_002), Some(30_000));
        assert_eq!(range.next(0, |_| true), None);
    }
}
