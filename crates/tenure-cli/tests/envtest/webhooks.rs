//! Webhooks as a suite serves them, on a port of this machine: admission and conversion.

use crate::harness::{Authority, Environment, code, typed};
use http_body_util::BodyExt;
use hyper::StatusCode;
use k8s_openapi::{
    api::{
        admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
        core::v1::ConfigMap,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};
use std::{fs, sync::Arc};
use tempfile::TempDir;
use tenure_http::{
    GuardedRequest, Response,
    listener::{self, Handler},
};
use tenure_transport::serving::ServingCertificate;
use tenure_value::base64;

/// The webhooks of a suite.
struct Webhooks;

impl Handler for Webhooks {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let body = body.into_stream().collect().await.expect("a body").to_bytes();
        let mut review: Value = serde_json::from_slice(&body).expect("a review");
        let request = review["request"].take();
        let mut response = json!({"uid": request["uid"]});
        match path.as_str() {
            "/mutate" => {
                let patch = json!([{"op": "add", "path": "/data", "value": {"mutated": "yes"}}]);
                response["patchType"] = "JSONPatch".into();
                response["patch"] = base64::encode(patch.to_string()).into();
                response["allowed"] = true.into();
            }
            "/validate" => {
                let allowed = request["object"]["metadata"]["name"] != "forbidden";
                response["allowed"] = allowed.into();
                response["status"] = json!({"message": "the name is forbidden", "code": 403});
            }
            _ => {
                let version = request["desiredAPIVersion"].clone();
                let objects = request["objects"].as_array().cloned().unwrap_or_default();
                let converted = objects.into_iter().map(|mut object| {
                    object["spec"]["via"] = object["apiVersion"].take();
                    object["apiVersion"] = version.clone();
                    object
                });
                response["convertedObjects"] = converted.collect();
                response["result"] = json!({"status": "Success"});
            }
        }
        let review =
            json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
        Response::new(StatusCode::OK, "application/json", review.to_string())
    }
}

/// Serves the webhooks, and returns their URL and the bundle that clients trust.
async fn serve_webhooks(directory: &TempDir) -> (String, String) {
    let authority = Authority::new();
    let (certificate, key) = authority.serving();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("tls.crt"), certificate).expect("a file");
    fs::write(path("tls.key"), key).expect("a file");
    let certificate = ServingCertificate::read(&path("tls.crt"), &path("tls.key")).expect("a certificate");
    let tls = certificate.tls(None).expect("TLS");
    let socket = listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a port");
    let url = format!("https://{}", socket.local_addr().expect("its address"));
    tokio::spawn(listener::serve(
        socket,
        Some(tenure_transport::Reloadable::new(tls)),
        Arc::new(Webhooks),
        std::future::pending(),
    ));
    (url, base64::encode(authority.certificate))
}

#[test]
fn admission_and_conversion_webhooks_are_called() {
    let directory = TempDir::new().expect("a directory");
    Environment::run(&[], async |client| {
        let (url, bundle) = serve_webhooks(&directory).await;
        let post = PostParams::default();
        let webhook = |path: &str| {
            json!({
                "metadata": {"name": "suite"},
                "webhooks": [{
                    "name": "suite.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                    "clientConfig": {"url": format!("{url}{path}"), "caBundle": bundle},
                    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                               "resources": ["configmaps"]}],
                }],
            })
        };
        let mutating: MutatingWebhookConfiguration = typed(webhook("/mutate"));
        Api::all(client.clone()).create(&post, &mutating).await?;
        let validating: ValidatingWebhookConfiguration = typed(webhook("/validate"));
        Api::all(client.clone()).create(&post, &validating).await?;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let map = |name: &str| typed(json!({"metadata": {"name": name}}));
        let created = maps.create(&post, &map("allowed")).await?;
        assert_eq!(created.data.unwrap_or_default().get("mutated").map(String::as_str), Some("yes"));
        assert_eq!(code(maps.create(&post, &map("forbidden")).await), 403);

        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
        let definition: CustomResourceDefinition = typed(json!({
            "metadata": {"name": "gadgets.example.org"},
            "spec": {"group": "example.org", "scope": "Namespaced",
                     "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
                     "versions": [version("v1", true), version("v2", false)],
                     "conversion": {"strategy": "Webhook", "webhook": {
                         "conversionReviewVersions": ["v1"],
                         "clientConfig": {"url": format!("{url}/convert"), "caBundle": bundle}}}},
        }));
        Api::all(client.clone()).create(&post, &definition).await?;
        let gadgets = |version: &str| -> Api<DynamicObject> {
            let kind = GroupVersionKind::gvk("example.org", version, "Gadget");
            Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&kind))
        };
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.org", "v1", "Gadget"));
        let gadget = DynamicObject::new("g", &kind).data(json!({"spec": {"size": 1}}));
        gadgets("v1").create(&post, &gadget).await?;
        let converted = gadgets("v2").get("g").await?;
        assert_eq!(converted.data["spec"], json!({"size": 1, "via": "example.org/v1"}));
        Ok(())
    });
}
