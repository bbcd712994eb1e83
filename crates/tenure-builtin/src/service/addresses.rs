//! The cluster IPs of a service: one of each of its families. A new service gets all that it does not ask for, a service that joins a
//! second family the second, and any other keeps what it has.

use super::{RequestedAddresses, Spec, families::keeps_preferred};
use tenure_meta::{CreateContext, IpFamily};
use tenure_value::{Object, Value};

/// Returns the positions of the addresses that a service gets which it did not have.
fn added(old: Option<Spec<'_>>, new: Spec<'_>) -> std::ops::Range<usize> {
    let families = new.items("ipFamilies").len();
    match old {
        _ if !new.has_address() => 0..0,
        Some(old) if keeps_preferred(old, new) => 0..0,
        Some(old) if old.has_address() => {
            let is_upgrade = old.items("ipFamilies").len() == 1 && families == 2;
            if is_upgrade && !old.is_headless() { 1..2 } else { 0..0 }
        }
        _ if new.is_headless() => 0..0,
        _ => 0..families,
    }
}

/// Returns the spec of a service with addresses for all of its families; those for which none is free are missing.
pub(super) fn allotted(old: Option<Spec<'_>>, spec: Object, context: &mut dyn CreateContext) -> Object {
    let new = Spec::new(&spec);
    let positions = added(old, new);
    let (first, mut addresses) = (positions.start, new.items("clusterIPs").to_vec());
    let has_none = first == 0 && !positions.is_empty();
    for at in positions {
        let family = new.items("ipFamilies").get(at).and_then(Value::as_str).and_then(IpFamily::named);
        if addresses.len() == at
            && let Some(address) = family.and_then(|family| context.cluster_ip(family))
        {
            addresses.push(address.into());
        }
    }
    if addresses == new.items("clusterIPs") {
        return spec;
    }
    let spec = match addresses.first() {
        Some(address) if has_none => spec.with("clusterIP", address.clone()),
        _ => spec,
    };
    spec.with("clusterIPs", Value::array(addresses))
}

/// Returns the addresses that a service asks for, whose families are known.
pub(super) fn requested(old: Option<Spec<'_>>, new: Spec<'_>) -> RequestedAddresses {
    let (positions, addresses) = (added(old, new), new.items("clusterIPs"));
    let missing = positions.end.saturating_sub(addresses.len());
    let shown = addresses.iter().cloned().chain(std::iter::repeat_n(Value::from(""), missing));
    let is_allocating = !positions.is_empty();
    let added = positions.filter_map(|at| {
        let text = addresses.get(at)?.as_str()?;
        Some((text.parse().ok()?, text.into()))
    });
    RequestedAddresses { added: added.collect(), is_allocating, shown: Value::array(shown) }
}
