//! Objects named on the command line, as `kubectl` names them: `KIND/NAME…`, `KIND NAME…`, or the objects of a kind that
//! selectors match.

use crate::Error;
use clap::Args;
use tenure_client::{Cluster, Found, Resource, Selection};

/// The arguments and flags that name live objects.
#[derive(Args, Clone, Debug, Default)]
pub struct Targets {
    /// The objects: KIND/NAME, or KIND and names, or KIND alone with a selector or --all.
    #[arg(value_name = "KIND/NAME")]
    pub words: Vec<String>,
    /// Select objects by label, such as app=web,tier!=cache.
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub selector: Option<String>,
    /// Select objects by field, such as metadata.name=web.
    #[arg(long, value_name = "FIELDS")]
    pub field_selector: Option<String>,
    /// Select all objects of the kind.
    #[arg(long)]
    pub all: bool,
    /// Select in all namespaces.
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
}

impl Targets {
    /// Takes the words that are fields out of the objects: names of objects do not begin as paths do.
    pub fn take_fields(&mut self) -> Vec<String> {
        let (fields, words) = std::mem::take(&mut self.words)
            .into_iter()
            .partition(|word| word.starts_with(['.', '/', '{', '$']));
        self.words = words;
        fields
    }

    /// Whether no object is named.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn selects(&self) -> bool {
        self.all || self.all_namespaces || self.selector.is_some() || self.field_selector.is_some()
    }

    /// Splits the words into kinds and names; a kind without a name stands for the selected objects.
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
                        "{word}: name every object as KIND/NAME, like the ones before it"
                    )));
                }
            }
        }
        match kind {
            Some(kind) if pairs.is_empty() && self.selects() => pairs.push((kind, None)),
            Some(kind) if pairs.is_empty() => {
                return Err(Error::usage(format!(
                    "{kind}: name the objects as {kind}/NAME, select them with -l LABELS, or take all with --all"
                )));
            }
            _ if self.selects() => {
                return Err(Error::usage("give names or a selector, not both"));
            }
            _ => {}
        }
        Ok(pairs)
    }

    /// Returns what to follow: kinds with the selections of their objects, which need not exist. A kind alone stands for all its
    /// objects.
    pub async fn followed(
        &self,
        cluster: &Cluster,
    ) -> Result<Vec<(Resource, Option<String>, Selection)>, Error> {
        let all = self.all || (self.words.len() == 1 && !self.words[0].contains('/'));
        let mut followed = Vec::new();
        for (kind, name) in (Targets { all, ..self.clone() }).pairs()? {
            let resource = cluster.kind_named(kind).await?;
            let namespace = (!self.all_namespaces).then(|| cluster.namespace.clone());
            let selection = match name {
                Some(name) => Selection { labels: self.selector.clone(), ..Selection::of_name(name) },
                None => Selection { labels: self.selector.clone(), fields: self.field_selector.clone() },
            };
            followed.push((resource, namespace, selection));
        }
        Ok(followed)
    }

    /// Reads the objects from a server.
    pub async fn read(&self, cluster: &Cluster) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        for (kind, name) in self.pairs()? {
            let resource = cluster.kind_named(kind).await?;
            match name {
                Some(name) => found.push(cluster.object(&resource, name).await?),
                None => {
                    let namespace = (!self.all_namespaces).then_some(cluster.namespace.as_str());
                    let selection =
                        Selection { labels: self.selector.clone(), fields: self.field_selector.clone() };
                    found.extend(cluster.select(&resource, namespace, &selection).await?);
                }
            }
        }
        Ok(found)
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
            ("deploy", "name the objects"),
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
