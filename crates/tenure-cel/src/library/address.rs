//! IP addresses and networks.

use super::{Row, fail, no_such_overload};
use crate::{
    cost::Cost,
    function::EvalResult,
    value::{Opaque, Val},
};
use std::{any::Any, net::IpAddr};

const ONE: Cost = Cost::Fixed(1);
const PARSE: Cost = Cost::Scan(1.0);

pub(super) const FUNCTIONS: &[Row] = &[
    ("ip(string): net.IP", PARSE, |_, args| match args {
        [Val::String(text)] => {
            parse_address(text).map_or_else(fail, |address| Ok(Val::opaque(Address(address))))
        }
        _ => no_such_overload(),
    }),
    ("isIP(string): bool", PARSE, |_, args| match args {
        [Val::String(text)] => Ok(Val::Bool(parse_address(text).is_ok())),
        _ => no_such_overload(),
    }),
    ("ip.isCanonical(string): bool", Cost::Scan(2.0), |_, args| match args {
        [Val::String(text)] => parse_address(text)
            .map_or_else(fail, |address| Ok(Val::Bool(address.to_string() == text.as_str()))),
        _ => no_such_overload(),
    }),
    ("string(net.IP): string", ONE, |_, args| {
        of_address(args, |address| Val::String(address.to_string().into()))
    }),
    ("net.IP.family(): int", ONE, |_, args| {
        of_address(args, |address| Val::Int(if address.is_ipv4() { 4 } else { 6 }))
    }),
    ("net.IP.isUnspecified(): bool", ONE, |_, args| {
        of_address(args, |address| Val::Bool(address.is_unspecified()))
    }),
    ("net.IP.isLoopback(): bool", ONE, |_, args| {
        of_address(args, |address| Val::Bool(address.is_loopback()))
    }),
    ("net.IP.isLinkLocalMulticast(): bool", ONE, |_, args| {
        of_address(args, |address| Val::Bool(is_local_multicast(address)))
    }),
    ("net.IP.isLinkLocalUnicast(): bool", ONE, |_, args| {
        of_address(args, |address| Val::Bool(is_local_unicast(address)))
    }),
    ("net.IP.isGlobalUnicast(): bool", ONE, |_, args| {
        of_address(args, |address| Val::Bool(is_global_unicast(address)))
    }),
    ("cidr(string): net.CIDR", PARSE, |_, args| match args {
        [Val::String(text)] => parse_network(text).map_or_else(fail, |network| Ok(Val::opaque(network))),
        _ => no_such_overload(),
    }),
    ("isCIDR(string): bool", PARSE, |_, args| match args {
        [Val::String(text)] => Ok(Val::Bool(parse_network(text).is_ok())),
        _ => no_such_overload(),
    }),
    ("string(net.CIDR): string", ONE, |_, args| {
        of_network(args, |network| Ok(Val::String(format!("{}/{}", network.address, network.length).into())))
    }),
    ("net.CIDR.ip(): net.IP", ONE, |_, args| {
        of_network(args, |network| Ok(Val::opaque(Address(network.address))))
    }),
    ("net.CIDR.prefixLength(): int", ONE, |_, args| {
        of_network(args, |network| Ok(Val::Int(i64::from(network.length))))
    }),
    ("net.CIDR.masked(): net.CIDR", ONE, |_, args| {
        of_network(args, |network| {
            Ok(Val::opaque(Network {
                address: mask(network.address, network.length),
                length: network.length,
            }))
        })
    }),
    ("net.CIDR.containsIP(net.IP): bool", Cost::ContainsAddress(false), |_, args| {
        of_network(args, |network| match args.get(1).and_then(Val::downcast::<Address>) {
            Some(address) => Ok(Val::Bool(network.contains(address.0, u8::MAX))),
            None => no_such_overload(),
        })
    }),
    ("net.CIDR.containsIP(string): bool", Cost::ContainsAddress(true), |_, args| {
        of_network(args, |network| match args.get(1) {
            Some(Val::String(text)) => parse_address(text)
                .map_or_else(fail, |address| Ok(Val::Bool(network.contains(address, u8::MAX)))),
            _ => no_such_overload(),
        })
    }),
    ("net.CIDR.containsCIDR(net.CIDR): bool", Cost::ContainsNetwork(false), |_, args| {
        of_network(args, |network| match args.get(1).and_then(Val::downcast::<Network>) {
            Some(other) => Ok(Val::Bool(network.contains(other.address, other.length))),
            None => no_such_overload(),
        })
    }),
    ("net.CIDR.containsCIDR(string): bool", Cost::ContainsNetwork(true), |_, args| {
        of_network(args, |network| match args.get(1) {
            Some(Val::String(text)) => parse_network(text)
                .map_or_else(fail, |other| Ok(Val::Bool(network.contains(other.address, other.length)))),
            _ => no_such_overload(),
        })
    }),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Address(IpAddr);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    /// Whether this network contains an address, or a network with a longer prefix.
    fn contains(&self, address: IpAddr, length: u8) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && length >= self.length
            && mask(address, self.length) == mask(self.address, self.length)
    }
}

/// Clears the bits after a prefix.
fn mask(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let keep = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & keep).into())
        }
        IpAddr::V6(v6) => {
            let keep = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & keep).into())
        }
    }
}

fn parse_address(text: &str) -> Result<IpAddr, String> {
    let failed =
        |why: String| format!("IP Address {text:?} parse error during conversion from string: {why}");
    if let Some((before, _)) = text.split_once('%')
        && before.parse::<std::net::Ipv6Addr>().is_ok()
    {
        return Err(format!("IP address {text:?} with zone value is not allowed"));
    }
    let address = text
        .parse::<IpAddr>()
        .map_err(|_| failed(format!("ParseAddr({text:?}): {}", parse_failure(text))))?;
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        other => Ok(other),
    }
}

/// Returns the reason why a text is not an address.
fn parse_failure(text: &str) -> &'static str {
    let dot = text.find('.');
    if text.find(':').is_some_and(|colon| dot.is_none_or(|dot| colon < dot)) {
        return "unable to parse IP";
    }
    if dot.is_none() {
        return "unable to parse IP";
    }
    let parts: Vec<&str> = text.split('.').collect();
    for part in &parts {
        if let Some(why) = match *part {
            part if !part.bytes().all(|byte| byte.is_ascii_digit()) => Some("unexpected character"),
            "" => Some("IPv4 field must have at least one digit"),
            part if part.len() > 1 && part.starts_with('0') => Some("IPv4 field has octet with leading zero"),
            part if part.parse::<u8>().is_err() => Some("IPv4 field has value >255"),
            _ => None,
        } {
            return why;
        }
    }
    if parts.len() < 4 { "IPv4 address too short" } else { "IPv4 address too long" }
}

fn parse_network(text: &str) -> Result<Network, String> {
    let failed = |why: &str| {
        Err(format!(
            "network address parse error during conversion from string: \
             network address parse error during conversion from string: netip.ParsePrefix({text:?}): {why}"
        ))
    };
    let Some((address, length)) = text.rsplit_once('/') else { return failed("no '/'") };
    let Ok(address) = address.parse::<IpAddr>() else { return failed(parse_failure(address)) };
    if matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
        return Err(format!(
            "network address parse error during conversion from string: IPv4-mapped IPv6 address {text:?} is not allowed"
        ));
    }
    let digits =
        length.bytes().all(|byte| byte.is_ascii_digit()) && !(length.len() > 1 && length.starts_with('0'));
    match length.parse::<u8>() {
        Ok(length) if digits && length <= if address.is_ipv4() { 32 } else { 128 } => {
            Ok(Network { address, length })
        }
        Ok(_) if digits => failed("prefix length out of range"),
        _ => failed(&format!("bad bits after slash: {length:?}")),
    }
}

fn is_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(address: &IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(is_broadcast
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_local_unicast(address))
}

impl Opaque for Address {
    fn type_name(&self) -> &str {
        "net.IP"
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Address>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn size(&self) -> Option<u64> {
        Some(if self.0.is_ipv4() { 4 } else { 16 })
    }
}

impl Opaque for Network {
    fn type_name(&self) -> &str {
        "net.CIDR"
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Network>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn size(&self) -> Option<u64> {
        Some(u64::from(self.length).div_ceil(8))
    }
}

fn of_address<'v>(args: &[Val<'v>], result: fn(&IpAddr) -> Val<'static>) -> EvalResult<'v> {
    args.first()
        .and_then(Val::downcast::<Address>)
        .map_or_else(no_such_overload, |address| Ok(result(&address.0)))
}

fn of_network<'v>(args: &[Val<'v>], result: impl FnOnce(&Network) -> EvalResult<'v>) -> EvalResult<'v> {
    args.first().and_then(Val::downcast::<Network>).map_or_else(no_such_overload, result)
}
