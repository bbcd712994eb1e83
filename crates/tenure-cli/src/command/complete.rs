//! `tenure __complete`: what could come next on a command line, for shells and for `kubectl`. The commands and flags are those of the
//! definition; kinds, names, namespaces, contexts, managers and fields are asked of the server that the line names.

use crate::{
    Error, Outcome,
    connection::Connection,
    help,
    plugin::{Position, reordered},
    terminal::Terminal,
};
use clap::{Arg, ArgAction, Args, Command, FromArgMatches, ValueHint};
use std::{collections::BTreeSet, ffi::OsString, time::Duration};
use tenure_client::{Cluster, Selection};
use tenure_fields::Duplicates;
use tenure_ownership::LiveObject;
use tenure_transport::contexts;

/// How long the server may take; a person waits for the answer at every key.
const PATIENCE: Duration = Duration::from_secs(3);
/// The verbs of questions about permissions.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// The most candidates.
const CANDIDATES: usize = 2_000;

/// Print what could come next.
#[derive(Args)]
#[command(alias = "__complete", hide = true, disable_help_flag = true)]
pub struct Options {
    /// The words of the command line, the last one unfinished.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Prints the candidates, one per line, and then what the shell does with them, as programs made with Cobra do.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let (unfinished, words) =
        options.words.split_last().map_or(("", [].as_slice()), |(last, words)| (last.as_str(), words));
    let program = help::command();
    let words = reordered(words.iter().map(OsString::from).collect(), Position::AfterCommand);
    let words: Vec<String> = words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut line = Line::read(&program, &words);
    // Some shells tell a word as it is typed, with its backslashes and an open quote.
    let typed = unfinished.trim_start_matches(['\'', '"']).replace('\\', "");
    let (flag, unfinished) = match typed.strip_prefix("--").and_then(|flag| flag.split_once('=')) {
        Some((name, value)) => {
            line.flag(name);
            (format!("--{name}="), value)
        }
        None => (String::new(), typed.as_str()),
    };
    let candidates = line.candidates(unfinished);
    let fitting = candidates.iter().filter_map(|candidate| continued(unfinished, candidate));
    let mut found: Vec<String> = fitting.map(|candidate| flag.clone() + &candidate).collect();
    found.sort();
    found.dedup();
    found.truncate(CANDIDATES);
    let directive = match () {
        // Files where a file is expected.
        () if line.expects_file() => ":0",
        // A kind is followed by a name, without a space between them.
        () if found.iter().all(|candidate| candidate.ends_with('/')) && !found.is_empty() => ":6",
        () => ":4",
    };
    let text: String = found.iter().map(|candidate| format!("{candidate}\n")).collect();
    terminal.print(format!("{text}{directive}\n"))?;
    Ok(Outcome::Done)
}

/// Returns a candidate that begins as a word does, or that would with the quotes of its keys, as the word goes on.
fn continued(word: &str, candidate: &str) -> Option<String> {
    let (mut rest, mut is_open) = (candidate.chars(), false);
    for typed in word.chars() {
        let next = rest.next()?;
        if typed == next {
            continue;
        }
        if next != '"' || rest.next()? != typed {
            return None;
        }
        is_open = !is_open;
    }
    let rest = rest.as_str();
    Some(format!("{word}{}", if is_open { rest.replacen('"', "", 1) } else { rest.to_owned() }))
}

/// A command line up to the unfinished word.
struct Line<'c> {
    command: &'c Command,
    /// The words that are not flags.
    positionals: Vec<String>,
    /// The flags with their values.
    flags: Vec<(String, String)>,
    /// The flag whose value is unfinished.
    open: Option<&'c Arg>,
}

impl<'c> Line<'c> {
    fn read(program: &'c Command, words: &[String]) -> Line<'c> {
        let mut line = Line { command: program, positionals: Vec::new(), flags: Vec::new(), open: None };
        for word in words {
            if let Some(flag) = line.open.take() {
                line.flags.push((flag.get_id().to_string(), word.clone()));
            } else if let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) {
                line.flag(name.trim_start_matches('-'));
            } else if let Some(below) = line.command.get_subcommands().find(|below| below.get_name() == word)
            {
                line.command = below;
            } else {
                line.positionals.push(word.clone());
            }
        }
        line
    }

    fn flag(&mut self, text: &str) {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let is_it = |arg: &&Arg| {
            arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name))
                || arg.get_short().is_some_and(|short| name.chars().eq([short]))
        };
        let Some(found) = self.command.get_arguments().find(is_it) else { return };
        let takes_value = matches!(found.get_action(), ArgAction::Set | ArgAction::Append);
        match value {
            Some(value) => self.flags.push((found.get_id().to_string(), value.to_owned())),
            None if takes_value => self.open = Some(found),
            None => {}
        }
    }

    /// Returns what the unfinished word can be.
    fn candidates(&self, unfinished: &str) -> Vec<String> {
        if let Some(flag) = self.open {
            return self.values(flag);
        }
        if unfinished.starts_with('-') {
            let flags = self.command.get_arguments().filter(|flag| !flag.is_hide_set());
            return flags.filter_map(|flag| flag.get_long().map(|name| format!("--{name}"))).collect();
        }
        let commands = self.command.get_subcommands().filter(|below| !below.is_hide_set());
        let commands: Vec<String> = commands.map(|below| below.get_name().to_owned()).collect();
        if !commands.is_empty() {
            return commands;
        }
        self.positional(unfinished)
    }

    /// Returns the values that a flag can have.
    fn values(&self, flag: &Arg) -> Vec<String> {
        let possible: Vec<String> =
            flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if !possible.is_empty() {
            return possible;
        }
        match flag.get_id().as_str() {
            "context" => contexts(&self.connection().options()).unwrap_or_default(),
            "namespace" => self.ask(async |cluster| {
                let namespaces = cluster.kind_named("namespaces").await.ok()?;
                names(&cluster, &namespaces, None).await
            }),
            "managers" | "from" | "to" | "manager" | "field_manager" => {
                self.live(|live| live.managers.iter().map(|manager| manager.name.to_string()).collect())
            }
            "paths" | "force_path" | "fields" => self.live(paths),
            "kinds" | "exclude" => self.kinds(),
            _ => Vec::new(),
        }
    }

    /// Returns the words that can come next: a kind with a slash, a name, or a field.
    fn positional(&self, unfinished: &str) -> Vec<String> {
        let all: Vec<&Arg> = self.command.get_positionals().collect();
        let repeated =
            all.last().filter(|arg| arg.get_num_args().is_some_and(|count| count.max_values() > 1));
        let Some(arg) = all.get(self.positionals.len()).or(repeated) else { return Vec::new() };
        let name = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
        let has_object = self.object().is_some();
        match name.unwrap_or_default() {
            name if name.starts_with("KIND/NAME") => match has_object && self.takes_field() {
                true => self.live(paths),
                false if unfinished.starts_with('.') => self.live(paths),
                false => self.objects(unfinished),
            },
            "KIND[.PATH]" => {
                let kinds = tenure_schema::Schema::builtin().kinds();
                kinds.filter_map(|(place, _)| Some(place.split_once(' ')?.1.to_owned())).collect()
            }
            "VERB" => VERBS.map(str::to_owned).to_vec(),
            _ => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        }
    }

    /// Returns kinds with a slash, or names of a kind.
    fn objects(&self, unfinished: &str) -> Vec<String> {
        let kind =
            self.positionals.last().filter(|word| !word.contains('/') && !VERBS.contains(&word.as_str()));
        match (unfinished.split_once('/'), kind) {
            (Some((kind, _)), _) => {
                self.named(kind).into_iter().map(|name| format!("{kind}/{name}")).collect()
            }
            (None, Some(_)) => self.positionals.first().map(|kind| self.named(kind)).unwrap_or_default(),
            (None, None) => self.kinds().into_iter().map(|kind| kind + "/").collect(),
        }
    }

    fn kinds(&self) -> Vec<String> {
        self.ask(async |cluster| {
            let kinds = cluster.kinds().await.ok()?;
            let listed = kinds.iter().filter(|kind| kind.verbs.iter().any(|verb| verb == "list"));
            Some(listed.map(|kind| kind.word().to_string()).collect())
        })
    }

    /// Returns the object that the line names: its kind and its name.
    fn object(&self) -> Option<(&str, &str)> {
        let joined = self.positionals.iter().find_map(|word| word.split_once('/'));
        joined.or(match self.positionals.as_slice() {
            [kind, name, ..] => Some((kind.as_str(), name.as_str())),
            _ => None,
        })
    }

    fn takes_field(&self) -> bool {
        matches!(self.command.get_name(), "why" | "log" | "blame")
    }

    fn expects_file(&self) -> bool {
        let takes_files = |arg: &Arg| {
            matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath)
                || arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains("FILE")))
        };
        match self.open {
            Some(flag) => takes_files(flag),
            None => self.command.get_positionals().any(takes_files),
        }
    }

    fn named(&self, kind: &str) -> Vec<String> {
        self.ask(async |cluster| {
            let resource = cluster.kind_named(kind).await.ok()?;
            let namespace = cluster.namespace.clone();
            names(&cluster, &resource, Some(&namespace)).await
        })
    }

    /// Returns something of the object that the line names.
    fn live(&self, words: impl Fn(&LiveObject) -> Vec<String>) -> Vec<String> {
        let Some((kind, name)) = self.object() else { return Vec::new() };
        self.ask(async |cluster| {
            let resource = cluster.kind_named(kind).await.ok()?;
            let live = cluster.find_live(&resource.path(&cluster.namespace, name)).await.ok()??;
            Some(words(&live))
        })
    }

    /// Returns the flags of the line that choose the server.
    fn connection(&self) -> Connection {
        let known = ["kubeconfig", "context", "cluster", "user", "server", "namespace", "token", "as_user"];
        let chosen = self.flags.iter().filter(|(name, _)| known.contains(&name.as_str()));
        let words =
            chosen.flat_map(|(name, value)| [format!("--{}", name.replace("as_user", "as")), value.clone()]);
        let command = Connection::command();
        let matches = command.try_get_matches_from(std::iter::once("tenure".to_owned()).chain(words));
        matches.ok().and_then(|matches| Connection::from_arg_matches(&matches).ok()).unwrap_or_default()
    }

    /// Asks the server; without an answer there are no candidates.
    fn ask(&self, work: impl AsyncFnOnce(Cluster) -> Option<Vec<String>>) -> Vec<String> {
        let asked = self.connection().run(async |cluster| {
            Ok(tokio::time::timeout(PATIENCE, work(cluster)).await.ok().flatten().unwrap_or_default())
        });
        asked.unwrap_or_default()
    }
}

async fn names(
    cluster: &Cluster,
    resource: &tenure_client::Resource,
    namespace: Option<&str>,
) -> Option<Vec<String>> {
    let page = cluster.page(resource, namespace, &Selection::default(), None).await.ok()?;
    Some(page.objects.iter().map(|found| found.target().name).collect())
}

/// Returns the paths of an object, parents included.
fn paths(live: &LiveObject) -> Vec<String> {
    let schema = tenure_schema::Schema::builtin();
    let ty = schema.kind(live.api_version(), live.kind()).unwrap_or_else(tenure_schema::TypeRef::untyped);
    let fields =
        tenure_fields::FieldSet::of_with(&live.object, ty, Duplicates::Tolerated).unwrap_or_default();
    let mut all = BTreeSet::new();
    fields.visit(|path| {
        for end in 1..=path.len() {
            all.insert(tenure_fields::Path::from(&path[..end]).to_string());
        }
    });
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::continued;

    #[test]
    fn words_may_lack_the_quotes_of_keys() {
        let image = ".spec.containers[name=\"web\"].image";
        for (word, whole) in [
            ("", image),
            (".spec.con", image),
            (".spec.containers[name=\"w", image),
            (".spec.containers[name=w", ".spec.containers[name=web].image"),
            (".spec.containers[name=web].im", ".spec.containers[name=web].image"),
        ] {
            assert_eq!(continued(word, image).as_deref(), Some(whole), "{word}");
        }
        for word in [".spec.containers[name=x", ".status", ".spec.containers[name=\"web\"].images"] {
            assert_eq!(continued(word, image), None, "{word}");
        }
    }
}
