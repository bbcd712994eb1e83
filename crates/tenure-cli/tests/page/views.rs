//! Each view as a person uses it. One browser goes through a story; every view is checked for accessibility on the way, light and dark,
//! and at the end the console must be clean: no broken script, no failed request, no violation of the content security policy.

use crate::{
    accessibility::accessible,
    cluster::{CONFLICTING, TestCluster, sign_in},
    driver::Browser,
};

const WEB: &str = "object/apps%2Fv1/deployments/shop/web";

#[test]
fn objects_are_found_and_their_owners_explained_live() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    cluster.furnish();
    let browser = Browser::start();
    let page = cluster.server.page();

    // Without a session there is a way to sign in; the link signs in once.
    browser.open(&page);
    browser.wait("document.querySelector('sign-in-view')");
    accessible(&browser, "sign in");
    sign_in(&browser, &cluster.server.link());
    assert!(
        !browser.script("return location.href").to_string().contains("code="),
        "the code leaves the address"
    );
    assert_eq!(browser.script("return document.cookie"), "", "scripts cannot read the cookie");

    // Objects: a live list with filters that are part of the address.
    browser.open(&format!("{page}objects/apps%2Fv1/deployments"));
    browser.wait_for_text("4 objects");
    accessible(&browser, "objects");
    browser.fill("[aria-label='Search by name']", "we");
    browser.wait_for_text("1 of 4 objects");
    browser.wait("location.search.includes('q=we')");
    browser.fill("[aria-label='Search by name']", " ");
    browser.wait_for_text("4 objects");
    browser.fill("[aria-label='Label selector']", "tier=frontend");
    browser.wait_for_text("1 object");
    browser.open(&format!("{page}objects/apps%2Fv1/deployments?manager=alice"));
    browser.wait_for_text("1 of 4 objects");
    browser.open(&format!("{page}objects/apps%2Fv1/deployments?size=1000&unowned=1"));
    browser.wait_for_text("1 of 4 objects");
    browser.open(&format!("{page}objects/apps%2Fv1/deployments?namespace=nowhere"));
    browser.wait_for_text("No Deployment here");
    accessible(&browser, "no objects");
    browser.open(&format!("{page}objects/apps%2Fv1/deployments"));
    browser.wait_for_text("4 objects");
    cluster.kubectl(&["-n", "shop", "create", "deployment", "news", "--image=registry.example/news:1"], "");
    browser.wait_for_text("5 objects");
    cluster.kubectl(&["-n", "shop", "delete", "deployment", "news"], "");
    browser.wait_for_text("4 objects");

    // One object: the owners of every line, and why.
    browser.press("web");
    browser.wait_for_text("replicas: 5");
    accessible(&browser, "object");
    let owner = "[...document.querySelectorAll('object-lines .row')].find((row) => row.innerText.includes('replicas: 5'))?.querySelector('.hidden-text').textContent";
    browser.wait(&format!("{owner} === '. Owned by kubectl, Update/scale'"));
    browser.script("[...document.querySelectorAll('object-lines .row')].find((row) => row.innerText.includes('replicas: 5')).click()");
    browser.wait_for_text("conflicts with kubectl");
    browser.wait("location.search.includes('path=.spec.replicas')");
    accessible(&browser, "why");

    // A change by another client appears as it happens, with who and what.
    cluster.kubectl(&["-n", "shop", "scale", "deployment/web", "--replicas=7"], "");
    browser.wait_for_text("replicas: 7");
    browser.wait("document.querySelector('.activity li').innerText.includes('kubectl') && document.querySelector('.activity').innerText.includes('.spec.replicas')");
    accessible(&browser, "object with changes");

    // Only the fields of one manager.
    browser.click(".legend button[title*='alice']");
    browser.wait("!document.querySelector('object-lines').innerText.includes('replicas') && document.querySelector('object-lines').innerText.includes('team: checkout')");
    browser.open(&format!("{page}{WEB}?manager=on-call&heat=1"));
    browser.wait_for_text("LOG_LEVEL");
    browser.wait("!document.querySelector('object-lines').innerText.includes('replicas')");

    // An object that does not exist is reported as missing.
    browser.open(&format!("{page}object/apps%2Fv1/deployments/shop/nothing"));
    browser.wait_for_text("The object does not exist");
    accessible(&browser, "no object");
    browser.open(&format!("{page}objects/nothing%2Fv1/things"));
    browser.wait_for_text("The server has no such kind");

    // A link that was used, and signing out.
    browser.open(&page);
    browser.wait("document.querySelector('nav[aria-label=Views]')");
    browser.click("[title='Sign out']");
    browser.wait_for_text("You have signed out");
    browser.open("about:blank");
    browser.open(&cluster.server.link());
    browser.wait_for_text("was used already");
    let expected = ["api/session", "api/object?"];
    assert_eq!(browser.console(&expected), Vec::<String>::new());
}

#[test]
fn conflicts_are_settled_and_owners_hand_over() {
    // Over TLS, through the page of `tenure ui`, as with any other server.
    let cluster = TestCluster::start(&[]);
    cluster.furnish();
    let ui = cluster.ui();
    let browser = Browser::start();
    let page = ui.page();
    sign_in(&browser, &ui.link());

    // Two conflicts: one is taken, one shared.
    browser.open(&format!("{page}apply"));
    browser.wait_for_text("Nothing is written yet");
    accessible(&browser, "empty apply");
    browser.fill(".editor input", "argocd");
    browser.paste(".editor textarea", CONFLICTING);
    browser.wait_for_text("2 conflicts");
    accessible(&browser, "conflicts");
    assert_eq!(
        browser.script("return document.querySelector('#apply').getAttribute('aria-disabled')"),
        "true"
    );
    let choose = |path: &str, choice: &str| {
        let card = format!(
            "[...document.querySelectorAll('.conflict-card')].find((card) => card.innerText.includes('{path}'))"
        );
        browser.wait(&format!("{card} && !document.querySelector('.plan[aria-busy]')"));
        browser.script(&format!("{card}.querySelector('input[value={choice}]').click()"));
        browser.wait(&format!(
            "{card}?.classList.contains('settled') && !document.querySelector('.plan[aria-busy]')"
        ));
    };
    choose(".spec.replicas", "take");
    choose(".metadata.labels.team", "transfer");
    browser.wait_for_text("First, owners hand over");
    browser.wait("document.querySelector('#apply:not([aria-disabled])')");
    accessible(&browser, "settled");
    // What is live and what it becomes, side by side.
    browser.wait("document.querySelector('.side-by-side .changed')?.innerText.includes('replicas')");
    browser.click("#apply");
    browser.wait_for_text("applied.");
    // What was settled is settled: no conflict, and the manifest is the one that was applied.
    browser.wait("document.querySelectorAll('.conflict-card').length === 0 && document.querySelector('.verdict').innerText === 'Unchanged'");
    browser.wait("document.querySelector('.editor textarea').value.includes('team: checkout')");
    accessible(&browser, "applied");
    // The button has light text on a dark ground, in both schemes.
    for scheme in ["light", "dark"] {
        browser.appearance(scheme);
        let light = browser.script("const b = document.createElement('button'); b.className = 'button primary'; document.body.append(b); const c = getComputedStyle(b).color; b.remove(); return c");
        assert_eq!(light, "rgb(255, 255, 255)", "{scheme}");
    }
    let managers = cluster
        .kubectl(&["-n", "shop", "get", "deployment", "web", "-o", "yaml", "--show-managed-fields"], "");
    assert!(managers.contains("replicas: 2") && managers.contains("team: checkout"), "{managers}");
    assert!(!managers.contains("manager: alice"), "alice handed her only field over: {managers}");

    // Undo is in the message. What was written since makes it ask back, in the colour of a warning.
    cluster.kubectl(&["-n", "shop", "scale", "deployment/web", "--replicas=3"], "");
    browser.click(".done button");
    browser.wait_for_text("Undo, and take these back, too");
    let ground =
        || browser.script("return getComputedStyle(document.querySelector('.done')).backgroundColor");
    let asking = ground();
    browser.script("document.querySelector('.done').classList.remove('asks')");
    assert_ne!(ground(), asking, "as if it were done");
    browser.script("document.querySelector('.done').classList.add('asks')");
    accessible(&browser, "an undo that asks back");
    // Values and owners are those of before.
    browser.press("Undo, and take these back, too");
    browser.wait_for_text("Undone.");
    let undone = cluster
        .kubectl(&["-n", "shop", "get", "deployment", "web", "-o", "yaml", "--show-managed-fields"], "");
    assert!(undone.contains("replicas: 5") && undone.contains("manager: alice"), "{undone}");

    // Leaving out: the field stays with its owner.
    cluster.kubectl(&["-n", "shop", "scale", "deployment/web", "--replicas=9"], "");
    browser.open(&format!("{page}apply?manager=argocd"));
    browser.paste(".editor textarea", CONFLICTING);
    browser.wait_for_text("2 conflicts");
    choose(".spec.replicas", "leave-out");
    choose(".metadata.labels.team", "share");
    browser.wait("document.querySelector('.plan .card').innerText.includes('Unchanged') || document.querySelector('#apply:not([aria-disabled])')");
    let replicas =
        cluster.kubectl(&["-n", "shop", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"], "");
    assert_eq!(replicas, "9", "a plan writes nothing");
    browser.click("#apply");
    browser.wait_for_text("applied.");
    browser.wait("document.querySelectorAll('.conflict-card').length === 0");

    // A manifest that cannot be read, and one that the server refuses.
    browser.paste(".editor textarea", "kind: [");
    browser.wait_for_text("cannot be read");
    browser.paste(
        ".editor textarea",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'NOT valid', namespace: shop}\n",
    );
    browser.wait("document.querySelector('.verdict.refused')");

    // Handing over a field, with a preview, and undoing it.
    browser
        .open(&format!("{page}handover/apps%2Fv1/deployments/shop/web?action=transfer&path=.spec.replicas"));
    browser.wait("document.querySelector('input[list=managers]')");
    accessible(&browser, "hand over");
    browser.fill("input[list=managers]", "autoscaler");
    browser.wait("document.querySelector('.plan').innerText.includes('autoscaler')");
    accessible(&browser, "preview");
    browser.click(".plan button.primary");
    browser.wait_for_text("It can be undone below");
    let owners = || cluster.owners_of_web();
    assert!(owners().contains("autoscaler"), "{}", owners());
    browser.wait("document.querySelector('.steps li').innerText.includes('autoscaler')");
    browser.press("Undo");
    browser.wait("!document.querySelector('.steps').innerText.includes('autoscaler')");
    assert!(!owners().contains("autoscaler"), "{}", owners());

    // Migrating what client-side apply left behind.
    browser.open(&format!("{page}handover/apps%2Fv1/deployments/shop/reports?action=migrate"));
    browser.fill("input[list=managers]", "argocd");
    browser.wait("document.querySelector('.plan').innerText.includes('Leaves the object')");
    browser.click(".plan button.primary");
    browser.wait_for_text("It can be undone below");
    let reports = cluster
        .kubectl(&["-n", "shop", "get", "deployment", "reports", "-o", "yaml", "--show-managed-fields"], "");
    assert!(!reports.contains("last-applied") && reports.contains("manager: argocd"), "{reports}");

    // Managers and types.
    browser.open(&format!("{page}managers"));
    browser.wait_for_text("of managed fields");
    browser.wait("document.querySelector('table').innerText.includes('argocd')");
    accessible(&browser, "managers");
    browser.open(&format!("{page}types/v1/Service?path=.spec"));
    browser.wait_for_text("Weak keys");
    accessible(&browser, "types");
    browser.press("ports");
    browser.wait_for_text("A list keyed by port");
    let definition = |kind: &str| CUSTOM.replace("LIST", kind);
    cluster.kubectl(&["apply", "--server-side", "-f", "-"], &definition("atomic"));
    browser.open(&format!("{page}types/example.com%2Fv1/Widget?path=.spec"));
    browser.wait("document.querySelector('table')?.innerText.includes('tags') || (document.querySelector('.state.error button')?.click(), false)");
    browser.press("What would a new definition change?");
    browser.paste("types-view textarea", &definition("set"));
    browser.press("Compare");
    browser.wait_for_text("becomes merged as a set");
    accessible(&browser, "definition");
    assert_eq!(browser.console(&["api/plan", "api/undo"]), Vec::<String>::new());
}

#[test]
fn the_keyboard_alone_is_enough_and_contents_are_never_markup() {
    let cluster = TestCluster::start(&[]);
    cluster.kubectl(&["create", "namespace", "shop"], "");
    cluster.apply("argocd", HOSTILE);
    cluster.kubectl(
        &["-n", "shop", "create", "secret", "generic", "token", "--from-literal=password=hunter2"],
        "",
    );
    cluster.apply("<b onclick=alert(1)>mallory</b>", HOSTILE_TOO);
    let browser = Browser::start();
    sign_in(&browser, &cluster.server.link());

    // From the start to a field and back, without a mouse.
    browser.tab_to(".skip");
    browser.tab_to("#bar nav a[href$='objects']");
    browser.keys(&["Enter"]);
    browser.tab_to("[aria-label='Filter kinds']");
    browser.keys(&["C", "o", "n", "f", "i", "g"]);
    browser.wait("document.querySelector('.kinds li:not([hidden])').innerText === 'ConfigMap'");
    browser.tab_to(".kinds li:not([hidden]) a");
    browser.keys(&["Enter"]);
    browser.wait("location.pathname.endsWith('/configmaps')");
    browser.wait_for_text("Live");
    browser.tab_to(".objects .row a[href*='hostile']");
    browser.keys(&["Enter"]);
    browser.wait("document.querySelector('object-lines .row')");
    browser.tab_to("object-lines");
    let active = "document.querySelector('object-lines .row.active')";
    browser.keys(&["Down", "Down", "Down"]);
    browser.wait(&format!("{active}?.innerText.includes('data') || {active}?.innerText.includes(':')"));
    browser.wait("document.querySelector('object-lines').getAttribute('aria-activedescendant') === document.querySelector('object-lines .row.active').id");
    let is_evil = || browser.script(&format!("return {active}.innerText.includes('evil')")) == true;
    let reached = (0..100).any(|_| {
        let reached = is_evil();
        if !reached {
            browser.keys(&["Down"]);
        }
        reached
    });
    assert!(reached, "the line of the field is reached");
    browser.keys(&["Enter"]);
    browser.wait("document.querySelector('why-panel dl')");
    browser.tab_to("why-panel button");
    browser.keys(&["Escape"]);
    browser
        .wait("document.querySelector('why-panel').hidden && document.activeElement.matches('object-lines')");
    // Folding.
    let lines = "document.querySelectorAll('object-lines .row').length";
    let before = browser.script(&format!("return {lines}")).as_i64();
    browser.keys(&["Left"]);
    browser.wait(&format!("{lines} < {}", before.unwrap_or_default()));
    browser.keys(&["Right"]);
    browser.wait(&format!("{lines} === {}", before.unwrap_or_default()));

    // What is secret is shown on request only.
    browser.open(&format!("{}object/v1/secrets/shop/token?path=.data.password", cluster.server.page()));
    browser.wait("document.querySelector('why-panel dl')");
    assert_eq!(browser.script("return document.body.innerHTML.includes('aHVudGVyMg==')"), false);
    browser.press("Show values");
    browser.wait_for_text("password: aHVudGVyMg==");

    // Markup in values, annotations and manager names is shown as text.
    browser.open(&format!("{}object/v1/configmaps/shop/hostile", cluster.server.page()));
    browser.wait_for_text("<img src=x onerror=alert(1)>");
    browser.wait_for_text("<b onclick=alert(1)>mallory</b>");
    browser.open(&format!("{}managers", cluster.server.page()));
    browser.wait_for_text("<b onclick=alert(1)>mallory</b>");
    browser.open(&format!("{}overview", cluster.server.page()));
    browser.wait("document.querySelectorAll('overview-view .brief').length === 6");
    browser.wait_for_text("<b onclick=alert(1)>mallory</b>");
    browser.open(&format!("{}difference/v1/configmaps/shop/hostile", cluster.server.page()));
    browser.script_that_waits(FIRST_VERSION);
    browser.wait("document.querySelector('.side-by-side')?.innerText.includes('mallory</b>')");
    browser.open(&format!("{}objects/v1/configmaps?namespace=shop", cluster.server.page()));
    browser.wait_for_text("<b onclick=alert(1)>mallory</b>");
    assert_eq!(
        browser.script("return document.querySelectorAll('main img, main [onclick], main script').length"),
        0
    );
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

#[test]
fn long_lists_are_drawn_as_far_as_they_are_visible() {
    let cluster = TestCluster::start(&["--insecure-http"]);
    let entries: String = (0..19_000).map(|number| format!("  key-{number:05}: \"{number}\"\n")).collect();
    cluster.apply(
        "bulk",
        &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large, namespace: default}}\ndata:\n{entries}"
        ),
    );
    let many: Vec<String> = (0..1_200)
        .map(|number| format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"item-{number:04}\",\"namespace\":\"default\"}},\"data\":{{\"n\":\"{number}\"}}}}"))
        .collect();
    cluster.kubectl(
        &["create", "--validate=false", "-f", "-"],
        &format!("{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{}]}}", many.join(",")),
    );
    let browser = Browser::start();
    sign_in(&browser, &cluster.server.link());

    browser.open(&format!("{}object/v1/configmaps/default/large", cluster.server.page()));
    browser.wait_for_text("key-00000");
    let rows = "return document.querySelectorAll('object-lines .row').length";
    assert!(browser.script(rows).as_i64().is_some_and(|rows| rows < 120), "{}", browser.script(rows));
    browser.script("document.querySelector('object-lines').scrollTop = 1e9");
    browser.wait("document.querySelector('object-lines').innerText.includes('uid') || document.querySelector('object-lines').innerText.includes('key-18999')");
    browser.click(".legend button:last-child");
    browser.wait("document.querySelector('object-lines').innerText.includes('data: …')");

    browser.open(&format!("{}objects/v1/configmaps?namespace=default", cluster.server.page()));
    browser.wait_for_text("1,201 objects");
    assert!(
        browser
            .script("return document.querySelectorAll('.objects .row').length")
            .as_i64()
            .is_some_and(|rows| rows < 80)
    );
    browser.script("document.querySelector('.objects virtual-list').scrollTop = 1e9");
    browser.wait_for_text("large");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

/// Chooses the first version of an object on the left side, once the versions are known.
const FIRST_VERSION: &str = "
const done = arguments[arguments.length - 1];
const choose = () => {
  const menu = document.querySelector('[aria-label=From]');
  if (!menu) return setTimeout(choose, 50);
  menu.value = menu.options[menu.options.length - 1].value;
  menu.dispatchEvent(new Event('change'));
  done(true);
};
choose();";

const HOSTILE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: hostile
  namespace: shop
  annotations: {example.com/note: '<svg onload=alert(1)>'}
data:
  evil: '<img src=x onerror=alert(1)>'
  script: '</pre><script>alert(1)</script>'
";

const HOSTILE_TOO: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: hostile, namespace: shop}
data: {other: \"{{constructor.constructor('alert(1)')()}}\"}
";

const CUSTOM: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              tags: {type: array, x-kubernetes-list-type: LIST, items: {type: string}}
";
