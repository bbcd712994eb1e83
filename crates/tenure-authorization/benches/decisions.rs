//! The cost of authentication and authorization: decisions of RBAC with the bootstrap roles and a thousand
//! bindings, and the verification of a token.

#![allow(missing_docs)] // The macros of criterion make public functions.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tenure_authentication::credentials::{SigningKey, sign, verify};
use tenure_authorization::rbac::{DecisionCache, Policy, bootstrap_objects};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_profile::KubernetesVersion;
use tenure_value::{Limits, Value, yaml};

const RSA: &str = include_str!("../../tenure-authentication/tests/data/rsa.pem");
const BINDINGS: usize = 1000;

fn object(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap_or_default()
}

/// The bootstrap roles, and a thousand role bindings of `edit` in one namespace: each for a user and a group of its own,
/// every tenth for `crowd` as well.
fn policy() -> Policy {
    let mut policy = Policy::default();
    for bootstrap in bootstrap_objects(KubernetesVersion::DEFAULT).unwrap_or_default() {
        policy.insert(&bootstrap);
    }
    // The rules that aggregation collects.
    policy.insert(&object(
        "{kind: ClusterRole, metadata: {name: edit}, rules: [
           {apiGroups: [''], resources: [pods/attach, pods/exec, pods/portforward, pods/proxy, secrets, services/proxy], verbs: [get, list, watch]},
           {apiGroups: [''], resources: [serviceaccounts], verbs: [impersonate]},
           {apiGroups: [''], resources: [pods, configmaps, endpoints, services], verbs: [create, delete, deletecollection, patch, update]},
           {apiGroups: [batch], resources: [cronjobs, jobs], verbs: [create, delete, deletecollection, patch, update]},
           {apiGroups: [apps], resources: [daemonsets, deployments, deployments/scale, replicasets, statefulsets], verbs: [create, delete, deletecollection, patch, update]}]}",
    ));
    for number in 0..BINDINGS {
        let crowd = if number % 10 == 0 { ", {kind: User, name: crowd}" } else { "" };
        policy.insert(&object(&format!(
            "{{kind: RoleBinding, metadata: {{name: team-{number}, namespace: shop}}, roleRef: {{kind: ClusterRole, name: edit}},
              subjects: [{{kind: User, name: user-{number}}}, {{kind: Group, name: team-{number}}}{crowd}]}}"
        )));
    }
    policy
}

fn patch(verb: &str) -> Attributes {
    Attributes::Resource(ResourceAttributes {
        verb: verb.into(),
        group: "apps".into(),
        version: "v1".into(),
        resource: "deployments".into(),
        namespace: "shop".into(),
        name: "web".into(),
        ..ResourceAttributes::default()
    })
}

fn decisions(criterion: &mut Criterion) {
    let (policy, cache) = (policy(), DecisionCache::default());
    let member = |name: &str| UserInfo::new(name).with_group("team-7").with_group(UserInfo::AUTHENTICATED);
    let crowd = UserInfo::new("crowd").with_group(UserInfo::AUTHENTICATED);
    for (what, user, attributes) in [
        ("allowed", member("ann"), patch("patch")),
        ("denied", member("ann"), patch("escalate")),
        ("denied after 100 bindings of the user", crowd, patch("escalate")),
    ] {
        criterion.bench_function(&format!("{what}, first time"), |bencher| {
            bencher.iter(|| policy.authorize(black_box(&user), black_box(&attributes)))
        });
        criterion.bench_function(&format!("{what}, again"), |bencher| {
            bencher.iter(|| cache.authorize(&policy, black_box(&user), black_box(&attributes)))
        });
    }
}

fn tokens(criterion: &mut Criterion) {
    let keys =
        [("P-256", SigningKey::generate().map(|(key, _)| key)), ("RSA 2048", SigningKey::from_pem(RSA))];
    let claims = object(
        "{iss: 'https://kubernetes.default.svc', aud: ['https://kubernetes.default.svc'], exp: 1800000000, sub: 'system:serviceaccount:shop:web'}",
    );
    for (name, key) in keys {
        let Ok(key) = key else { continue };
        let Ok(token) = sign(&key, &claims) else { continue };
        let keys = [key.verifying_key().clone()];
        criterion.bench_function(&format!("verify a token, {name}"), |bencher| {
            bencher.iter(|| verify(&keys, black_box(&token)))
        });
        criterion.bench_function(&format!("digest of a token, {name}"), |bencher| {
            bencher.iter(|| ring::digest::digest(&ring::digest::SHA256, black_box(&token).as_bytes()))
        });
    }
}

criterion_group!(benches, decisions, tokens);
criterion_main!(benches);
