//! The families of the addresses of a service: what the client gave, completed from the policy, the addresses and the families of the
//! cluster. Nothing changes in a service that prefers both families and whose addresses and families stay, so that a change of the
//! cluster alone neither adds an address nor takes one away.

use super::{HEADLESS, Spec, family_of};
use tenure_meta::{FieldError, FieldErrorKind, IpFamily, format};
use tenure_value::{Object, Value};

const ADDRESSES: &str = "spec.clusterIPs";
const FAMILIES: &str = "spec.ipFamilies";
const POLICY: &str = "spec.ipFamilyPolicy";
const SINGLE: &str = "SingleStack";
const REQUIRE: &str = "RequireDualStack";
const POLICIES: [&str; 3] = ["PreferDualStack", REQUIRE, SINGLE];

/// Whether both services prefer both families and have the same type, addresses and families.
pub(super) fn keeps_preferred(old: Spec<'_>, new: Spec<'_>) -> bool {
    let prefers = |spec: Spec<'_>| spec.text("ipFamilyPolicy") == "PreferDualStack";
    let may_prefer = prefers(old) || old.get("ipFamilyPolicy").is_none_or(Value::is_null);
    prefers(new)
        && may_prefer
        && old.text("type") == new.text("type")
        && matches!(new.text("type"), "ClusterIP" | "NodePort" | "LoadBalancer")
        && ["clusterIPs", "ipFamilies"].iter().all(|name| old.items(name) == new.items(name))
}

/// Returns the spec of a service with its policy, families and the addresses that it keeps or asks for, or why it is refused.
pub(super) fn initialized(
    old: Option<Spec<'_>>,
    new: Spec<'_>,
    cluster: &[IpFamily],
) -> Result<Object, Vec<FieldError>> {
    let spec = new.0.cloned().unwrap_or_default();
    if !new.has_address() || old.is_some_and(|old| keeps_preferred(old, new)) {
        return Ok(spec);
    }
    let given = new.get("ipFamilyPolicy").filter(|policy| !policy.is_null());
    let former = old.and_then(|old| old.get("ipFamilyPolicy")).filter(|policy| !policy.is_null());
    let default = || Value::from(if new.is_free() { REQUIRE } else { SINGLE });
    let policy = given.or(former).cloned().unwrap_or_else(default);
    let spec = match given {
        Some(_) => spec,
        None => spec.with("ipFamilyPolicy", policy.clone()),
    };
    let errors = related_fields(Spec::new(&spec), old.map(|old| old.items("clusterIPs")).unwrap_or_default());
    if !errors.is_empty() {
        return Err(errors);
    }
    let is_single = policy.as_str() == Some(SINGLE);
    let mut addresses = new.items("clusterIPs").to_vec();
    let mut families = new.items("ipFamilies").to_vec();
    let mut errors = Vec::new();
    let refused = |detail: &str| FieldError::invalid(POLICY, &policy, detail);
    if let Some(old) = old {
        if is_single {
            // A service that keeps all and wants one family keeps the first.
            if old.items("clusterIPs") == addresses {
                addresses.truncate(1);
            }
            if old.items("ipFamilies") == families {
                families.truncate(1);
            }
        } else {
            let lost = |name: &str, now: &[Value]| !now.is_empty() && now.len() < old.items(name).len();
            if lost("clusterIPs", &addresses) {
                errors.push(refused("must be 'SingleStack' to release the secondary cluster IP"));
            }
            if lost("ipFamilies", &families) {
                errors.push(refused("must be 'SingleStack' to release the secondary IP family"));
            }
        }
    }
    for (values, noun) in [(&addresses, "cluster IPs"), (&families, "IP families")] {
        if is_single && values.len() == 2 {
            let detail =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {noun} are specified");
            errors.push(refused(&detail));
        }
    }
    for (at, text) in addresses.iter().filter_map(Value::as_str).enumerate() {
        if text == HEADLESS {
            break;
        }
        match family_of(text).filter(|family| cluster.contains(family)) {
            _ if at < families.len() => {}
            Some(family) => families.push(family.name().into()),
            None => {
                let family = family_of(text).map_or("unknown", IpFamily::name);
                let detail = format!("{family} is not configured on this cluster");
                let shown = Value::array(addresses.iter().cloned());
                errors.push(FieldError::invalid(format!("{ADDRESSES}[{at}]"), &shown, detail));
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let main = cluster.first().copied().unwrap_or(IpFamily::V4);
    if !new.is_free() {
        if policy.as_str() == Some(REQUIRE) && cluster.len() < 2 {
            errors.push(refused("this cluster is not configured for dual-stack services"));
        }
        for (at, family) in families.iter().enumerate() {
            let known = family.as_str().and_then(IpFamily::named);
            if !known.is_some_and(|known| cluster.contains(&known)) {
                let path = format!("{FAMILIES}[{at}]");
                errors.push(FieldError::invalid(path, family, "not configured on this cluster"));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
    }
    if families.is_empty() {
        families.push(main.name().into());
    }
    if let ([only], false) = (&*families, is_single)
        && (new.is_free() || cluster.len() == 2)
    {
        let only = only.as_str().and_then(IpFamily::named).unwrap_or(main);
        families.push(only.other().name().into());
    }
    let spec = if addresses == new.items("clusterIPs") {
        spec
    } else {
        spec.with("clusterIPs", Value::array(addresses))
    };
    Ok(if families == new.items("ipFamilies") {
        spec
    } else {
        spec.with("ipFamilies", Value::array(families))
    })
}

/// Returns what is wrong with addresses, families and policy of a service with an address, in any cluster. `former` are the addresses
/// that the service had, which are valid.
pub(crate) fn related_fields(spec: Spec<'_>, former: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !spec.has_address() {
        return errors;
    }
    let (single, addresses, families) =
        (spec.text("clusterIP"), spec.items("clusterIPs"), spec.items("ipFamilies"));
    let shown = || Value::array(addresses.iter().cloned());
    let refused = |detail: &str| FieldError::invalid(ADDRESSES, &shown(), detail);
    match addresses.first() {
        None if !single.is_empty() => errors.push(FieldError::required(ADDRESSES, "")),
        Some(_) if single.is_empty() => {
            errors.push(refused("must be empty when `clusterIP` is not specified"));
        }
        Some(first) if first.as_str() != Some(single) => {
            errors.push(refused("first value must match `clusterIP`"))
        }
        _ => {}
    }
    for (at, family) in families.iter().enumerate() {
        let path = format!("{FAMILIES}[{at}]");
        if family.as_str().and_then(IpFamily::named).is_none() {
            let known = [IpFamily::V4, IpFamily::V6].map(|family| Value::from(family.name()));
            errors.push(FieldError::not_supported(&path, family, &known));
        }
        if families[..at].contains(family) {
            errors.push(FieldError::duplicate(path, family));
        }
        if errors.len() > MOST_ERRORS {
            return errors;
        }
    }
    if let Some(policy) = spec.get("ipFamilyPolicy").filter(|policy| !policy.is_null())
        && !policy.as_str().is_some_and(|policy| POLICIES.contains(&policy))
    {
        errors.push(FieldError::not_supported(POLICY, policy, &POLICIES.map(Value::from)));
    }
    let mut has_invalid = false;
    for (at, address) in addresses.iter().enumerate() {
        let text = address.as_str().unwrap_or_default();
        if at == 0 && text == HEADLESS {
            if addresses.len() > 1 {
                has_invalid = true;
                errors.push(refused("'None' must be the first and only value"));
            }
            continue;
        }
        let faults = if former.contains(address) { Vec::new() } else { format::ip(text) };
        has_invalid |= !faults.is_empty();
        let path = format!("{ADDRESSES}[{at}]");
        errors.extend(faults.iter().map(|fault| FieldError::invalid(&path, address, fault)));
        if errors.len() > MOST_ERRORS {
            return errors;
        }
    }
    if addresses.len() > 2 {
        errors.push(refused("may only hold up to 2 values"));
    }
    if has_invalid {
        return errors;
    }
    let family_at = |at: usize| addresses.get(at).and_then(Value::as_str).and_then(family_of);
    let has = |family: IpFamily| (0..addresses.len()).any(|at| family_at(at) == Some(family));
    if addresses.len() > 1 && !(has(IpFamily::V4) && has(IpFamily::V6)) {
        errors.push(refused("may specify no more than one IP for each IP family"));
    }
    if !(addresses.len() == 1 && spec.is_headless()) {
        for (at, (address, family)) in addresses.iter().zip(families).enumerate() {
            let wanted = family.as_str().and_then(IpFamily::named);
            if let Some(wanted) = wanted.filter(|wanted| family_at(at) != Some(*wanted)) {
                let detail =
                    format!("expected an {} value as indicated by `ipFamilies[{at}]`", wanted.name());
                let path = format!("{ADDRESSES}[{at}]");
                errors.push(FieldError::new(FieldErrorKind::Invalid, path, address, detail));
            }
        }
    }
    errors
}

/// After so many errors the rest is not looked at. From the third family on, each is an error.
const MOST_ERRORS: usize = 100;
