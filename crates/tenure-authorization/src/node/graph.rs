//! Which objects are related to which nodes: those that the pods of a node refer to, the persistent volumes of their claims, the
//! secrets of these volumes, and what names a node itself.
//!
//! An update costs what the object refers to, and a question one lookup; for secrets also as many as persistent volumes use it.

use super::{
    RELATING, Related,
    references::{self, Name},
};
use std::collections::{BTreeSet, HashMap};
use tenure_value::{Text, Value};

/// The relations between nodes and objects.
#[derive(Clone, Debug, Default)]
pub struct NodeGraph {
    /// Pods, volume attachments and resource slices, with their node and what they refer to.
    sources: HashMap<(Related, Name), Source>,
    /// The nodes that use an object by a pod, with the number of such pods.
    nodes: HashMap<(Related, Name), HashMap<Text, usize>>,
    /// Persistent volumes with their claim and secrets.
    volumes: HashMap<Text, (Name, Vec<Name>)>,
    /// The persistent volumes that use a secret.
    volumes_of: HashMap<Name, BTreeSet<Text>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    node: Text,
    references: Vec<(Related, Text)>,
}

/// What an object of a resource contributes to the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relations(Contribution);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Contribution {
    Source(Related, Name, Option<Source>),
    Volume(Text, Option<(Name, Vec<Name>)>),
}

impl Relations {
    /// Reads what an object of one of the resources of [`RELATING`] relates; `None` for other resources.
    pub fn of_object(resource: &str, object: &Value) -> Option<Relations> {
        let text = |path: [&str; 2]| Text::from(object.at(path).and_then(Value::as_str).unwrap_or_default());
        let (namespace, name) = (text(["metadata", "namespace"]), text(["metadata", "name"]));
        let Relations(mut contribution) = Relations::of_deleted(resource, &namespace, &name)?;
        match &mut contribution {
            Contribution::Volume(_, volume) => *volume = references::of_volume(object),
            Contribution::Source(related, _, source) => {
                let node = text(["spec", "nodeName"]);
                let references = match related {
                    Related::Pod => references::of_pod(object),
                    _ => Vec::new(),
                };
                *source = (!node.is_empty()).then_some(Source { node, references });
            }
        }
        Some(Relations(contribution))
    }

    /// Returns that an object of one of the resources of [`RELATING`] relates nothing any more; `None` for other resources.
    pub fn of_deleted(resource: &str, namespace: &str, name: &str) -> Option<Relations> {
        let [pods, volumes, attachments, slices, certificates] = RELATING.map(|relating| relating.resource);
        let source = |related| Contribution::Source(related, (namespace.into(), name.into()), None);
        Some(Relations(match resource {
            _ if resource == pods => source(Related::Pod),
            _ if resource == attachments => source(Related::VolumeAttachment),
            _ if resource == slices => source(Related::ResourceSlice),
            _ if resource == certificates => source(Related::PodCertificateRequest),
            _ if resource == volumes => Contribution::Volume(name.into(), None),
            _ => return None,
        }))
    }
}

impl NodeGraph {
    /// Whether the graph has these relations already.
    pub fn has(&self, Relations(relations): &Relations) -> bool {
        match relations {
            Contribution::Source(related, name, source) => {
                self.sources.get(&(*related, name.clone())) == source.as_ref()
            }
            Contribution::Volume(name, volume) => self.volumes.get(name) == volume.as_ref(),
        }
    }

    /// Replaces the relations of an object.
    pub fn set(&mut self, Relations(relations): Relations) {
        match relations {
            Contribution::Source(related, name, source) => self.set_source(related, name, source),
            Contribution::Volume(name, volume) => self.set_volume(name, volume),
        }
    }

    /// Removes the relations of all objects of a resource but these.
    pub fn retain(&mut self, resource: &str, keep: impl Fn(&str, &str) -> bool) {
        let Some(Relations(example)) = Relations::of_deleted(resource, "", "") else { return };
        match example {
            Contribution::Source(contributed, ..) => {
                let gone = self
                    .sources
                    .keys()
                    .filter(|(related, (namespace, name))| *related == contributed && !keep(namespace, name));
                for (related, name) in gone.cloned().collect::<Vec<_>>() {
                    self.set_source(related, name, None);
                }
            }
            Contribution::Volume(..) => {
                for name in self.volumes.keys().filter(|name| !keep("", name)).cloned().collect::<Vec<_>>() {
                    self.set_volume(name, None);
                }
            }
        }
    }

    /// Whether an object is related to a node.
    pub fn relates(&self, node: &str, related: Related, namespace: &str, name: &str) -> bool {
        let key = (Text::from(namespace), Text::from(name));
        match related {
            Related::Pod
            | Related::VolumeAttachment
            | Related::ResourceSlice
            | Related::PodCertificateRequest => {
                self.sources.get(&(related, key)).is_some_and(|source| source.node == node)
            }
            Related::Volume => self.has_volume(node, name),
            Related::Secret => {
                let volumes = self.volumes_of.get(&key);
                self.is_used(node, related, key)
                    || volumes
                        .is_some_and(|volumes| volumes.iter().any(|volume| self.has_volume(node, volume)))
            }
            _ => self.is_used(node, related, key),
        }
    }

    /// Whether a pod of a node refers to an object.
    fn is_used(&self, node: &str, related: Related, name: Name) -> bool {
        self.nodes.get(&(related, name)).is_some_and(|nodes| nodes.contains_key(node))
    }

    fn has_volume(&self, node: &str, name: &str) -> bool {
        self.volumes.get(name).is_some_and(|(claim, _)| self.is_used(node, Related::Claim, claim.clone()))
    }

    fn set_source(&mut self, related: Related, name: Name, source: Option<Source>) {
        let namespace = name.0.clone();
        for (related, object) in source.iter().flat_map(|source| &source.references) {
            let nodes = self.nodes.entry((*related, (namespace.clone(), object.clone()))).or_default();
            *nodes
                .entry(source.as_ref().map(|source| source.node.clone()).unwrap_or_default())
                .or_default() += 1;
        }
        let replaced = match source {
            Some(source) => self.sources.insert((related, name), source),
            None => self.sources.remove(&(related, name)),
        };
        let Some(replaced) = replaced else { return };
        for (related, object) in replaced.references {
            let key = (related, (namespace.clone(), object));
            let Some(nodes) = self.nodes.get_mut(&key) else { continue };
            if let Some(count) = nodes.get_mut(&replaced.node) {
                *count -= 1;
                if *count == 0 {
                    nodes.remove(&replaced.node);
                }
            }
            if nodes.is_empty() {
                self.nodes.remove(&key);
            }
        }
    }

    fn set_volume(&mut self, name: Text, volume: Option<(Name, Vec<Name>)>) {
        if let Some((_, secrets)) = self.volumes.remove(&name) {
            for secret in secrets {
                let Some(volumes) = self.volumes_of.get_mut(&secret) else { continue };
                volumes.remove(&name);
                if volumes.is_empty() {
                    self.volumes_of.remove(&secret);
                }
            }
        }
        let Some(volume) = volume else { return };
        for secret in &volume.1 {
            self.volumes_of.entry(secret.clone()).or_default().insert(name.clone());
        }
        self.volumes.insert(name, volume);
    }
}
