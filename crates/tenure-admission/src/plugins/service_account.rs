//! ServiceAccount: every new pod runs as a service account that exists, mounts a token of it, and pulls images with its
//! secrets. Secrets are limited to those of the account if the account requires it.

use super::{fields, items, meta_text, text, with_spec};
use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Cluster, Operation, ResourceRule};
use async_trait::async_trait;
use std::{collections::HashSet, time::Duration};
use tenure_meta::ApiError;
use tenure_value::{Object, Value};

/// The account of pods that do not name one.
const DEFAULT: &str = "default";
/// How often, and after which pause, the default account is looked up: a controller creates it after the namespace.
const LOOKUPS: (usize, Duration) = (10, Duration::from_millis(100));
/// The annotation of mirror pods: pods that a node runs on its own.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The annotation of accounts that limit their pods to the secrets they list.
const ENFORCE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";
/// The names of token volumes start with this.
const VOLUME_PREFIX: &str = "kube-api-access-";
/// Where containers find the token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The lifetime of tokens; the seconds beyond the hour mark tokens that are mounted automatically.
const TOKEN_SECONDS: i64 = 3607;
/// The lists of containers with their names in messages.
const CONTAINERS: [(&str, &str); 3] = [
    ("initContainers", "init container"),
    ("containers", "container"),
    ("ephemeralContainers", "ephemeral container"),
];

/// The addition of containers to a pod that exists.
const EPHEMERAL_CONTAINERS: ResourceRule =
    ResourceRule::new(&[Operation::Update], "", "pods").at(&["ephemeralcontainers"]);

/// Gives pods their service account.
pub(crate) struct ServiceAccount;

#[async_trait]
impl AdmissionPlugin for ServiceAccount {
    fn rules(&self) -> &'static [ResourceRule] {
        const { &[ResourceRule::new(&[Operation::Create], "", "pods"), EPHEMERAL_CONTAINERS] }
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        if is_mirror(&attributes.object) || EPHEMERAL_CONTAINERS.matches(&attributes.action()) {
            return Ok(());
        }
        let name = match account_name(&attributes.object) {
            "" => DEFAULT.to_string(),
            name => name.to_string(),
        };
        let account = find(attributes, context.cluster, &name).await?;
        let random = || context.cluster.random(&["volume", &attributes.namespace, &attributes.name]);
        attributes.object = with_account(&attributes.object, &name, &account, random);
        Ok(())
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let pod = &attributes.object;
        if is_mirror(pod) && attributes.operation == Operation::Create {
            return check_mirror(pod).map_err(|why| attributes.forbidden(why));
        }
        let name = account_name(pod);
        if name.is_empty() {
            let why =
                format!("no service account specified for pod {}/{}", attributes.namespace, attributes.name);
            return Err(attributes.forbidden(&why));
        }
        let account = find(attributes, context.cluster, name).await?;
        if account.at(["metadata", "annotations", ENFORCE_SECRETS]).and_then(Value::as_str) != Some("true") {
            return Ok(());
        }
        let is_new = attributes.operation == Operation::Create;
        check_secrets(pod, &account, is_new).map_err(|why| attributes.forbidden(&why))
    }
}

fn is_mirror(pod: &Value) -> bool {
    pod.at(["metadata", "annotations", MIRROR]).is_some()
}

fn account_name(pod: &Value) -> &str {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount"),
        name => name,
    }
}

/// Reads an account. The default one may not have been created yet.
async fn find(
    attributes: &AdmissionAttributes,
    cluster: &dyn Cluster,
    name: &str,
) -> Result<Value, ApiError> {
    let lookups = if name == DEFAULT { LOOKUPS.0 } else { 1 };
    for lookup in 0..lookups {
        if lookup > 0 {
            tokio::time::sleep(LOOKUPS.1).await;
        }
        if let Some(account) = cluster.get("v1", "ServiceAccount", &attributes.namespace, name).await? {
            return Ok(account);
        }
    }
    Err(attributes.forbidden(&format!(
        "error looking up service account {}/{name}: serviceaccount \"{name}\" not found",
        attributes.namespace
    )))
}

/// Returns a pod that runs as an account.
fn with_account(pod: &Value, name: &str, account: &Value, random: impl FnOnce() -> u128) -> Value {
    let mut spec = fields(pod.get("spec")).with("serviceAccountName", name).with("serviceAccount", name);
    let automounts = |object: Option<&Value>| {
        object.and_then(|object| object.get("automountServiceAccountToken")?.as_bool())
    };
    if automounts(pod.get("spec")).or(automounts(Some(account))).unwrap_or(true) {
        spec = with_token(spec, random);
    }
    let secrets = items(account.get("imagePullSecrets"));
    if items(spec.get("imagePullSecrets")).is_empty() && !secrets.is_empty() {
        let references =
            secrets.iter().map(|secret| Value::object([("name", Value::from(text(secret, "name")))]));
        spec = spec.with("imagePullSecrets", Value::array(references));
    }
    with_spec(pod, spec)
}

/// Mounts a token in every container that mounts nothing at its path.
fn with_token(mut spec: Object, random: impl FnOnce() -> u128) -> Object {
    let volumes = items(spec.get("volumes")).to_vec();
    let existing =
        volumes.iter().map(|volume| text(volume, "name")).find(|name| name.starts_with(VOLUME_PREFIX));
    let name = existing.map_or_else(|| generated_name(random()), ToString::to_string);
    let has_volume = existing.is_some();
    let mount = Value::object([
        ("name", Value::from(name.as_str())),
        ("readOnly", Value::Bool(true)),
        ("mountPath", Value::from(MOUNT_PATH)),
    ]);
    let mut is_needed = false;
    for list in ["initContainers", "containers"] {
        let containers = items(spec.get(list)).to_vec();
        if containers.is_empty() {
            continue;
        }
        let mounted = containers.iter().map(|container| {
            let mounts = items(container.get("volumeMounts"));
            if mounts.iter().any(|mount| text(mount, "mountPath") == MOUNT_PATH) {
                return container.clone();
            }
            is_needed = true;
            let mounts = mounts.iter().cloned().chain([mount.clone()]);
            fields(Some(container)).with("volumeMounts", Value::array(mounts)).into()
        });
        let mounted: Vec<Value> = mounted.collect();
        spec = spec.with(list, Value::array(mounted));
    }
    if is_needed && !has_volume {
        let volumes = volumes.iter().cloned().chain([token_volume(&name)]);
        spec = spec.with("volumes", Value::array(volumes));
    }
    spec
}

fn generated_name(random: u128) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let suffix = random
        .to_be_bytes()
        .into_iter()
        .take(5)
        .map(|byte| ALPHABET[usize::from(byte) % ALPHABET.len()] as char);
    VOLUME_PREFIX.chars().chain(suffix).collect()
}

/// Returns the volume with the token, the certificates to trust and the namespace.
fn token_volume(name: &str) -> Value {
    let one = |name: &str, value: Value| Value::object([(name, value)]);
    let token =
        Value::object([("expirationSeconds", Value::from(TOKEN_SECONDS)), ("path", Value::from("token"))]);
    let certificate = Value::object([("key", Value::from("ca.crt")), ("path", Value::from("ca.crt"))]);
    let trust =
        Value::object([("name", Value::from("kube-root-ca.crt")), ("items", Value::array([certificate]))]);
    let field =
        Value::object([("apiVersion", Value::from("v1")), ("fieldPath", Value::from("metadata.namespace"))]);
    let namespace = Value::object([("path", Value::from("namespace")), ("fieldRef", field)]);
    let sources = [
        one("serviceAccountToken", token),
        one("configMap", trust),
        one("downwardAPI", one("items", Value::array([namespace]))),
    ];
    let projected = Value::object([("defaultMode", Value::from(0o644)), ("sources", Value::array(sources))]);
    Value::object([("name", Value::from(name)), ("projected", projected)])
}

/// Checks that a mirror pod does not reference API objects.
fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    if !account_name(pod).is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    let volumes = items(pod.at(["spec", "volumes"]));
    if volumes.iter().any(|volume| volume.get("secret").is_some()) || secret_references(pod).next().is_some()
    {
        return Err("a mirror pod may not reference secrets");
    }
    let mut sources = volumes.iter().flat_map(|volume| items(volume.at(["projected", "sources"])));
    match sources.any(|source| source.get("serviceAccountToken").is_some()) {
        true => Err("a mirror pod may not use ServiceAccountToken volume projections"),
        false => Ok(()),
    }
}

/// A secret that a container takes environment variables from.
struct SecretReference<'v> {
    list: &'static str,
    /// Where: `container c with envVar V`.
    place: String,
    secret: &'v str,
}

fn secret_references(pod: &Value) -> impl Iterator<Item = SecretReference<'_>> {
    CONTAINERS.into_iter().flat_map(move |(list, called)| {
        items(pod.at(["spec", list])).iter().flat_map(move |container| {
            let name = text(container, "name");
            let variables = items(container.get("env")).iter().filter_map(move |variable| {
                let secret = variable.at(["valueFrom", "secretKeyRef", "name"])?.as_str()?;
                let place = format!("{called} {name} with envVar {}", text(variable, "name"));
                Some(SecretReference { list, place, secret })
            });
            let sources = items(container.get("envFrom")).iter().filter_map(move |source| {
                let secret = source.at(["secretRef", "name"])?.as_str()?;
                Some(SecretReference { list, place: format!("{called} {name} with envFrom"), secret })
            });
            variables.chain(sources)
        })
    })
}

/// Checks that a pod uses only secrets that its account lists. Of a pod that exists only ephemeral containers are new.
fn check_secrets(pod: &Value, account: &Value, is_new: bool) -> Result<(), String> {
    let names = |list: &str| -> HashSet<&str> {
        items(account.get(list)).iter().map(|reference| text(reference, "name")).collect()
    };
    let (mountable, account_name) = (names("secrets"), meta_text(account, "name"));
    if is_new {
        let volumes = items(pod.at(["spec", "volumes"])).iter();
        for secret in volumes.filter_map(|volume| volume.at(["secret", "secretName"])?.as_str()) {
            if !mountable.contains(secret) {
                return Err(format!(
                    "volume with secret.secretName=\"{secret}\" is not allowed because service account {account_name} does not reference that secret"
                ));
            }
        }
    }
    let is_checked = |reference: &SecretReference<'_>| is_new || reference.list == "ephemeralContainers";
    for SecretReference { place, secret, .. } in secret_references(pod).filter(is_checked) {
        if !mountable.contains(secret) {
            return Err(format!(
                "{place} referencing secret.secretName=\"{secret}\" is not allowed because service account {account_name} does not reference that secret"
            ));
        }
    }
    let pull_secrets = names("imagePullSecrets");
    for (at, secret) in items(pod.at(["spec", "imagePullSecrets"])).iter().enumerate().filter(|_| is_new) {
        let secret = text(secret, "name");
        if !pull_secrets.contains(secret) {
            return Err(format!(
                "imagePullSecrets[{at}].name=\"{secret}\" is not allowed because service account {account_name} does not reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn a_pod_mounts_a_token_once() {
        let pod = value(
            r#"{"spec":{"containers":[{"name":"a"},{"name":"b","volumeMounts":[{"name":"v","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]}}"#,
        );
        let account = value(r#"{"metadata":{"name":"default"},"imagePullSecrets":[{"name":"pull"}]}"#);
        let once = with_account(&pod, "default", &account, || 7);
        let volume = items(once.at(["spec", "volumes"]))[0].clone();
        let name = text(&volume, "name").to_string();
        assert_eq!(name.len(), VOLUME_PREFIX.len() + 5);
        assert_eq!(
            volume.get("projected").unwrap().to_string(),
            r#"{"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"items":[{"key":"ca.crt","path":"ca.crt"}],"name":"kube-root-ca.crt"}},{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"},"path":"namespace"}]}}]}"#
        );
        let rest = fields(once.get("spec")).without("volumes").without("serviceAccount");
        assert_eq!(
            Value::from(rest).to_string(),
            format!(
                r#"{{"containers":[{{"name":"a","volumeMounts":[{{"mountPath":"{MOUNT_PATH}","name":"{name}","readOnly":true}}]}},{{"name":"b","volumeMounts":[{{"mountPath":"{MOUNT_PATH}","name":"v"}}]}}],"imagePullSecrets":[{{"name":"pull"}}],"serviceAccountName":"default"}}"#
            )
        );
        assert_eq!(with_account(&once, "default", &account, || 7), once);
    }

    #[test]
    fn a_pod_or_its_account_can_decline_the_token() {
        for (spec, account, mounts) in [
            (r#"{"automountServiceAccountToken":false}"#, "{}", false),
            ("{}", r#"{"automountServiceAccountToken":false}"#, false),
            (r#"{"automountServiceAccountToken":true}"#, r#"{"automountServiceAccountToken":false}"#, true),
        ] {
            let pod = value(&format!(r#"{{"spec":{spec}}}"#));
            let pod = with_spec(&pod, fields(pod.get("spec")).with("containers", value(r#"[{"name":"c"}]"#)));
            let pod = with_account(&pod, "a", &value(account), || 7);
            assert_eq!(pod.at(["spec", "volumes"]).is_some(), mounts, "{spec} {account}");
        }
    }

    #[test]
    fn secrets_are_limited_to_those_of_the_account() {
        let account = value(
            r#"{"metadata":{"name":"a"},"secrets":[{"name":"own"}],"imagePullSecrets":[{"name":"pull"}]}"#,
        );
        for (spec, expected) in [
            (r#"{"volumes":[{"secret":{"secretName":"own"}}],"imagePullSecrets":[{"name":"pull"}]}"#, Ok(())),
            (
                r#"{"volumes":[{"secret":{"secretName":"s"}}]}"#,
                Err(
                    r#"volume with secret.secretName="s" is not allowed because service account a does not reference that secret"#,
                ),
            ),
            (
                r#"{"containers":[{"name":"c","env":[{"name":"V","valueFrom":{"secretKeyRef":{"name":"s"}}}]}]}"#,
                Err(
                    r#"container c with envVar V referencing secret.secretName="s" is not allowed because service account a does not reference that secret"#,
                ),
            ),
            (
                r#"{"initContainers":[{"name":"c","envFrom":[{"secretRef":{"name":"s"}}]}]}"#,
                Err(
                    r#"init container c with envFrom referencing secret.secretName="s" is not allowed because service account a does not reference that secret"#,
                ),
            ),
            (
                r#"{"imagePullSecrets":[{"name":"own"}]}"#,
                Err(
                    r#"imagePullSecrets[0].name="own" is not allowed because service account a does not reference that imagePullSecret"#,
                ),
            ),
        ] {
            let pod = value(&format!(r#"{{"spec":{spec}}}"#));
            assert_eq!(check_secrets(&pod, &account, true), expected.map_err(String::from), "{spec}");
        }
    }
}
