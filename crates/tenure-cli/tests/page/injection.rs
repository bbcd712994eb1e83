//! Names, values, managers, annotations, addresses and errors that are scripts: every view shows them as text, and none of them runs. A
//! page of another site cannot put a view into a frame.

use crate::{
    cluster::{TestCluster, sign_in},
    driver::Browser,
};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

/// What runs if it becomes a part of the document. Names of managers and of roles may have any of these characters.
const IMAGE: &str = "<img src=x onerror=window.hit=1>";
const SCRIPT: &str = r#""'><script>window.hit=2</script><svg onload=window.hit=3>"#;
const LINK: &str = "javascript:window.hit=4";

/// Checks the view that is open: nothing ran, and nothing became an element that could.
#[track_caller]
fn check(browser: &Browser, view: &str) {
    let found = browser.script(
        "return JSON.stringify({
            hit: window.hit,
            elements: [...document.querySelectorAll('#main script, img[src=x], svg[onload], a[href^=javascript], [onerror], [onload]')].map((e) => e.outerHTML),
        })",
    );
    assert_eq!(found.as_str().unwrap_or_default(), r#"{"elements":[]}"#, "{view}");
}

fn object(version: &str, kind: &str, name: &str, rest: serde_json::Value) -> String {
    let mut object = json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": name, "annotations": {"example.com/html": SCRIPT, "example.com/link": LINK}},
    });
    for (field, value) in rest.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    object.to_string()
}

#[test]
fn what_objects_say_is_text_in_every_view() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    let values = json!({"data": {"image": IMAGE, "script": SCRIPT, "link": LINK}});
    let map = object("v1", "ConfigMap", "poison", values.clone());
    cluster.apply(IMAGE, &map);
    // A second manager, whose values fight with those of the first, so that there are conflicts, a history and a fight.
    for round in 0..8 {
        let (manager, value) = if round % 2 == 0 { (SCRIPT, IMAGE) } else { (IMAGE, SCRIPT) };
        let patch = json!({"data": {"image": value}}).to_string();
        let manager = format!("--field-manager={manager}");
        cluster.kubectl(&["patch", "configmap", "poison", "--type=merge", &manager, "-p", &patch], "");
    }
    let role = object("rbac.authorization.k8s.io/v1", "ClusterRole", IMAGE, json!({"rules": []}));
    cluster.apply(LINK, &role);
    let escaped = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let browser = Browser::start();
    let page = cluster.server.page();
    sign_in(&browser, &cluster.server.link());
    let (image, script) = (escaped(IMAGE), escaped(SCRIPT));
    let (map, role) =
        ("v1/configmaps/default/poison", format!("rbac.authorization.k8s.io%2Fv1/clusterroles/_/{image}"));
    // The address of a view, and what it shows once it is complete.
    let views = [
        ("objects/v1/configmaps?namespace=default".to_string(), "poison"),
        (format!("objects/v1/configmaps?manager={image}&q={script}&labels={script}&namespace={script}"), ""),
        ("objects/rbac.authorization.k8s.io%2Fv1/clusterroles".into(), IMAGE),
        (format!("objects/{image}/{script}"), "no such kind"),
        (format!("object/{map}"), IMAGE),
        (format!("object/{map}?path=.data.image&heat=1"), "Managers keep overwriting"),
        (format!("object/{map}?path={script}&manager={image}"), "poison"),
        (format!("object/{role}"), IMAGE),
        (format!("object/v1/configmaps/default/{image}"), "does not exist"),
        (format!("apply?manager={image}"), "Nothing is written yet"),
        (format!("handover/{map}?path=.data.image&action={script}"), IMAGE),
        (format!("handover/{image}/{script}/default/{image}"), ""),
        ("managers?namespace=default".into(), IMAGE),
        (format!("managers?namespace={script}"), ""),
        (format!("types?path={script}"), ""),
        (format!("types/{image}/{script}?path={script}"), ""),
        (format!("{image}/{script}"), "There is no such page"),
    ];
    for (view, shown) in &views {
        browser.open(&format!("{page}{view}"));
        browser
            .wait("document.querySelector('#main > *') && !document.querySelector('#main [aria-busy=true]')");
        match shown.is_empty() {
            true => browser.wait("document.querySelector('#main').innerText.trim().length > 20"),
            false => browser.wait_for_text(shown),
        }
        check(&browser, view);
    }
    // The past of the object, and what an apply would do: with conflicts, and refused with an error that has the values.
    browser.open(&format!("{page}object/{map}"));
    browser.wait_for_text("Managers keep overwriting");
    browser.script("[...document.querySelectorAll('.legend .toggle')].find((button) => button.innerText === 'History').click()");
    browser.wait("document.querySelector('history-slider input[type=range]')");
    browser.press("Older");
    browser.wait("document.querySelector('object-view').classList.contains('past')");
    check(&browser, "the past");
    let conflicting = object("v1", "ConfigMap", "poison", json!({"data": {"image": "other"}}));
    let refused = object("v1", "ConfigMap", "poison", json!({"data": {IMAGE: SCRIPT}}));
    let unreadable = format!("{IMAGE}: [{SCRIPT}");
    for (manifest, shown) in [
        (&conflicting, "document.querySelector('.verdict')"),
        (&refused, "document.querySelector('.problem')?.innerText.includes('<img src=x')"),
        (&unreadable, "document.querySelector('#main').innerText.includes('cannot be read')"),
    ] {
        browser.open(&format!("{page}apply"));
        browser.wait_for_text("Nothing is written yet");
        browser.paste(".editor textarea", manifest);
        browser.wait(shown);
        check(&browser, manifest);
    }
    // The policy of the page had nothing to prevent either.
    let violations = browser.console(&[]);
    let violations: Vec<&String> =
        violations.iter().filter(|text| text.contains("Content Security Policy")).collect();
    assert_eq!(violations, Vec::<&String>::new());
}

#[test]
fn a_page_of_another_site_cannot_frame_the_page() {
    // Over TLS: without it the server does not even answer what another site asks for.
    let cluster = TestCluster::start(&[]);
    let page = cluster.server.page();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let site = format!("http://localhost:{}/", listener.local_addr().expect("an address").port());
    let framed = format!(r#"<!doctype html><iframe src="{page}" onload="window.loaded=1"></iframe>"#);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{framed}", framed.len());
        }
    });
    let browser = Browser::start();
    browser.open(&site);
    browser.wait("window.loaded");
    let refused = browser.console(&[]);
    assert!(refused.iter().any(|text| text.contains("frame-ancestors")), "{refused:?}");
}
