//! `tenure approve`: a person reads a plan of an agent and decides. There is no flag that decides without the person.

use crate::{
    Error, Outcome, saved_plan, state,
    terminal::{Audience, Format, Terminal, table, visible},
};
use clap::Args;
use std::path::PathBuf;
use tenure_client::{ApprovalDecision, ApprovalError, Approvals, Pending, WaitingPlan};
use tenure_ownership::owner::age;
use tenure_value::{Object, Value};

/// How many digits of the digest a person types.
const TYPED: usize = 6;

/// Decide about the plans of agents that wait for approval.
#[derive(Args)]
#[command(after_help = "\
`tenure mcp --approve plan` lets agents plan, and carries out only what was approved here. Without an argument the plans that wait are
listed. With a digest, or its first digits, the plan is shown, and you approve it by typing digits of its digest: that needs a terminal.
The digest covers everything that the plan does; a plan that no longer fits the cluster is refused when it is carried out.

Examples:
  tenure approve
  tenure approve sha256:4f0c2a9e
  tenure approve --refuse 4f0c2a9e")]
pub struct Options {
    /// The digest of the plan, or its first digits.
    #[arg(value_name = "DIGEST")]
    digest: Option<String>,
    /// Refuse the plan.
    #[arg(long, requires = "digest")]
    refuse: bool,
    #[command(flatten)]
    directory: ApprovalDirectory,
    /// The output format of the list.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
}

/// Where plans wait.
#[derive(Args)]
pub struct ApprovalDirectory {
    /// The directory in which plans of agents wait [default: $XDG_STATE_HOME/tenure/approvals, else ~/.local/state/tenure/approvals].
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    approvals: Option<PathBuf>,
}

impl ApprovalDirectory {
    /// Returns the directory; `None` if none is named and there is no home directory.
    pub fn path(&self) -> Option<PathBuf> {
        let default = || state::directory().map(|state| state.join("approvals"));
        self.approvals.clone().or_else(default)
    }

    /// Opens the directory.
    pub fn open(&self) -> Result<Approvals, Error> {
        let directory = self.path();
        let directory =
            directory.ok_or_else(|| Error::usage("there is no home directory; name one with --approvals"))?;
        Approvals::open(&directory).map_err(failed)
    }
}

fn failed(error: ApprovalError) -> Error {
    Error::usage(error.to_string())
}

/// Lists the plans, or decides about one.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let approvals = options.directory.open()?;
    let Some(given) = &options.digest else { return list(&approvals, &options, terminal) };
    let waiting = approvals.find(given).map_err(failed)?;
    if options.refuse {
        approvals.decide(&waiting.digest, ApprovalDecision::Refused, terminal.now).map_err(failed)?;
        terminal.print(format!("refused {}\n", waiting.digest))?;
        return Ok(Outcome::Done);
    }
    if terminal.audience == Audience::Program {
        return Err(Error::usage("a plan is approved by a person at a terminal"));
    }
    // Whole values: what is cut could be what the person would refuse.
    let whole = Terminal { width: usize::MAX / 2, ..*terminal };
    terminal.print(saved_plan::text(&waiting.plan, &whole))?;
    let digits = waiting.digest.strip_prefix("sha256:").and_then(|hex| hex.get(..TYPED)).unwrap_or_default();
    let question = format!("Type {digits} to approve this plan, or anything else to leave it: ");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    if runtime.block_on(terminal.ask(question))?.as_deref() != Some(digits) {
        terminal.print("nothing was decided\n")?;
        return Ok(Outcome::Done);
    }
    approvals.decide(&waiting.digest, ApprovalDecision::Approved, terminal.now).map_err(failed)?;
    terminal.print(format!("approved {}\n", waiting.digest))?;
    Ok(Outcome::Done)
}

fn list(approvals: &Approvals, options: &Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let Pending { plans: waiting, unreadable } = approvals.waiting().map_err(failed)?;
    for problem in &unreadable {
        terminal.note(visible(&problem.to_string()));
    }
    if options.output != Format::Text {
        let plans = waiting.iter().map(|one| {
            let objects = one.plan.steps.iter().map(|step| step.target.to_value());
            Value::Object(
                Object::default()
                    .with("digest", one.digest.as_str())
                    .with("decision", one.word())
                    .with("server", one.plan.cluster.server.as_str())
                    .with("time", one.plan.time.to_string())
                    .with("objects", Value::array(objects)),
            )
        });
        terminal.print_value(&Value::object([("plans", Value::array(plans))]), options.output)?;
        return Ok(Outcome::Done);
    }
    if waiting.is_empty() {
        terminal.print("No plan waits.\n")?;
        return Ok(Outcome::Done);
    }
    let row = |one: &WaitingPlan| {
        let objects: Vec<String> =
            one.plan.steps.iter().map(|step| format!("{} {}", step.write.word(), step.target)).collect();
        let digest = one.digest.get(..19).unwrap_or(&one.digest).to_owned();
        [age(Some(one.plan.time), terminal.now), one.word().to_owned(), digest, objects.join(", ")]
    };
    let rows: Vec<[String; 4]> = waiting.iter().map(row).collect();
    terminal.print(table(["AGE", "DECISION", "DIGEST", "STEPS"], &rows, terminal))?;
    Ok(Outcome::Done)
}
