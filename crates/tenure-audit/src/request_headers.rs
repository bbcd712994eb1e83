//! The headers of a request that its events show.

use http::{HeaderMap, HeaderValue};
use std::net::IpAddr;
use tenure_value::Text;

/// The headers of a request that its events show.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestHeaders<'h> {
    /// The identifier that the client gave its events.
    pub audit_id: Option<&'h HeaderValue>,
    /// The program that sent it.
    pub user_agent: &'h str,
    /// The addresses that proxies list.
    pub forwarded_for: &'h str,
    /// The address that a proxy gives.
    pub real_ip: &'h str,
}

impl<'h> RequestHeaders<'h> {
    /// Finds the headers in one pass, which takes less time than a search for each. The first of several values holds.
    pub fn of(headers: &'h HeaderMap) -> RequestHeaders<'h> {
        let mut shown = RequestHeaders::default();
        for (name, value) in headers {
            let text = || value.to_str().unwrap_or_default();
            match name.as_str() {
                "audit-id" if shown.audit_id.is_none() => {
                    shown.audit_id = Some(value).filter(|_| !text().is_empty());
                }
                "user-agent" if shown.user_agent.is_empty() => shown.user_agent = text(),
                "x-forwarded-for" if shown.forwarded_for.is_empty() => shown.forwarded_for = text(),
                "x-real-ip" if shown.real_ip.is_empty() => shown.real_ip = text(),
                _ => {}
            }
        }
        shown
    }

    /// Returns the addresses that the request came through, that of the connection last.
    pub fn source_ips(&self, client: Option<IpAddr>) -> Vec<Text> {
        let listed = self.forwarded_for.split(',').chain([self.real_ip]).map(str::trim);
        let mut addresses: Vec<Text> = Vec::new();
        let mut add = |address: Text| {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        };
        listed
            .filter(|address| !address.is_empty() && address.parse::<IpAddr>().is_ok())
            .for_each(|address| add(address.into()));
        if let Some(client) = client {
            add(client.to_canonical().to_string().into());
        }
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn addresses_come_in_the_order_of_the_proxies_and_once() {
        type Case<'c> = (&'c [(&'static str, &'static str)], Option<&'c str>, &'c [&'c str]);
        let cases: &[Case<'_>] = &[
            (&[], Some("::ffff:10.0.0.1"), &["10.0.0.1"]),
            (
                &[("x-forwarded-for", "1.1.1.1, 2.2.2.2"), ("x-real-ip", "3.3.3.3")],
                None,
                &["1.1.1.1", "2.2.2.2", "3.3.3.3"],
            ),
            (
                &[("x-forwarded-for", "1.1.1.1,nonsense,,1.1.1.1"), ("x-real-ip", "1.1.1.1")],
                Some("fd00::1"),
                &["1.1.1.1", "fd00::1"],
            ),
            (&[("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "2.2.2.2")], None, &["1.1.1.1"]),
        ];
        for (given, client, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *given {
                headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let client = client.map(|address| address.parse().unwrap());
            assert_eq!(RequestHeaders::of(&headers).source_ips(client), *expected, "{given:?}");
        }
    }

    #[test]
    fn an_identifier_that_is_empty_or_not_text_is_not_one() {
        for (value, expected) in [(&b"a-1"[..], true), (b"", false), (b"\xff", false)] {
            let mut headers = HeaderMap::new();
            headers.insert("audit-id", HeaderValue::from_bytes(value).unwrap());
            headers.insert("user-agent", HeaderValue::from_static("curl"));
            let found = RequestHeaders::of(&headers);
            assert_eq!((found.audit_id.is_some(), found.user_agent), (expected, "curl"), "{value:?}");
        }
    }
}
