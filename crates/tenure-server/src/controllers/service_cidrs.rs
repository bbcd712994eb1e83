//! ServiceCIDRs: the default one exists, all have a finalizer and the condition `Ready`, and one that is deleted goes when no service
//! needs it. IPAddresses of services that a client deletes are restored.

use super::{Outcome, default_objects, removal};
use crate::{
    services::{
        Protection, ServiceCidr, condition, default_service_cidr, orphaned_addresses, protection,
        service_cidrs,
    },
    write::Writer,
};
use hyper::StatusCode;
use tenure_builtin::{
    allocate::{AddressRange, ServiceNetworks},
    role::{DEFAULT_SERVICE_CIDR, SERVICE_CIDR_FINALIZER, SERVICE_CIDRS},
};
use tenure_catalog::{
    Target, Verb,
    object::{metadata, seconds, with_metadata},
};
use tenure_meta::{ApiError, GroupVersionResource};
use tenure_value::{Text, Value};

/// The prefix of ServiceCIDRs in the store.
pub(super) const PREFIX: &str = "objects/networking.k8s.io/servicecidrs/";
/// The prefix of IPAddresses in the store.
pub(super) const ADDRESSES: &str = "objects/networking.k8s.io/ipaddresses/";
/// The field manager of the condition that the default ServiceCIDR gets from the server.
const SERVER: &str = "kubernetes-service-cidr-controller";
/// The field manager of finalizers and conditions.
const CONTROLLER: &str = "service-cidr-controller";

/// Creates the default ServiceCIDR if it does not exist, and declares it ready unless it has the condition.
pub(crate) async fn create_default(writer: &Writer, networks: ServiceNetworks) -> Result<(), ApiError> {
    let target = target(writer, DEFAULT_SERVICE_CIDR, "")?;
    let object = default_service_cidr(networks);
    writer.create_initial(&target, &object).await?;
    let cidrs = service_cidrs(&writer.objects).await?;
    let Some(cidr) = cidrs.iter().find(|cidr| cidr.name == DEFAULT_SERVICE_CIDR) else { return Ok(()) };
    let ranges: Vec<AddressRange> = networks.ranges().collect();
    if let ([only], [first, _]) = (&*cidr.ranges, &*ranges)
        && only == first
    {
        // The server has a second network since it was last started.
        let Some(spec) = object.get("spec") else { return Ok(()) };
        return apply(writer, &cidr.name, "", SERVER, ("spec", spec.clone())).await;
    }
    if cidr.ranges != ranges {
        tracing::warn!(found = ?cidr.ranges, ?ranges, "the default ServiceCIDR has other networks than the server");
    } else if cidr.ready().is_none() && !cidr.is_terminating() {
        let message = "Kubernetes default Service CIDR is ready";
        // Webhooks can refuse this. A ServiceCIDR without the condition is used as well.
        if let Err(failure) = set_condition(writer, cidr, SERVER, ("True", None, message)).await {
            tracing::warn!(%failure, "the default ServiceCIDR does not get its condition");
        }
    }
    Ok(())
}

/// Protects all ServiceCIDRs, and releases those that are deleted and that no service needs.
pub(super) async fn protect(writer: &Writer) -> Result<Outcome, ApiError> {
    let all = service_cidrs(&writer.objects).await?;
    let orphans = match all.iter().any(ServiceCidr::is_terminating) {
        true => orphaned_addresses(&writer.objects, &all).await?,
        false => Default::default(),
    };
    let mut outcome = Outcome::Done;
    for cidr in &all {
        let protection = protection(cidr, &orphans);
        if let Some([status, reason, message]) = condition(cidr, protection) {
            set_condition(writer, cidr, CONTROLLER, (status, Some(reason), message)).await?;
        }
        match protection {
            Protection::Protect if !cidr.is_protected() => {
                let fields = Value::object([("finalizers", Value::array([SERVICE_CIDR_FINALIZER.into()]))]);
                apply(writer, &cidr.name, "", CONTROLLER, ("metadata", fields)).await?;
            }
            Protection::Release if cidr.is_protected() => outcome = release(writer, &cidr.name).await?,
            Protection::Wait => outcome = Outcome::Later,
            _ => {}
        }
    }
    Ok(outcome)
}

/// Restores the IPAddresses of a service.
pub(super) async fn restore_addresses(writer: &Writer, service: &str) -> Result<Outcome, ApiError> {
    let Some(target) = Target::of_key(&writer.objects.catalog, service) else { return Ok(Outcome::Done) };
    let restored = writer.services.restore(&target.handler, service).await?;
    Ok(if restored { Outcome::Done } else { Outcome::Later })
}

/// Removes the finalizer of a ServiceCIDR that is being deleted. Services that get an address at the same time require that it is
/// not being deleted, and cannot be missed.
async fn release(writer: &Writer, name: &str) -> Result<Outcome, ApiError> {
    let target = target(writer, name, "")?;
    let Some(live) = writer.objects.read(&target).await? else { return Ok(Outcome::Done) };
    let fields = metadata(&live.object);
    let list = fields.get("finalizers").and_then(Value::as_array);
    let rest = list.into_iter().flat_map(|list| list.iter());
    let rest: Vec<Value> =
        rest.filter(|finalizer| finalizer.as_str() != Some(SERVICE_CIDR_FINALIZER)).cloned().collect();
    let fields = match rest.is_empty() {
        true => fields.without("finalizers"),
        false => fields.with("finalizers", Value::array(rest)),
    };
    removal::replace(writer, &target, &live, with_metadata(&live.object, fields)).await
}

async fn set_condition(
    writer: &Writer,
    cidr: &ServiceCidr,
    manager: &'static str,
    (status, reason, message): (&str, Option<&str>, &str),
) -> Result<(), ApiError> {
    let now = seconds(writer.objects.clock.now());
    let fields = [
        ("type", Value::from("Ready")),
        ("status", Value::from(status)),
        ("lastTransitionTime", Value::from(now)),
        ("message", Value::from(message)),
    ];
    let reason = reason.map(|reason| ("reason", Value::from(reason)));
    let conditions = Value::array([Value::object(fields.into_iter().chain(reason))]);
    let status = ("status", Value::object([("conditions", conditions)]));
    apply(writer, &cidr.name, "status", manager, status).await
}

/// Applies a field of a ServiceCIDR; one that is gone by now needs nothing.
async fn apply(
    writer: &Writer,
    name: &str,
    subresource: &str,
    manager: &'static str,
    field: (&str, Value),
) -> Result<(), ApiError> {
    let target = target(writer, name, subresource)?;
    if writer.objects.read(&target).await?.is_none() {
        return Ok(());
    }
    let request = default_objects::application(&target, &Value::object([field]), manager)?;
    match writer.modify(&target, &request).await {
        Err(failure) if failure.code() == u16::from(StatusCode::NOT_FOUND) => Ok(()),
        done => done.map(|_| ()),
    }
}

fn target(writer: &Writer, name: &str, subresource: &str) -> Result<Target, ApiError> {
    let GroupVersionResource { group, version, resource } = SERVICE_CIDRS;
    Ok(Target {
        verb: Verb::Patch,
        handler: writer.objects.catalog.resource(group, version, resource)?,
        namespace: Text::default(),
        name: name.into(),
        subresource: subresource.into(),
    })
}
