//! The formats of names and values, each a function that returns what is wrong with a text.

use crate::Quantity;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All that is wrong with a text; empty if it is valid.
pub type Verdict = Vec<String>;
/// A format.
pub type Format = fn(&str) -> Verdict;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const CASELESS: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const DNS1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
const UNDERSCORED: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const SYSCTL: &str = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const HTTP_PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

fn wrong(what: impl Into<String>) -> Verdict {
    vec![what.into()]
}

/// Returns the messages whose conditions hold.
fn faults<const N: usize>(cases: [(bool, &str); N]) -> Verdict {
    cases.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, message)| message.into()).collect()
}

/// Returns a verdict after the one on the length.
fn within(most: usize, text: &str, verdict: Verdict) -> Verdict {
    let too_long = (text.len() > most).then(|| format!("must be no more than {most} characters"));
    too_long.into_iter().chain(verdict).collect()
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|byte| byte.is_some_and(|byte| is_lower_alphanumeric(*byte)))
        && bytes.iter().all(|byte| is_lower_alphanumeric(*byte) || *byte == b'-')
}

/// Checks a DNS label (RFC 1123).
pub fn dns_label(text: &str) -> Verdict {
    let verdict = match text {
        _ if is_label(text) => Verdict::new(),
        _ if is_subdomain(text) => wrong("must not contain dots"),
        _ => wrong(LABEL),
    };
    within(63, text, verdict)
}

/// Checks a DNS subdomain (RFC 1123).
pub fn dns_subdomain(text: &str) -> Verdict {
    within(253, text, faults([(!is_subdomain(text), SUBDOMAIN)]))
}

/// Checks a DNS label that begins with a letter (RFC 1035).
pub fn dns1035(text: &str) -> Verdict {
    let valid = is_label(text) && text.as_bytes()[0].is_ascii_lowercase();
    within(63, text, faults([(!valid, DNS1035)]))
}

/// Alphanumeric at both ends, with `-`, `_` and `.` in between.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|byte| byte.is_some_and(u8::is_ascii_alphanumeric))
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Checks a name with an optional DNS prefix: `example.com/name`.
pub fn qualified_name(text: &str) -> Verdict {
    let mut verdict = Verdict::new();
    let name = match text.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            let rule = &QUALIFIED["name part".len()..];
            return wrong(format!(
                "a valid label key{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
        }
        Some(("", name)) => {
            verdict.push("prefix part must be non-empty".into());
            name
        }
        Some((prefix, name)) => {
            let long = (prefix.len() > 253).then(|| "must be no more than 253 bytes".to_string());
            let shape = (!is_subdomain(prefix)).then(|| SUBDOMAIN.to_string());
            verdict.extend(long.into_iter().chain(shape).map(|fault| format!("prefix part {fault}")));
            name
        }
        None => text,
    };
    verdict.extend(faults([
        (name.is_empty(), "name part must be non-empty"),
        (name.len() > 63, "name part must be no more than 63 bytes"),
        (!is_name(name), QUALIFIED),
    ]));
    verdict
}

/// Checks the value of a label.
pub fn label_value(text: &str) -> Verdict {
    let shapeless = !text.is_empty() && !is_name(text);
    faults([(text.len() > 63, "must be no more than 63 bytes"), (shapeless, LABEL_VALUE)])
}

/// Checks the name of a port (IANA service name).
pub fn port_name(text: &str) -> Verdict {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let foreign = bytes.is_empty() || !bytes.iter().all(|byte| is_lower_alphanumeric(*byte) || *byte == b'-');
    let verdict = faults([
        (foreign, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        (!bytes.iter().any(u8::is_ascii_lowercase), "must contain at least one letter (a-z)"),
        (text.contains("--"), "must not contain consecutive hyphens"),
        (ends.contains(&Some(&b'-')), "must not begin or end with a hyphen"),
    ]);
    within(15, text, verdict)
}

/// Checks the name of an environment variable.
pub fn env_name(text: &str) -> Verdict {
    let valid = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
    faults([
        (text.is_empty(), "environment variable name must be non-empty"),
        (
            !text.bytes().all(valid),
            "a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
    ])
}

/// Checks a key of a ConfigMap or Secret.
pub fn config_key(text: &str) -> Verdict {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let mut verdict = faults([(text.is_empty() || !text.bytes().all(valid), CONFIG_KEY)]);
    match text {
        "." | ".." => verdict.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => verdict.push("must not start with '..'".into()),
        _ => {}
    }
    within(253, text, verdict)
}

/// Checks a segment of a URL path.
pub fn path_segment(text: &str) -> Verdict {
    match text {
        "." | ".." => wrong(format!("may not be '{text}'")),
        _ => path_segment_prefix(text),
    }
}

/// Checks the beginning of a segment of a URL path.
pub fn path_segment_prefix(text: &str) -> Verdict {
    faults([(text.contains('/'), "may not contain '/'"), (text.contains('%'), "may not contain '%'")])
}

/// Checks an IP address.
pub fn ip(text: &str) -> Verdict {
    match text.parse::<IpAddr>() {
        Ok(address) if address.to_canonical() != address => wrong("must not be an IPv4-mapped IPv6 address"),
        Ok(_) => Verdict::new(),
        Err(_) if without_leading_zeros(text).is_some() => wrong("must not have leading 0s"),
        Err(_) => wrong("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    }
}

/// Returns an IPv4 address some of whose numbers have leading zeros.
fn without_leading_zeros(text: &str) -> Option<Ipv4Addr> {
    let number = |part: &str| (!part.is_empty() && part.len() <= 3).then(|| part.parse::<u8>().ok())?;
    let numbers: Option<Vec<u8>> = text.split('.').map(number).collect();
    Some(<[u8; 4]>::try_from(numbers?).ok()?.into())
}

/// A block of addresses: the bits that its addresses share.
#[derive(Clone, Copy)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether the address has bits that are not those of the block.
    fn has_more_bits(self) -> bool {
        let (address, size) = match self.address {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, self.bits),
            IpAddr::V6(address) => (u128::from(address), self.bits),
        };
        address.checked_shl(u32::from(size)).unwrap_or(0) != 0
    }

    /// Whether all addresses of this block are in another, which has more.
    pub fn is_strictly_within(self, whole: Network) -> bool {
        let shared = match (self.address, whole.address) {
            (IpAddr::V4(part), IpAddr::V4(whole)) => (u32::from(part) ^ u32::from(whole)).leading_zeros(),
            (IpAddr::V6(part), IpAddr::V6(whole)) => (u128::from(part) ^ u128::from(whole)).leading_zeros(),
            _ => return false,
        };
        self.bits > whole.bits && shared >= u32::from(whole.bits)
    }
}

/// Reads a block of addresses.
pub fn network(text: &str) -> Option<Network> {
    let (address, bits) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let plain = !bits.is_empty()
        && bits.bytes().all(|byte| byte.is_ascii_digit())
        && (bits.len() == 1 || !bits.starts_with('0'));
    let bits = bits.parse::<u8>().ok().filter(|bits| plain && *bits <= most)?;
    Some(Network { address, bits })
}

fn is_network_with_leading_zeros(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let address =
        without_leading_zeros(address).map_or_else(|| address.to_owned(), |found| found.to_string());
    let bits = match bits.trim_start_matches('0') {
        "" if !bits.is_empty() => "0",
        bits => bits,
    };
    bits.len() <= 3 && network(&format!("{address}/{bits}")).is_some()
}

/// Checks a block of IP addresses.
pub fn cidr(text: &str) -> Verdict {
    match network(text) {
        Some(network) if network.address.to_canonical() != network.address => {
            wrong("must not have an IPv4-mapped IPv6 address")
        }
        Some(network) if network.has_more_bits() => wrong("must not have bits set beyond the prefix length"),
        Some(_) => Verdict::new(),
        None if is_network_with_leading_zeros(text) => {
            wrong("must not have leading 0s in IP or prefix length")
        }
        None => wrong("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
    }
}

/// Checks an absolute path.
pub fn absolute_path(text: &str) -> Verdict {
    faults([(!text.starts_with('/'), "must be an absolute path")])
}

/// Checks a relative path without `..`.
pub fn relative_path(text: &str) -> Verdict {
    let climbs = text.split('/').any(|part| part == "..");
    faults([(text.starts_with('/'), "must be a relative path"), (climbs, "must not contain '..'")])
}

/// Checks a text without white space at its ends.
pub fn trimmed(text: &str) -> Verdict {
    faults([(text.trim() != text, "must not have leading or trailing whitespace")])
}

/// Checks a host name, with `*.` at its beginning or not.
pub fn wildcard_host(text: &str) -> Verdict {
    if text.parse::<IpAddr>().is_ok() {
        return wrong("must be a DNS name, not an IP address");
    }
    certificate_host(text)
}

/// Checks the path of a URL.
pub fn http_path(text: &str) -> Verdict {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    faults([(!text.bytes().all(is_valid), HTTP_PATH)])
}

/// Checks the name of an HTTP header.
pub fn header_name(text: &str) -> Verdict {
    let valid = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    faults([(!valid, HEADER)])
}

/// Checks a standard or a qualified name.
pub fn standard_or_qualified(text: &str) -> Verdict {
    let verdict = qualified_name(text);
    match verdict.is_empty() && !text.contains('/') {
        true => wrong("must be a standard limit type or fully qualified"),
        false => verdict,
    }
}

/// Checks an `https` URL.
pub fn url(text: &str) -> Verdict {
    let valid = text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    faults([(!valid, "must be a URL that begins with https:// and names a host")])
}

/// Finalizers without a domain that built-in kinds may have.
pub const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Checks the name of a finalizer of a built-in kind.
pub fn finalizer_name(text: &str) -> Verdict {
    let verdict = qualified_name(text);
    match verdict.is_empty() && !text.contains('/') && !STANDARD_FINALIZERS.contains(&text) {
        true => wrong("name is neither a standard finalizer name nor is it fully qualified"),
        false => verdict,
    }
}

/// The name of a host, without wildcards.
pub fn host_not_address(text: &str) -> Verdict {
    match text.parse::<IpAddr>() {
        Ok(_) => wrong("must be a DNS name, not an IP address"),
        Err(_) => dns_subdomain(text),
    }
}

/// A host of a certificate; unlike a host of a rule it may look like an address.
pub fn certificate_host(text: &str) -> Verdict {
    match text.contains('*') {
        true => {
            let valid = text.strip_prefix("*.").is_some_and(is_subdomain);
            within(253, text, faults([(!valid, WILDCARD)]))
        }
        false => dns_subdomain(text),
    }
}

/// A domain in which names are looked up: underscores, a dot at its end and the root alone are right.
pub fn search_domain(text: &str) -> Verdict {
    let name = text.strip_suffix('.').unwrap_or(text);
    let valid = text == "." || name.split('.').all(|part| is_label(&part.replace('_', "x")));
    within(253, name, faults([(!valid, UNDERSCORED)]))
}

/// Checks the name of a sysctl.
pub fn sysctl(text: &str) -> Verdict {
    let sound = |part: &str| {
        let ends = [part.bytes().next(), part.bytes().next_back()];
        ends.iter().all(|byte| byte.is_some_and(is_lower_alphanumeric))
            && part.bytes().all(|byte| is_lower_alphanumeric(byte) || b"-_".contains(&byte))
    };
    let valid = text.len() <= 253 && text.split(['.', '/']).all(sound);
    faults([(!valid, SYSCTL)])
}

/// A path without a segment `..`.
pub fn no_parent_segments(text: &str) -> Verdict {
    faults([(text.split('/').any(|part| part == ".."), "must not contain '..'")])
}

/// The name of a storage driver; letter case does not matter in it.
pub fn driver_name(text: &str) -> Verdict {
    dns_subdomain(&text.to_lowercase())
}

/// Checks a subdomain in any case.
pub fn caseless_name(text: &str) -> Verdict {
    within(253, text, faults([(!is_subdomain(&text.to_ascii_lowercase()), CASELESS)]))
}

/// A well-formed address that others can reach.
pub fn plain_address(text: &str) -> Verdict {
    let faults = ip(text);
    if faults.is_empty() { endpoint_address(text) } else { faults }
}

/// An address that others can reach, in any form that is understood.
pub fn endpoint_address(text: &str) -> Verdict {
    let address = text.parse().map(|address: IpAddr| address.to_canonical()).ok();
    let address = address.or_else(|| without_leading_zeros(text).map(IpAddr::from));
    match address {
        None => wrong("must be a valid IP address"),
        Some(address) if is_special(address) => wrong(match address {
            _ if address.is_unspecified() => format!("may not be unspecified ({text})"),
            _ if address.is_loopback() => "may not be in the loopback range (127.0.0.0/8, ::1/128)".into(),
            _ if address.is_multicast() => {
                "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".into()
            }
            _ => "may not be in the link-local range (169.254.0.0/16, fe80::/10)".into(),
        }),
        Some(_) => Verdict::new(),
    }
}

/// Checks a domain name of at least two labels, which may end with a dot.
pub fn fully_qualified_name(text: &str) -> Verdict {
    let name = text.strip_suffix('.').unwrap_or(text);
    match dns_subdomain(name) {
        verdict if !verdict.is_empty() => verdict,
        _ if !name.contains('.') => wrong("should be a domain with at least two segments separated by dots"),
        _ => name.split('.').map(dns_label).find(|verdict| !verdict.is_empty()).unwrap_or_default(),
    }
}

/// A path that is compared part by part, and so has none that is empty, a dot or an encoded slash.
pub fn plain_path(text: &str) -> Verdict {
    let inside = ["//", "/./", "/../", "%2f", "%2F"].into_iter().find(|part| text.contains(part));
    let at_end = ["/..", "/."].into_iter().find(|part| text.ends_with(part));
    match (inside, at_end) {
        (Some(part), _) => wrong(format!("must not contain '{part}'")),
        (None, Some(part)) => wrong(format!("cannot end with '{part}'")),
        (None, None) => Verdict::new(),
    }
}

/// An amount.
pub fn not_negative(text: &str) -> Verdict {
    let negative = Quantity::parse(text).is_some_and(|amount| amount.nanos() < 0);
    faults([(negative, "must be greater than or equal to 0")])
}

/// The path at which a service is called; it may end in a slash.
pub fn service_path(text: &str) -> Verdict {
    let start = faults([(!text.starts_with('/'), "must start with a '/'")]);
    let rest = text.get(text.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
    let wrong_segment = |(at, part): (usize, &str)| match part.is_empty() {
        true => wrong(format!("segment[{at}] may not be empty")),
        false => dns_subdomain(part).iter().map(|fault| format!("segment[{at}]: {fault}")).collect(),
    };
    match text {
        "" | "/" => Verdict::new(),
        _ => {
            let parts = rest.strip_suffix('/').unwrap_or(rest).split('/');
            start.into_iter().chain(parts.enumerate().flat_map(wrong_segment)).collect()
        }
    }
}

/// The format of object names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameFormat {
    /// A DNS subdomain of at most 253 characters.
    #[default]
    Subdomain,
    /// A DNS subdomain of at most 63 characters.
    ShortSubdomain,
    /// A DNS label of at most 63 characters.
    Label,
    /// Any path segment.
    Segment,
    /// An IP address in its canonical form.
    Address,
    /// The plural name and the group of a CustomResourceDefinition.
    Definition,
    /// The version and the group of an APIService.
    Service,
}

/// Says what is wrong with the name of an object; a prefix for generated names may end in `-`.
pub fn object_name(names: NameFormat, text: &str) -> Verdict {
    match names {
        NameFormat::Subdomain => dns_subdomain(text),
        NameFormat::ShortSubdomain => within(63, text, dns_subdomain(text)),
        NameFormat::Label => dns_label(text),
        NameFormat::Segment => path_segment(text),
        NameFormat::Address => canonical_ip(text),
        NameFormat::Definition | NameFormat::Service => path_segment(text),
    }
}

/// Says what is wrong with the beginning of names to be generated.
pub fn name_prefix(names: NameFormat, text: &str) -> Verdict {
    // Something follows, so that a dash at the end is right; Kubernetes puts a letter for the last two characters.
    let masked = match text.strip_suffix('-').and_then(|rest| rest.char_indices().next_back()) {
        Some((last, _)) => format!("{}a", &text[..last]),
        None => text.into(),
    };
    match names {
        NameFormat::Subdomain | NameFormat::ShortSubdomain | NameFormat::Label => object_name(names, &masked),
        NameFormat::Segment | NameFormat::Definition | NameFormat::Service => path_segment_prefix(text),
        NameFormat::Address => object_name(names, text),
    }
}

fn canonical_ip(text: &str) -> Verdict {
    match text.parse::<IpAddr>() {
        Ok(address) if address.to_canonical() == address && address.to_string() != text => {
            wrong(format!("must be in canonical form ({:?})", address.to_string()))
        }
        _ => ip(text),
    }
}

/// Whether an address cannot be reached from outside.
pub fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_unspecified() || v4.is_loopback() || v4.is_link_local() || v4.octets()[..3] == [224, 0, 0]
        }
        IpAddr::V6(v6) => {
            v6.is_unspecified()
                || v6.is_loopback()
                || v6.segments()[0] & 0xffc0 == 0xfe80
                || v6.segments()[0] == Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0).segments()[0]
        }
    }
}
