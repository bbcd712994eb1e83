//! Short programs, one file each: `cargo run -p tenure-examples -- NAME` runs one, and the tests run all. Each uses what a program of
//! its own would use: the crate `tenure` with a feature or two.

mod apply_in_controller;
mod blame_live_object;
mod check_policy;
mod custom_resource;
mod embed_server;
mod lint_in_ci;
mod test_with_faults;
mod three_way_patch;

use std::{error::Error, process::ExitCode};

type Outcome = Result<(), Box<dyn Error>>;

type Program = (&'static str, &'static str, fn() -> Outcome);

/// The names of the programs, what they show, and how they are run.
const PROGRAMS: [Program; 8] = [
    (
        "apply-in-controller",
        "server-side apply of k8s-openapi types without a server",
        apply_in_controller::run,
    ),
    ("blame-live-object", "the owners of every line of a live object", blame_live_object::run),
    ("check-policy", "a policy in CEL, checked against a manifest", check_policy::run),
    ("custom-resource", "apply of a custom resource whose types come from `K::crd()`", custom_resource::run),
    ("embed-server", "an API server with a kind of its own inside a program", embed_server::run),
    ("lint-in-ci", "a manifest and a patch checked before they are sent", lint_in_ci::run),
    ("test-with-faults", "a test with forks of a server and injected faults", test_with_faults::run),
    ("three-way-patch", "the patch that kubectl apply would send, and its conflicts", three_way_patch::run),
];

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1);
    match PROGRAMS.iter().find(|(name, ..)| wanted.as_deref() == Some(name)) {
        Some((name, _, run)) => match run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{name}: {error}");
                ExitCode::FAILURE
            }
        },
        None => {
            println!("usage: tenure-examples NAME");
            PROGRAMS.iter().for_each(|(name, about, _)| println!("  {name:20} {about}"));
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_program_runs() {
        for (name, _, run) in super::PROGRAMS {
            run().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn every_program_is_short() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for (name, ..) in super::PROGRAMS {
            let file = folder.join(name.replace('-', "_")).with_extension("rs");
            let lines = std::fs::read_to_string(&file).map(|text| text.lines().count());
            assert!(lines.as_ref().is_ok_and(|lines| *lines < 60), "{}: {lines:?}", file.display());
        }
    }
}
