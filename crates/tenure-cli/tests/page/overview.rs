//! The start of the page: what deserves attention, each with its way there; managers as links; columns that sort; keys.

use crate::{
    accessibility,
    cluster::{CONFLICTING, TestCluster, sign_in},
    driver::Browser,
};

#[test]
fn the_overview_leads_to_everything_that_it_tells_of() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    cluster.quarrel("left", "right");
    cluster.refused_apply("nightly", CONFLICTING);
    let browser = Browser::start();
    let page = cluster.server.page();
    sign_in(&browser, &cluster.server.link());
    // It is what a person sees first.
    browser.wait("document.querySelector('overview-view')");
    let card = |title: &str| {
        format!(
            "[...document.querySelectorAll('.brief')].find((card) => card.querySelector('h2').innerText === '{title}')"
        )
    };
    let shows = |title: &str, text: &str| {
        browser.wait(&format!("{}?.innerText.includes({text:?})", card(title)));
    };
    shows("Fights now", ".spec.replicas");
    shows("Fights now", "left");
    shows("Refused lately", "nightly");
    shows("Refused lately", ".spec.replicas");
    shows("Top writers", "right");
    shows("Left by client-side apply", "reports");
    shows("Fields without an owner", "Deployment");
    shows("Growth of managed fields", "new today");
    for scheme in ["light", "dark"] {
        browser.appearance(scheme);
        assert_eq!(accessibility::problems(&browser), Vec::<String>::new(), "{scheme}");
    }
    // Every line of every part leads somewhere.
    let without = "[...document.querySelectorAll('.brief-list > li')].filter((item) => !item.querySelector('a')).map((item) => item.innerText)";
    assert_eq!(browser.script(&format!("return {without}")), serde_json::json!([]));
    let follow = |title: &str, selector: &str| {
        browser.open(&format!("{page}overview"));
        browser.wait(&format!("{}?.querySelector({selector:?})", card(title)));
        browser.script(&format!("{}.querySelector({selector:?}).click()", card(title)));
    };
    follow("Fights now", "a");
    browser.wait("location.pathname.endsWith('/shop/web') && document.querySelector('.fights')");
    follow("Left by client-side apply", "a");
    browser.wait("location.pathname.includes('/handover/') && location.search.includes('migrate')");
    follow("Fields without an owner", "a[href*=deployments]");
    browser.wait("location.search.includes('unowned=1') && document.querySelector('.objects .row')");

    // A manager leads to what it owns, and that to the object with its fields.
    follow("Top writers", "a[href*=right]");
    browser.wait("document.querySelector('manager-view table')?.innerText.includes('web')");
    browser.press("web");
    browser.wait("document.querySelector('.legend [aria-pressed=true]')?.innerText.includes('right')");
    browser.press("Everything right owns");
    browser.wait("document.querySelector('manager-view h1').innerText.includes('right')");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

#[test]
fn columns_sort_and_keys_are_listed() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    let browser = Browser::start();
    let page = cluster.server.page();
    sign_in(&browser, &cluster.server.link());
    browser.open(&format!("{page}objects/apps%2Fv1/deployments?namespace=shop"));
    browser.wait_for_text("4 objects");
    let rows = "[...document.querySelectorAll('.objects .row')].sort((a, b) => a.index - b.index).map((row) => row.querySelector('a').innerText)";
    assert_eq!(
        browser.script(&format!("return {rows}")),
        serde_json::json!(["cart", "reports", "search", "web"])
    );
    let head = |name: &str| {
        format!(
            "[...document.querySelectorAll('.head button')].find((button) => button.innerText === '{name}')"
        )
    };
    browser.script(&format!("{}.click()", head("Fields")));
    browser.wait(&format!("({rows})[0] === 'web' && location.search.includes('sort=-fields')"));
    browser.script(&format!("{}.click()", head("Fields")));
    browser.wait(&format!("({rows})[3] === 'web' && location.search.includes('sort=fields')"));
    browser.wait(&format!("{}.closest('[aria-sort=ascending]')", head("Fields")));
    browser.open(&format!("{page}objects/apps%2Fv1/deployments?namespace=shop&sort=-name"));
    browser.wait(&format!("({rows}).join() === 'web,search,reports,cart'"));

    browser.open(&format!("{page}managers"));
    browser.wait("document.querySelector('managers-view table')");
    let first = "document.querySelector('managers-view tbody tr').innerText";
    browser.script("[...document.querySelectorAll('th button')].find((button) => button.innerText === 'Manager').click()");
    browser.wait(&format!("{first}.includes('alice')"));

    // `?` lists the keys, `/` goes to the search, `g` and a letter to a view.
    browser.keys(&["?"]);
    browser.wait("document.querySelector('dialog[open]')");
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());
    browser.keys(&["Escape"]);
    browser.wait("!document.querySelector('dialog')");
    browser.keys(&["/"]);
    browser.wait("location.pathname.endsWith('/objects') && document.activeElement?.getAttribute('aria-label') === 'Search by name'");
    browser.keys(&["/", "?"]);
    browser.wait("document.activeElement.value === '/?' && !document.querySelector('dialog')");
    browser.script("document.activeElement.blur()");
    browser.keys(&["g", "o"]);
    browser.wait("location.pathname.endsWith('/overview')");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}
