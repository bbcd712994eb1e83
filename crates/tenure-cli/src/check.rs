//! What the next apply of some manifests will meet, by cause, and the fix: ownership that others left behind moves to the manager that
//! applies, without changing a value. `check` reads manifests from files, `helm check` from a release.

use crate::{
    Error, Outcome,
    autoscalers::Autoscalers,
    handover::{HandoverFlags, carry_out},
    place::Place,
    plan_text::{count, label},
    plugin::program,
    terminal::{Format, Ink, Progress, Terminal, wrapped},
};
use clap::{Args, builder::PossibleValuesParser};
use futures::{StreamExt, TryStreamExt, stream};
use std::{collections::HashMap, fmt::Write};
use tenure_apply::{Manager, Operation, release};
use tenure_client::{Cluster, Draft, Found, REQUESTS_AT_ONCE};
use tenure_ownership::{
    Action, ApplyingManager, ConflictCause, Diagnosis, ForcedFields, LiveObject, Plan, Profile, Target,
    Verdict,
    diagnosis::CommandLine,
    handover::{self, HandoverOutcome},
    plan,
};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value, json};

/// The flags of a check.
#[derive(Args)]
pub struct CheckFlags {
    /// Move what others left behind to the manager that applies, without changing a value: shown first, and undone by `tenure undo`.
    #[arg(long)]
    pub fix: bool,
    /// With --fix, settle this cause, too, such as OtherWriter; may be repeated.
    #[arg(long = "also", value_name = "CAUSE", requires = "fix", value_parser = PossibleValuesParser::new(ConflictCause::ALL.map(ConflictCause::word)), hide_possible_values = true)]
    pub also: Vec<String>,
    #[command(flatten)]
    pub flags: HandoverFlags,
}

impl CheckFlags {
    /// Returns the causes that the fix settles.
    fn causes(&self) -> Vec<ConflictCause> {
        let is_wanted =
            |cause: &ConflictCause| cause.is_left_over() || self.also.iter().any(|word| word == cause.word());
        ConflictCause::ALL.into_iter().filter(is_wanted).collect()
    }
}

/// Something about an object that is not a conflict of a field.
pub struct Finding {
    /// The object.
    pub target: Target,
    /// What was found, and what to do.
    pub message: String,
    /// What it means for the next apply.
    pub outcome: Outcome,
}

/// What is checked.
pub struct Subject {
    /// The manifests, each with its place.
    pub drafts: Vec<(Draft, Place)>,
    /// The manager that applies.
    pub manager: String,
    /// What was found before.
    pub findings: Vec<Finding>,
    /// The line above the causes.
    pub title: String,
}

/// Shows what stands against the next apply, and settles what can be settled.
pub async fn run(
    subject: Subject,
    flags: &CheckFlags,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let applier =
        ApplyingManager { manager: subject.manager.clone(), force: ForcedFields::None, now: terminal.now };
    let drafts: Vec<Draft> = subject.drafts.iter().map(|(draft, _)| draft.clone()).collect();
    let namespaces =
        drafts.iter().map(|draft| draft.manifest.target.namespace.as_str()).filter(|name| !name.is_empty());
    let autoscalers = Autoscalers::read(namespaces.collect(), cluster).await?;
    let plans = plans(&drafts, &applier, cluster, terminal).await?;
    let profile = cluster.profile().await?;
    let mut check = Check { subject, flags, autoscalers, plans, profile, terminal };
    check.find_scaled(&applier);
    match flags.flags.output {
        Format::Text => terminal.print(check.text())?,
        _ if flags.fix => {}
        format => terminal.print_value(&check.document(), format)?,
    }
    if !flags.fix {
        return check.outcome();
    }
    let found = check.fixable(&drafts, cluster).await?;
    if found.is_empty() {
        terminal.note("nothing to fix by moving ownership");
        return check.outcome();
    }
    let title = format!("settle what stands against applies of {}", applier.manager);
    let by_identity: HashMap<Identity, &Draft> =
        drafts.iter().map(|draft| (Identity::of(&draft.manifest.target), draft)).collect();
    let step = |live: &LiveObject, ty| Ok(check.step(live, ty, &by_identity, &applier));
    carry_out(found, cluster, &flags.flags, terminal, (&title, &[]), step).await?;
    if flags.flags.dry_run {
        return check.outcome();
    }
    check.plans = self::plans(&drafts, &applier, cluster, terminal).await?;
    check.subject.findings.retain(|finding| finding.outcome != Outcome::Changes);
    check.find_scaled(&applier);
    if flags.flags.output == Format::Text {
        terminal.print(format!("\n{}", check.summary()))?;
    }
    check.outcome()
}

async fn plans(
    drafts: &[Draft],
    applier: &ApplyingManager,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<Vec<Plan>, Error> {
    let progress = Progress::new(terminal, "checking", drafts.len());
    let plans = stream::iter(drafts).map(async |draft| {
        let plan = tenure_client::plan(draft, drafts, applier, cluster).await;
        progress.step();
        plan
    });
    let plans = plans.buffered(REQUESTS_AT_ONCE).try_collect().await;
    progress.finish();
    Ok(plans?)
}

struct Check<'a> {
    subject: Subject,
    flags: &'a CheckFlags,
    autoscalers: Autoscalers,
    plans: Vec<Plan>,
    profile: Profile,
    terminal: &'a Terminal,
}

impl Check<'_> {
    /// Adds what autoscalers make of manifests, with a conflict or without one so far.
    fn find_scaled(&mut self, applier: &ApplyingManager) {
        let replicas = Autoscalers::replicas();
        for plan in &mut self.plans {
            self.autoscalers.claim(plan);
        }
        for plan in &self.plans {
            let Some(name) = self.autoscalers.of(&plan.target) else { continue };
            let is_reported = plan.causes.iter().any(|cause| cause.paths.contains(&replicas));
            let message = match (plan.declared.has(&replicas), is_reset(plan, applier)) {
                (true, _) if is_reported => continue,
                (true, _) => format!(
                    "HorizontalPodAutoscaler {name} scales it, and the manifest sets .spec.replicas: leave the field out, or every apply conflicts once it has scaled"
                ),
                (false, true) => format!(
                    "HorizontalPodAutoscaler {name} scales it, but {} still owns .spec.replicas and leaves it out: the next apply resets it; --fix gives up the field and keeps its value",
                    applier.manager
                ),
                (false, false) => continue,
            };
            self.subject.findings.push(Finding {
                target: plan.target.clone(),
                message,
                outcome: Outcome::Changes,
            });
        }
    }

    /// Returns the live objects whose owners the fix would change.
    async fn fixable(&self, drafts: &[Draft], cluster: &Cluster) -> Result<Vec<Found>, Error> {
        let applier = ApplyingManager {
            manager: self.subject.manager.clone(),
            force: ForcedFields::None,
            now: self.terminal.now,
        };
        let causes = self.flags.causes();
        let mut found = Vec::new();
        for (plan, draft) in self.plans.iter().zip(drafts) {
            let is_scaled = self.autoscalers.of(&plan.target).is_some() && is_reset(plan, &applier);
            let is_contested = plan.causes.iter().any(|cause| causes.contains(&cause.cause));
            let (Some(path), Some(resource), true) =
                (draft.path(), &draft.resource, is_scaled || is_contested)
            else {
                continue;
            };
            if let Some(shown) = cluster.find(&path).await? {
                found.push(Found { resource: resource.clone(), shown });
            }
        }
        Ok(found)
    }

    /// Returns how the owners of an object change. It is computed from the object as it is when it is written.
    fn step(
        &self,
        live: &LiveObject,
        ty: TypeRef<'static>,
        drafts: &HashMap<Identity, &Draft>,
        applier: &ApplyingManager,
    ) -> HandoverOutcome {
        let nothing =
            || HandoverOutcome { managers: live.managers.clone(), removed: Vec::new(), notes: Vec::new() };
        let target = Target::of(live, String::new());
        let Some(draft) = drafts.get(&Identity::of(&target)) else { return nothing() };
        let mut manifest = draft.manifest.clone();
        manifest.ty = ty;
        let mut plan = plan::offline(&manifest, Some(live), applier, self.profile);
        self.autoscalers.claim(&mut plan);
        let mut step = handover::settle(live, &plan, &self.flags.causes(), &applier.manager, applier.now);
        if self.autoscalers.of(&plan.target).is_some() && is_reset(&plan, applier) {
            let is_applier = |manager: &Manager| is_applier(manager, applier);
            let left = release(&step.managers, &[Autoscalers::replicas()], is_applier);
            if !left.is_empty() {
                step.managers = left;
            }
        }
        step
    }

    /// Returns the causes of all objects, the most frequent questions first: in the order of the table of causes.
    fn by_cause(&self) -> Vec<(ConflictCause, Vec<(&Plan, &Diagnosis)>)> {
        let with_cause = |cause: ConflictCause| {
            let all =
                self.plans.iter().flat_map(|plan| plan.causes.iter().map(move |diagnosis| (plan, diagnosis)));
            (cause, all.filter(|(_, diagnosis)| diagnosis.cause == cause).collect::<Vec<_>>())
        };
        ConflictCause::ALL.into_iter().map(with_cause).filter(|(_, all)| !all.is_empty()).collect()
    }

    fn text(&self) -> String {
        let paint = self.terminal.paint;
        let width = self.terminal.width;
        // Writing to a string does not fail.
        let mut out = format!("{}\n", paint.ink(Ink::Strong, &self.subject.title));
        let settled = self.flags.causes();
        for (cause, all) in self.by_cause() {
            let note = if settled.contains(&cause) { " (--fix settles it)" } else { "" };
            let _ = writeln!(out, "\n{}{note}", paint.ink(Ink::Problem, cause.title()));
            for (plan, diagnosis) in all {
                let _ = writeln!(out, "  {}", paint.ink(Ink::Strong, &plan.target));
                for conflict in
                    plan.shown_conflicts().iter().filter(|one| diagnosis.paths.contains(&one.path))
                {
                    let side = |value: &Option<Value>| {
                        value.as_ref().map_or_else(|| "(not set)".to_owned(), json::to_string)
                    };
                    let _ = writeln!(
                        out,
                        "    ! {}: {} → {}",
                        conflict.path.quoted(),
                        side(&conflict.live),
                        side(&conflict.proposed)
                    );
                }
                let sentence = match self.autoscalers.of(&plan.target) {
                    Some(name)
                        if cause == ConflictCause::Autoscaler && !diagnosis.sentence.contains(name) =>
                    {
                        format!("HorizontalPodAutoscaler {name}: {}", diagnosis.sentence)
                    }
                    _ => diagnosis.sentence.clone(),
                };
                for line in wrapped(&sentence, width.saturating_sub(6).max(20)) {
                    let _ = writeln!(out, "      {line}");
                }
                if settled.contains(&cause) {
                    continue;
                }
                for remedy in &diagnosis.remedies {
                    let advice = remedy
                        .command(&CommandLine { program: program(), ..CommandLine::default() })
                        .unwrap_or_else(|| remedy.effect.clone());
                    let _ = writeln!(
                        out,
                        "      {} {advice}",
                        paint.ink(Ink::Faint, format_args!("{:<14}", label(remedy.kind)))
                    );
                }
            }
        }
        for finding in &self.subject.findings {
            let ink = if finding.outcome == Outcome::Conflicts { Ink::Problem } else { Ink::Warning };
            let _ = writeln!(out, "\n{}", paint.ink(Ink::Strong, &finding.target));
            for line in wrapped(&finding.message, width.saturating_sub(4).max(20)) {
                let _ = writeln!(out, "  {}", paint.ink(ink, line));
            }
        }
        for plan in &self.plans {
            if let Verdict::Refused(problem) = &plan.verdict {
                let _ = writeln!(
                    out,
                    "\n{}\n  {}",
                    paint.ink(Ink::Strong, &plan.target),
                    paint.ink(Ink::Problem, problem)
                );
            }
        }
        out + "\n" + &self.summary()
    }

    fn summary(&self) -> String {
        let number = |action: Action| self.plans.iter().filter(|plan| plan.action() == action).count();
        let (conflicts, refused) = (number(Action::Conflict), number(Action::Refused));
        let passes = self.plans.len() - conflicts - refused;
        let mut parts =
            vec![format!("the next apply passes for {passes} of {}", count(self.plans.len(), "object"))];
        if conflicts > 0 {
            parts.push(format!("{conflicts} with conflicts"));
        }
        if refused > 0 {
            parts.push(format!("{refused} refused"));
        }
        format!("{}\n", parts.join(", "))
    }

    fn document(&self) -> Value {
        let line = CommandLine { program: program(), ..CommandLine::default() };
        let object = |(plan, (_, place)): (&Plan, &(Draft, Place))| {
            let causes = plan.causes.iter().map(|cause| {
                let shown = cause.to_value(&line).as_object().cloned().unwrap_or_default();
                Value::Object(shown.with("fixable", self.flags.causes().contains(&cause.cause)))
            });
            let object = Object::default()
                .with("object", plan.target.to_value())
                .with("source", place.to_string())
                .with("action", plan.action().word())
                .with("causes", Value::array(causes));
            Value::Object(match &plan.verdict {
                Verdict::Refused(problem) => object.with("error", problem.as_str()),
                _ => object,
            })
        };
        let finding = |finding: &Finding| {
            Value::object([
                ("object", finding.target.to_value()),
                ("message", Value::from(finding.message.as_str())),
            ])
        };
        Value::object([
            ("manager", Value::from(self.subject.manager.as_str())),
            ("objects", Value::array(self.plans.iter().zip(&self.subject.drafts).map(object))),
            ("findings", Value::array(self.subject.findings.iter().map(finding))),
        ])
    }

    fn outcome(&self) -> Result<Outcome, Error> {
        let refused = self.plans.iter().filter(|plan| plan.action() == Action::Refused).count();
        if refused > 0 {
            return Err(Error::SomeRefused { number: refused, total: self.plans.len() });
        }
        if self.plans.iter().any(|plan| plan.action() == Action::Conflict) {
            return Ok(Outcome::Conflicts);
        }
        Ok(self.subject.findings.iter().map(|finding| finding.outcome).max().unwrap_or_default())
    }
}

/// What an object is, whatever its version.
#[derive(PartialEq, Eq, Hash)]
struct Identity {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Identity {
    fn of(target: &Target) -> Identity {
        let group = target.api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
        Identity {
            group,
            kind: target.kind.clone(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
        }
    }
}

fn is_applier(manager: &Manager, applier: &ApplyingManager) -> bool {
    manager.name == applier.manager && manager.operation == Operation::Apply && manager.subresource.is_empty()
}

/// Whether the applier alone owns the replicas and no longer declares them, so that the apply removes them.
fn is_reset(plan: &Plan, applier: &ApplyingManager) -> bool {
    let replicas = Autoscalers::replicas();
    let Some(live) = plan.before.as_ref().filter(|_| !plan.declared.has(&replicas)) else { return false };
    let mut owners = live.managers.iter().filter(|manager| manager.fields.has(&replicas)).peekable();
    owners.peek().is_some() && owners.all(|manager| is_applier(manager, applier))
}
