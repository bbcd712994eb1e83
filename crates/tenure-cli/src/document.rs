//! Documents from files, directories and standard input, each with the place it was read from. As with `kubectl`, a list
//! of objects stands for its items.

use crate::{
    Error,
    place::{self, Place, STANDARD_INPUT},
    source,
    terminal::quoted,
};
use clap::Args;
use std::{
    io::Read,
    path::{Path, PathBuf},
};
use tenure_client::{Cluster, Draft, Found};
use tenure_value::{Limits, Value, json, yaml};

/// The limits of a file, which may contain many objects.
const LIMITS: Limits = Limits { bytes: 256 << 20, depth: Limits::DEPTH, nodes: 20_000_000 };

/// The extensions of files with documents.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// A document and where it was read.
#[derive(Clone, Debug)]
pub struct Document {
    /// The document.
    pub value: Value,
    /// Where it was read.
    pub place: Place,
}

impl Document {
    /// Returns its apiVersion and kind, which every object has.
    pub fn kind(&self) -> Result<(&str, &str), Error> {
        if self.value.as_object().is_none() {
            let word = match &self.value {
                Value::Array(_) => "a list",
                Value::String(_) => "a text",
                _ => "a single value",
            };
            return Err(Error::document(
                &self.place,
                format!("{word} is not an object; every object has an apiVersion and a kind"),
            ));
        }
        let text = |name: &str| {
            let found = self.value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            found.ok_or_else(|| {
                Error::document(
                    &self.place,
                    format!("{name} is missing; every object has an apiVersion and a kind"),
                )
            })
        };
        Ok((text("apiVersion")?, text("kind")?))
    }

    /// Returns the name of the object.
    pub fn name(&self) -> Result<&str, Error> {
        let name =
            self.value.at(["metadata", "name"]).and_then(Value::as_str).filter(|name| !name.is_empty());
        name.ok_or_else(|| Error::document(&self.place, "metadata.name is missing; give the object a name"))
    }

    /// Prepares the document to be applied to a server.
    pub async fn draft(&self, cluster: &Cluster) -> Result<Draft, Error> {
        self.kind()?;
        self.name()?;
        Ok(Draft::new(self.value.clone(), self.place.to_string(), cluster).await?)
    }

    /// Returns the namespace of the object, if it has one.
    pub fn namespace(&self) -> Option<&str> {
        self.value.at(["metadata", "namespace"]).and_then(Value::as_str).filter(|name| !name.is_empty())
    }
}

impl From<&Found> for Document {
    /// Returns an object of a server; its place is its path.
    fn from(found: &Found) -> Document {
        Document { value: found.shown.clone(), place: Place::of(found.path().as_ref()) }
    }
}

/// The flags that name files.
#[derive(Args, Clone, Debug, Default)]
pub struct Files {
    /// A file or directory with objects, an http or https address, or - for standard input; may be repeated.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A directory with a kustomization, built by `kubectl kustomize` or `kustomize build`; may be repeated.
    #[arg(short = 'k', long = "kustomize", value_name = "DIR")]
    pub kustomizations: Vec<PathBuf>,
    /// Read subdirectories too.
    #[arg(short = 'R', long)]
    pub recursive: bool,
}

impl Files {
    /// Reads every document of every file, in the order of the flags and then of the names.
    pub fn read(&self) -> Result<Vec<Document>, Error> {
        let mut documents = Vec::new();
        for file in &self.files {
            if file.is_dir() {
                let mut found = Vec::new();
                self.list(file, &mut found)?;
                if found.is_empty() {
                    return Err(Error::usage(format!(
                        "{}: it contains no .yaml, .yml or .json file; -R reads subdirectories too",
                        file.display()
                    )));
                }
                for file in found {
                    documents.extend(read(&file)?);
                }
            } else {
                documents.extend(read(file)?);
            }
        }
        for directory in &self.kustomizations {
            documents.extend(parse(&source::kustomization(directory)?, directory)?);
        }
        Ok(documents)
    }

    /// Whether no file is named.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.kustomizations.is_empty()
    }

    /// Returns the flags as they are typed.
    pub fn typed(&self) -> String {
        let flag = |flag: &str, file: &PathBuf| format!(" {flag} {}", quoted(&file.to_string_lossy()));
        let files = self.files.iter().map(|file| flag("-f", file));
        let typed: String = files.chain(self.kustomizations.iter().map(|file| flag("-k", file))).collect();
        if self.recursive { typed + " -R" } else { typed }
    }

    fn list(&self, directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
        let failed = |source| Error::Read { path: directory.into(), source };
        let entries = std::fs::read_dir(directory).map_err(failed)?;
        let mut entries =
            entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        entries.sort();
        for path in entries {
            if path.is_dir() {
                if self.recursive {
                    self.list(&path, found)?;
                }
            } else if path.extension().is_some_and(|end| EXTENSIONS.iter().any(|known| end == *known)) {
                found.push(path);
            }
        }
        Ok(())
    }
}

/// Reads every document of a file, or of standard input where it is `-`.
pub fn read(file: &Path) -> Result<Vec<Document>, Error> {
    parse(&read_bytes(file)?, file)
}

/// Reads the bytes of a file, or of standard input where it is `-`.
pub fn read_bytes(file: &Path) -> Result<Vec<u8>, Error> {
    if let Some(url) = source::address(file) {
        return source::download(url);
    }
    let failed = |source| Error::Read { path: file.into(), source };
    if file.as_os_str() != STANDARD_INPUT {
        return std::fs::read(file).map_err(failed);
    }
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}

/// Reads the one document of a file.
pub fn read_one(file: &Path) -> Result<Document, Error> {
    let mut documents = read(file)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (None, _) => Err(Error::document(&Place::of(file), "it contains no document")),
        (Some(_), more) => Err(Error::document(
            &Place::of(file),
            format!("it contains {} documents; the command takes one", more + 1),
        )),
    }
}

/// Reads the documents of a text, which comes from a file or stands for one.
pub fn parse(text: &[u8], file: &Path) -> Result<Vec<Document>, Error> {
    let whole = Place::of(file);
    // JSON is also YAML, but the JSON parser is much faster.
    let json = text.trim_ascii_start().starts_with(b"{").then(|| json::parse_checked(text, &LIMITS));
    let (values, duplicates) = match json {
        Some(Ok((value, duplicates))) => (vec![value], duplicates),
        _ => yaml::parse_all_checked(text, &LIMITS).map_err(|error| Error::document(&whole, error))?,
    };
    if let Some(duplicate) = duplicates.first() {
        // One of the two would be lost silently.
        return Err(Error::document(&whole, format!("{duplicate}; remove one of them")));
    }
    let several = values.len() > 1;
    let begins = place::documents(text);
    let begins = (begins.len() == values.len()).then_some(begins);
    let mut documents = Vec::with_capacity(values.len());
    for (at, value) in values.into_iter().enumerate() {
        let place = if several { whole.document(at + 1) } else { whole.clone() };
        let place = match begins.as_ref().and_then(|begins| begins.get(at)) {
            Some(begin) => place.beginning(begin),
            None => place,
        };
        match items(&value) {
            Some(items) => {
                for (at, item) in items.iter().enumerate() {
                    documents.push(Document { value: item.clone(), place: place.item(at) });
                }
            }
            None => documents.push(Document { value, place }),
        }
    }
    Ok(documents)
}

/// Returns the items of a list of objects.
fn items(value: &Value) -> Option<&[Value]> {
    let list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    let items = value.get("items").filter(|_| list)?;
    items.as_array().map(|items| items.items())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<String> {
        let documents = parse(text.as_bytes(), Path::new("a.yaml")).unwrap();
        documents.iter().map(|document| document.place.to_string()).collect()
    }

    #[test]
    fn every_document_has_its_place() {
        assert_eq!(places("kind: A\n"), ["a.yaml"]);
        assert_eq!(
            places("---\nkind: A\n---\n---\nkind: B\n"),
            ["a.yaml, document 1, line 2", "a.yaml, document 2, line 5"]
        );
        assert_eq!(
            places("kind: List\nitems: [{kind: A}, {kind: B}]\n"),
            ["a.yaml, items[0]", "a.yaml, items[1]"]
        );
        assert_eq!(places(r#"{"kind": "A"}"#), ["a.yaml"]);
        assert_eq!(places("{\"kind\": \"A\"}\n---\n{\"kind\": \"B\"}\n").len(), 2);
        assert_eq!(Place::of(Path::new("-")).to_string(), "standard input");
    }

    #[test]
    fn duplicate_fields_are_refused() {
        let text = "kind: A\n---\nkind: B\ndata:\n  x: 1\n  y: 2\n  x: 3\n";
        for (text, again, first) in [
            (text, "line 7, column 3", "line 5, column 3"),
            ("{\"data\": {\"x\": 1,\n \"x\": 3}}", "line 2, column 2", "line 1, column 11"),
        ] {
            let error = parse(text.as_bytes(), Path::new("a.yaml")).unwrap_err().to_string();
            let wanted =
                format!("a.yaml: {again}: duplicate field \"data.x\", first at {first}; remove one of them");
            assert_eq!(error, wanted);
        }
    }

    #[test]
    fn errors_name_the_place() {
        let error = parse(b"a: [1\n", Path::new("a.yaml")).unwrap_err().to_string();
        assert!(error.starts_with("a.yaml: line "), "{error}");
        let documents = parse(b"metadata: {name: x}\n", Path::new("a.yaml")).unwrap();
        let error = documents[0].kind().unwrap_err().to_string();
        assert_eq!(error, "a.yaml: apiVersion is missing; every object has an apiVersion and a kind");
    }
}
