//! A user with permissions in one namespace: the page begins there, and says what is hidden instead of that nothing is there.

use crate::{
    accessibility,
    cluster::{TestCluster, sign_in},
    driver::Browser,
};

#[test]
fn who_may_read_one_namespace_begins_there() {
    let cluster = TestCluster::start(&[]);
    cluster.furnish();
    cluster.kubectl(&["-n", "shop", "create", "serviceaccount", "visitor"], "");
    let visitor = "--serviceaccount=shop:visitor";
    cluster.kubectl(&["-n", "shop", "create", "rolebinding", "visitors", "--clusterrole=view", visitor], "");
    let token = cluster.kubectl(&["-n", "shop", "create", "token", "visitor"], "");
    let kubeconfig = cluster.kubeconfig_with(token.trim(), "shop");
    let ui = cluster.ui_of(&kubeconfig);
    let browser = Browser::start();
    let page = ui.page();
    sign_in(&browser, &ui.link());

    // The overview counts what may be listed, and says so.
    browser.wait("document.querySelectorAll('overview-view .brief').length === 3");
    browser.wait_for_text("known from a history that you may read");
    browser.wait_for_text("Only the namespace shop is counted");
    browser.wait_for_text("Not counted, because you may not list them");
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());

    // The list of objects is that of the namespace; what may not be listed is apart.
    browser.open(&format!("{page}objects"));
    browser.wait_for_text("4 objects");
    browser.wait_for_text("Only the namespace shop");
    browser.wait("document.querySelector('.kinds summary').innerText.includes('you may not list')");
    assert_eq!(
        browser.script("return [...document.querySelectorAll('.kinds section a')].some((link) => link.innerText === 'Secret')"),
        false
    );
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());
    // Another namespace can be named, and the server refuses it.
    browser.fill("[aria-label=Namespace]", "kube-system");
    browser.keys(&["Tab"]);
    browser.wait_for_text("You may not list these objects");

    browser.open(&format!("{page}managers"));
    browser.wait("document.querySelector('managers-view table')?.innerText.includes('argocd')");
    browser.wait_for_text("Only the namespace shop is counted");
    assert_eq!(browser.console(&["api/objects", "api/kinds"]), Vec::<String>::new());
}
