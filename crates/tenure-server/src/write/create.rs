//! POST: a new object, with a name of its own or a generated one; and what its kind fills in at birth.

use crate::{
    Answer, Failure,
    kinds::{
        CreateContext, Scope,
        scalar::{Timestamp, time::Precision},
    },
    object::{Stored, key, meta_text, metadata, with_metadata},
    server::{Request, Server},
    target::Target,
    write::{
        allocate::Allocator,
        body,
        pipeline::{Next, Writing},
        strict_decoding::Complaints,
    },
};
use tenure_value::{Text, Value};

/// The letters and digits of generated names: no vowels, so no words.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// How many of them.
const SUFFIX: usize = 5;
/// The longest generated name.
const GENERATED: usize = 63;
/// How many names are tried before giving up.
const NAMES: usize = 8;
/// The namespaces that are there from the beginning.
const FIRST: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Server {
    /// Creates an object, or carries out an endpoint that is posted to.
    pub(crate) async fn create(&self, target: &Target, request: &Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        let options = request.query.write_options("CreateOptions")?;
        let encoding = target.offer().body(request.content_type())?;
        if !target.subresource.is_empty() {
            return self.act(target, request, options, encoding, format).await;
        }
        let read = body::read(&request.body, encoding, &target.served.resource.kind)?;
        let object = target.served.check_kind(&read.value)?;
        self.check_address(target, &object)?;
        // What is no version says nothing, and neither does zero.
        if meta_text(&object, "resourceVersion").parse::<u64>().is_ok_and(|version| version != 0) {
            return Err(Failure::bad_request(
                "metadata.resourceVersion: resourceVersion should not be set on objects to be created; leave it out",
            ));
        }
        if !target.served.resource.is_stored() {
            let (object, warnings) = Box::pin(self.admit_posted(target, request, &options, object)).await?;
            let answer = Box::pin(self.review(target, request, &object, format)).await?;
            return Ok(answer.with_warnings(&warnings));
        }
        let writing = Writing::new(self, target, request, options);
        let odd = read.about(target, &request.body, encoding);
        let (given, generate) =
            (meta_text(&object, "name").to_string(), meta_text(&object, "generateName").to_string());
        for _ in 0..NAMES {
            let name =
                if given.is_empty() && !generate.is_empty() { generated(&generate) } else { given.clone() };
            let named = with_metadata(&object, metadata(&object).with("name", name.as_str()));
            let document = if name.is_empty() { &object } else { &named };
            let next = Next::Whole(writing.body(document, None, &odd)?);
            if let Some(written) = writing.insert(next).await? {
                return self.show_written(target, request, format, &written);
            }
            if !given.is_empty() {
                self.check_absent(target, &name).await?;
            }
        }
        Err(Failure::conflict(
            "",
            &target.served.resource.name,
            &generate,
            "no free name was found; try again",
        ))
    }

    /// Checks that no object of that name is there.
    async fn check_absent(&self, target: &Target, name: &str) -> Result<(), Failure> {
        let resource = &target.served.resource;
        let Some(entry) = self.store.get(key(resource, &target.namespace, name).as_bytes()).await? else {
            return Ok(());
        };
        let mut failure = Failure::already_exists(&resource.group, &resource.name, name);
        if Stored::read(&entry)?.object.at(["metadata", "deletionTimestamp"]).is_some() {
            failure.message = format!("object is being deleted: {}", failure.message);
        }
        Err(failure)
    }

    /// Checks that a body's namespace is the path's.
    pub(crate) fn check_address(&self, target: &Target, object: &Value) -> Result<(), Failure> {
        let namespace = meta_text(object, "namespace");
        if target.served.resource.scope == Scope::Namespaced
            && !namespace.is_empty()
            && namespace != target.namespace
        {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Ok(())
    }

    /// Makes the namespaces that every client expects.
    pub(crate) async fn create_first_namespaces(&self) -> Result<(), Failure> {
        let served = self.served("", "v1", "namespaces")?;
        for name in FIRST {
            let body = Value::object([
                ("apiVersion", Value::from("v1")),
                ("kind", Value::from("Namespace")),
                ("metadata", Value::object([("name", Value::from(name))])),
            ]);
            let target = Target {
                verb: crate::target::Verb::Create,
                served: served.clone(),
                namespace: Text::default(),
                name: name.into(),
                subresource: Text::default(),
            };
            let request = Request {
                method: hyper::Method::POST,
                query: crate::Query::default(),
                headers: hyper::HeaderMap::new(),
                body: bytes::Bytes::new(),
            };
            if self.read(&target).await?.is_none() {
                let mut options = request.query.write_options("CreateOptions")?;
                options.manager = Some("tenure".into());
                let writing = Writing::new(self, &target, &request, options).skip_admission();
                writing.insert(Next::Whole(writing.body(&body, None, &Complaints::default())?)).await?;
            }
        }
        Ok(())
    }
}

impl Server {
    /// Finds the namespace of a new object, which must be there and not be going; its key and revision guard the
    /// write against a deletion that comes in between.
    pub(crate) async fn namespace_for_new(
        &self,
        target: &Target,
        name: &str,
    ) -> Result<Option<(String, Stored)>, Failure> {
        let resource = &target.served.resource;
        if resource.scope == Scope::Cluster {
            return Ok(None);
        }
        let namespaces =
            crate::kinds::registry().find("", "v1", "namespaces").ok_or_else(Failure::no_such_path)?;
        let namespace = &target.namespace;
        let key = key(namespaces, "", namespace);
        let Some(entry) = self.store.get(key.as_bytes()).await? else {
            return Err(Failure::not_found("", "namespaces", namespace));
        };
        let stored = Stored::read(&entry)?;
        if stored.object.at(["metadata", "deletionTimestamp"]).is_some() {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let cause = crate::Cause {
                reason: "NamespaceTerminating".into(),
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".into(),
                extension: None,
            };
            return Err(
                Failure::forbidden(&resource.group, &resource.name, name, &why).with_causes(vec![cause])
            );
        }
        Ok(Some((key, stored)))
    }
}

/// What the rules of a kind take from outside the object being created.
pub(crate) struct Around {
    now: Timestamp,
    uid: Text,
    allocator: Option<Allocator>,
}

impl Around {
    /// Gathers what the rules of the kind may ask for.
    pub async fn new(writing: &Writing<'_>, object: &Value) -> Result<Around, Failure> {
        let resource = &writing.target.served.resource;
        let services = resource.group.is_empty() && resource.name == "services";
        let allocator = if services { Some(Allocator::open(writing.api).await?) } else { None };
        let uid = meta_text(object, "uid").into();
        Ok(Around { now: writing.now, uid, allocator })
    }
}

impl CreateContext for Around {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn uid(&self) -> Text {
        self.uid.clone()
    }

    /// Returns `None`: the admission plugin `Priority` has resolved the class.
    fn priority_class(&self, _: &str) -> Option<(i64, Text)> {
        None
    }

    fn cluster_ip(&mut self) -> Option<Text> {
        self.allocator.as_mut().and_then(Allocator::cluster_ip)
    }

    fn node_port(&mut self) -> Option<u16> {
        self.allocator.as_mut().and_then(Allocator::node_port)
    }

    fn requester(&self) -> (Text, Text, Vec<Text>) {
        ("admin".into(), Text::default(), vec!["system:masters".into(), "system:authenticated".into()])
    }
}

/// Writes a time with whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.format(Precision::Seconds)
}

/// Makes a name from its beginning.
fn generated(base: &str) -> String {
    let end =
        base.char_indices().map(|(at, _)| at).take_while(|at| *at <= GENERATED - SUFFIX).last().unwrap_or(0);
    let base = if base.len() <= GENERATED - SUFFIX { base } else { &base[..end] };
    let random = uuid::Uuid::new_v4();
    let suffix = random
        .as_bytes()
        .iter()
        .take(SUFFIX)
        .map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()] as char);
    base.chars().chain(suffix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_keep_their_beginning_and_fit() {
        let name = generated("web-");
        assert!(name.starts_with("web-") && name.len() == 9, "{name}");
        assert_ne!(generated("web-"), generated("web-"));
        assert_eq!(generated(&"a".repeat(100)).len(), GENERATED);
    }
}
