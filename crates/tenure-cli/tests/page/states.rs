//! Exceptional states: a user with read permission only, a session that has ended, a lost connection.

use crate::{
    accessibility,
    cluster::{TestCluster, sign_in},
    driver::Browser,
};
use serde_json::Value;

#[test]
fn what_the_user_may_not_do_is_disabled_with_the_reason() {
    let cluster = TestCluster::start(&[]);
    cluster.furnish();
    cluster.kubectl(&["-n", "shop", "create", "serviceaccount", "visitor"], "");
    let visitor = "--serviceaccount=shop:visitor";
    cluster.kubectl(&["create", "clusterrolebinding", "visitors", "--clusterrole=view", visitor], "");
    let token = cluster.kubectl(&["-n", "shop", "create", "token", "visitor"], "");
    let browser = Browser::start();
    let page = cluster.server.page();

    // A wrong token is refused where it is entered, and a right one leads to where the user wanted to go.
    browser.open(&format!("{page}object/apps%2Fv1/deployments/shop/web"));
    browser.wait("document.querySelector('sign-in-view input')");
    browser.fill("sign-in-view input", "wrong");
    browser.press("Sign in");
    browser.wait("document.querySelector('.problem').innerText !== ''");
    browser.fill("sign-in-view input", token.trim());
    browser.press("Sign in");
    browser.wait_for_text("replicas: 5");
    browser.wait_for_text("system:serviceaccount:shop:visitor");

    // Reading is allowed, writing is not, and the page says why.
    browser.wait_for_text("you may not patch deployment.apps");
    let disabled = "[...document.querySelectorAll('.header [aria-disabled=true]')].map((button) => button.innerText).join()";
    assert_eq!(browser.script(&format!("return {disabled}")), "Try an apply,Hand over");
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());

    // The apply view shows the refusal of the dry run, and does not offer to apply.
    browser.open(&format!("{page}apply"));
    browser
        .paste(".editor textarea", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n");
    browser.wait("document.querySelector('.verdict.refused')");
    browser.wait("document.querySelector('.problem').innerText.includes('cannot patch')");
    browser.wait("document.querySelector('#apply[aria-disabled=true]')");

    // What may not be listed is an error of its own.
    browser.open(&format!("{page}objects/v1/secrets"));
    browser.wait_for_text("You may not list these objects");
    let expected = ["api/session", "api/objects"];
    assert_eq!(browser.console(&expected), Vec::<String>::new());
}

#[test]
fn an_ended_session_and_a_lost_connection_are_shown() {
    // A server that behaves as Kubernetes does, through `tenure ui`.
    let cluster = TestCluster::start(&["--compatibility", "kubernetes"]);
    cluster.furnish();
    let ui = cluster.ui();
    let browser = Browser::start();
    sign_in(&browser, &ui.link());
    browser.open(&format!("{}object/apps%2Fv1/deployments/shop/web", ui.page()));
    browser.wait_for_text("replicas: 5");

    // The session ends, as by signing out in another tab.
    let end = "fetch('/ui/api/session', {method: 'DELETE', headers: {'tenure-page': '1'}})";
    browser.script(&format!("window.ended = false; {end}.then(() => {{ window.ended = true; }})"));
    browser.wait("window.ended");
    browser.script("[...document.querySelectorAll('object-lines .row')].find((row) => row.innerText.includes('replicas')).click()");
    browser.wait_for_text("The session has ended");
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());

    // With the token of the administrator the user continues where they were.
    let kubeconfig = std::fs::read_to_string(cluster.kubeconfig()).expect("a kubeconfig");
    browser.press("Use a kubeconfig");
    browser.paste("sign-in-view textarea", &kubeconfig);
    browser.press("Sign in");
    browser.wait_for_text("replicas: 5");

    // The page outlives the process that serves it, and says so.
    drop(ui);
    browser.wait_for_text("The connection is lost");
    assert_eq!(
        browser.script("return document.querySelector('object-lines').innerText.includes('replicas: 5')"),
        Value::Bool(true)
    );
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());
}
