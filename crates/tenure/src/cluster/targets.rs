//! Objects named on the command line, as `kubectl` names them: `KIND/NAME…`, `KIND NAME…`, or all of a kind that a
//! selector matches.

use super::{
    Cluster, Resource,
    resource::{Scope, escaped},
};
use crate::{
    Error,
    document::{Document, Place},
    live::LiveObject,
};
use clap::Args;
use tenure_value::{Object, Value};

/// How many objects of a list are asked for at once.
const PAGE: usize = 500;

/// The arguments and flags that name live objects.
#[derive(Args, Clone, Debug, Default)]
pub struct Targets {
    /// The objects: KIND/NAME, or KIND and names, or KIND alone with a selector or --all.
    #[arg(value_name = "KIND/NAME")]
    pub words: Vec<String>,
    /// Take objects whose labels match, such as app=web,tier!=cache.
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub selector: Option<String>,
    /// Take objects whose fields match, such as metadata.name=web.
    #[arg(long, value_name = "FIELDS")]
    pub field_selector: Option<String>,
    /// Take all objects of the kind.
    #[arg(long)]
    pub all: bool,
    /// Look in all namespaces.
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
}

/// A live object and the kind it is of.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its kind.
    pub resource: Resource,
    /// The object as the server shows it.
    pub shown: Value,
}

impl Found {
    /// Splits it into what it says and who holds it.
    pub fn read(&self) -> Result<LiveObject, Error> {
        LiveObject::read(&self.shown).map_err(|error| Error::strange(&self.path(), error))
    }

    /// Returns it as a document that was read from its path.
    pub fn document(&self) -> Document {
        Document { value: self.shown.clone(), place: Place::of(self.path().as_ref()) }
    }

    /// Returns its path.
    pub fn path(&self) -> String {
        let text = |name| self.shown.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default();
        self.resource.path(text("namespace"), text("name"))
    }
}

impl Targets {
    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn selects(&self) -> bool {
        self.all || self.all_namespaces || self.selector.is_some() || self.field_selector.is_some()
    }

    /// Splits the words into kinds and names; a kind without a name stands for all that is selected.
    fn pairs(&self) -> Result<Vec<(&str, Option<&str>)>, Error> {
        let mut pairs = Vec::new();
        let mut kind = None;
        for word in &self.words {
            match (word.split_once('/'), kind) {
                (Some((kind, name)), None) if !kind.is_empty() && !name.is_empty() => {
                    pairs.push((kind, Some(name)))
                }
                (Some(_), _) => {
                    return Err(Error::usage(format!("{word}: name objects as KIND/NAME, or as KIND NAME")));
                }
                (None, Some(kind)) => pairs.push((kind, Some(word.as_str()))),
                (None, None) if pairs.is_empty() => kind = Some(word.as_str()),
                (None, None) => {
                    return Err(Error::usage(format!(
                        "{word}: name every object as KIND/NAME, as the ones before it"
                    )));
                }
            }
        }
        match kind {
            Some(kind) if pairs.is_empty() && self.selects() => pairs.push((kind, None)),
            Some(kind) if pairs.is_empty() => {
                return Err(Error::usage(format!(
                    "{kind}: which ones? Name them as {kind}/NAME, select them with -l LABELS, or take all with --all"
                )));
            }
            _ if self.selects() => {
                return Err(Error::usage("give names or a selector, not both"));
            }
            _ => {}
        }
        Ok(pairs)
    }
}

impl Cluster {
    /// Returns the objects that are named.
    pub async fn objects(&self, targets: &Targets) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        for (kind, name) in targets.pairs()? {
            let resource = self.kind_called(kind).await?;
            match name {
                Some(name) => {
                    let shown = self.find(&resource.path(&self.namespace, name)).await?;
                    let shown = shown.ok_or_else(|| self.missing(&resource, name))?;
                    found.push(Found { resource, shown });
                }
                None => {
                    let namespace = (!targets.all_namespaces).then_some(self.namespace.as_str());
                    found.extend(self.select_in(&resource, namespace, targets).await?);
                }
            }
        }
        Ok(found)
    }

    /// Returns every object of the server that can be listed, each once however many versions it has.
    pub async fn everything(&self) -> Result<Vec<Found>, Error> {
        let mut seen: Vec<(String, String)> = Vec::new();
        let mut found = Vec::new();
        for resource in self.kinds().await?.iter() {
            let name = (resource.group.clone(), resource.plural.clone());
            if seen.contains(&name) || !resource.verbs.iter().any(|verb| verb == "list") {
                continue;
            }
            seen.push(name);
            found.extend(self.select_in(resource, None, &Targets::default()).await?);
        }
        Ok(found)
    }

    fn missing(&self, resource: &Resource, name: &str) -> Error {
        let what = format!("{}/{name}", resource.word());
        let place = match resource.scope {
            Scope::Namespaced => format!("namespace {}", self.namespace),
            Scope::Cluster => self.server.clone(),
        };
        Error::Missing { what, place }
    }

    /// Returns the objects of a kind that selectors match, in a namespace or everywhere.
    pub async fn select_in(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        targets: &Targets,
    ) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        let mut query = format!("?limit={PAGE}");
        for (name, value) in
            [("labelSelector", &targets.selector), ("fieldSelector", &targets.field_selector)]
        {
            if let Some(value) = value {
                query += &format!("&{name}={}", escaped(value));
            }
        }
        let mut more = String::new();
        loop {
            let list = self.get(&format!("{}{query}{more}", resource.collection(namespace))).await?;
            let items =
                list.get("items").and_then(Value::as_array).map(|items| items.items()).unwrap_or_default();
            let kinds = [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())];
            for item in items {
                // Items of a list do not say what the list says.
                let item = item.as_object().cloned().unwrap_or_default();
                let item =
                    kinds.iter().fold(item, |item, (name, value)| Object::with(&item, *name, value.as_str()));
                found.push(Found { resource: resource.clone(), shown: Value::Object(item) });
            }
            match list.at(["metadata", "continue"]).and_then(Value::as_str).filter(|token| !token.is_empty())
            {
                Some(token) => more = format!("&continue={}", escaped(token)),
                None => return Ok(found),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(line: &str) -> Targets {
        let (words, flags): (Vec<&str>, Vec<&str>) =
            line.split_whitespace().partition(|word| !word.starts_with('-'));
        Targets {
            words: words.into_iter().map(String::from).collect(),
            selector: flags.contains(&"-l").then(|| "a=b".into()),
            all: flags.contains(&"--all"),
            ..Targets::default()
        }
    }

    #[test]
    fn objects_are_named_as_kubectl_names_them() {
        for (line, expected) in [
            ("deploy/web svc/web", vec![("deploy", Some("web")), ("svc", Some("web"))]),
            ("deploy web api", vec![("deploy", Some("web")), ("deploy", Some("api"))]),
            ("deploy --all", vec![("deploy", None)]),
            ("deploy -l", vec![("deploy", None)]),
        ] {
            assert_eq!(targets(line).pairs().unwrap(), expected, "{line}");
        }
        for (line, part) in [
            ("deploy", "which ones?"),
            ("deploy/", "KIND/NAME"),
            ("deploy svc/web", "KIND/NAME"),
            ("svc/web web", "KIND/NAME"),
            ("svc/web -l", "not both"),
        ] {
            let error = targets(line).pairs().unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
