//! A restart of the server: users stay signed in, fights are still known, and the file of the sessions tells nothing.

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
