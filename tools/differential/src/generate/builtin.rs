//! Built-in kinds, each with the fields that merge in interesting ways.

use super::{Kind, text, texts};
use crate::Random;
use tenure_value::Value;

/// A built-in kind.
pub(super) struct Builtin {
    versions: &'static [&'static str],
    resource: &'static str,
    name: &'static str,
    base: &'static str,
    fields: fn(&mut Random, &str) -> Vec<(&'static str, Value)>,
    status: fn(&mut Random) -> Vec<(&'static str, Value)>,
    has_scale: bool,
}

const WORKLOAD: &str = r#"{"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},
    "spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;

const KINDS: [Builtin; 6] = [
    Builtin {
        versions: &["v1"],
        resource: "configmaps",
        name: "ConfigMap",
        base: "{}",
        fields: |random, _| vec![("data", texts(&["a", "b", "c"], random))],
        status: |_| Vec::new(),
        has_scale: false,
    },
    Builtin {
        versions: &["apps/v1"],
        resource: "deployments",
        name: "Deployment",
        base: WORKLOAD,
        fields: |random, _| {
            let mut spec = workload(random);
            if random.one_in(4) {
                spec.push(("strategy", strategy(random)));
            }
            if random.one_in(6) {
                spec.push(("paused", Value::Bool(random.one_in(2))));
            }
            vec![("spec", Value::object(spec))]
        },
        status: |random| vec![("readyReplicas", number(random)), ("conditions", conditions(random))],
        has_scale: true,
    },
    Builtin {
        versions: &["apps/v1"],
        resource: "statefulsets",
        name: "StatefulSet",
        base: r#"{"spec":{"serviceName":"s","selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},
            "spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
        fields: |random, _| {
            let mut spec = workload(random);
            if random.one_in(5) {
                let strategy = *random.pick(&["OnDelete", "RollingUpdate"]);
                spec.push(("updateStrategy", Value::object([("type", Value::from(strategy))])));
            }
            vec![("spec", Value::object(spec))]
        },
        status: |random| vec![("replicas", number(random)), ("conditions", conditions(random))],
        has_scale: true,
    },
    Builtin {
        versions: &["v1"],
        resource: "services",
        name: "Service",
        base: r#"{"spec":{"ports":[{"port":80,"name":"http"}]}}"#,
        fields: |random, _| {
            let mut spec = vec![("selector", texts(&["a", "b"], random))];
            if random.one_in(2) {
                spec.push(("ports", ports(random, "port")));
            }
            if random.one_in(6) {
                let kind = *random.pick(&["ClusterIP", "NodePort", "LoadBalancer"]);
                spec.push(("type", Value::from(kind)));
            }
            if random.one_in(8) {
                spec.push(("sessionAffinity", Value::from(*random.pick(&["None", "ClientIP"]))));
            }
            if random.one_in(10) {
                spec.push(("externalIPs", Value::array([Value::from("1.2.3.4")])));
            }
            vec![("spec", Value::object(spec))]
        },
        status: |random| vec![("conditions", conditions(random))],
        has_scale: false,
    },
    Builtin {
        versions: &["autoscaling/v1", "autoscaling/v2"],
        resource: "horizontalpodautoscalers",
        name: "HorizontalPodAutoscaler",
        base: r#"{"spec":{"maxReplicas":5,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}"#,
        fields: |random, version| {
            let mut spec = Vec::new();
            if random.one_in(2) {
                spec.push(("maxReplicas", Value::from(1 + random.below(5) as u64)));
            }
            if random.one_in(3) {
                spec.push(("minReplicas", Value::from(1 + random.below(2) as u64)));
            }
            let percent = Value::from(50 + random.below(3) as u64);
            match (random.one_in(3), version.ends_with("v1")) {
                (true, true) => spec.push(("targetCPUUtilizationPercentage", percent)),
                (true, false) => {
                    let name = *random.pick(&["cpu", "memory"]);
                    let target = [("type", Value::from("Utilization")), ("averageUtilization", percent)];
                    let resource = [("name", Value::from(name)), ("target", Value::object(target))];
                    let metric = [("type", Value::from("Resource")), ("resource", Value::object(resource))];
                    spec.push(("metrics", Value::array([Value::object(metric)])));
                }
                _ => {}
            }
            vec![("spec", Value::object(spec))]
        },
        status: |random| vec![("desiredReplicas", number(random)), ("currentReplicas", number(random))],
        has_scale: false,
    },
    Builtin {
        versions: &["v1"],
        resource: "serviceaccounts",
        name: "ServiceAccount",
        base: "{}",
        fields: |random, _| {
            let names = |random: &mut Random| {
                let some = random.some(&["a", "b", "c"]).into_iter();
                Value::array(
                    some.map(|name| Value::object([("name", Value::from(*name))])).collect::<Vec<_>>(),
                )
            };
            vec![
                ("secrets", names(random)),
                ("imagePullSecrets", names(random)),
                ("automountServiceAccountToken", Value::Bool(random.one_in(2))),
            ]
        },
        status: |_| Vec::new(),
        has_scale: false,
    },
];

/// Chooses a built-in kind.
pub(super) fn random(random: &mut Random) -> Builtin {
    let mut kinds = KINDS;
    let at = random.below(kinds.len());
    kinds.swap(0, at);
    let [kind, ..] = kinds;
    kind
}

impl Kind for Builtin {
    fn versions(&self) -> Vec<String> {
        self.versions.iter().map(ToString::to_string).collect()
    }

    fn resource(&self) -> &str {
        self.resource
    }

    fn name(&self) -> &str {
        self.name
    }

    fn fields(&self, random: &mut Random, version: &str) -> Value {
        Value::object((self.fields)(random, version))
    }

    fn base(&self) -> Value {
        self.base.parse().unwrap_or_default()
    }

    fn status(&self, random: &mut Random, _: &str) -> Value {
        Value::object((self.status)(random))
    }

    fn has_scale(&self) -> bool {
        self.has_scale
    }
}

fn number(random: &mut Random) -> Value {
    Value::from(random.below(4) as u64)
}

fn workload(random: &mut Random) -> Vec<(&'static str, Value)> {
    let mut spec = Vec::new();
    if random.one_in(3) {
        spec.push(("replicas", number(random)));
    }
    if random.one_in(5) {
        spec.push(("minReadySeconds", number(random)));
    }
    if random.one_in(2) {
        spec.push(("template", Value::object([("spec", pod(random))])));
    }
    spec
}

fn strategy(random: &mut Random) -> Value {
    match random.below(3) {
        0 => Value::object([("type", Value::from("Recreate"))]),
        1 => Value::object([("type", Value::from("RollingUpdate"))]),
        _ => {
            let surge = Value::from(*random.pick(&["10%", "20%"]));
            Value::object([("rollingUpdate", Value::object([("maxSurge", surge)]))])
        }
    }
}

fn pod(random: &mut Random) -> Value {
    let mut spec = Vec::new();
    if random.one_in(2) {
        let names: Vec<&str> = random.some(&["c", "d"]).into_iter().copied().collect();
        let containers = names.into_iter().map(|name| container(name, random)).collect::<Vec<_>>();
        spec.push(("containers", Value::array(containers)));
    }
    if random.one_in(5) {
        let key = *random.pick(&["a", "b"]);
        let toleration = [("key", Value::from(key)), ("operator", Value::from("Exists"))];
        spec.push(("tolerations", Value::array([Value::object(toleration)])));
    }
    if random.one_in(5) {
        spec.push(("nodeSelector", texts(&["x", "y"], random)));
    }
    if random.one_in(6) {
        let source = *random.pick(&["emptyDir", "hostPath"]);
        let content = match source {
            "hostPath" => Value::object([("path", Value::from("/x"))]),
            _ => Value::object(Vec::<(&str, Value)>::new()),
        };
        let volume = Value::object([("name", Value::from("v")), (source, content)]);
        spec.push(("volumes", Value::array([volume])));
    }
    Value::object(spec)
}

fn container(name: &'static str, random: &mut Random) -> Value {
    let mut fields = vec![("name", Value::from(name))];
    if !random.one_in(4) {
        fields.push(("image", Value::from(*random.pick(&["i:1", "i:2"]))));
    }
    if random.one_in(2) {
        let names: Vec<&str> = random.some(&["A", "B", "C"]).into_iter().copied().collect();
        let env = names
            .into_iter()
            .map(|name| Value::object([("name", Value::from(name)), ("value", text(random))]));
        fields.push(("env", Value::array(env.collect::<Vec<_>>())));
    }
    if random.one_in(3) {
        fields.push(("ports", ports(random, "containerPort")));
    }
    if random.one_in(6) {
        fields.push(("command", Value::array([text(random), text(random)])));
    }
    if random.one_in(8) {
        fields.push(("securityContext", Value::object([("runAsUser", number(random))])));
    }
    Value::object(fields)
}

fn ports(random: &mut Random, key: &'static str) -> Value {
    let numbers: Vec<u64> = random.some(&[80, 81, 53]).into_iter().copied().collect();
    let ports = numbers.into_iter().map(|number| {
        let mut port = vec![(key, Value::from(number)), ("name", Value::from(format!("p{number}")))];
        if random.one_in(3) {
            port.push(("protocol", Value::from(*random.pick(&["TCP", "UDP"]))));
        }
        Value::object(port)
    });
    Value::array(ports.collect::<Vec<_>>())
}

fn conditions(random: &mut Random) -> Value {
    let types: Vec<&str> = random.some(&["A", "B"]).into_iter().copied().collect();
    let conditions = types.into_iter().map(|ty| {
        Value::object([
            ("type", Value::from(ty)),
            ("status", Value::from(*random.pick(&["True", "False"]))),
            ("reason", Value::from("R")),
            ("message", text(random)),
            ("lastTransitionTime", Value::from("2024-01-01T00:00:00Z")),
        ])
    });
    Value::array(conditions.collect::<Vec<_>>())
}
