//! The addresses and the name of this machine, by which clients reach a server that listens on all of its addresses.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

/// The routing table and the IPv6 addresses of Linux.
const ROUTES: &str = "/proc/net/fib_trie";
const IPV6_ADDRESSES: &str = "/proc/net/if_inet6";
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Returns the addresses of this machine that others can reach, sorted.
pub(super) fn addresses() -> Vec<IpAddr> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut addresses = ipv4_of_routes(&text(ROUTES));
    addresses.extend(ipv6_of_interfaces(&text(IPV6_ADDRESSES)));
    // Addresses that are reserved for documentation: nothing is sent, only the route is looked up.
    addresses.extend(address_towards(([192, 0, 2, 1], 9).into()));
    addresses.extend(address_towards(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9).into()));
    addresses.retain(|address| !address.is_loopback() && !address.is_unspecified());
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Returns the name of this machine, if it can be in a certificate.
pub(super) fn host_name() -> Option<String> {
    let name = fs::read_to_string(HOST_NAME).ok().or_else(|| std::env::var("HOSTNAME").ok())?;
    let name = name.trim().to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.split('.').all(is_label).then_some(name)
}

/// Returns the local addresses in the routing table: those that a line marks as a host of this machine.
fn ipv4_of_routes(table: &str) -> Vec<IpAddr> {
    let (mut last, mut found) = (None, Vec::new());
    for line in table.lines() {
        match line.trim_start().strip_prefix("|-- ") {
            Some(address) => last = address.trim().parse::<Ipv4Addr>().ok(),
            None if line.trim() == "/32 host LOCAL" => found.extend(last.map(IpAddr::from)),
            None => {}
        }
    }
    found
}

/// Returns the addresses of a list of interfaces, without those of a link, which need a zone to be reached.
fn ipv6_of_interfaces(list: &str) -> Vec<IpAddr> {
    const LINK_LOCAL: &str = "20";
    let read = |line: &str| {
        let mut columns = line.split_whitespace();
        let address = u128::from_str_radix(columns.next()?, 16).ok()?;
        (columns.nth(2)? != LINK_LOCAL).then(|| IpAddr::from(Ipv6Addr::from(address)))
    };
    list.lines().filter_map(read).collect()
}

/// Returns the address from which another one would be reached.
fn address_towards(other: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr =
        if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(other).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_found_in_the_tables_of_the_system() {
        let routes = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     |-- 10.1.2.0\n        /24 link UNICAST\n     \
                      |-- 10.1.2.3\n        /32 host LOCAL\n     |-- 10.1.2.255\n        /32 link BROADCAST\n     |-- 127.0.0.1\n        /32 host LOCAL\n";
        assert_eq!(
            ipv4_of_routes(routes),
            ["10.1.2.3", "127.0.0.1"].map(|text| text.parse::<IpAddr>().unwrap())
        );
        let interfaces = "00000000000000000000000000000001 01 80 10 80       lo\n\
                          fe800000000000000042acfffe110002 02 40 20 80     eth0\n\
                          20010db8000000000000000000000007 02 40 00 80     eth0\n";
        assert_eq!(
            ipv6_of_interfaces(interfaces),
            ["::1", "2001:db8::7"].map(|text| text.parse::<IpAddr>().unwrap())
        );
        assert!(addresses().iter().all(|address| !address.is_loopback()));
    }
}
