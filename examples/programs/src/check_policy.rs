//! A policy as a cluster would enforce it, checked in a pipeline before anything is sent. The expression is compiled once, its cost is
//! known before it runs, and no expression can occupy the process.

use crate::Outcome;
use tenure::{
    cel::{Decl, Env, Limits, Val},
    prelude::Value,
};

const RULE: &str =
    "object.replicas >= 2 && object.images.all(image, image.startsWith('registry.example.com/'))";

pub fn run() -> Outcome {
    let images = Decl::list(Decl::string().max_length(512)).max_items(20);
    let object = Decl::object("object", [("replicas", Decl::int(), true), ("images", images, true)]);
    let policy = Env::kubernetes().with_variable("object", object.clone()).compile(RULE)?;
    println!("costs at most {}", policy.estimated_cost());

    for (manifest, allowed) in [
        (r#"{"replicas": 3, "images": ["registry.example.com/web:1"]}"#, true),
        (r#"{"replicas": 1, "images": ["registry.example.com/web:1"]}"#, false),
        (r#"{"replicas": 3, "images": ["docker.io/web:1"]}"#, false),
    ] {
        let manifest: Value = manifest.parse()?;
        let evaluation = policy.eval(&[Val::from_document(&manifest, Some(&object))?], Limits::new());
        let verdict = matches!(evaluation.result, Ok(Val::Bool(true)));
        println!("{manifest}: {}", if verdict { "allowed" } else { "denied" });
        assert_eq!(verdict, allowed);
    }
    Ok(())
}
