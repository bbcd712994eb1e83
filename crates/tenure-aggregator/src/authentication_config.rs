//! The config map `extension-apiserver-authentication` in `kube-system`: by it extension API servers authenticate users as this server
//! does, and recognize its requests.

use tenure_authentication::{TokenUses, credentials::RequestHeaderNames};
use tenure_meta::pem_blocks;
use tenure_transport::Reloadable;
use tenure_value::{Object, Text, Value};

/// The namespace and the name of the config map.
pub(crate) const NAMESPACE: &str = "kube-system";
pub(crate) const NAME: &str = "extension-apiserver-authentication";

/// What extension API servers need to authenticate users.
#[derive(Clone, Default)]
pub struct ClusterAuthentication {
    /// The authorities of client certificates, in PEM; empty if there are none.
    pub client_ca: Reloadable<String>,
    /// The authorities of front proxies, in PEM; empty if there are none.
    pub request_header_ca: Reloadable<String>,
    /// The common names that front proxies may have.
    pub allowed_names: Vec<String>,
    /// The headers of the user's name, groups, further attributes (their beginnings) and uid.
    pub headers: RequestHeaderNames,
    /// The uses of tokens in secrets that are to be recorded.
    pub token_uses: TokenUses,
}

impl ClusterAuthentication {
    /// Returns the data of the config map; that of other servers with other authorities is kept. `None` if it has all of it already.
    pub(crate) fn data(&self, live: Option<&Value>) -> Option<Value> {
        let mut data =
            live.and_then(|map| map.get("data")).and_then(Value::as_object).cloned().unwrap_or_default();
        let before = data.clone();
        add_certificates(&mut data, "client-ca-file", &self.client_ca.get());
        let request_header_ca = self.request_header_ca.get();
        if !request_header_ca.is_empty() {
            add_certificates(&mut data, "requestheader-client-ca-file", &request_header_ca);
            for (name, list) in [
                ("requestheader-allowed-names", &self.allowed_names),
                ("requestheader-extra-headers-prefix", &self.headers.extra_prefix),
                ("requestheader-group-headers", &self.headers.group),
                ("requestheader-uid-headers", &self.headers.uid),
                ("requestheader-username-headers", &self.headers.username),
            ] {
                let list = Value::array(list.iter().map(|name| Value::from(name.as_str())));
                data = data.with(name, Value::from(list.to_string()));
            }
        }
        (live.is_none() || data != before).then(|| data.into())
    }
}

/// Adds certificates to a text of certificates, without duplicates.
fn add_certificates(data: &mut Object, name: &str, pem: &str) {
    let live = data.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
    let mut all: Vec<String> = certificates(&live);
    for certificate in certificates(pem) {
        if !all.contains(&certificate) {
            all.push(certificate);
        }
    }
    if !all.is_empty() {
        *data = data.with(name, Value::from(Text::from(all.concat())));
    }
}

/// Returns the certificates of a text in PEM, each as a text with its line end.
fn certificates(pem: &str) -> Vec<String> {
    let blocks = pem_blocks(pem).filter(|block| block.label == "CERTIFICATE");
    blocks
        .map(|block| format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", block.body))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(text: &str) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    }

    #[test]
    fn authorities_are_added_to_those_that_are_published() {
        let (one, two) = (certificate("one"), certificate("two"));
        let mut authentication = ClusterAuthentication::default();
        assert_eq!(authentication.data(None), Some(Value::object::<Text>([])));
        authentication.client_ca.set(one.clone());
        let data = authentication.data(None).unwrap();
        assert_eq!(data, Value::object([("client-ca-file", Value::from(one.clone()))]));
        let live = Value::object([("data", data)]);
        assert_eq!(authentication.data(Some(&live)), None);
        authentication.client_ca.set(format!("comment\n{two}{one}"));
        authentication.request_header_ca.set(two.clone());
        authentication.allowed_names = vec!["proxy".into()];
        authentication.headers.username = vec!["X-Remote-User".into()];
        let data = authentication.data(Some(&live)).unwrap();
        let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap().to_string();
        assert_eq!(text("client-ca-file"), format!("{one}{two}"));
        assert_eq!(text("requestheader-client-ca-file"), two);
        assert_eq!(text("requestheader-allowed-names"), r#"["proxy"]"#);
        assert_eq!(text("requestheader-username-headers"), r#"["X-Remote-User"]"#);
        assert_eq!(text("requestheader-uid-headers"), "[]");
    }
}
