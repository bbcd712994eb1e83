//! How the lists and maps of a kind merge, in words, and which of their keys are weak.

use super::with;
use crate::{PageError, request::Query};
use tenure_client::Cluster;
use tenure_ownership::effect;
use tenure_schema::{TypeRef, audit};
use tenure_value::Value;

/// Describes a kind, or a field of it. The path goes into the entries of lists: `.spec.ports.name` is the name of every port.
pub(crate) async fn type_at(cluster: &Cluster, query: &Query) -> Result<Value, PageError> {
    let (api_version, kind) = (query.require("apiVersion")?, query.require("kind")?);
    let ty = cluster.type_of(api_version, kind).await?;
    let place = ty.locate(query.get("path").unwrap_or_default()).map_err(PageError::bad_request)?;
    let described = effect::to_value(api_version, kind, &place);
    let inner = ty_of_entries(place.ty);
    let here =
        [inner.name().map(|name| name.to_string()), Some(format!("{api_version} {kind}{}", place.path))];
    let weak = inner.schema().map(audit::weak_keys).unwrap_or_default().into_iter();
    let weak = weak.filter(|weak| here.iter().flatten().any(|name| *name == weak.parent.as_str()));
    let weak: Vec<Value> = weak.map(|weak| effect::weak_key_to_value(&weak)).collect();
    Ok(with(described, "weakKeys", Value::array(weak)))
}

/// Returns the type of the entries of a list, or the type itself.
fn ty_of_entries(ty: TypeRef<'_>) -> TypeRef<'_> {
    ty.locate("[]").map_or(ty, |place| place.ty)
}
