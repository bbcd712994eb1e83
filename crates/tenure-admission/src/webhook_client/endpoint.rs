//! Where a webhook is reached: its URL, and the addresses that a service name stands for.

use super::WebhookUser;
use hyper::Uri;
use std::{sync::Arc, time::Duration};

/// Where a webhook is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceEndpoint {
    /// The URL of the request. Its host is the name in the webhook's certificate.
    pub url: Uri,
    /// Hosts and ports to connect to, in order.
    pub addresses: Vec<(String, u16)>,
    /// Why there is no address; `None` if there is one. A call fails with this, and names the URL.
    pub unresolved: Option<String>,
    /// The user as which the webhook is called, if it is not called anonymously.
    pub user: Option<Arc<WebhookUser>>,
}

impl ServiceEndpoint {
    /// Returns the endpoint of a URL.
    pub fn of_url(url: &str) -> Result<ServiceEndpoint, String> {
        let parsed: Uri = url.parse().map_err(|error| format!("invalid URL {url:?}: {error}"))?;
        let authority = parsed.authority().ok_or_else(|| format!("URL {url:?} has no host"))?;
        let host = authority.host();
        // The parsed authority does not tell a port that is out of range from none.
        let port = match authority.as_str().rsplit(host).next().and_then(|rest| rest.strip_prefix(':')) {
            None | Some("") => 443,
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port != 0)
                .ok_or_else(|| format!("URL {url:?} has an invalid port {port}: use 1 to 65535"))?,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
        Ok(ServiceEndpoint {
            url: with_clean_path(parsed)?,
            addresses: vec![(host, port)],
            unresolved: None,
            user: None,
        })
    }

    /// Returns the endpoint of a port of a service that is reached at certain addresses, or not at all.
    pub fn of_service(
        (namespace, name): (&str, &str),
        port: u16,
        path: &str,
        addresses: Result<Vec<(String, u16)>, String>,
    ) -> Result<ServiceEndpoint, String> {
        let url = format!("https://{name}.{namespace}.svc:{port}/{}", path.trim_start_matches('/'));
        let url = url.parse().map_err(|error| format!("invalid URL {url:?}: {error}"))?;
        let (addresses, unresolved) = match addresses {
            Ok(addresses) => (addresses, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Ok(ServiceEndpoint { url, addresses, unresolved, user: None })
    }
}

impl ServiceEndpoint {
    /// Returns the endpoint with the user as which it is called.
    pub fn with_user(self, user: Option<Arc<WebhookUser>>) -> ServiceEndpoint {
        ServiceEndpoint { user, ..self }
    }

    /// Returns the endpoint with the time that the client waits for a response in its query, in whole seconds.
    pub fn with_timeout(self, timeout: Duration) -> Result<ServiceEndpoint, String> {
        let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
        let text = match seconds / 60 {
            0 => format!("{seconds}s"),
            minutes => format!("{minutes}m{}s", seconds % 60),
        };
        let query = self.url.query().map(|query| format!("{query}&")).unwrap_or_default();
        let path = format!("{}?{query}timeout={text}", self.url.path());
        let url = with_path_and_query(self.url, &path)?;
        Ok(ServiceEndpoint { url, ..self })
    }
}

/// Returns a URL whose path has no doubled slashes, no dots and no slash at its end, as clients of Kubernetes send it.
fn with_clean_path(url: Uri) -> Result<Uri, String> {
    let mut names = Vec::new();
    for name in url.path().split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = format!("/{}{query}", names.join("/"));
    with_path_and_query(url, &path)
}

fn with_path_and_query(url: Uri, path: &str) -> Result<Uri, String> {
    let invalid = |error: &dyn std::fmt::Display| format!("invalid path {path:?}: {error}");
    let path_and_query = path.parse().map_err(|error| invalid(&error))?;
    let mut parts = url.into_parts();
    parts.path_and_query = Some(path_and_query);
    Uri::from_parts(parts).map_err(|error| invalid(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_a_port() {
        for (url, host, port) in [
            ("https://hooks.example.com/convert?x=1", "hooks.example.com", 443),
            ("https://[::1]:8443", "::1", 8443),
        ] {
            assert_eq!(ServiceEndpoint::of_url(url).unwrap().addresses, [(host.to_string(), port)], "{url}");
        }
        for url in ["https://", "/convert", "https://hooks.example.com:99999/convert"] {
            assert!(ServiceEndpoint::of_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_path_of_a_url_is_cleaned() {
        for (url, clean) in [
            ("https://host:8443//failing", "https://host:8443/failing"),
            ("https://host/a/./b/../c/", "https://host/a/c"),
            ("https://host", "https://host/"),
        ] {
            assert_eq!(ServiceEndpoint::of_url(url).unwrap().url, clean, "{url}");
        }
    }

    #[test]
    fn the_timeout_is_in_the_query_in_whole_seconds() {
        for (url, millis, with_timeout) in [
            ("https://host/a", 10_000, "https://host/a?timeout=10s"),
            ("https://host/a?x=1", 1_200, "https://host/a?x=1&timeout=2s"),
            ("https://host", 61_000, "https://host/?timeout=1m1s"),
        ] {
            let endpoint = ServiceEndpoint::of_url(url).unwrap().with_timeout(Duration::from_millis(millis));
            assert_eq!(endpoint.unwrap().url, with_timeout, "{url}");
        }
    }

    #[test]
    fn a_service_is_named_in_the_url() {
        let addresses = vec![("10.0.0.1".to_string(), 8443)];
        let endpoint = ServiceEndpoint::of_service(("n", "s"), 443, "convert", Ok(addresses)).unwrap();
        assert_eq!(endpoint.url, "https://s.n.svc:443/convert");
    }
}
