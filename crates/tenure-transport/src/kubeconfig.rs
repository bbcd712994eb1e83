//! Kubeconfig files. Several files are merged as `kubectl` merges them: the first entry of a name counts, relative paths are
//! relative to the file that contains them.

use crate::{ConnectError, did_you_mean};
use std::path::{Path, PathBuf};
use tenure_value::{Limits, Value, base64, yaml};

/// The merged entries of kubeconfig files.
#[derive(Debug, Default)]
pub(crate) struct Kubeconfig {
    clusters: Vec<Entry>,
    users: Vec<Entry>,
    pub contexts: Vec<Entry>,
    pub current_context: Option<String>,
}

/// A named cluster, user or context.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: String,
    value: Value,
    directory: PathBuf,
}

impl Kubeconfig {
    /// Reads the files of $KUBECONFIG, else `~/.kube/config`; `None` if there is none.
    pub fn find() -> Result<Option<Kubeconfig>, ConnectError> {
        let files: Vec<PathBuf> = match std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
            Some(list) => std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
            None => std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
        };
        let existing: Vec<PathBuf> = files.iter().filter(|file| file.exists()).cloned().collect();
        if existing.is_empty() {
            return Ok(None);
        }
        Kubeconfig::read(&existing).map(Some)
    }

    /// Reads and merges files.
    pub fn read(files: &[PathBuf]) -> Result<Kubeconfig, ConnectError> {
        let mut merged = Kubeconfig::default();
        for file in files {
            let problem =
                |error: &dyn std::fmt::Display| ConnectError::config(format!("{}: {error}", file.display()));
            let text = std::fs::read(file).map_err(|error| problem(&error))?;
            let value = yaml::parse_any(&text, &Limits::default()).map_err(|error| problem(&error))?;
            merged.merge(&value, file.parent().unwrap_or(Path::new("")));
        }
        Ok(merged)
    }

    fn merge(&mut self, file: &Value, directory: &Path) {
        let lists = [
            ("clusters", "cluster", &mut self.clusters),
            ("users", "user", &mut self.users),
            ("contexts", "context", &mut self.contexts),
        ];
        for (list, field, merged) in lists {
            let entries = file.get(list).and_then(Value::as_array).into_iter().flatten();
            for entry in entries {
                let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
                if merged.iter().all(|known| known.name != name) {
                    let value = entry.get(field).cloned().unwrap_or_default();
                    merged.push(Entry { name: name.to_owned(), value, directory: directory.to_owned() });
                }
            }
        }
        let current = file.get("current-context").and_then(Value::as_str).filter(|name| !name.is_empty());
        self.current_context = self.current_context.take().or_else(|| current.map(str::to_owned));
    }

    /// Returns a context by name, or the current one; `None` if neither is given.
    pub fn context(&self, name: Option<&str>) -> Result<Option<&Entry>, ConnectError> {
        match name.or(self.current_context.as_deref()) {
            Some(name) => entry(&self.contexts, "context", name).map(Some),
            None => Ok(None),
        }
    }

    /// Returns a cluster by name.
    pub fn cluster(&self, name: &str) -> Result<&Entry, ConnectError> {
        entry(&self.clusters, "cluster", name)
    }

    /// Returns a user by name.
    pub fn user(&self, name: &str) -> Result<&Entry, ConnectError> {
        entry(&self.users, "user", name)
    }
}

fn entry<'k>(entries: &'k [Entry], what: &str, name: &str) -> Result<&'k Entry, ConnectError> {
    entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let nearest = did_you_mean(name, names.iter().copied());
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        ConnectError::config(format!("the kubeconfig has no {what} named {name:?}, only: {known}{nearest}"))
    })
}

impl Entry {
    /// Returns a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// Returns a text that is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// Whether a field is true.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool) == Some(true)
    }

    /// Returns the name of a file, relative to the kubeconfig.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(|path| self.directory.join(path))
    }

    /// Returns the directory of the file that contains the entry.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns bytes that are inline under `NAME-data` in base64, or in the file that `NAME` names.
    pub fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, ConnectError> {
        let inline = format!("{name}-data");
        if let Some(text) = self.text(&inline) {
            let decoded = base64::decode(text.split_whitespace().collect::<String>());
            let problem = |at| {
                ConnectError::config(format!(
                    "{}: {inline} is not base64: illegal data at byte {at}",
                    self.name
                ))
            };
            return decoded.map(Some).map_err(problem);
        }
        let Some(path) = self.path(name) else { return Ok(None) };
        let read = std::fs::read(&path);
        read.map(Some).map_err(|error| ConnectError::config(format!("{name} {}: {error}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(files: &[&str]) -> Kubeconfig {
        let mut merged = Kubeconfig::default();
        for (at, text) in files.iter().enumerate() {
            let value = yaml::parse_any(text.as_bytes(), &Limits::default()).unwrap();
            merged.merge(&value, Path::new(&format!("/dir{at}")));
        }
        merged
    }

    #[test]
    fn the_first_file_counts_and_paths_are_relative_to_their_file() {
        let config = merged(&[
            "current-context: ''\nclusters: [{name: a, cluster: {server: one}}]",
            "current-context: x\nclusters: [{name: a, cluster: {server: two}}, {name: b, cluster: {certificate-authority: ca.crt}}]",
            "current-context: y\ncontexts: [{name: x, context: {cluster: a}}]",
        ]);
        assert_eq!(config.cluster("a").unwrap().text("server"), Some("one"));
        assert_eq!(config.cluster("b").unwrap().path("certificate-authority"), Some("/dir1/ca.crt".into()));
        assert_eq!(config.context(None).unwrap().unwrap().text("cluster"), Some("a"));
        let error = config.user("z").unwrap_err().to_string();
        assert!(error.contains(r#"no user named "z", only: none"#), "{error}");
        let error = config.context(Some("z")).unwrap_err().to_string();
        assert!(error.contains(r#"no context named "z", only: x; set KUBECONFIG"#), "{error}");
    }

    #[test]
    fn inline_data_comes_before_files() {
        let config = merged(&[
            "users: [{name: u, user: {client-key-data: aGk=, client-key: /nowhere, token-data: '!'}}]",
        ]);
        let user = config.user("u").unwrap();
        assert_eq!(user.bytes("client-key").unwrap(), Some(b"hi".to_vec()));
        assert_eq!(user.bytes("client-certificate").unwrap(), None);
        assert!(user.bytes("token").unwrap_err().to_string().contains("token-data is not base64"));
    }
}
