//! The past on the page: the changes of a field, the versions of an object, and managers that fight.

use crate::{
    accessibility,
    cluster::{TestCluster, sign_in},
    driver::Browser,
};

const WEB: &str = "object/apps%2Fv1/deployments/shop/web";

#[track_caller]
fn accessible(browser: &Browser, view: &str) {
    for scheme in ["light", "dark"] {
        browser.appearance(scheme);
        assert_eq!(accessibility::problems(browser), Vec::<String>::new(), "{view}, {scheme}");
    }
}

#[test]
fn the_slider_shows_versions_and_why_shows_changes() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    for replicas in [7, 9] {
        let replicas = format!("--replicas={replicas}");
        cluster.kubectl(&["-n", "shop", "scale", "deployment", "web", &replicas], "");
    }
    let browser = Browser::start();
    let page = cluster.server.page();
    sign_in(&browser, &cluster.server.link());
    browser.open(&format!("{page}{WEB}?path=.spec.replicas"));
    browser.wait_for_text("replicas: 9");
    // The changes of the field, newest first.
    let changes = "document.querySelectorAll('why-panel .history li')";
    browser.wait(&format!("{changes}.length >= 2"));
    browser.wait(&format!("{changes}[0].innerText.includes('7') && {changes}[0].innerText.includes('9')"));
    accessible(&browser, "history of a field");
    // A slider through the versions.
    let toggle =
        "[...document.querySelectorAll('.legend .toggle')].find((button) => button.innerText === 'History')";
    browser.script(&format!("{toggle}.click()"));
    browser.wait("document.querySelector('history-slider input[type=range]')");
    accessible(&browser, "slider");
    browser.press("Older");
    browser.wait_for_text("replicas: 7");
    browser.wait("document.querySelector('object-view').classList.contains('past')");
    browser.wait("document.querySelector('.moment').innerText.includes('.spec.replicas')");
    accessible(&browser, "a past version");
    // While the past is shown, a change of the live object does not replace it.
    cluster.kubectl(&["-n", "shop", "scale", "deployment", "web", "--replicas=4"], "");
    browser.wait_for_text("Changes while you watch");
    browser.wait_for_text("replicas: 7");
    browser.press("Now");
    browser.wait_for_text("replicas: 4");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

#[test]
fn managers_that_fight_are_named_at_the_object() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    for _ in 0..4 {
        for (manager, replicas) in [("left", "3"), ("right", "5")] {
            let patch = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
            let manager = format!("--field-manager={manager}");
            cluster.kubectl(
                &["-n", "shop", "patch", "deployment", "web", "--type=merge", &manager, "-p", &patch],
                "",
            );
        }
    }
    let browser = Browser::start();
    let page = cluster.server.page();
    sign_in(&browser, &cluster.server.link());
    browser.open(&format!("{page}{WEB}"));
    browser.wait_for_text("Managers keep overwriting .spec.replicas");
    accessible(&browser, "a fight");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}
