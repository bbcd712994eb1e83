//! `kube` in the process, and other clients over a socket.

use crate::{MAPS, Outcome, map};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::json;
use std::{pin::pin, time::Duration};
use tenure_testing::{Fault, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn kube_reads_and_writes() -> Outcome {
    let server = TestServer::start().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let made = maps.create(&PostParams::default(), &serde_json::from_value(map("a", "1"))?).await?;
    assert!(made.uid().is_some());
    let applied = maps.patch("a", &PatchParams::apply("me").force(), &Patch::Apply(map("a", "2"))).await?;
    assert_eq!(applied.data.unwrap_or_default()["k"], "2");
    assert_eq!(maps.list(&ListParams::default()).await?.items.len(), 1);
    assert!(maps.get_opt("b").await?.is_none());
    let typed: ConfigMap =
        server.object("ConfigMap", "default", "a").until_typed(|map: &ConfigMap| map.data.is_some()).await?;
    assert_eq!(typed.name_any(), "a");
    let jane: Api<ConfigMap> = Api::default_namespaced(server.client_as("jane", &["dev"]));
    let refused = jane.get("a").await.unwrap_err().to_string();
    assert!(refused.contains("User \"jane\" cannot get resource \"configmaps\""), "{refused}");
    Ok(())
}

#[tokio::test]
async fn an_informer_survives_faults() -> Outcome {
    let server = TestServer::start().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    server.create(map("a", "")).await?;
    let fast = || watcher::DefaultBackoff::default();
    let mut seen = pin!(watcher(maps, watcher::Config::default()).backoff(fast()).applied_objects());
    let mut next = async || -> Result<String, Box<dyn std::error::Error>> {
        loop {
            // The stream reports the errors that faults cause, and continues.
            match tokio::time::timeout(Duration::from_secs(20), seen.next()).await? {
                Some(Ok(object)) => return Ok(object.name_any()),
                Some(Err(_)) => {}
                None => return Err("the stream has ended".into()),
            }
        }
    };
    assert_eq!(next().await?, "a");
    server.inject(Fault::cut_watch(0).once());
    server.create(map("b", "")).await?;
    assert_eq!(next().await?, "b");
    server.inject(Fault::too_old().verb("watch").once());
    server.create(map("c", "")).await?;
    while next().await? != "c" {}
    Ok(())
}

#[tokio::test]
async fn a_socket_serves_any_client() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "1")).await?;
    let socket = server.listen().await?;
    let kubeconfig = std::fs::read_to_string(socket.kubeconfig())?;
    assert!(kubeconfig.contains(&socket.url()), "{kubeconfig}");
    let ask = async |host: &str| -> Result<String, std::io::Error> {
        let mut stream = tokio::net::TcpStream::connect(socket.address()).await?;
        let request = format!(
            "GET /api/v1/namespaces/default/configmaps/a HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        Ok(response)
    };
    let response = ask("localhost").await?;
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("\"k\":\"1\""), "{response}");
    // A web page cannot reach the server under another host name.
    assert!(ask("evil.example.com").await?.starts_with("HTTP/1.1 403"));
    assert!(server.listen_on("0.0.0.0:0".parse()?).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_socket_serves_http_2() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "1")).await?;
    let socket = server.listen().await?;
    let stream = TokioIo::new(tokio::net::TcpStream::connect(socket.address()).await?);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
    tokio::spawn(connection);
    let mut get = async || {
        let request = http::Request::get(format!("{}{MAPS}/a", socket.url()));
        sender
            .send_request(request.body(Empty::<Bytes>::new())?)
            .await
            .map_err(Box::<dyn std::error::Error>::from)
    };
    let response = get().await?;
    assert_eq!((response.status().as_u16(), response.version()), (200, http::Version::HTTP_2));
    let object: serde_json::Value = serde_json::from_slice(&response.collect().await?.to_bytes())?;
    assert_eq!(object["data"]["k"], "1");
    // A connection that is cut takes one response with it, not the others.
    server.inject(Fault::cut_response().once());
    assert!(get().await?.collect().await.is_err());
    assert!(get().await?.collect().await.is_ok());
    Ok(())
}

#[tokio::test]
async fn a_watch_of_kube_delivers_events_in_order() -> Outcome {
    let server = TestServer::start().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut events = maps.watch(&kube::api::WatchParams::default(), "0").await?.boxed();
    for name in ["a", "b"] {
        server.create(map(name, "")).await?;
    }
    server.object("ConfigMap", "default", "a").merge(json!({"data": {"k": "2"}})).await?;
    let mut seen = Vec::new();
    while let Some(event) = events.try_next().await? {
        match event {
            kube::api::WatchEvent::Added(object) => seen.push(format!("+{}", object.name_any())),
            kube::api::WatchEvent::Modified(object) => seen.push(format!("~{}", object.name_any())),
            other => return Err(format!("{other:?}").into()),
        }
        if seen.len() == 3 {
            break;
        }
    }
    assert_eq!(seen, ["+a", "+b", "~a"]);
    Ok(())
}
