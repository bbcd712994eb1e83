//! Reading the objects of all kinds, as far as the user may: everywhere, or else in the namespace that the user begins in. What the
//! user may not read is reported, so that a hidden object is not taken for a missing one.

use super::{access, line};
use crate::{PageError, body::Lines};
use std::collections::HashSet;
use tenure_client::{ClientError, Cluster, Found, Resource, Selection};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// The most objects that are read.
const MOST_OBJECTS: usize = 20_000;

/// Which objects are read.
pub(crate) struct Extent {
    namespace: Option<String>,
    home: String,
    /// Kinds that are left out.
    without: &'static [&'static str],
}

impl Extent {
    /// Everything that the user may read, or what a namespace has of it.
    pub fn new(cluster: &Cluster, user: &str, namespace: Option<&str>) -> Extent {
        Extent { namespace: namespace.map(str::to_owned), home: access::home(cluster, user), without: &[] }
    }

    /// Leaves out some kinds, by their plural names.
    pub fn without(self, without: &'static [&'static str]) -> Extent {
        Extent { without, ..self }
    }
}

/// What was not read.
#[derive(Default)]
pub(super) struct Hidden {
    kinds: Vec<Value>,
    /// Kinds of which only one namespace was read.
    narrowed: Vec<Value>,
    truncated: bool,
    home: String,
}

impl Hidden {
    /// Adds what was not read to a document.
    pub fn tell(self, document: Value) -> Value {
        let object = document.as_object().cloned().unwrap_or_default();
        object
            .with("skipped", Value::array(self.kinds))
            .with("narrowed", Value::array(self.narrowed))
            .with("namespace", self.home)
            .with("truncated", self.truncated)
            .into()
    }
}

/// Reads the objects kind by kind, and passes each page on with the type of its kind. Returns what was not read; `None` if the page no
/// longer reads.
pub(super) async fn every_object(
    cluster: &Cluster,
    extent: &Extent,
    lines: &Lines,
    mut each: impl FnMut(&Resource, TypeRef<'static>, &[Found]),
) -> Result<Option<Hidden>, PageError> {
    let kinds = cluster.kinds().await?;
    let mut seen = HashSet::new();
    let wanted: Vec<&Resource> = kinds
        .iter()
        .filter(|kind| kind.verbs.iter().any(|verb| verb == "list"))
        .filter(|kind| extent.namespace.is_none() || kind.is_namespaced())
        .filter(|kind| !extent.without.contains(&kind.plural.as_str()))
        .filter(|kind| seen.insert((kind.group.as_str(), kind.plural.as_str())))
        .collect();
    let mut hidden = Hidden { home: extent.home.clone(), ..Hidden::default() };
    let mut count = 0;
    for (at, kind) in wanted.iter().enumerate() {
        let progress = Object::default()
            .with("done", at as i64)
            .with("of", wanted.len() as i64)
            .with("kind", kind.word());
        let Ok(()) = lines.send(&line("progress", Value::Object(progress))).await else { return Ok(None) };
        let mut namespace = extent.namespace.as_deref();
        let mut token = None;
        loop {
            let page = cluster.page(kind, namespace, &Selection::default(), token.as_deref()).await;
            let page = match page {
                Ok(page) => page,
                Err(error) if is_forbidden(&error) && kind.is_namespaced() && namespace.is_none() => {
                    namespace = Some(extent.home.as_str());
                    hidden.narrowed.push(Value::from(kind.word()));
                    continue;
                }
                Err(_) => {
                    hidden.narrowed.pop_if(|last| last.as_str() == Some(kind.word().as_str()));
                    hidden.kinds.push(Value::from(kind.word()));
                    break;
                }
            };
            if !page.objects.is_empty() {
                let ty = cluster.type_of(&kind.api_version(), &kind.kind).await?;
                each(kind, ty, &page.objects);
                count += page.objects.len();
            }
            if count >= MOST_OBJECTS {
                hidden.truncated = true;
                return Ok(Some(hidden));
            }
            match page.next {
                Some(next) => token = Some(next),
                None => break,
            }
        }
    }
    Ok(Some(hidden))
}

/// Whether the server refused a request because of permissions.
pub(super) fn is_forbidden(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { code: 403, .. })
}
