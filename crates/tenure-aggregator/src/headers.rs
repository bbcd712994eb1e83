//! The headers of a request on its way to an extension API server: without those of one connection and without credentials, with the
//! identity of the user. The extension server trusts `X-Remote-*`, so that none that a client sent may pass.

use hyper::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};
use std::net::IpAddr;
use tenure_meta::UserInfo;

/// The headers that are about one connection.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// The beginnings of headers that only the aggregator may set, or that it has acted upon.
const OWN: [&str; 2] = ["x-remote-", "impersonate-"];

/// The headers of a response that allow other origins to read it, which is for this server to decide.
const CROSS_ORIGIN: &str = "access-control-";

/// Where a request comes from.
pub(crate) struct Origin<'a> {
    pub client: Option<IpAddr>,
    pub host: Option<&'a str>,
    pub uri: &'a str,
    /// The name of this server in `Via`.
    pub via: &'a HeaderValue,
}

/// Whether a request asks for another protocol on its connection.
pub(crate) fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
        && connection_options(headers).any(|option| option.eq_ignore_ascii_case("upgrade"))
}

/// Whether a request has passed a server with this name.
pub(crate) fn has_passed(headers: &HeaderMap, via: &HeaderValue) -> bool {
    headers.get_all(header::VIA).iter().any(|value| {
        value.as_bytes().split(|byte| *byte == b',').any(|hop| hop.trim_ascii() == via.as_bytes())
    })
}

/// Returns the headers that are passed on to an extension server.
pub(crate) fn forwarded(headers: &HeaderMap, user: &UserInfo, origin: &Origin<'_>) -> HeaderMap {
    let mut forwarded = without_hop_by_hop(headers);
    for name in [header::AUTHORIZATION, header::COOKIE, header::HOST, header::CONTENT_LENGTH] {
        forwarded.remove(name);
    }
    // A body keeps its length; it could not be told from a chunked one otherwise.
    if let Some(length) = headers.get(header::CONTENT_LENGTH) {
        forwarded.insert(header::CONTENT_LENGTH, length.clone());
    }
    let own: Vec<HeaderName> = forwarded
        .keys()
        .filter(|name| OWN.iter().any(|prefix| name.as_str().starts_with(prefix)))
        .cloned()
        .collect();
    own.iter().for_each(|name| drop(forwarded.remove(name)));
    if asks_for_upgrade(headers) {
        let upgrade = headers.get(header::UPGRADE).cloned();
        forwarded.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        forwarded.extend(upgrade.map(|value| (header::UPGRADE, value)));
    }
    identify(&mut forwarded, user);
    let mut add = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            forwarded.append(HeaderName::from_static(name), value);
        }
    };
    if let Some(client) = origin.client {
        add("x-forwarded-for", &client.to_string());
    }
    add("x-forwarded-host", origin.host.unwrap_or_default());
    add("x-forwarded-proto", "https");
    add("x-forwarded-uri", origin.uri);
    forwarded.append(header::VIA, origin.via.clone());
    forwarded
}

/// Sets the headers that name the user.
pub(crate) fn identify(headers: &mut HeaderMap, user: &UserInfo) {
    let mut add = |name: &str, value: &str| {
        // Names and values that cannot be in a header cannot be passed on.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    };
    add("x-remote-user", &user.name);
    if !user.uid.is_empty() {
        add("x-remote-uid", &user.uid);
    }
    user.groups.iter().for_each(|group| add("x-remote-group", group));
    for (key, values) in &user.extra {
        let name = format!("x-remote-extra-{}", escape(key));
        values.iter().for_each(|value| add(&name, value));
    }
}

/// Returns the headers of a response that are passed on to the client.
pub(crate) fn returned(headers: &HeaderMap) -> HeaderMap {
    let mut returned = without_hop_by_hop(headers);
    let own: Vec<HeaderName> =
        returned.keys().filter(|name| name.as_str().starts_with(CROSS_ORIGIN)).cloned().collect();
    own.iter().for_each(|name| drop(returned.remove(name)));
    returned.remove(header::SET_COOKIE);
    returned
}

fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for option in connection_options(headers) {
        if let Ok(name) = HeaderName::try_from(option) {
            kept.remove(name);
        }
    }
    HOP_BY_HOP.iter().for_each(|name| drop(kept.remove(name)));
    kept
}

fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|option| !option.is_empty())
}

/// Escapes what a header name must not have, as a URL does.
fn escape(key: &str) -> String {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
    key.bytes().fold(String::new(), |mut text, byte| {
        if is_legal(byte) {
            text.push(byte.into())
        } else {
            text.push_str(&format!("%{byte:02X}"))
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| {
                (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
            })
            .collect()
    }

    fn lines(headers: &HeaderMap) -> Vec<String> {
        let mut lines: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        lines
    }

    #[test]
    fn credentials_and_identities_of_clients_do_not_pass() {
        let via = HeaderValue::from_static("1.1 here");
        let origin =
            Origin { client: Some([10, 0, 0, 1].into()), host: Some("api"), uri: "/apis/g/v1", via: &via };
        let user = UserInfo {
            name: "jane".into(),
            uid: "7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: vec![("example.com/Key%".into(), vec!["1".into(), "2".into()])],
        };
        let sent = headers(&[
            ("accept", "application/json"),
            ("authorization", "Bearer secret"),
            ("cookie", "a=b"),
            ("host", "api"),
            ("connection", "keep-alive, x-named"),
            ("x-named", "1"),
            ("keep-alive", "5"),
            ("upgrade", "h2c"),
            ("transfer-encoding", "chunked"),
            ("x-remote-user", "root"),
            ("x-remote-group", "system:masters"),
            ("x-remote-extra-scope", "all"),
            ("x-remote-anything", "1"),
            ("impersonate-user", "root"),
            ("x-forwarded-for", "10.9.9.9"),
        ]);
        assert_eq!(
            lines(&forwarded(&sent, &user, &origin)),
            [
                "accept: application/json",
                "via: 1.1 here",
                "x-forwarded-for: 10.0.0.1",
                "x-forwarded-for: 10.9.9.9",
                "x-forwarded-host: api",
                "x-forwarded-proto: https",
                "x-forwarded-uri: /apis/g/v1",
                "x-remote-extra-example.com%2fkey%25: 1",
                "x-remote-extra-example.com%2fkey%25: 2",
                "x-remote-group: a",
                "x-remote-group: b",
                "x-remote-uid: 7",
                "x-remote-user: jane",
            ]
        );
    }

    #[test]
    fn an_upgrade_is_passed_on_and_a_loop_is_seen() {
        let via = HeaderValue::from_static("1.1 here");
        let origin = Origin { client: None, host: None, uri: "/", via: &via };
        let sent = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("via", "1.0 x, 1.1 y"),
        ]);
        assert!(asks_for_upgrade(&sent) && !has_passed(&sent, &via));
        let passed = forwarded(&sent, &UserInfo::new("jane"), &origin);
        assert_eq!(passed[header::UPGRADE], "websocket");
        assert_eq!(passed[header::CONNECTION], "Upgrade");
        assert!(has_passed(&passed, &via));
        assert!(!asks_for_upgrade(&headers(&[("upgrade", "websocket")])));
    }

    #[test]
    fn responses_set_no_cookies_and_allow_no_origins() {
        let sent = headers(&[
            ("content-type", "application/json"),
            ("set-cookie", "a=b"),
            ("access-control-allow-origin", "*"),
            ("connection", "close"),
        ]);
        assert_eq!(lines(&returned(&sent)), ["content-type: application/json"]);
    }
}
