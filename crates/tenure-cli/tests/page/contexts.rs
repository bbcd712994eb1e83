//! Several contexts in one `tenure ui`: the context is part of the address, and a token stays with its server.

use crate::{
    cluster::{TestCluster, sign_in},
    driver::Browser,
};

#[test]
fn contexts_are_chosen_on_the_page() {
    let (one, two) = (TestCluster::start(&["--insecure-http"]), TestCluster::start(&["--insecure-http"]));
    one.furnish();
    two.kubectl(&["create", "configmap", "only-in-two", "--from-literal=a=1"], "");
    let server = |cluster: &TestCluster| {
        cluster.kubectl(&["config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"], "")
    };
    let kubeconfig = one.file("two-contexts");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: first\n\
         clusters:\n- {{name: one, cluster: {{server: '{}'}}}}\n- {{name: two, cluster: {{server: '{}'}}}}\n\
         contexts:\n- {{name: first, context: {{cluster: one, user: me}}}}\n- {{name: second/zwei, context: {{cluster: two, user: me}}}}\n\
         users:\n- {{name: me, user: {{}}}}\n",
        server(&one),
        server(&two)
    );
    std::fs::write(&kubeconfig, text).expect("a kubeconfig");
    let ui = one.ui_of(&kubeconfig);
    let browser = Browser::start();
    let page = ui.page();
    sign_in(&browser, &ui.link());
    browser.wait("document.querySelector('[aria-label=Context]')?.value === 'first'");
    browser.open(&format!("{page}objects/v1/configmaps?namespace=default"));
    browser.wait_for_text("Live");
    assert_eq!(browser.script("return document.body.innerText.includes('only-in-two')"), false);
    browser.script(
        "const menu = document.querySelector('[aria-label=Context]'); menu.value = 'second/zwei'; menu.dispatchEvent(new Event('change'))",
    );
    browser.wait("location.search.includes('context=second%2Fzwei') && document.querySelector('[aria-label=Context]')?.value === 'second/zwei'");
    // Every link stays in the context, and the address can be shared.
    browser.press("Objects");
    browser.wait("location.pathname.endsWith('/objects') && location.search.includes('context=')");
    browser.open(&format!("{page}objects/v1/configmaps?namespace=default&context=second%2Fzwei"));
    browser.wait_for_text("only-in-two");
    browser.press("only-in-two");
    browser.wait("document.querySelector('object-lines .row') && location.search.includes('context=second')");
    // A context that is not offered is refused.
    browser.open(&format!("{page}overview?context=other"));
    browser.wait_for_text("There is no context");
    assert_eq!(browser.console(&["api/session"]), Vec::<String>::new());
}
