//! `differential --reference URL` compares Tenure with another API server; see `docs/internals/differential.md`.

use clap::Parser;
use std::{
    collections::BTreeMap,
    process::ExitCode,
    time::{Duration, Instant},
};
use tenure_differential::{Client, Conversation, LocalServer, run, shrink};
use tenure_profile::{KubernetesVersion, Profile};

/// How many smaller conversations are tried for one that differs.
const TRIES: usize = 400;

/// Sends random conversations to two API servers and compares the responses.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The server to compare with, as http://host:port; a kube-apiserver is reached through `kubectl proxy`
    #[arg(long, value_name = "URL")]
    reference: Option<String>,
    /// The server that is compared; without it a Tenure server is started for the run
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// The profile of the Tenure server that is started
    #[arg(long, value_name = "NAME", default_value = "kubernetes")]
    profile: Profile,
    /// Compare with a Tenure server of this profile, instead of --reference
    #[arg(long, value_name = "NAME", conflicts_with = "reference")]
    reference_profile: Option<Profile>,
    /// The version of Kubernetes of the Tenure server that is started, and of the kinds of bad requests
    #[arg(long, value_name = "VERSION", default_value_t = KubernetesVersion::DEFAULT)]
    kubernetes_version: KubernetesVersion,
    /// Send requests with one thing wrong, for every built-in kind, and compare errors as whole documents
    #[arg(long)]
    bad: bool,
    /// The seed of the first conversation; the next ones count up from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The number of conversations
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// The maximum duration, in seconds
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,
    /// Do not shrink conversations that differ
    #[arg(long)]
    no_shrink: bool,
}

fn main() -> ExitCode {
    match compare(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("differential: {error}");
            ExitCode::from(2)
        }
    }
}

/// Sends the conversations, prints the differences, and returns the number of conversations that differ.
fn compare(options: &Options) -> Result<u64, Box<dyn std::error::Error>> {
    let mut started = Vec::new();
    let mut client = |url: &Option<String>, profile: Option<Profile>| match (url, profile) {
        (Some(url), _) => Ok::<Client, Box<dyn std::error::Error>>(Client::new(url)?),
        (None, Some(profile)) => {
            let server = LocalServer::start(profile.at(options.kubernetes_version))?;
            let client = Client::new(&server.url())?;
            started.push(server);
            Ok(client)
        }
        (None, None) => Err("name the server to compare with: --reference URL or --reference-profile".into()),
    };
    let reference = client(&options.reference, options.reference_profile)?;
    let server = client(&options.server, Some(options.profile))?;
    let (start, limit) = (Instant::now(), options.time.map(Duration::from_secs));
    let (mut held, mut differing) = (0, 0);
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for seed in options.seed..options.seed.saturating_add(options.count) {
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            break;
        }
        held += 1;
        let conversation = match options.bad {
            true => Conversation::generate_bad(seed, options.kubernetes_version),
            false => Conversation::generate(seed),
        };
        let Some(difference) = run(&conversation, &server, &reference)? else { continue };
        differing += 1;
        *places.entry(difference.place.clone()).or_default() += 1;
        let (conversation, difference) = match options.no_shrink {
            true => (conversation, difference),
            false => shrink(conversation, difference, &server, &reference, TRIES)?,
        };
        println!("seed {seed}: {difference}\n{conversation}");
    }
    for (place, count) in places {
        println!("{count:6} {place}");
    }
    println!("{held} conversations, {differing} differ");
    Ok(differing)
}
