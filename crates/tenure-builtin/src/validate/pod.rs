//! Consistency of the parts of a pod: containers and their names, volumes and their mounts, host ports,
//! tolerations.

use super::{
    context::{Context, items, text},
    quota, source,
};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Seen, format, object_meta};
use tenure_value::{Object, Value};

pub(super) const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Returns the names of the volumes from the claim templates of a stateful set.
fn claimed_volumes(object: &Value) -> impl Iterator<Item = &str> {
    let templates = object.at(["spec", "volumeClaimTemplates"]).and_then(Value::as_array);
    let templates = templates.map(|templates| templates.items()).unwrap_or_default();
    templates.iter().filter_map(|template| template.at(["metadata", "name"])?.as_str())
}

/// Validates properties that span the containers and volumes of a pod.
pub(crate) fn spec(context: &Context<'_>, errors: &mut FieldErrors) {
    let mut names: Seen<&str> = Seen::default();
    let mut host_ports = Seen::default();
    let host_network = context.get("hostNetwork") == Some(&Value::Bool(true));
    let grace = context.number("terminationGracePeriodSeconds").unwrap_or(30);
    for list in CONTAINERS {
        for (at, container) in context.items(list).iter().enumerate() {
            let below = |name: &str| format!("{list}[{at}].{name}");
            let name = text(container, "name");
            if !names.insert(name) {
                errors.push(context.fault(&below("name"), FieldErrorKind::Duplicate, &name.into(), ""));
            }
            let debugged = text(container, "targetContainerName");
            if !debugged.is_empty() && !names.contains(&debugged) {
                let path = below("targetContainerName");
                errors.push(context.fault(&path, FieldErrorKind::NotFound, &debugged.into(), ""));
            }
            for hook in ["postStart", "preStop"] {
                let sleep = container.at(["lifecycle", hook, "sleep", "seconds"]).and_then(Value::as_i64);
                if let Some(seconds) = sleep.filter(|seconds| !(0..=grace).contains(seconds)) {
                    let detail =
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    let path = below(&format!("lifecycle.{hook}.sleep"));
                    errors.push(context.fault(&path, FieldErrorKind::Invalid, &seconds.into(), &detail));
                }
            }
            // Init containers run one after the other.
            if list == "initContainers" || at == 0 {
                host_ports = Seen::default();
            }
            for (number, port) in items(container.get("ports")).iter().enumerate() {
                let path = || below(&format!("ports[{number}].hostPort"));
                host_port(context, port, host_network, path, &mut host_ports, errors);
            }
            let mount = container.at(["securityContext", "procMount"]);
            if mount.and_then(Value::as_str) == Some("Unmasked")
                && context.get("hostUsers") != Some(&Value::Bool(false))
            {
                let detail = "`hostUsers` must be false to use `Unmasked`";
                let path = below("securityContext.procMount");
                errors.push(context.fault(&path, FieldErrorKind::Invalid, &"Unmasked".into(), detail));
            }
            if list == "initContainers" && text(container, "restartPolicy") != "Always" {
                for probe in ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] {
                    if container.get(probe).is_some_and(|value| !value.is_null()) {
                        let detail = "may not be set for init containers without restartPolicy=Always";
                        errors.push(context.fault(
                            &below(probe),
                            FieldErrorKind::Forbidden,
                            &Value::Null,
                            detail,
                        ));
                    }
                }
            }
        }
    }
    object_meta::labels(&context.path.field("nodeSelector"), context.get("nodeSelector"), errors);
    quota::overhead(context, "overhead", errors);
    if context.root.get("kind").and_then(Value::as_str) == Some("Pod") {
        source::tokens(context, errors);
    }
    match context.get("dnsConfig").filter(|_| context.text("dnsPolicy") == "None") {
        None if context.text("dnsPolicy") == "None" => {
            errors.push(context.required("dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None"));
        }
        Some(config) if items(config.get("nameservers")).is_empty() => {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(context.required("dnsConfig.nameservers", detail));
        }
        _ => {}
    }
    for (at, option) in items(context.at(&["dnsConfig", "options"])).iter().enumerate() {
        if text(option, "name").is_empty() {
            errors.push(context.required(&format!("dnsConfig.options[{at}]"), "must not be empty"));
        }
    }
    let flag = |name: &str| context.get(name) == Some(&Value::Bool(true));
    if flag("shareProcessNamespace") && flag("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(context.fault(
            "shareProcessNamespace",
            FieldErrorKind::Invalid,
            &Value::Bool(true),
            detail,
        ));
    }
}

/// Validates the mounts and the devices of containers, once the volumes are: one that is wrong cannot be used.
pub(crate) fn mounts(context: &Context<'_>, errors: &mut FieldErrors) {
    let uses = |container: &Value| {
        ["volumeMounts", "volumeDevices"].iter().any(|list| container.get(list).is_some())
    };
    if !CONTAINERS.iter().any(|list| context.items(list).iter().any(uses)) {
        return;
    }
    let list = context.path_to("volumes[");
    let place = |error: &FieldError| {
        let (at, rest) = error.path.strip_prefix(&list)?.split_once(']')?;
        at.parse().ok().filter(|_: &usize| rest.is_empty() || rest.starts_with('.'))
    };
    let wrong: Seen<usize> = errors.iter().filter_map(place).collect();
    let right = context.items("volumes").iter().enumerate().filter(|(at, _)| !wrong.contains(at));
    let mut volumes: Seen<&str> = claimed_volumes(context.root).collect();
    volumes.extend(right.map(|(_, volume)| text(volume, "name")));
    for list in CONTAINERS {
        for (at, container) in context.items(list).iter().enumerate().filter(|(_, container)| uses(container))
        {
            let part = Part {
                context,
                container,
                path: format!("{list}[{at}]"),
                volumes: &volumes,
                mounted: Uses::of(container, "volumeMounts", "mountPath"),
                attached: Uses::of(container, "volumeDevices", "devicePath"),
            };
            part.mounts(errors);
            part.devices(errors);
        }
    }
}

/// A container and the volumes that it may use.
struct Part<'p> {
    context: &'p Context<'p>,
    container: &'p Value,
    path: String,
    volumes: &'p Seen<&'p str>,
    mounted: Uses<'p>,
    attached: Uses<'p>,
}

/// Which volumes a list of a container uses, and under which paths; the last use of a volume counts.
#[derive(Default)]
struct Uses<'p> {
    names: Seen<&'p str>,
    paths: Seen<&'p str>,
}

impl<'p> Uses<'p> {
    fn of(container: &'p Value, list: &str, path: &str) -> Uses<'p> {
        let mut uses = Uses::default();
        for part in items(container.get(list)).iter().rev() {
            if uses.names.insert(text(part, "name")) {
                uses.paths.insert(text(part, path));
            }
        }
        uses
    }
}

/// How mounts are shared with the node.
const PROPAGATIONS: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
const RECURSIVE_READ_ONLY: [&str; 3] = ["Disabled", "Enabled", "IfPossible"];

impl Part<'_> {
    fn invalid(&self, below: &str, value: &str, detail: &str, errors: &mut FieldErrors) {
        let path = format!("{}.{below}", self.path);
        self.context.invalid(&path, &value.into(), vec![detail.into()], errors);
    }

    fn mounts(&self, errors: &mut FieldErrors) {
        let mut taken = Seen::default();
        for (at, mount) in items(self.container.get("volumeMounts")).iter().enumerate() {
            let below = |name: &str| format!("volumeMounts[{at}].{name}");
            let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
            self.name(&below, name, errors);
            if path.is_empty() {
                errors.push(self.context.required(&format!("{}.{}", self.path, below("mountPath")), ""));
            }
            if !taken.insert(path) {
                self.invalid(&below("mountPath"), path, "must be unique", errors);
            }
            if self.attached.names.contains(&name) {
                self.invalid(&below("name"), name, "must not already exist in volumeDevices", errors);
            }
            if self.attached.paths.contains(&path) {
                let detail = "must not already exist as a path in volumeDevices";
                self.invalid(&below("mountPath"), path, detail, errors);
            }
            let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
            // Kubernetes names the list here, and not the mount.
            let whole = |field: &str| format!("{}.volumeMounts.{field}", self.path);
            if !sub.is_empty() {
                self.context.invalid(&whole("subPath"), &sub.into(), format::relative_path(sub), errors);
            }
            if !expression.is_empty() {
                if !sub.is_empty() {
                    let detail = "subPathExpr and subPath are mutually exclusive";
                    self.invalid(&below("subPathExpr"), expression, detail, errors);
                }
                let faults = format::relative_path(expression);
                self.context.invalid(&whole("subPathExpr"), &expression.into(), faults, errors);
            }
            self.propagation(mount, &whole, errors);
        }
    }

    fn propagation(&self, mount: &Value, path: &dyn Fn(&str) -> String, errors: &mut FieldErrors) {
        let mode = mount.get("mountPropagation").and_then(Value::as_str);
        let mut forbid = |field: &str, detail: &str| {
            let path = self.context.path_to(&path(field));
            errors.push(FieldError::forbidden(path, detail));
        };
        let privileged = self.container.at(["securityContext", "privileged"]) == Some(&Value::Bool(true));
        if mode == Some("Bidirectional") && !privileged {
            let detail = "Bidirectional mount propagation is available only to privileged containers";
            forbid("mountPropagation", detail);
        }
        let recursive = mount.get("recursiveReadOnly").and_then(Value::as_str);
        if matches!(recursive, Some("Enabled" | "IfPossible")) {
            if mount.get("readOnly") != Some(&Value::Bool(true)) {
                forbid("recursiveReadOnly", "may only be specified when readOnly is true");
            }
            if mode.is_some_and(|mode| mode != "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                forbid("recursiveReadOnly", detail);
            }
        }
        let words =
            [("mountPropagation", mode, PROPAGATIONS), ("recursiveReadOnly", recursive, RECURSIVE_READ_ONLY)];
        for (field, word, known) in words {
            if let Some(word) = word.filter(|word| !known.contains(word)) {
                errors.push(self.context.not_supported(&path(field), word, &known));
            }
        }
    }

    /// Validates the name of a volume that is used.
    fn name(&self, below: &dyn Fn(&str) -> String, name: &str, errors: &mut FieldErrors) {
        let path = || format!("{}.{}", self.path, below("name"));
        if name.is_empty() {
            errors.push(self.context.required(&path(), ""));
        }
        if !self.volumes.contains(&name) {
            errors.push(self.context.fault(&path(), FieldErrorKind::NotFound, &name.into(), ""));
        }
    }

    fn devices(&self, errors: &mut FieldErrors) {
        let (mut names, mut paths) = (Seen::default(), Seen::default());
        for (at, device) in items(self.container.get("volumeDevices")).iter().enumerate() {
            let below = |name: &str| format!("volumeDevices[{at}].{name}");
            let (name, path) = (text(device, "name"), text(device, "devicePath"));
            if !name.is_empty() && !names.insert(name) {
                self.invalid(&below("name"), name, "must be unique", errors);
            }
            self.name(&below, name, errors);
            if path.is_empty() {
                errors.push(self.context.required(&format!("{}.{}", self.path, below("devicePath")), ""));
            }
            if !paths.insert(path) {
                self.invalid(&below("devicePath"), path, "must be unique", errors);
            }
            if path.split('/').any(|part| part == "..") {
                self.invalid(&below("devicePath"), path, "can not contain backsteps ('..')", errors);
            }
            if self.mounted.names.contains(&name) {
                self.invalid(&below("name"), name, "must not already exist in volumeMounts", errors);
            }
            if self.mounted.paths.contains(&path) {
                let detail = "must not already exist as a path in volumeMounts";
                self.invalid(&below("devicePath"), path, detail, errors);
            }
        }
    }
}

/// Validates a host port: it is used once, and equals the container port in the host network.
fn host_port(
    context: &Context<'_>,
    port: &Value,
    host_network: bool,
    path: impl Fn() -> String,
    taken: &mut Seen<(String, String, i64)>,
    errors: &mut FieldErrors,
) {
    let number = |name: &str| port.get(name).and_then(Value::as_i64).unwrap_or(0);
    let host = number("hostPort");
    if host == 0 {
        return;
    }
    if host_network && host != number("containerPort") {
        let detail = "must match `containerPort` when `hostNetwork` is true";
        errors.push(context.fault(&path(), FieldErrorKind::Invalid, &host.into(), detail));
    }
    let (protocol, address) = (text(port, "protocol"), text(port, "hostIP"));
    if !taken.insert((protocol.to_string(), address.to_string(), host)) {
        let value = Value::from(format!("{protocol}/{address}/{host}"));
        errors.push(context.fault(&path(), FieldErrorKind::Duplicate, &value, ""));
    }
}

/// Validates the addresses of a pod and of its node: at most one of each family.
pub(crate) fn addresses(context: &Context<'_>, errors: &mut FieldErrors) {
    for list in ["podIPs", "hostIPs"] {
        let addresses = context.items(list);
        if let Some(first) = addresses.first().filter(|_| list == "hostIPs").map(|first| text(first, "ip"))
            && first != context.text("hostIP")
        {
            let detail = "must be equal to `hostIP`";
            errors.push(context.fault("hostIPs[0].ip", FieldErrorKind::Invalid, &first.into(), detail));
        }
        // An address that is not valid counts as well: only the colon determines the family.
        let mut families = Seen::default();
        let mut has_one_of_each = true;
        for (at, address) in addresses.iter().enumerate() {
            let address = text(address, "ip");
            has_one_of_each &= families.insert(address.contains(':'));
            for fault in format::ip(address) {
                errors.push(context.fault(
                    &format!("{list}[{at}]"),
                    FieldErrorKind::Invalid,
                    &address.into(),
                    &fault,
                ));
            }
        }
        if !has_one_of_each {
            let detail = "may specify no more than one IP for each IP family";
            let given = context.get(list).cloned().unwrap_or_default();
            errors.push(context.fault(list, FieldErrorKind::Invalid, &given, detail));
        }
    }
}

/// Validates a container.
pub(crate) fn container(context: &Context<'_>, errors: &mut FieldErrors) {
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(value) = context.get(probe) else { continue };
        let number = |name: &str| value.get(name).and_then(Value::as_i64);
        if probe != "readinessProbe" && number("successThreshold").is_some_and(|number| number != 1) {
            let path = format!("{probe}.successThreshold");
            let value = number("successThreshold").unwrap_or(0).into();
            errors.push(context.fault(&path, FieldErrorKind::Invalid, &value, "must be 1"));
        }
        let path = || format!("{probe}.terminationGracePeriodSeconds");
        match number("terminationGracePeriodSeconds") {
            Some(number) if probe == "readinessProbe" => {
                let detail = "must not be set for readinessProbes";
                errors.push(context.fault(&path(), FieldErrorKind::Invalid, &number.into(), detail));
            }
            Some(number) if number <= 0 => {
                errors.push(context.fault(
                    &path(),
                    FieldErrorKind::Invalid,
                    &number.into(),
                    "must be greater than 0",
                ));
            }
            _ => {}
        }
    }
    let security = |name: &str| context.at(&["securityContext", name]);
    if security("allowPrivilegeEscalation") == Some(&Value::Bool(false)) {
        let added = context.at(&["securityContext", "capabilities", "add"]).and_then(Value::as_array);
        let admin = added.is_some_and(|added| {
            added.iter().any(|name| matches!(name.as_str(), Some("SYS_ADMIN" | "CAP_SYS_ADMIN")))
        });
        if security("privileged") == Some(&Value::Bool(true)) || admin {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            let value = context.get("securityContext").cloned().unwrap_or_default();
            errors.push(context.fault("securityContext", FieldErrorKind::Invalid, &value, detail));
        }
    }
}

/// Fields of a pod that an environment variable may refer to.
const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Validates the source of an environment variable.
pub(crate) fn env(context: &Context<'_>, errors: &mut FieldErrors) {
    let Some(Value::Object(source)) = context.get("valueFrom") else { return };
    if !context.text("value").is_empty() {
        let detail = "may not be specified when `value` is not empty";
        errors.push(context.fault("valueFrom", FieldErrorKind::Invalid, &"".into(), detail));
    }
    let kinds = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    match source.iter().filter(|(name, value)| kinds.contains(&name.as_str()) && !value.is_null()).count() {
        0 => {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.push(context.fault("valueFrom", FieldErrorKind::Invalid, &"".into(), detail));
        }
        1 => {}
        _ => {
            let detail = "may not have more than one field specified at a time";
            errors.push(context.fault("valueFrom", FieldErrorKind::Invalid, &"".into(), detail));
        }
    }
    if let Some(path) = source.get("fieldRef").and_then(|reference| reference.get("fieldPath")) {
        let named = path.as_str().unwrap_or_default();
        source::field_path(context, "valueFrom.fieldRef.fieldPath", named, &ENV_FIELDS, errors);
    }
}

/// Validates a source of several environment variables.
pub(crate) fn env_from(context: &Context<'_>, errors: &mut FieldErrors) {
    let sources: Vec<&str> =
        ["configMapRef", "secretRef"].into_iter().filter(|name| context.get(name).is_some()).collect();
    match *sources {
        [one] => {
            let name = context.at(&[one, "name"]).and_then(Value::as_str).unwrap_or_default();
            if name.is_empty() {
                errors.push(context.fault(
                    &format!("{one}.name"),
                    FieldErrorKind::Required,
                    &Value::Null,
                    "",
                ));
            } else {
                context.invalid(&format!("{one}.name"), &name.into(), format::dns_subdomain(name), errors);
            }
        }
        // Kubernetes names the list.
        [] => {
            let path = context.path.to_string();
            let list = path.rsplit_once('[').map_or(path.as_str(), |(list, _)| list);
            let detail = "must specify one of: `configMapRef` or `secretRef`";
            errors.push(FieldError::invalid(list, &"".into(), detail));
        }
        _ => errors.push(context.fault(
            "",
            FieldErrorKind::Invalid,
            &"".into(),
            "may not have more than one field specified at a time",
        )),
    }
}

/// Validates a toleration.
pub(crate) fn toleration(context: &Context<'_>, errors: &mut FieldErrors) {
    let (key, operator, effect) = (context.text("key"), context.text("operator"), context.text("effect"));
    for fault in Some(key).filter(|key| !key.is_empty()).map(format::qualified_name).unwrap_or_default() {
        errors.push(context.fault("key", FieldErrorKind::Invalid, &key.into(), &fault));
    }
    if key.is_empty() && operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(context.fault("operator", FieldErrorKind::Invalid, &operator.into(), detail));
    }
    if context.get("tolerationSeconds").is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(context.fault("effect", FieldErrorKind::Invalid, &effect.into(), detail));
    }
    let value = context.text("value");
    match operator {
        "Equal" | "" => {
            for fault in format::label_value(value) {
                errors.push(context.fault("operator", FieldErrorKind::Invalid, &value.into(), &fault));
            }
        }
        "Exists" if !value.is_empty() => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(context.fault("operator", FieldErrorKind::Invalid, &value.into(), detail));
        }
        "Exists" => {}
        other => {
            // Comparisons are known, but not enabled.
            let detail = match other {
                "Lt" | "Gt" => "supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\"",
                _ => "supported values: \"Equal\", \"Exists\"",
            };
            errors.push(context.fault("operator", FieldErrorKind::NotSupported, &other.into(), detail));
        }
    }
}

/// Validates a port that is a number or a name.
pub(crate) fn port(context: &Context<'_>, errors: &mut FieldErrors) {
    number_or_name(context, "port", errors);
}

/// Validates a field that is a port number or name.
pub(super) fn number_or_name(context: &Context<'_>, name: &str, errors: &mut FieldErrors) {
    match context.get(name) {
        Some(Value::Int(1..=65_535)) => {}
        Some(Value::String(text)) => {
            for fault in format::port_name(text) {
                errors.push(context.fault(name, FieldErrorKind::Invalid, &text.clone().into(), &fault));
            }
        }
        other => {
            let value = other.cloned().unwrap_or(0.into());
            errors.push(context.fault(
                name,
                FieldErrorKind::Invalid,
                &value,
                "must be between 1 and 65535, inclusive",
            ));
        }
    }
}

/// The sources of volumes, in the order in which they are validated.
const VOLUME_SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Validates that a volume has exactly one source.
pub(crate) fn volume(context: &Context<'_>, errors: &mut FieldErrors) {
    let sources: Vec<&str> = fields(context.node).filter(|name| *name != "name").collect();
    claim_name(context, errors);
    if sources.is_empty() {
        errors.push(context.fault("", FieldErrorKind::Required, &Value::Null, "must specify a volume type"));
    }
    // The first one in the order of Kubernetes counts.
    let place =
        |name: &str| VOLUME_SOURCES.iter().position(|source| *source == name).unwrap_or(VOLUME_SOURCES.len());
    let first = sources.iter().copied().min_by_key(|name| place(name));
    for extra in sources.iter().filter(|name| Some(**name) != first) {
        let detail = "may not specify more than 1 volume type";
        errors.push(context.fault(extra, FieldErrorKind::Forbidden, &Value::Null, detail));
    }
}

/// Validates the name of the claim that is made for an ephemeral volume of a pod.
fn claim_name(context: &Context<'_>, errors: &mut FieldErrors) {
    let (pod, volume) = (context.root.at(["metadata", "name"]).and_then(Value::as_str), context.text("name"));
    let is_pod = context.root.get("kind").and_then(Value::as_str) == Some("Pod");
    if let Some(pod) = pod.filter(|pod| is_pod && !pod.is_empty() && !volume.is_empty())
        && context.get("ephemeral").is_some()
    {
        let name = format!("{pod}-{volume}");
        let faults = format::dns_subdomain(&name).into_iter();
        let faults = faults.map(|fault| format!("PVC name {name:?}: {fault}")).collect();
        context.invalid("name", &volume.into(), faults, errors);
    }
}

/// Validates a request of HTTP: its headers are reported at their list.
pub(crate) fn http_get(context: &Context<'_>, errors: &mut FieldErrors) {
    number_or_name(context, "port", errors);
    for header in context.items("httpHeaders") {
        let name = text(header, "name");
        context.invalid("httpHeaders", &name.into(), format::header_name(name), errors);
    }
}

/// Validates that the size of an empty directory is an amount.
pub(crate) fn size_limit(context: &Context<'_>, errors: &mut FieldErrors) {
    let limit = context.text("sizeLimit");
    if !format::not_negative(limit).is_empty() {
        let detail = "SizeLimit field must be a valid resource quantity";
        errors.push(context.fault("sizeLimit", FieldErrorKind::Forbidden, &Value::Null, detail));
    }
}

fn fields(object: &Object) -> impl Iterator<Item = &str> {
    object.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str())
}
