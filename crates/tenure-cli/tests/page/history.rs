//! The past on the page: the changes of a field, the versions of an object, and managers that fight.

use crate::{
    accessibility::accessible,
    cluster::{TestCluster, sign_in},
    driver::Browser,
};
use std::process::Command;

const WEB: &str = "object/apps%2Fv1/deployments/shop/web";

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
    browser.wait("document.querySelector('object-view')?.classList.contains('past')");
    browser.wait("document.querySelector('.moment').innerText.includes('.spec.replicas')");
    accessible(&browser, "a past version");
    // While the past is shown, a change of the live object does not replace it.
    cluster.kubectl(&["-n", "shop", "scale", "deployment", "web", "--replicas=4"], "");
    browser.wait_for_text("Changes while you watch");
    browser.wait_for_text("replicas: 7");
    browser.press("Now");
    browser.wait_for_text("replicas: 4");
    browser.wait("!location.search.includes('at=')");

    // The version is part of the address; Why explains the field as it was then.
    let versions = "document.querySelectorAll('history-slider .tick').length";
    browser.wait(&format!("{versions} === 8 && document.querySelector('.tick.other')"));
    browser.press("Older");
    browser.wait("location.search.includes('at=')");
    let address = browser.script("return location.href").as_str().expect("an address").to_owned();
    browser.open(&address);
    browser.wait("document.querySelector('object-view')?.classList.contains('past')");
    browser.wait("document.querySelector('why-panel h2').innerText.startsWith('Why, at revision')");
    browser.wait_for_text("Why, at revision");
    accessible(&browser, "a version of the address");

    // Two versions side by side.
    browser.press("What this change did");
    browser.wait("document.querySelector('.side-by-side .changed')?.innerText.includes('replicas')");
    accessible(&browser, "two versions");
    browser.script("const menu = document.querySelector('[aria-label=From]'); menu.value = menu.options[menu.options.length - 1].value; menu.dispatchEvent(new Event('change'))");
    browser.wait("document.querySelectorAll('.side-by-side .added').length > 0");
    browser.open(&address);

    // Undo a change: it shows what it does, then does it.
    browser.press("Undo this change");
    browser.wait("document.querySelector('.undo-plan')?.innerText.includes('.spec.replicas')");
    accessible(&browser, "an undo");
    browser.press("Undo, and take these back, too");
    browser.wait_for_text("is undone");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

#[test]
fn a_deleted_object_is_shown_and_restored() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    cluster.kubectl(&["-n", "shop", "delete", "configmap", "settings"], "");
    let browser = Browser::start();
    let page = cluster.server.page();
    sign_in(&browser, &cluster.server.link());
    browser.open(&format!("{page}object/v1/configmaps/shop/settings"));
    browser.wait_for_text("This is its last version");
    browser.wait_for_text("currency: EUR");
    accessible(&browser, "a deleted object");
    browser.press("Restore");
    browser.press("Restore settings");
    browser.wait("document.querySelector('.legend')?.innerText.includes('argocd') && !document.body.innerText.includes('This is its last version')");
    let owners = [
        "-n",
        "shop",
        "get",
        "configmap",
        "settings",
        "-o",
        "jsonpath={.metadata.managedFields[*].manager}",
        "--show-managed-fields",
    ];
    assert_eq!(cluster.kubectl(&owners, ""), "argocd");
    assert_eq!(browser.console(&["api/object"]), Vec::<String>::new());
}

#[test]
fn managers_that_fight_are_named_at_the_object() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    cluster.quarrel("left", "right");
    let browser = Browser::start();
    let page = cluster.server.page();
    sign_in(&browser, &cluster.server.link());
    browser.open(&format!("{page}{WEB}"));
    browser.wait_for_text("Managers keep overwriting .spec.replicas");
    browser.wait("document.querySelector('.fights h2').innerText === 'Managers fight over a field'");
    assert_eq!(browser.script("return document.body.innerText.includes('Changes while you watch')"), false);
    accessible(&browser, "a fight");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

#[test]
fn the_history_of_a_recorder_is_shown_without_what_it_cannot_know() {
    let cluster = TestCluster::start(&["--history=false"]);
    cluster.furnish();
    let _recorder = cluster.record();
    cluster.quarrel("left", "right");
    // Until the last change is recorded.
    let is_recorded = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["log", "deployment/web", ".spec.replicas", "-n", "shop"]);
        let output = cluster.environment(&mut command).output().expect("tenure runs");
        String::from_utf8_lossy(&output.stdout).matches("3 → 6").count() == 4
    };
    while !is_recorded() {}
    let ui = cluster.ui();
    let browser = Browser::start();
    sign_in(&browser, &ui.link());
    browser.open(&ui.page());
    browser.wait_for_text("a recorder does not");
    browser.open(&format!("{}{WEB}", ui.page()));
    browser.wait_for_text("Managers keep overwriting .spec.replicas");
    browser.press("History");
    browser.wait("document.querySelector('.moment')?.textContent.includes('right changed .spec.replicas')");
    browser.press("Older");
    browser.wait("document.querySelector('.moment')?.textContent.includes('left changed .spec.replicas')");
    let told = browser.script("return document.querySelector('.moment').innerText");
    assert!(told.as_str().is_some_and(|told| told.contains("(update)")), "no user is known: {told}");
    accessible(&browser, "a version of a recorder");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}
