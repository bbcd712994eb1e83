//! Checks of a request's head that come before everything else. A listener without TLS refuses what a web page in a browser on the
//! same machine could send (DNS rebinding, cross-site requests, forms, untyped bodies).

use super::request_path::has_malformed_escape;
use hyper::{HeaderMap, Method, Uri, header, http::request::Parts};
use std::net::IpAddr;
use tenure_meta::{ApiError, Reason};

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The hosts and origins that a listener answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostGuard {
    /// This machine by its loopback name or an address, and pages of this listener itself: any page can give its own name an address
    /// of this machine, and there is no certificate that would tell a browser.
    Loopback,
    /// Any: the certificate of the server proves its host.
    Certified,
}

/// Checks the head of a request.
pub fn check(guard: HostGuard, head: &Parts) -> Result<(), ApiError> {
    let (uri, headers) = (&head.uri, &head.headers);
    if has_malformed_escape(uri.path()) {
        return Err(ApiError::bad_request(
            "the path has an invalid escape; write % and two hexadecimal digits, or %25 for the sign itself",
        ));
    }
    match guard {
        HostGuard::Certified => Ok(()),
        HostGuard::Loopback => {
            check_host(uri, headers)?;
            check_origin(uri, headers)?;
            check_content_type(&head.method, headers)
        }
    }
}

/// Refuses a host name other than `localhost`: a page that resolves its own name to a loopback address would have this
/// server as its origin. An address is safe, since no page can claim it.
fn check_host(uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    match requested_host(uri, headers) {
        Some(host) if !is_local(&host) => {
            let message = format!(
                "host {host:?} is not served without TLS: use localhost or an IP address, or serve with TLS"
            );
            Err(ApiError::new(Reason::Forbidden, message))
        }
        _ => Ok(()),
    }
}

/// Refuses a request that a browser sends on behalf of another site.
fn check_origin(uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let site = headers.get(SEC_FETCH_SITE).map(|site| site.as_bytes());
    let is_other_site = site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"));
    let is_other_origin = headers.get(header::ORIGIN).is_some_and(|origin| {
        let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
        let origin = origin.and_then(|origin| origin.authority().map(ToString::to_string));
        origin.is_none() || origin != authority(uri, headers)
    });
    match is_other_site || is_other_origin {
        true => Err(ApiError::new(
            Reason::Forbidden,
            "cross-site requests are refused by a server without authentication: serve with TLS and a token",
        )),
        false => Ok(()),
    }
}

/// Refuses to be posted a body without a content type, which a browser sends for another site without a preflight.
fn check_content_type(method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let is_zero = |length: &header::HeaderValue| length.as_bytes() == b"0";
    let has_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| !is_zero(length))
        || headers.contains_key(header::TRANSFER_ENCODING);
    match *method == Method::POST && has_body && !headers.contains_key(header::CONTENT_TYPE) {
        true => Err(ApiError::new(
            Reason::UnsupportedMediaType,
            "the body has no Content-Type, which a server without authentication requires: use application/json",
        )),
        false => Ok(()),
    }
}

/// Returns host and port as the client named them.
fn authority(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let named = uri.authority().map(ToString::to_string);
    named.or_else(|| headers.get(header::HOST)?.to_str().ok().map(String::from))
}

/// Returns the host without its port; a host that is not a valid one is returned as it is.
fn requested_host(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    if let Some(authority) = uri.authority() {
        return Some(authority.host().to_string());
    }
    let given = headers.get(header::HOST)?;
    let parsed = Uri::try_from(given.as_bytes()).ok().and_then(|uri| uri.host().map(String::from));
    Some(parsed.unwrap_or_else(|| String::from_utf8_lossy(given.as_bytes()).into_owned()))
}

fn is_local(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let name = host.strip_suffix('.').unwrap_or(&host);
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(guard: HostGuard, uri: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let request = headers
            .iter()
            .fold(hyper::Request::post(uri), |request, (name, value)| request.header(*name, *value));
        let (head, ()) = request.body(()).unwrap().into_parts();
        check(guard, &head).err().map(|failure| failure.code())
    }

    #[test]
    fn a_listener_without_tls_refuses_what_another_site_could_send() {
        let local = ("host", "127.0.0.1:8080");
        type Case<'c> = (&'c [(&'c str, &'c str)], Option<u16>);
        let cases: &[Case<'_>] = &[
            (&[], None),
            (&[local], None),
            (&[("host", "localhost:8080")], None),
            (&[("host", "LOCALHOST.")], None),
            (&[("host", "[::1]:8080")], None),
            (&[("host", "rebind.example.com:8080")], Some(403)),
            (&[("host", "127.0.0.1.example.com")], Some(403)),
            (&[("host", "localhost.example.com")], Some(403)),
            (&[("host", "a b")], Some(403)),
            (&[local, ("origin", "http://127.0.0.1:8080")], None),
            (&[local, ("origin", "http://127.0.0.1:3000")], Some(403)),
            (&[local, ("origin", "https://evil.example.com")], Some(403)),
            (&[local, ("origin", "null")], Some(403)),
            (&[local, ("sec-fetch-site", "same-origin")], None),
            (&[local, ("sec-fetch-site", "none")], None),
            (&[local, ("sec-fetch-site", "same-site")], Some(403)),
            (&[local, ("sec-fetch-site", "cross-site")], Some(403)),
            (&[local, ("content-length", "2")], Some(415)),
            (&[local, ("transfer-encoding", "chunked")], Some(415)),
            (&[local, ("content-length", "0")], None),
            (&[local, ("content-length", "2"), ("content-type", "application/json")], None),
        ];
        for (headers, expected) in cases {
            assert_eq!(checked(HostGuard::Loopback, "/api", headers), *expected, "{headers:?}");
        }
        assert_eq!(checked(HostGuard::Loopback, "http://rebind.example.com/api", &[]), Some(403));
        assert_eq!(checked(HostGuard::Loopback, "http://localhost:1/api", &[]), None);
    }

    #[test]
    fn a_server_with_a_certificate_serves_any_host() {
        let headers = [("host", "tenure.example.com"), ("content-length", "2")];
        assert_eq!(checked(HostGuard::Certified, "/api", &headers), None);
    }

    #[test]
    fn a_malformed_escape_is_refused_before_anything_is_known_of_the_client() {
        for path in ["/api/v1/pods/%zz", "/api/v1/pods/%+1", "/api/v1/pods/a%2", "/livez/%"] {
            assert_eq!(checked(HostGuard::Certified, path, &[]), Some(400), "{path}");
        }
        // Bytes that are not UTF-8 can be written in an escape: what they name does not exist.
        assert_eq!(checked(HostGuard::Certified, "/api/v1/pods/%ff", &[]), None);
    }
}
