//! Why managers conflict, with the commands that settle it, where a person meets the conflict; and objects of unusual names.

use crate::{
    accessibility,
    cluster::{CONFLICTING, TestCluster, sign_in},
    driver::Browser,
};

#[test]
fn conflicts_and_fields_say_their_causes_with_commands_to_paste() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    let (browser, page) = (Browser::start(), cluster.server.page());
    sign_in(&browser, &cluster.server.link());
    browser.open(&format!("{page}apply?manager=argocd"));
    browser.paste(".editor textarea", CONFLICTING);
    browser.wait("document.querySelectorAll('.conflict-card').length === 2");
    browser.wait("document.querySelector('.causes')?.innerText.includes('somebody changed .spec.replicas')");
    browser.script("document.querySelectorAll('.causes details').forEach((one) => { one.open = true; })");
    // The same command as on the command line, for exactly this object.
    browser.wait_for_text("tenure apply -f FILE --manager argocd --force-path .spec.replicas");
    browser.wait_for_text(
        "tenure transfer deployment.apps/web -n shop --path .spec.replicas --from kubectl --to argocd",
    );
    for scheme in ["light", "dark"] {
        browser.appearance(scheme);
        assert_eq!(accessibility::problems(&browser), Vec::<String>::new(), "{scheme}");
    }
    // What is settled is still explained.
    browser.script("document.querySelector('.conflict-card input[value=share]').click()");
    browser.wait("document.querySelector('.conflict-card.settled') && document.querySelectorAll('.causes > li').length === 2");

    browser.open(&format!("{page}object/apps%2Fv1/deployments/shop/web?path=.spec.replicas"));
    browser.wait("document.querySelector('why-panel')?.innerText.includes('somebody changed it with')");
    browser.open(&format!("{page}object/apps%2Fv1/deployments/shop/reports?path=.metadata.labels.app"));
    browser.wait("document.querySelector('why-panel .command')?.innerText.includes('tenure migrate deployment.apps/reports -n shop')");
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

#[test]
fn an_object_of_any_name_opens_and_is_followed() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    let name = r"team=shop,a\b c";
    let role = |verb: &str| {
        serde_json::json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}],
        })
    };
    cluster.apply("admin", &role("get").to_string());
    let (browser, page) = (Browser::start(), cluster.server.page());
    sign_in(&browser, &cluster.server.link());
    browser.open(&format!("{page}objects/rbac.authorization.k8s.io%2Fv1/clusterroles?q=team"));
    browser.wait(&format!(
        "[...document.querySelectorAll('.objects .row a')].some((link) => link.innerText === {})",
        serde_json::json!(name)
    ));
    browser.script("[...document.querySelectorAll('.objects .row a')].find((link) => link.innerText.startsWith('team')).click()");
    browser.wait("document.querySelector('object-lines')?.innerText.includes('get')");
    cluster.apply("admin", &role("watch").to_string());
    browser.wait("document.querySelector('object-lines')?.innerText.includes('watch')");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}
