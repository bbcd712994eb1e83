//! Server-side apply of a custom resource: the types come from the definition that the controller installs anyway.

use crate::Outcome;
use kube::CustomResourceExt;
use tenure::{prelude::*, schema::crd, value::to_value};
use website_controller::{Website, WebsiteSpec};

fn website(content: &str) -> Website {
    Website::new("front", WebsiteSpec { content: content.into(), replicas: 1, host: None })
}

pub fn run() -> Outcome {
    let definition = to_value(&Website::crd())?;
    let schema = crd::compile(&definition)?;

    let editor = Applier::new("editor").schema(&schema);
    let created = editor.apply(None, &website("hello"))?;
    assert!(created.changed);

    // A second manager of the same value shares it; one with another value is refused.
    let mirror = Applier::new("mirror").schema(&schema);
    let shared = mirror.apply(&created.object, &website("hello"))?;
    println!("{} managers", shared.managers.iter().count());
    assert_eq!(shared.managers.iter().count(), 2);
    let refused = mirror.apply(&created.object, &website("bye"));
    println!("{}", refused.err().ok_or("a conflict was expected")?);
    Ok(())
}
