//! The files by which commands find the recorder of a cluster: the default directory, and the address and token of the recorder that has
//! a directory open. Only its user can read them.

use crate::state;
use std::{
    io,
    path::{Path, PathBuf},
};
use tenure_transport::{HistoryServer, random_hex};
use tenure_value::{Limits, Value, json, yaml};

/// The file with the address and the token of the recorder that runs.
const ENDPOINT: &str = "endpoint.json";

/// Returns the default directory for the history of a server.
pub fn default_directory(server: &str) -> Option<PathBuf> {
    let state = state::directory()?;
    let address = server.trim_start_matches("https://").trim_start_matches("http://");
    let name: String =
        address.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    Some(state.join("history").join(name))
}

/// Returns a new token.
pub fn new_token() -> io::Result<String> {
    random_hex::<32>().map_err(io::Error::other)
}

/// Writes how to reach the recorder of a directory.
pub fn announce(directory: &Path, server: &HistoryServer) -> io::Result<()> {
    let document = Value::object([
        ("url", Value::from(server.url.as_str())),
        ("token", Value::from(server.token.as_deref().unwrap_or_default())),
    ]);
    tenure_files::replace(&directory.join(ENDPOINT), &json::to_vec(&document))
}

/// Writes a kubeconfig for the audit webhook of an API server, and returns its token. One that is there keeps its token: the API server
/// has read it, and sends events to the next recorder, too.
pub fn write_webhook(file: &Path, url: &str) -> io::Result<String> {
    let token = match webhook_token(file) {
        Some(token) => token,
        None => new_token()?,
    };
    // A kube-apiserver sends no token over plain HTTP, so that the path has it, too.
    let path = if url.starts_with("http://") { format!("/{token}") } else { String::new() };
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: recorder\n\
         clusters: [{{name: recorder, cluster: {{server: \"{url}{path}\"}}}}]\n\
         users: [{{name: recorder, user: {{token: \"{token}\"}}}}]\n\
         contexts: [{{name: recorder, context: {{cluster: recorder, user: recorder}}}}]\n"
    );
    tenure_files::replace(file, text.as_bytes())?;
    Ok(token)
}

fn webhook_token(file: &Path) -> Option<String> {
    let kubeconfig = yaml::parse(&std::fs::read(file).ok()?, &Limits::default()).ok()?;
    let user = kubeconfig.get("users")?.as_array()?.iter().next()?;
    user.at(["user", "token"])?.as_str().filter(|token| !token.is_empty()).map(str::to_owned)
}

/// Removes what [`announce`] wrote.
pub fn withdraw(directory: &Path) {
    // A file that stays names a recorder that does not answer, which readers notice.
    let _ = std::fs::remove_file(directory.join(ENDPOINT));
}

/// Returns how to reach the recorder of a directory, which may have ended since.
pub fn running(directory: &Path) -> Option<HistoryServer> {
    let document = json::parse(&std::fs::read(directory.join(ENDPOINT)).ok()?, &Limits::default()).ok()?;
    let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(HistoryServer { url: text("url")?, token: Some(text("token")?), certificate_authority: None })
}
