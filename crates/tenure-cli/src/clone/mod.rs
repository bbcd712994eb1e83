//! Copies of clusters in directories: `clone.json` says what the copy is of, and `objects/` has a file for each kind with an object on
//! every line. A file appears under its name when its kind was read whole, so that an interrupted clone continues with the next kind.

mod etcd_snapshot;
pub mod secrets;
pub mod source;

use crate::{Error, document, terminal::Format};
use secrets::SecretKey;
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};
use tenure_profile::KubernetesVersion;
use tenure_value::{Limits, Object, Value, json};

const HEAD: &str = "clone.json";
const OBJECTS: &str = "objects";
const API_VERSION: &str = "tenure.dev/v1";
const KIND: &str = "Clone";

/// A directory with a copy of a cluster, or with a part of it.
pub struct CloneDirectory {
    path: PathBuf,
    /// What identifies the copy, and the key of its digests.
    pub id: String,
    source: String,
    time: String,
    /// The kinds that were read whole.
    kinds: Vec<ClonedKind>,
    /// What could not be read, and why.
    left_out: Vec<String>,
    is_complete: bool,
    has_digests: bool,
    /// The version of Kubernetes of the cluster, if it is one whose behaviour is known.
    kubernetes: Option<KubernetesVersion>,
}

/// A kind that was read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClonedKind {
    /// The name of the file, such as `deployments.apps`.
    pub name: String,
    /// How many objects there are.
    pub objects: usize,
    /// The resourceVersion of the list: all objects are of this moment.
    pub version: String,
}

impl CloneDirectory {
    /// Starts a copy in a new or empty directory, or continues one that was interrupted.
    pub fn start(
        path: &Path,
        source: &str,
        time: String,
        has_digests: bool,
    ) -> Result<CloneDirectory, Error> {
        if path.join(HEAD).exists() {
            let found = CloneDirectory::read(path)?;
            let problem = match (found.is_complete, found.source == source) {
                (true, _) => {
                    "it is a complete clone; choose another directory, or remove this one".to_owned()
                }
                (false, false) => {
                    format!("it is an interrupted clone of {}; choose another directory", found.source)
                }
                (false, true) if found.has_digests != has_digests => {
                    "it was begun with another choice of --secret-values; choose another directory".to_owned()
                }
                (false, true) => return Ok(found),
            };
            return Err(Error::usage(format!("{}: {problem}", path.display())));
        }
        let failed = |source| Error::Write { path: path.into(), source };
        if path.exists() && fs::read_dir(path).map_err(failed)?.next().is_some() {
            let problem = "it is not empty and not a clone; choose a new directory";
            return Err(Error::usage(format!("{}: {problem}", path.display())));
        }
        tenure_files::create_directory(&path.join(OBJECTS)).map_err(failed)?;
        let directory = CloneDirectory {
            path: path.to_owned(),
            id: secrets::random_name()?,
            source: source.to_owned(),
            time,
            kinds: Vec::new(),
            left_out: Vec::new(),
            is_complete: false,
            has_digests,
            kubernetes: None,
        };
        directory.write_head()?;
        Ok(directory)
    }

    /// Reads what a directory is a copy of.
    pub fn read(path: &Path) -> Result<CloneDirectory, Error> {
        let document = document::read_one(&path.join(HEAD))?;
        let value = &document.value;
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        if text(value, "apiVersion") != API_VERSION || text(value, "kind") != KIND {
            return Err(Error::document(
                &document.place,
                "it does not describe a clone; `tenure clone` writes one",
            ));
        }
        let list =
            |name: &str| value.get(name).and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
        let kind = |kind: &Value| ClonedKind {
            name: text(kind, "name"),
            objects: kind
                .get("objects")
                .and_then(Value::as_i64)
                .and_then(|count| count.try_into().ok())
                .unwrap_or_default(),
            version: text(kind, "resourceVersion"),
        };
        Ok(CloneDirectory {
            path: path.to_owned(),
            id: text(value, "id"),
            source: text(value, "source"),
            time: text(value, "time"),
            kinds: list("kinds").map(kind).collect(),
            left_out: list("leftOut").filter_map(Value::as_str).map(str::to_owned).collect(),
            is_complete: value.get("complete").and_then(Value::as_bool).unwrap_or_default(),
            has_digests: text(value, "secrets") == "digests",
            kubernetes: text(value, "kubernetes").parse().ok(),
        })
    }

    /// Whether a path is a directory with a copy.
    pub fn is_at(path: &Path) -> bool {
        path.join(HEAD).is_file()
    }

    /// Whether a kind was read whole already.
    pub fn has(&self, name: &str) -> bool {
        self.kinds.iter().any(|kind| kind.name == name)
    }

    /// Returns how many objects there are.
    pub fn objects(&self) -> usize {
        self.kinds.iter().map(|kind| kind.objects).sum()
    }

    /// Returns what could not be read, and why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the key of the digests of Secrets; `None` if the copy has values, or if this machine does not have the key.
    pub fn key(&self) -> Result<Option<SecretKey>, Error> {
        if self.has_digests { SecretKey::find(&self.id) } else { Ok(None) }
    }

    /// Whether values of Secrets are digests.
    pub fn has_digests(&self) -> bool {
        self.has_digests
    }

    /// Returns the version of Kubernetes of the cluster, if it is known.
    pub fn kubernetes(&self) -> Option<KubernetesVersion> {
        self.kubernetes
    }

    /// Notes the version of Kubernetes of the cluster.
    pub fn set_kubernetes(&mut self, version: KubernetesVersion) {
        self.kubernetes = Some(version);
    }

    /// Opens the file of a kind.
    pub fn begin(&self, name: &str) -> Result<KindWriter, Error> {
        let path = self.path.join(OBJECTS).join(format!("{name}.jsonl"));
        let part = tenure_files::with_suffix(&path, ".part");
        let file =
            tenure_files::create(&part).map_err(|source| Error::Write { path: part.clone(), source })?;
        Ok(KindWriter { out: BufWriter::new(file), path, part, objects: 0 })
    }

    /// Finishes the file of a kind.
    pub fn finish(&mut self, name: &str, writer: KindWriter, version: &str) -> Result<(), Error> {
        let KindWriter { out, path, part, objects } = writer;
        let failed = |source| Error::Write { path: path.clone(), source };
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().and_then(|()| fs::rename(&part, &path)).map_err(failed)?;
        self.kinds.push(ClonedKind { name: name.to_owned(), objects, version: version.to_owned() });
        self.write_head()
    }

    /// Notes something that could not be read.
    pub fn leave_out(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// Marks the copy as complete.
    pub fn complete(&mut self) -> Result<(), Error> {
        self.is_complete = true;
        self.write_head()
    }

    fn write_head(&self) -> Result<(), Error> {
        let kind = |kind: &ClonedKind| {
            Value::object([
                ("name", Value::from(kind.name.as_str())),
                ("objects", Value::from(kind.objects as i64)),
                ("resourceVersion", Value::from(kind.version.as_str())),
            ])
        };
        let head = Object::default()
            .with("apiVersion", API_VERSION)
            .with("kind", KIND)
            .with("id", self.id.as_str())
            .with("source", self.source.as_str())
            .with("time", self.time.as_str())
            .with("complete", self.is_complete)
            .with("secrets", if self.has_digests { "digests" } else { "values" })
            .with("kinds", Value::array(self.kinds.iter().map(kind)))
            .with("leftOut", Value::array(self.left_out.iter().map(|what| Value::from(what.as_str()))));
        let head = match self.kubernetes {
            Some(version) => head.with("kubernetes", version.to_string()),
            None => head,
        };
        let (path, part) = (self.path.join(HEAD), self.path.join("clone.json.part"));
        let failed = |source| Error::Write { path: path.clone(), source };
        let written = File::create(&part).and_then(|mut file| {
            file.write_all(Format::Json.render(&Value::Object(head)).as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&part, &path)).map_err(failed)
    }

    /// Reads every object of a complete copy.
    pub fn read_objects(&self) -> Result<Vec<Value>, Error> {
        let wrong = |problem: String| Error::usage(format!("{}: {problem}", self.path.display()));
        if !self.is_complete {
            return Err(wrong(
                "the clone was interrupted; run `tenure clone` with this directory again to continue it"
                    .into(),
            ));
        }
        let mut objects = Vec::with_capacity(self.objects());
        for kind in &self.kinds {
            let path = self.path.join(OBJECTS).join(format!("{}.jsonl", kind.name));
            let failed = |source| Error::Read { path: path.clone(), source };
            let before = objects.len();
            for (at, line) in BufReader::new(File::open(&path).map_err(failed)?).split(b'\n').enumerate() {
                let line = line.map_err(failed)?;
                let object = json::parse(&line, &Limits::TRUSTED).map_err(|error| {
                    wrong(format!("{}.jsonl, line {}: {error}; clone again", kind.name, at + 1))
                })?;
                objects.push(object);
            }
            let found = objects.len() - before;
            if found != kind.objects {
                let expected = kind.objects;
                return Err(wrong(format!(
                    "{}.jsonl has {found} objects instead of {expected}; clone again",
                    kind.name
                )));
            }
        }
        Ok(objects)
    }
}

/// The file of a kind that is being read.
pub struct KindWriter {
    out: BufWriter<File>,
    path: PathBuf,
    part: PathBuf,
    objects: usize,
}

impl KindWriter {
    /// Writes an object.
    pub fn write(&mut self, object: &Value) -> Result<(), Error> {
        let mut line = json::to_vec(object);
        line.push(b'\n');
        self.objects += 1;
        self.out.write_all(&line).map_err(|source| Error::Write { path: self.part.clone(), source })
    }
}
