//! A restart of the server: users stay signed in, fights are still known, and the file of the sessions has no secrets.

use crate::{
    cluster::{TestCluster, sign_in},
    driver::Browser,
};
use std::os::unix::fs::PermissionsExt;

#[test]
fn sessions_and_fights_survive_a_restart() {
    let mut cluster = TestCluster::on_disk(&[]);
    cluster.furnish();
    cluster.quarrel("left", "right");
    cluster.kubectl(&["-n", "shop", "create", "serviceaccount", "visitor"], "");
    let visitor = "--serviceaccount=shop:visitor";
    cluster.kubectl(&["create", "clusterrolebinding", "visitors", "--clusterrole=view", visitor], "");
    let token = cluster.kubectl(&["-n", "shop", "create", "token", "visitor"], "");
    let (linked, named) = (Browser::start(), Browser::start());
    let page = cluster.server.page();
    sign_in(&linked, &cluster.server.link());
    named.open(&page);
    named.fill("sign-in-view input", token.trim());
    named.press("Sign in");
    named.wait_for_text("system:serviceaccount:shop:visitor");

    // What is on disk is for its owner alone, and has neither the token nor a cookie.
    let file = cluster.file("page-sessions");
    let kept = std::fs::read_to_string(&file).expect("the sessions");
    assert_eq!(std::fs::metadata(&file).expect("the file").permissions().mode() & 0o077, 0);
    assert!(!kept.contains(token.trim()) && !kept.contains("visitor"), "{kept}");

    cluster.restart(&[]);
    let web = format!("{page}object/apps%2Fv1/deployments/shop/web");
    linked.open(&web);
    linked.wait_for_text("Managers keep overwriting .spec.replicas");
    linked.wait("document.querySelector('.fights h2').innerText === 'Managers fight over a field'");
    // The whole of it is visible, without a scroll bar of its own.
    linked.wait("(() => { const box = document.querySelector('.fights'); return box.scrollHeight <= box.clientHeight; })()");
    named.open(&web);
    named.wait_for_text("you may not patch deployment.apps");
    named.wait_for_text("system:serviceaccount:shop:visitor");

    // Who signs out is signed out after a restart, too.
    named.click("[title='Sign out']");
    named.wait_for_text("You have signed out");
    cluster.restart(&[]);
    named.open(&web);
    named.wait("document.querySelector('sign-in-view')");
    linked.open(&web);
    linked.wait("document.querySelector('object-lines .row')");
}

const MANIFEST: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes, namespace: shop}\ndata: {word: hippopotamus}\n";

/// Applies a manifest on the page.
fn apply(browser: &Browser, page: &str) {
    browser.open(&format!("{page}apply?manager=ann"));
    browser.paste(".editor textarea", MANIFEST);
    browser.wait("document.querySelector('#apply:not([aria-disabled])')");
    browser.click("#apply");
    browser.wait_for_text("applied.");
}

/// Undoes the only step on the page.
fn undo(browser: &Browser, page: &str) {
    browser.open(&format!("{page}handover"));
    browser
        .wait("document.querySelector('.steps')?.innerText.includes('Apply configmap/notes in shop as ann')");
    browser.press("Undo");
    browser.wait_for_text("Nothing was done yet that could be undone");
}

#[test]
fn what_was_done_on_the_page_of_a_server_can_be_undone_after_a_restart() {
    let mut cluster = TestCluster::on_disk(&[]);
    cluster.furnish();
    let (browser, page) = (Browser::start(), cluster.server.page());
    sign_in(&browser, &cluster.server.link());
    apply(&browser, &page);
    let folders: Vec<_> =
        std::fs::read_dir(cluster.file("page-sessions.undo")).expect("the steps").flatten().collect();
    let files: Vec<_> = std::fs::read_dir(folders[0].path()).expect("the steps").flatten().collect();
    assert_eq!((folders.len(), files.len()), (1, 1));
    let kept = std::fs::read(files[0].path()).expect("a step");
    assert!(!String::from_utf8_lossy(&kept).contains("hippopotamus"), "a step is sealed");
    assert_eq!(std::fs::metadata(files[0].path()).expect("the file").permissions().mode() & 0o077, 0);

    cluster.restart(&[]);
    undo(&browser, &page);
    assert_eq!(cluster.kubectl(&["-n", "shop", "get", "configmap", "notes", "--ignore-not-found"], ""), "");
    browser.click("[title='Sign out']");
    browser.wait_for_text("You have signed out");
    assert_eq!(std::fs::read_dir(cluster.file("page-sessions.undo")).expect("the folder").count(), 0);
}

#[test]
fn the_page_and_the_commands_undo_what_the_other_did() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    let tenure = |line: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tenure"));
        let output = cluster.environment(command.args(line)).output().expect("tenure");
        assert!(output.status.success(), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let ui = cluster.ui();
    let browser = Browser::start();
    sign_in(&browser, &ui.link());
    apply(&browser, &ui.page());
    drop(ui);
    // A step of the page, at a terminal.
    let listed = tenure(&["undo", "--list"]);
    assert!(listed.contains("apply configmap/notes in shop as ann"), "{listed}");
    tenure(&["undo", "--yes"]);
    assert_eq!(cluster.kubectl(&["-n", "shop", "get", "configmap", "notes", "--ignore-not-found"], ""), "");

    // A step of a command, on the page of another process.
    tenure(&[
        "transfer",
        "deployment/web",
        "--path",
        ".spec.replicas",
        "--to",
        "autoscaler",
        "-n",
        "shop",
        "--yes",
    ]);
    let ui = cluster.ui();
    sign_in(&browser, &ui.link());
    browser.open(&format!("{}handover", ui.page()));
    browser.wait(
        "[...document.querySelectorAll('.steps li')].some((step) => step.innerText.includes('autoscaler'))",
    );
    browser.script("[...document.querySelectorAll('.steps li')].find((step) => step.innerText.includes('autoscaler')).querySelector('button:last-child').click()");
    browser.wait(
        "![...document.querySelectorAll('.steps li')].some((step) => step.innerText.includes('autoscaler'))",
    );
    let owners = cluster.owners_of_web();
    assert!(!owners.contains("autoscaler"), "{owners}");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}
