//! Small parts of pods whose errors Kubernetes reports at the part or its list, not at the field that is wrong.

use super::context::{Context, text};
use std::collections::HashSet;
use tenure_meta::{FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// Validates the name of a scheduling gate, at the gate.
pub(crate) fn scheduling_gate(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("name");
    context.invalid("", &name.into(), format::qualified_name(name), errors);
}

/// Validates that a claim of a pod is one that exists or one that is made from a template, at the claim.
pub(crate) fn resource_claim(context: &Context<'_>, errors: &mut FieldErrors) {
    let given = ["resourceClaimName", "resourceClaimTemplateName"].map(|name| context.get(name).is_some());
    let detail = match given {
        [true, true] => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        [false, false] => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        _ => return,
    };
    errors.push(context.fault_of_struct("", &Value::Object(context.node.clone()), detail));
}

/// Validates the operating system of a pod, at the part.
pub(crate) fn operating_system(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("name");
    if !matches!(name, "" | "linux" | "windows") {
        let detail = "supported values: \"linux\", \"windows\"";
        errors.push(context.fault("", FieldErrorKind::NotSupported, &name.into(), detail));
    }
}

/// Validates how the resources of a container are resized, at the list.
pub(crate) fn resize_policies(context: &Context<'_>, errors: &mut FieldErrors) {
    const FIELDS: [(&str, [&str; 2]); 2] =
        [("resourceName", ["cpu", "memory"]), ("restartPolicy", ["NotRequired", "RestartContainer"])];
    let mut seen = HashSet::new();
    for (at, policy) in context.items("resizePolicy").iter().enumerate() {
        let resource = text(policy, "resourceName");
        if !seen.insert(resource) {
            let path = format!("resizePolicy[{at}]");
            errors.push(context.fault(&path, FieldErrorKind::Duplicate, &resource.into(), ""));
        }
        for (field, [first, second]) in FIELDS {
            let given = text(policy, field);
            if given.is_empty() {
                errors.push(context.fault("resizePolicy", FieldErrorKind::Required, &Value::Null, ""));
            } else if given != first && given != second {
                let detail = format!("supported values: {first:?}, {second:?}");
                let kind = FieldErrorKind::NotSupported;
                errors.push(context.fault("resizePolicy", kind, &given.into(), &detail));
            }
        }
    }
}
