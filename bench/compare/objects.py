"""What is written and read: a ring of Deployments, ConfigMaps, and the requests about them."""

from client import request

NAMESPACE, RING, PAGE = "bench", 200, 500
MAPS, DEPLOYMENTS = f"/api/v1/namespaces/{NAMESPACE}/configmaps", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


def manifest(number, same):
    name, varied = f"web-{number % RING}", 0 if same else number
    environment = [{"name": f"VAR_{at}", "value": str((varied + at) % 97)} for at in range(1, 7)]
    return deployment(name, varied, environment)


def deployment(name, varied=0, environment=()):
    main = {"name": "main", "image": f"registry.example/app:{varied % 1000}",
            "ports": [{"containerPort": 8080, "name": "http"}, {"containerPort": 9090, "name": "metrics"}], "env": list(environment),
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}}}
    sidecar = {"name": "sidecar", "image": "registry.example/proxy:1.2", "args": ["--level", "info"]}
    template = {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [main, sidecar], "volumes": [{"name": "config", "configMap": {"name": "app"}}]}}
    labels = {"app": name, "tier": "web", "rev": f"r{varied % 1000}"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels},
            "spec": {"replicas": 1 + varied % 5, "selector": {"matchLabels": {"app": name}}, "template": template}}


def apply(body, manager="m1"):
    where = f"{DEPLOYMENTS}/{body['metadata']['name']}?fieldManager={manager}&force=true"
    return request("PATCH", where, body, "application/apply-patch+yaml")


def changes(first, count):
    """Applies to a ring of Deployments, each with other values than the one before it."""
    return [apply(manifest((first + number) * 7, False)) for number in range(count)]


def same():
    """Applies one and the same to each Deployment of the ring."""
    return [apply(manifest(number, True)) for number in range(RING)]


def config_map(name, labels, text):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"text": text}}
