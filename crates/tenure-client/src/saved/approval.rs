//! Plans that wait for a person. A server of agents writes a plan into a private directory; a person decides, at a terminal or on the
//! page, and the decision is written beside it; the server reads it before it carries the plan out. No tool, resource or prompt writes decisions, and
//! a decision is about a digest, which covers everything that the plan does: a plan that was changed has another one.

use std::{
    collections::BTreeSet,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};
use tenure_apply::Timestamp;
use tenure_ownership::{PlannedWrite, SavedPlan};
use tenure_value::{Limits, Object, Value, json};

/// The limits of a file with a plan.
const LIMITS: Limits = Limits { bytes: 256 << 20, depth: Limits::DEPTH, nodes: 20_000_000 };

/// The endings of the files of a plan: the plan, and the decision.
const ENDINGS: [&str; 2] = ["plan.json", "decision.json"];

/// A directory with plans that wait.
#[derive(Clone, Debug)]
pub struct Approvals {
    directory: PathBuf,
}

/// A plan that waits, or waited.
#[derive(Debug)]
pub struct WaitingPlan {
    /// The digest.
    pub digest: String,
    /// The plan; values of Secrets are digests.
    pub plan: SavedPlan,
    /// The decision.
    pub decision: Option<ApprovalDecision>,
}

impl WaitingPlan {
    /// Returns the state of the plan in a word.
    pub fn word(&self) -> &'static str {
        self.decision.map_or("waits", ApprovalDecision::word)
    }

    /// Returns the managers in whose names the plan applies, which tell the tasks that asked for it; none for deletions and undos.
    pub fn managers(&self) -> BTreeSet<&str> {
        let managers = self.plan.steps.iter().filter_map(|step| match &step.write {
            PlannedWrite::Apply { manager, .. } => Some(manager.as_str()),
            PlannedWrite::Restore(_) | PlannedWrite::Delete => None,
        });
        managers.collect()
    }
}

/// The plans of a directory.
#[derive(Debug, Default)]
pub struct Pending {
    /// The plans, by digest.
    pub plans: Vec<WaitingPlan>,
    /// Why files that should be plans are not: they hide none of the others.
    pub unreadable: Vec<ApprovalError>,
}

/// What a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// The plan may be carried out.
    Approved,
    /// The plan may not be carried out.
    Refused,
}

impl ApprovalDecision {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            ApprovalDecision::Approved => "approved",
            ApprovalDecision::Refused => "refused",
        }
    }
}

/// Why plans cannot be handed over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// The directory can be used by others.
    #[error("{}: others can use this directory; make it private with `chmod 700`", .0.display())]
    NotPrivate(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A text is not the digest of a plan.
    #[error(
        "{0:?} is not the digest of a plan; a digest is sha256: and 64 hexadecimal digits, or at least the first 8 of them"
    )]
    NotADigest(String),
    /// No plan has the digest.
    #[error("no plan {0} waits here; `tenure approve` lists those that do")]
    Unknown(String),
    /// Several plans have the digest.
    #[error("several plans begin with {0}; give more digits")]
    Ambiguous(String),
    /// A file of a plan is not what was written.
    #[error("{}: {problem}", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Approvals {
    /// Opens a directory, which is made if it does not exist, and which only its user may use.
    pub fn open(directory: &Path) -> Result<Approvals, ApprovalError> {
        let failed = |source| ApprovalError::File { path: directory.into(), source };
        tenure_files::create_directory(directory).map_err(failed)?;
        if !tenure_files::is_private(directory).map_err(failed)? {
            return Err(ApprovalError::NotPrivate(directory.into()));
        }
        Ok(Approvals { directory: directory.into() })
    }

    /// Opens a directory if it exists: where no agent has ever asked, there is none.
    pub fn existing(directory: &Path) -> Result<Option<Approvals>, ApprovalError> {
        match directory.exists() {
            true => Approvals::open(directory).map(Some),
            false => Ok(None),
        }
    }

    /// Hands a plan over; one that waits already stays as it is.
    pub fn announce(&self, digest: &str, plan: &SavedPlan) -> Result<(), ApprovalError> {
        let [file, _] = self.files(digest)?;
        if file.exists() {
            return Ok(());
        }
        write(&file, &plan.to_value())
    }

    /// Returns what a person decided about a plan.
    pub fn decision(&self, digest: &str) -> Result<Option<ApprovalDecision>, ApprovalError> {
        let [_, file] = self.files(digest)?;
        let Some(document) = read(&file)? else { return Ok(None) };
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let decided = [ApprovalDecision::Approved, ApprovalDecision::Refused]
            .into_iter()
            .find(|one| one.word() == text("decision"));
        match decided {
            Some(decision) if text("digest") == digest => Ok(Some(decision)),
            _ => Err(ApprovalError::Changed {
                path: file,
                problem: "it is not a decision about this plan".into(),
            }),
        }
    }

    /// Writes the decision of a person.
    pub fn decide(
        &self,
        digest: &str,
        decision: ApprovalDecision,
        now: Timestamp,
    ) -> Result<(), ApprovalError> {
        let [_, file] = self.files(digest)?;
        let document = Object::default()
            .with("digest", digest)
            .with("decision", decision.word())
            .with("time", now.to_string());
        write(&file, &Value::Object(document))
    }

    /// Removes a plan that was carried out or can no longer be, with its decision, which is thus used once.
    pub fn withdraw(&self, digest: &str) -> Result<(), ApprovalError> {
        // The decision first: a plan without one only waits.
        for file in self.files(digest)?.into_iter().rev() {
            match std::fs::remove_file(&file) {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(ApprovalError::File { path: file, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the plans that wait.
    pub fn waiting(&self) -> Result<Pending, ApprovalError> {
        let mut pending = Pending::default();
        for digest in self.digests()? {
            match self.read_plan(&digest) {
                Ok(waiting) => pending.plans.push(waiting),
                // Carried out in the meantime.
                Err(ApprovalError::Unknown(_)) => {}
                Err(error) => pending.unreadable.push(error),
            }
        }
        Ok(pending)
    }

    /// Returns a plan by its digest or by the first digits of it. The plan is the one that the digest covers.
    pub fn find(&self, given: &str) -> Result<WaitingPlan, ApprovalError> {
        let hex = given.strip_prefix("sha256:").unwrap_or(given);
        if !is_hex(hex) || !(8..=64).contains(&hex.len()) {
            return Err(ApprovalError::NotADigest(given.to_owned()));
        }
        let digests = self.digests()?;
        let mut found = digests
            .iter()
            .filter(|digest| digest.strip_prefix("sha256:").is_some_and(|all| all.starts_with(hex)));
        match (found.next(), found.next()) {
            (Some(digest), None) => self.read_plan(digest),
            (None, _) => Err(ApprovalError::Unknown(given.to_owned())),
            (Some(_), Some(_)) => Err(ApprovalError::Ambiguous(given.to_owned())),
        }
    }

    fn digests(&self) -> Result<Vec<String>, ApprovalError> {
        let failed = |source| ApprovalError::File { path: self.directory.clone(), source };
        let mut digests = Vec::new();
        for entry in std::fs::read_dir(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let hex = name.to_str().and_then(|name| name.strip_suffix(ENDINGS[0])?.strip_suffix('.'));
            digests
                .extend(hex.filter(|hex| hex.len() == 64 && is_hex(hex)).map(|hex| format!("sha256:{hex}")));
        }
        digests.sort();
        Ok(digests)
    }

    fn read_plan(&self, digest: &str) -> Result<WaitingPlan, ApprovalError> {
        let [file, _] = self.files(digest)?;
        let changed = |problem: String| ApprovalError::Changed { path: file.clone(), problem };
        let document = read(&file)?.ok_or_else(|| ApprovalError::Unknown(digest.to_owned()))?;
        let plan = SavedPlan::read(&document).map_err(|error| changed(error.to_string()))?;
        if plan.digest() != digest {
            return Err(changed("it is another plan than its name says".into()));
        }
        Ok(WaitingPlan { digest: digest.to_owned(), plan, decision: self.decision(digest)? })
    }

    fn files(&self, digest: &str) -> Result<[PathBuf; 2], ApprovalError> {
        let hex = digest.strip_prefix("sha256:").filter(|hex| hex.len() == 64 && is_hex(hex));
        let hex = hex.ok_or_else(|| ApprovalError::NotADigest(digest.to_owned()))?;
        Ok(ENDINGS.map(|ending| self.directory.join(format!("{hex}.{ending}"))))
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes a file: the whole or none of it.
fn write(file: &Path, document: &Value) -> Result<(), ApprovalError> {
    tenure_files::replace(file, &json::to_vec(document))
        .map_err(|source| ApprovalError::File { path: file.into(), source })
}

fn read(file: &Path) -> Result<Option<Value>, ApprovalError> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ApprovalError::File { path: file.into(), source }),
    };
    let changed = |problem: String| ApprovalError::Changed { path: file.into(), problem };
    json::parse(&bytes, &LIMITS).map(Some).map_err(|error| changed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use tenure_ownership::{ClusterIdentity, Pinning};

    fn plan(server: &str) -> SavedPlan {
        SavedPlan {
            cluster: ClusterIdentity { server: server.into(), uid: String::new() },
            time: Timestamp::from_unix(1_800_000_000),
            pinning: Pinning::Fields,
            steps: Vec::new(),
        }
    }

    #[test]
    fn a_decision_is_about_one_plan_and_is_used_once() {
        let home = tempfile::TempDir::new().unwrap();
        let approvals = Approvals::open(&home.path().join("a/b")).unwrap();
        let (one, other) = (plan("one"), plan("other"));
        let (digest, second) = (one.digest(), other.digest());
        approvals.announce(&digest, &one).unwrap();
        approvals.announce(&second, &other).unwrap();
        assert_eq!(approvals.waiting().unwrap().plans.len(), 2);
        assert_eq!(approvals.decision(&digest).unwrap(), None);
        let found = approvals.find(&digest[7..20]).unwrap();
        assert_eq!((found.digest.as_str(), found.decision), (digest.as_str(), None));
        approvals.decide(&digest, ApprovalDecision::Approved, Timestamp::from_unix(0)).unwrap();
        assert_eq!(approvals.decision(&digest).unwrap(), Some(ApprovalDecision::Approved));
        assert_eq!(approvals.decision(&second).unwrap(), None);
        approvals.withdraw(&digest).unwrap();
        assert_eq!(approvals.decision(&digest).unwrap(), None);
        assert!(matches!(approvals.find(&digest), Err(ApprovalError::Unknown(_))));
    }

    #[test]
    fn files_that_are_not_what_was_written_are_refused() {
        let home = tempfile::TempDir::new().unwrap();
        let approvals = Approvals::open(&home.path().join("plans")).unwrap();
        let (one, other) = (plan("one"), plan("other"));
        let (digest, second) = (one.digest(), other.digest());
        approvals.announce(&digest, &one).unwrap();
        // The plan of another digest, and its decision, under the names of this one.
        let [file, decision] = approvals.files(&digest).unwrap();
        write(&file, &other.to_value()).unwrap();
        assert!(matches!(approvals.find(&digest), Err(ApprovalError::Changed { .. })));
        approvals.announce(&second, &other).unwrap();
        let pending = approvals.waiting().unwrap();
        assert_eq!((pending.plans.len(), pending.unreadable.len()), (1, 1));
        approvals.decide(&second, ApprovalDecision::Approved, Timestamp::from_unix(0)).unwrap();
        std::fs::rename(&approvals.files(&second).unwrap()[1], &decision).unwrap();
        assert!(matches!(approvals.decision(&digest), Err(ApprovalError::Changed { .. })));
        for text in ["", "sha256:", "../../etc/passwd", "sha256:../../x", "SHA256:00", "abc"] {
            assert!(matches!(approvals.find(text), Err(ApprovalError::NotADigest(_))), "{text}");
            assert!(
                approvals.decide(text, ApprovalDecision::Approved, Timestamp::from_unix(0)).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_directory_that_others_can_use_is_refused() {
        let home = tempfile::TempDir::new().unwrap();
        let directory = home.path().join("open");
        std::fs::create_dir(&directory).unwrap();
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(Approvals::open(&directory), Err(ApprovalError::NotPrivate(_))));
    }
}
