//! The two families of addresses.

use std::net::IpAddr;

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpFamily {
    /// Returns the name of the family in the API.
    pub fn name(self) -> &'static str {
        match self {
            IpFamily::V4 => "IPv4",
            IpFamily::V6 => "IPv6",
        }
    }

    /// Returns the family of a name.
    pub fn named(name: &str) -> Option<IpFamily> {
        [IpFamily::V4, IpFamily::V6].into_iter().find(|family| family.name() == name)
    }

    /// Returns the family of an address. An IPv4 address that is written as an IPv6 address is an IPv4 address.
    pub fn of(address: IpAddr) -> IpFamily {
        if address.to_canonical().is_ipv4() { IpFamily::V4 } else { IpFamily::V6 }
    }

    /// Returns the other family.
    pub fn other(self) -> IpFamily {
        match self {
            IpFamily::V4 => IpFamily::V6,
            IpFamily::V6 => IpFamily::V4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_family_that_the_api_names() {
        for (text, family) in [("10.0.0.1", "IPv4"), ("fd00::1", "IPv6"), ("::ffff:10.0.0.1", "IPv4")] {
            let found = IpFamily::of(text.parse().unwrap());
            assert_eq!((found.name(), IpFamily::named(family)), (family, Some(found)), "{text}");
            assert_eq!(found.other().other(), found);
        }
        assert_eq!(IpFamily::named("ipv4"), None);
    }
}
