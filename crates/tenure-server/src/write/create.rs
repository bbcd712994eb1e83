//! POST of an object, with a name of its own or a generated one.

use super::{
    Writer, body,
    commit::Written,
    request::{Next, ObjectUpdate, WriteRequest},
    retry::pause,
};
use tenure_builtin::role::{INITIAL_NAMESPACES, NAMESPACES};
use tenure_catalog::{
    Target, Verb,
    object::{Stored, key, meta_text, metadata, with_metadata},
};
use tenure_http::{Encoding, Request, Response, TextErrors, WriteOptions};
use tenure_meta::{ApiError, GroupVersionResource, Scope};
use tenure_store::Revision;
use tenure_value::{Text, Value};

/// The letters and digits of generated names: no vowels, so no words.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// The length of a generated suffix.
const SUFFIX: usize = 5;
/// The longest generated name.
const GENERATED: usize = 63;
/// How many generated names are tried.
const NAMES: usize = 8;
/// A new object.
struct Create<'a> {
    document: &'a Value,
    errors: &'a TextErrors,
}

impl ObjectUpdate for Create<'_> {
    fn next(&self, write: &WriteRequest<'_>, _: Option<&Stored>) -> Result<Next, ApiError> {
        let body = write.decode(self.document, None, self.errors)?;
        let placed = check_namespace(write.target, self.document);
        placed.map_err(|error| error.with_warnings(body.warnings.clone()))?;
        Ok(Next::Whole(body))
    }
}

impl Writer {
    /// Creates an object from the body of a request.
    pub async fn create(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer())?;
        let encoding = request.encoding(target.offer())?;
        let options = request.query.write_options("CreateOptions")?;
        let posted = Posted::read(target, request, encoding)?;
        let object = &posted.object;
        // Anything that is not a number is ignored, and so is zero.
        let version = meta_text(object, "resourceVersion").parse().ok().filter(|version| *version != 0);
        let write = WriteRequest::new(self, target, request, options)
            .with_version(version.map(Revision::from_number));
        let (given, prefix) = (meta_text(object, "name"), meta_text(object, "generateName"));
        let write = write.with_generated_name(given.is_empty() && !prefix.is_empty());
        if given.is_empty() && request.audit.is_recording() {
            // The audit event shows the object as it was sent, without the name that it gets.
            let body = write.decode(object, None, &posted.errors)?;
            request.audit.set_request_object(&body.object, &body.version);
        }
        for attempt in 0..NAMES {
            let generated = match (given, prefix) {
                ("", prefix) if !prefix.is_empty() => {
                    Some(generated(prefix, self.objects.identifiers.draw(&["name", prefix])))
                }
                _ => None,
            };
            let named = generated.map(|name| with_metadata(object, metadata(object).with("name", name)));
            let document = named.as_ref().unwrap_or(object);
            let create = Create { document, errors: &posted.errors };
            let mut warnings = Vec::new();
            if let Some(written) = self.attempt_warned(&write, &create, None, &mut warnings).await? {
                self.accept_names(target, meta_text(&written.stored.object, "name")).await;
                return self.respond(target, request, format, &written);
            }
            if !given.is_empty() {
                let absent = self.check_absent(target, given).await;
                absent.map_err(|error| error.with_warnings(warnings))?;
            }
            pause(attempt).await;
        }
        Err(ApiError::conflict(
            "",
            &target.handler.resource.name,
            prefix,
            "no free name was found; try again",
        ))
    }

    /// Decodes what is posted and not stored; returns it with the warnings about it.
    pub fn decode_posted(
        &self,
        target: &Target,
        request: &Request,
        options: &WriteOptions,
        posted: &Posted,
    ) -> Result<(Value, Vec<String>), ApiError> {
        let write = WriteRequest::new(self, target, request, options.clone());
        let body = write.decode(&posted.object, None, &posted.errors)?;
        check_namespace(target, &posted.object)?;
        request.audit.set_request_object(&body.object, &body.version);
        Ok((body.object, body.warnings))
    }

    /// Returns the name under which a new object is stored: admission may have given it another one, which must be free.
    pub(super) async fn admitted_name(
        &self,
        write: &WriteRequest<'_>,
        name: Text,
        object: &Value,
    ) -> Result<Text, ApiError> {
        let admitted = meta_text(object, "name");
        if admitted == name || admitted.is_empty() {
            return Ok(admitted.into());
        }
        self.check_absent(write.target, admitted).await.map_err(|mut error| {
            if write.is_name_generated {
                error.message.push_str(", the server was not able to generate a unique name for the object");
                error.retry_after = Some(1);
            }
            error
        })?;
        Ok(admitted.into())
    }

    /// Checks that no object of that name exists.
    async fn check_absent(&self, target: &Target, name: &str) -> Result<(), ApiError> {
        let resource = &target.handler.resource;
        let key = key(resource, &target.namespace, name);
        let Some(entry) = self.objects.store.get(key.as_bytes()).await? else { return Ok(()) };
        let mut failure = ApiError::already_exists(&resource.group, &resource.name, name);
        if Stored::read(&entry)?.object.at(["metadata", "deletionTimestamp"]).is_some() {
            failure.message = format!("object is being deleted: {}", failure.message);
        }
        Err(failure)
    }

    /// Creates the namespaces that every client expects.
    pub async fn create_initial_namespaces(&self) -> Result<(), ApiError> {
        let GroupVersionResource { group, version, resource } = NAMESPACES;
        let handler = self.catalog.resource(group, version, resource)?;
        // They share the commits of the store.
        let [first, second, third, fourth] = INITIAL_NAMESPACES.map(async |name| {
            let document = Value::object([
                ("apiVersion", Value::from(handler.resource.api_version.clone())),
                ("kind", Value::from(handler.resource.kind.clone())),
                ("metadata", Value::object([("name", Value::from(name))])),
            ]);
            let target = Target {
                verb: Verb::Create,
                handler: handler.clone(),
                namespace: Text::default(),
                name: name.into(),
                subresource: Text::default(),
            };
            self.create_initial(&target, &document).await.map(drop)
        });
        tokio::try_join!(first, second, third, fourth).map(drop)
    }

    /// Creates an object that every client expects, unless it exists.
    pub async fn create_initial(
        &self,
        target: &Target,
        document: &Value,
    ) -> Result<Option<Written>, ApiError> {
        if self.objects.read(target).await?.is_some() {
            return Ok(None);
        }
        let request = Request::internal(hyper::Method::POST, "tenure");
        let write = WriteRequest::new(self, target, &request, WriteOptions::of_server()).skip_admission();
        let errors = TextErrors::default();
        self.attempt(&write, &Create { document, errors: &errors }, None).await
    }
}

/// The body of a POST.
pub(crate) struct Posted {
    pub object: Value,
    errors: TextErrors,
}

impl Posted {
    /// Reads the body of a POST to a collection.
    pub fn read(target: &Target, request: &Request, encoding: Encoding) -> Result<Posted, ApiError> {
        let parsed = body::read(&request.body, encoding, &target.handler.resource.kind)?;
        let object = target.handler.check_kind(&parsed.value)?;
        let errors = parsed.errors(target, &request.body, encoding);
        Ok(Posted { object, errors })
    }
}

/// Checks that the namespace in a body is that of the path.
pub(crate) fn check_namespace(target: &Target, object: &Value) -> Result<(), ApiError> {
    let namespace = meta_text(object, "namespace");
    if target.handler.resource.scope == Scope::Namespaced
        && !namespace.is_empty()
        && namespace != target.namespace
    {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Generates a name with a prefix.
fn generated(base: &str, random: u128) -> String {
    let end =
        base.char_indices().map(|(at, _)| at).take_while(|at| *at <= GENERATED - SUFFIX).last().unwrap_or(0);
    let base = if base.len() <= GENERATED - SUFFIX { base } else { &base[..end] };
    let bytes = random.to_be_bytes().into_iter().take(SUFFIX);
    let suffix = bytes.map(|byte| ALPHABET[usize::from(byte) % ALPHABET.len()] as char);
    base.chars().chain(suffix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_keep_their_prefix_and_fit() {
        let name = generated("web-", 7);
        assert!(name.starts_with("web-") && name.len() == 9, "{name}");
        assert_ne!(generated("web-", u128::MAX), generated("web-", 1));
        assert_eq!(generated(&"a".repeat(100), 7).len(), GENERATED);
    }
}
