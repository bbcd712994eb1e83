//! Pictures of every view, light and dark, wide and narrow. They are written to `target/page`; those of the documentation are
//! copied from there.

use crate::{
    accessibility,
    cluster::{CONFLICTING, TestCluster, sign_in},
    driver::Browser,
};
use std::path::Path;

/// The views: the name of the picture, the address below the page, and what shows that the view is complete.
const VIEWS: [(&str, &str, &str); 10] = [
    ("overview", "overview", "document.querySelectorAll('overview-view .brief').length === 6"),
    ("objects", "objects/apps%2Fv1/deployments", "document.querySelectorAll('.objects .row').length >= 4"),
    (
        "object",
        "object/apps%2Fv1/deployments/shop/web",
        "document.querySelectorAll('object-lines .row').length > 10",
    ),
    (
        "why",
        "object/apps%2Fv1/deployments/shop/web?path=.spec.replicas",
        "document.querySelector('why-panel dl')",
    ),
    ("apply", "apply?manager=argocd", "document.querySelector('.editor textarea')"),
    (
        "handover",
        "handover/apps%2Fv1/deployments/shop/web?action=transfer&path=.spec.replicas",
        "document.querySelector('handover-view .two')",
    ),
    ("managers", "managers", "document.querySelector('.tiles')"),
    ("manager", "manager/argocd", "document.querySelector('manager-view table')"),
    (
        "difference",
        "difference/apps%2Fv1/deployments/shop/web?from=FIRST",
        "document.querySelector('.side-by-side')",
    ),
    ("types", "types/v1/Service?path=.spec", "document.querySelector('types-view table')"),
];

/// The widths that pictures are taken at.
const SIZES: [(u32, u32); 3] = [(1400, 860), (420, 800), (2200, 1240)];

#[test]
fn every_view_has_its_picture() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    cluster.quarrel("scheduler", "horizontal-pod-autoscaler");
    cluster.refused_apply("nightly-deploy", CONFLICTING);
    let browser = Browser::start();
    sign_in(&browser, &cluster.server.link());
    let first = first_revision(&cluster);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    for scheme in ["light", "dark"] {
        browser.appearance(scheme);
        for (name, address, ready) in VIEWS {
            browser.resize(1400, 860);
            let address = address.replace("FIRST", &first);
            browser.open(&format!("{}{address}", cluster.server.page()));
            browser.wait(ready);
            prepare(&browser, name);
            for (width, height) in SIZES {
                browser.resize(width, height);
                // What scrolls is inside of the page.
                for axis in ["Width", "Height"] {
                    let script = format!("return document.documentElement.scroll{axis} - inner{axis}");
                    let overflow = browser.script(&script);
                    assert!(overflow.as_i64().unwrap_or(1) <= 0, "{name} at {width}, {axis}: {overflow}");
                }
                let bar = "document.querySelector('apply-view .bottom')?.getBoundingClientRect().bottom ?? 0";
                let is_whole = browser.script(&format!("return ({bar}) <= innerHeight + 1"));
                assert_eq!(is_whole, true, "{name} at {width}: the button to apply");
                assert_eq!(
                    accessibility::problems(&browser),
                    Vec::<String>::new(),
                    "{name}, {scheme}, {width}"
                );
                browser.picture(&folder.join(format!("{name}-{scheme}-{width}.png")));
            }
        }
    }
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

/// Returns the revision at which the deployment was created.
fn first_revision(cluster: &TestCluster) -> String {
    let history = "/apis/apps/v1/namespaces/shop/deployments/web/history";
    let history: serde_json::Value =
        serde_json::from_str(&cluster.kubectl(&["get", "--raw", history], "")).expect("JSON");
    let items = history["items"].as_array().expect("changes");
    items.last().and_then(|item| item["revision"].as_str()).expect("a revision").to_owned()
}

/// Brings a view into the state that its picture shows.
fn prepare(browser: &Browser, name: &str) {
    match name {
        "apply" => {
            browser.paste(".editor textarea", CONFLICTING);
            browser.wait("document.querySelectorAll('.conflict-card').length === 2");
            browser.script("document.querySelector('.conflict-card input[value=share]').click()");
            browser.wait("document.querySelector('.conflict-card.settled')");
        }
        "handover" => {
            browser.fill("input[list=managers]", "autoscaler");
            browser.wait("document.querySelector('.plan').innerText.includes('autoscaler')");
        }
        _ => {}
    }
    // The focus ring belongs to the person at the keyboard.
    browser.script("document.activeElement?.blur()");
}
