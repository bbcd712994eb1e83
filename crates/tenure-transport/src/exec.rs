//! Exec credential plugins: a command that prints an `ExecCredential` with a token, a client certificate, or both.

use crate::{ConnectError, kubeconfig::Entry, tls::Identity};
use std::{ffi::OsString, io::IsTerminal, path::Path, process::Stdio};
use tenure_value::{Limits, Object, Value, base64, json};
use tokio::process::Command;

/// A plugin as the kubeconfig describes it.
#[derive(Debug)]
pub(crate) struct ExecPlugin {
    command: OsString,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    install_hint: String,
    interactive: bool,
    /// The `ExecCredential` that the plugin receives in KUBERNETES_EXEC_INFO.
    info: Value,
}

/// What a plugin returned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Obtained {
    pub token: Option<String>,
    pub identity: Option<Identity>,
}

impl ExecPlugin {
    /// Reads the `exec` field of a user.
    pub fn read(exec: &Value, directory: &Path, cluster: &Entry) -> Result<ExecPlugin, ConnectError> {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let list = |name: &str| exec.get(name).and_then(Value::as_array).into_iter().flatten();
        let command = text(exec, "command");
        if command.is_empty() {
            return Err(ConnectError::config("the exec credential plugin of the user has no command"));
        }
        // As in a shell, a name is looked up in PATH and a path is not.
        let command = match command.contains('/') {
            true => directory.join(&command).into_os_string(),
            false => command.into(),
        };
        let interactive = match text(exec, "interactiveMode").as_str() {
            "Never" => false,
            "Always" if !std::io::stdin().is_terminal() => {
                return Err(ConnectError::config(
                    "the exec credential plugin of the user is interactive, and standard input is not a terminal",
                ));
            }
            _ => std::io::stdin().is_terminal(),
        };
        let mut spec = Object::default().with("interactive", interactive);
        if exec.get("provideClusterInfo").and_then(Value::as_bool) == Some(true) {
            spec = spec.with("cluster", cluster_info(cluster));
        }
        let info = Object::default()
            .with("apiVersion", text(exec, "apiVersion"))
            .with("kind", "ExecCredential")
            .with("spec", spec);
        Ok(ExecPlugin {
            command,
            arguments: list("args").filter_map(Value::as_str).map(str::to_owned).collect(),
            environment: list("env").map(|entry| (text(entry, "name"), text(entry, "value"))).collect(),
            install_hint: text(exec, "installHint"),
            interactive,
            info: Value::Object(info),
        })
    }

    /// Runs the plugin.
    pub async fn run(&self) -> Result<Obtained, ConnectError> {
        let name = self.command.to_string_lossy();
        let failed = |problem: String| {
            ConnectError::config(format!("the exec credential plugin {name} failed: {problem}"))
        };
        let output = Command::new(&self.command)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("KUBERNETES_EXEC_INFO", json::to_string(&self.info))
            .stdin(if self.interactive { Stdio::inherit() } else { Stdio::null() })
            .stderr(Stdio::inherit())
            .output()
            .await;
        let output = output.map_err(|error| match self.install_hint.trim() {
            "" => failed(error.to_string()),
            hint => failed(format!("{error}; {hint}")),
        })?;
        if !output.status.success() {
            return Err(failed(output.status.to_string()));
        }
        let credential =
            json::parse(&output.stdout, &Limits::default()).map_err(|error| failed(error.to_string()))?;
        obtained(&credential).map_err(failed)
    }
}

fn obtained(credential: &Value) -> Result<Obtained, String> {
    let text =
        |name: &str| credential.at(["status", name]).and_then(Value::as_str).filter(|text| !text.is_empty());
    let identity = match (text("clientCertificateData"), text("clientKeyData")) {
        (Some(certificate), Some(key)) => Some(Identity { certificate: certificate.into(), key: key.into() }),
        (None, None) => None,
        _ => return Err("clientCertificateData and clientKeyData must be given together".to_owned()),
    };
    let token = text("token").map(str::to_owned);
    if token.is_none() && identity.is_none() {
        return Err("its output has neither status.token nor status.clientCertificateData".to_owned());
    }
    Ok(Obtained { token, identity })
}

/// Returns the cluster as plugins receive it.
fn cluster_info(cluster: &Entry) -> Object {
    let mut info = Object::default();
    for name in ["server", "tls-server-name", "proxy-url"] {
        if let Some(text) = cluster.text(name) {
            info = info.with(name, text);
        }
    }
    if cluster.flag("insecure-skip-tls-verify") {
        info = info.with("insecure-skip-tls-verify", true);
    }
    if let Ok(Some(authority)) = cluster.bytes("certificate-authority") {
        info = info.with("certificate-authority-data", base64::encode(authority));
    }
    let extensions = cluster.get("extensions").and_then(Value::as_array).into_iter().flatten();
    let exec = |extension: &&Value| {
        extension.get("name").and_then(Value::as_str) == Some("client.authentication.k8s.io/exec")
    };
    match extensions.into_iter().find(exec).and_then(|extension| extension.get("extension")) {
        Some(config) => info.with("config", config.clone()),
        None => info,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_returns_a_token_or_a_certificate() {
        for (status, expected) in [
            (r#"{"token":"t"}"#, Ok((Some("t"), false))),
            (r#"{"clientCertificateData":"c","clientKeyData":"k"}"#, Ok((None, true))),
            (r#"{"clientCertificateData":"c"}"#, Err("together")),
            (r#"{}"#, Err("neither status.token")),
        ] {
            let credential = format!(r#"{{"kind":"ExecCredential","status":{status}}}"#).parse().unwrap();
            match (obtained(&credential), expected) {
                (Ok(found), Ok((token, certificate))) => {
                    assert_eq!((found.token.as_deref(), found.identity.is_some()), (token, certificate));
                }
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (found, expected) => panic!("{status}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
