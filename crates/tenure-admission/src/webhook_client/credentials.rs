//! The credentials of webhooks: the users of a kubeconfig, which are named after the hosts of webhooks.

use hyper::{HeaderMap, Uri, header};
use std::{
    collections::HashMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tenure_meta::{FieldError, ValueExt};
use tenure_value::{Value, base64};

/// The port of a webhook that does not name one.
const HTTPS: u16 = 443;
/// What stands for a credential in errors.
const WITHHELD: &str = "(withheld)";

/// A client certificate and its key, in PEM.
type PemIdentity = (Vec<u8>, Vec<u8>);

/// The users as which webhooks are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookCredentials {
    users: HashMap<String, Arc<WebhookUser>>,
    /// The user of webhooks that none is named after.
    fallback: Option<Arc<WebhookUser>>,
}

/// A user as which webhooks are called.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct WebhookUser {
    headers: HeaderMap,
    /// The file of the token, which is read for every call, since it changes.
    token_file: Option<PathBuf>,
    pub(super) identity: Option<PemIdentity>,
}

/// The credentials are not shown.
impl fmt::Debug for WebhookUser {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WebhookUser").finish_non_exhaustive()
    }
}

impl WebhookCredentials {
    /// Reads a kubeconfig in a directory, to which the files that it names are relative.
    pub fn read(kubeconfig: &Value, directory: &Path) -> Result<WebhookCredentials, Vec<FieldError>> {
        let (mut users, mut errors) = (HashMap::new(), Vec::new());
        for (at, entry) in kubeconfig.items("users").iter().enumerate() {
            let at = format!("users[{at}].user");
            let user = entry.get("user").cloned().unwrap_or_default();
            match WebhookUser::read(&user, directory) {
                // The first of a name counts, as for other clients.
                Ok(user) => _ = users.entry(entry.text("name").to_string()).or_insert(Arc::new(user)),
                Err(error) => errors.push(error.below(at)),
            }
        }
        let current = kubeconfig.text("current-context");
        let contexts = kubeconfig.items("contexts");
        let context = contexts.iter().find(|context| !current.is_empty() && context.text("name") == current);
        let fallback = context
            .and_then(|context| context.at(["context", "user"]).and_then(Value::as_str))
            .and_then(|name| users.get(name).cloned());
        if errors.is_empty() { Ok(WebhookCredentials { users, fallback }) } else { Err(errors) }
    }

    /// Returns the user for a webhook: the one of its host and port, of `*.` and the end of these, the same without the port if
    /// it is 443, the user `*`, or that of the current context.
    pub fn of(&self, url: &Uri) -> Option<Arc<WebhookUser>> {
        if self.users.is_empty() {
            return None;
        }
        let host = url.host().unwrap_or_default();
        let port = url.port_u16().unwrap_or(HTTPS);
        let with_port = format!("{host}:{port}");
        let named = self.named(&with_port).or_else(|| self.named(host).filter(|_| port == HTTPS));
        named.or_else(|| self.users.get("*")).or(self.fallback.as_ref()).cloned()
    }

    fn named(&self, target: &str) -> Option<&Arc<WebhookUser>> {
        let ends = target.match_indices('.').map(|(at, _)| format!("*{}", &target[at..]));
        self.users.get(target).or_else(|| ends.into_iter().find_map(|end| self.users.get(&end)))
    }
}

impl WebhookUser {
    fn read(user: &Value, directory: &Path) -> Result<WebhookUser, FieldError> {
        let file = |name: &str| {
            Some(user.text(name)).filter(|path| !path.is_empty()).map(|path| directory.join(path.as_str()))
        };
        let token_file = file("tokenFile").filter(|_| user.text("token").is_empty());
        let mut read = WebhookUser { identity: identity(user, file)?, token_file, ..WebhookUser::default() };
        let (name, password) = (user.text("username"), user.text("password"));
        let is_basic = !name.is_empty() || !password.is_empty();
        if is_basic && (!user.text("token").is_empty() || read.token_file.is_some()) {
            return Err(FieldError::forbidden("username", "may not be specified together with a token"));
        }
        if is_basic {
            let encoded = base64::encode(format!("{name}:{password}"));
            add(&mut read.headers, "username", header::AUTHORIZATION.as_str(), &format!("Basic {encoded}"))?;
        }
        if !user.text("token").is_empty() {
            let bearer = format!("Bearer {}", user.text("token"));
            add(&mut read.headers, "token", header::AUTHORIZATION.as_str(), &bearer)?;
        }
        for (field, header) in [("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")] {
            if !user.text(field).is_empty() {
                add(&mut read.headers, field, header, &user.text(field))?;
            }
        }
        for group in user.items("as-groups").iter().filter_map(Value::as_str) {
            add(&mut read.headers, "as-groups", "Impersonate-Group", group)?;
        }
        Ok(read)
    }

    /// Returns the headers of a call.
    pub(super) fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = self.headers.clone();
        if let Some(path) = &self.token_file {
            let token = fs::read_to_string(path)
                .map_err(|error| format!("cannot read the token in {}: {error}", path.display()))?;
            add(
                &mut headers,
                "tokenFile",
                header::AUTHORIZATION.as_str(),
                &format!("Bearer {}", token.trim()),
            )
            .map_err(|error| error.to_string())?;
        }
        Ok(headers)
    }
}

/// Reads the certificate of a user, which is in the kubeconfig or in files.
fn identity(user: &Value, file: impl Fn(&str) -> Option<PathBuf>) -> Result<Option<PemIdentity>, FieldError> {
    let part = |name: &str| -> Result<Option<Vec<u8>>, FieldError> {
        let data = format!("{name}-data");
        let wrong = |field: &str, why: String| FieldError::invalid(field, &Value::from(WITHHELD), why);
        match user.text(&data) {
            text if !text.is_empty() => {
                let why = |at| wrong(&data, format!("illegal base64 data at input byte {at}"));
                base64::decode(text.as_bytes()).map(Some).map_err(why)
            }
            _ => file(name)
                .map(|path| {
                    fs::read(&path)
                        .map_err(|error| wrong(name, format!("cannot read {}: {error}", path.display())))
                })
                .transpose(),
        }
    };
    match (part("client-certificate")?, part("client-key")?) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(FieldError::required("client-key", "a certificate needs its key")),
        (None, Some(_)) => Err(FieldError::required("client-certificate", "a key needs its certificate")),
    }
}

fn add(headers: &mut HeaderMap, field: &str, name: &str, value: &str) -> Result<(), FieldError> {
    let wrong = |why: String| FieldError::invalid(field, &Value::from(WITHHELD), why);
    let name = header::HeaderName::from_bytes(name.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let mut value = header::HeaderValue::from_str(value).map_err(|error| wrong(error.to_string()))?;
    value.set_sensitive(true);
    headers.append(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_value::{Limits, yaml};

    fn read(text: &str) -> Result<WebhookCredentials, String> {
        let document = yaml::parse_any(text.as_bytes(), &Limits::default()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        WebhookCredentials::read(&document, directory.path())
            .map_err(|errors| errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("; "))
    }

    fn authorization(credentials: &WebhookCredentials, url: &str) -> String {
        let user = credentials.of(&url.parse().unwrap());
        let headers = user.map(|user| user.headers().unwrap()).unwrap_or_default();
        headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    #[test]
    fn users_are_named_after_hosts() {
        let named = "
users:
- {name: 'hook.example.com:8443', user: {token: port}}
- {name: hook.example.com, user: {token: host}}
- {name: '*.example.com', user: {token: domain}}
- {name: '*.svc', user: {token: services}}
- {name: '*.com:9443', user: {token: domain-port}}
- {name: 'b.example.org', user: {username: me, password: secret}}
- {name: '*', user: {token: all}}
";
        let credentials = read(named).unwrap();
        for (url, expected) in [
            ("https://hook.example.com:8443/a", "Bearer port"),
            ("https://hook.example.com/a", "Bearer host"),
            ("https://hook.example.com:443/a", "Bearer host"),
            ("https://hook.example.com:8080/a", "Bearer all"),
            ("https://other.example.com/a", "Bearer domain"),
            ("https://a.b.example.com/a", "Bearer domain"),
            ("https://x.com:9443/", "Bearer domain-port"),
            ("https://hook.shop.svc:443/a", "Bearer services"),
            ("https://hook.shop.svc:444/a", "Bearer all"),
            ("https://b.example.org/", "Basic bWU6c2VjcmV0"),
            ("https://example.com/", "Bearer all"),
        ] {
            assert_eq!(authorization(&credentials, url), expected, "{url}");
        }
        let current = "{current-context: c, contexts: [{name: c, context: {user: me}}], users: [{name: me, user: {token: current}}]}";
        assert_eq!(authorization(&read(current).unwrap(), "https://a.example/"), "Bearer current");
        let others = "{users: [{name: me, user: {token: mine}}]}";
        assert_eq!(authorization(&read(others).unwrap(), "https://a.example/"), "");
        assert_eq!(authorization(&WebhookCredentials::default(), "https://a.example/"), "");
        assert!(
            !format!("{credentials:?}").contains("secret") && !format!("{credentials:?}").contains("port")
        );
    }

    #[test]
    fn a_token_file_is_read_for_every_call() {
        let directory = tempfile::tempdir().unwrap();
        let document =
            yaml::parse_any(b"{users: [{name: '*', user: {tokenFile: token}}]}", &Limits::default());
        let credentials = WebhookCredentials::read(&document.unwrap(), directory.path()).unwrap();
        for token in ["first", "second"] {
            fs::write(directory.path().join("token"), format!("{token}\n")).unwrap();
            assert_eq!(authorization(&credentials, "https://a.example/"), format!("Bearer {token}"));
        }
    }

    #[test]
    fn credentials_that_cannot_be_used_are_errors() {
        for (user, expected) in [
            ("{token: a, username: b}", "users[0].user.username: Forbidden"),
            ("{client-certificate-data: YQ==}", "users[0].user.client-key: Required"),
            ("{client-key-data: YQ==}", "users[0].user.client-certificate: Required"),
            (
                "{client-certificate-data: '%', client-key-data: YQ==}",
                "users[0].user.client-certificate-data: Invalid",
            ),
            ("{client-certificate: none.pem, client-key-data: YQ==}", "none.pem"),
            ("{token: \"a\\nb\"}", "users[0].user.token: Invalid value: \"(withheld)\""),
        ] {
            let error = read(&format!("users: [{{name: a, user: {user}}}]")).unwrap_err();
            assert!(error.contains(expected), "{user}: {error}");
        }
    }
}
