//! Warnings about addresses and blocks of addresses that are not written as all programs write them.

use std::{
    fmt::Display,
    net::{IpAddr, Ipv4Addr},
};
use tenure_value::Value;

/// Returns an IPv4 address whose numbers may begin with zeros.
fn padded(text: &str) -> Option<Ipv4Addr> {
    let mut numbers = text.split('.').map(|number| number.parse::<u8>().ok());
    let octets = [numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then(|| octets.into())
}

/// Warns of an address.
pub(super) fn of_address(path: impl Display, address: &Value) -> Option<String> {
    let given = address.as_str().filter(|given| !given.is_empty())?;
    let standard = match given.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => return None,
        Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => {
                let canonical = address.to_string();
                return (canonical != given).then(|| {
                    format!(
                        "{path}: IPv6 address {given:?} should be in RFC 5952 canonical format ({canonical:?})"
                    )
                });
            }
        },
        Err(_) => padded(given)?.to_string(),
    };
    Some(format!("{path}: non-standard IP address {given:?} is invalid: use {standard:?}"))
}

/// Warns of a block of IPv6 addresses.
pub(super) fn of_network(path: impl Display, range: &Value) -> Option<String> {
    let given = range.as_str()?;
    let (address, bits) = given.trim().split_once('/')?;
    let address = address.parse::<IpAddr>().ok().filter(IpAddr::is_ipv6)?;
    let canonical = format!("{address}/{}", bits.parse::<u8>().ok()?);
    (canonical != given).then(|| {
        format!("{path}: IPv6 CIDR value {given:?} should be in RFC 5952 canonical format ({canonical:?})")
    })
}
