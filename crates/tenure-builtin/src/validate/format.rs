//! The formats that the data refers to, by name.

use super::{cron, device, placement, volume};
use tenure_meta::format::{self, Format};

/// The formats by name.
pub const FORMATS: [(&str, Format); 40] = [
    ("dnsLabel", format::dns_label),
    ("dnsSubdomain", format::dns_subdomain),
    ("dns1035", format::dns1035),
    ("qualifiedName", format::qualified_name),
    ("labelValue", format::label_value),
    ("portName", format::port_name),
    ("envName", format::env_name),
    ("configKey", format::config_key),
    ("pathSegment", format::path_segment),
    ("ip", format::ip),
    ("cidr", format::cidr),
    ("absolutePath", format::absolute_path),
    ("relativePath", format::relative_path),
    ("trimmed", format::trimmed),
    ("cron", cron::schedule),
    ("timeZone", cron::time_zone),
    ("wildcardHost", format::wildcard_host),
    ("headerName", format::header_name),
    ("standardOrQualified", format::standard_or_qualified),
    ("taintValue", format::label_value),
    ("hostname", format::dns_subdomain),
    ("url", format::url),
    ("finalizerName", format::finalizer_name),
    ("certificateHost", format::certificate_host),
    ("searchDomain", format::search_domain),
    ("sysctl", format::sysctl),
    ("noParentSegments", format::no_parent_segments),
    ("driverName", format::driver_name),
    ("caselessName", format::caseless_name),
    ("endpointAddress", format::endpoint_address),
    ("notNegative", format::not_negative),
    ("plainPath", format::plain_path),
    ("hostNotAddress", format::host_not_address),
    ("iscsiName", volume::iscsi_name),
    ("poolName", device::pool_name),
    ("nodeOperator", placement::node_operator),
    ("featureName", device::feature_name),
    ("claimResource", volume::claim_resource),
    ("resizeStatus", volume::resize_status),
    ("notEmpty", |text| Vec::from_iter(text.is_empty().then(|| "must be non-empty if specified".into()))),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_valid_and_reject_invalid_values() {
        let long = "a".repeat(64);
        let table: [(&str, &[&str], &[&str]); 27] = [
            ("dnsLabel", &["a", "a-b", "1a"], &["", "A", "a_b", "-a", "a-", "a.b", &long]),
            ("dnsSubdomain", &["a.b", "a-b.c", "1"], &["", "a..b", ".a", "A.b", "a_b"]),
            ("qualifiedName", &["a", "A_b.c", "a.b/C"], &["", "/a", "a/", "a/b/c", "A/b", "a b", &long]),
            ("labelValue", &["", "a", "A_b.c-1"], &["-a", "a b", "a/b", &long]),
            ("portName", &["a", "http-1"], &["", "1", "A", "a--b", "-a", "abcdefghijklmnop"]),
            ("envName", &["A", "a b", "1.x"], &["", "a=b", "ä"]),
            ("configKey", &["a", ".a", "A_b-c.d"], &["", "a b", ".", "..", "..a", "a/b"]),
            ("ip", &["10.0.0.1", "::1"], &["", "10.0.0", "1.2.3.4z", "1.2.3.4/8"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.1", "10.0.0.0/33", "x/8", "10.0.0.0/"]),
            ("relativePath", &["a/b", ""], &["/a", "a/../b"]),
            ("wildcardHost", &["a.b", "*.a.b"], &["10.0.0.1", "*", "a.*"]),
            ("finalizerName", &["kubernetes", "a.b/c"], &["a", ""]),
            ("certificateHost", &["a.b", "*.a.b", "10.0.0.1"], &["*", "A.b"]),
            ("searchDomain", &["a.b", "a.b.", ".", "a_b.c", "_a.b"], &["", "A.b", "a..b", "-a", "a b"]),
            ("sysctl", &["kernel.shm_rmid_forced", "net/ipv4/a.b"], &["", "A.b", "a..b", "a b", "-a"]),
            ("hostNotAddress", &["a.b"], &["10.0.0.1", "*.a", "A"]),
            ("plainPath", &["/", "/a.b", "/a/"], &["//", "/a/../b", "/a/.", "/%2f"]),
            ("notNegative", &["0", "1Gi"], &["-1"]),
            ("noParentSegments", &["", "/a/b", "a..b"], &["..", "/a/../b"]),
            ("driverName", &["a.b", "A.b"], &["", "a b"]),
            (
                "endpointAddress",
                &["10.0.0.1", "2001:db8::1", "1.2.3.04", "::ffff:1.2.3.4"],
                &["::1", "127.0.0.1", "169.254.1.1", "127.0.0.01", "::ffff:127.0.0.1", "x", ""],
            ),
            ("featureName", &["A", "Ab1/c", "Ab/Cd"], &["", "a", "A-b", "A/", "A//B"]),
            ("claimResource", &["storage", "a.b/c"], &["a", "kubernetes.io/a", "A b!"]),
            ("resizeStatus", &["NodeResizePending"], &["", "a"]),
            ("poolName", &["a", "a.b/c"], &["A b!", "a/", "a//b"]),
            (
                "cron",
                &["* * * * *", "@daily", "*/5 0 1,15 * 1-5"],
                &["", "x", "* * * *", "60 * * * *", "* * * * *z"],
            ),
            (
                "timeZone",
                &["UTC", "Etc/UTC", "Europe/Zurich"],
                &["", "Local", "../x", "Europe/Nowhere", "utc"],
            ),
        ];
        for (name, right, wrong) in table {
            let check = FORMATS.iter().find(|(known, _)| *known == name).map(|(_, check)| check).unwrap();
            for text in right {
                assert_eq!(check(text), Vec::<String>::new(), "{name} {text}");
            }
            for text in wrong {
                assert!(!check(text).is_empty(), "{name} {text}");
            }
        }
    }
}
