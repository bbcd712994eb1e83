//! Reads files again when they change: keys, tokens and certificates rotate without a restart.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How often the files are checked.
const PERIOD: Duration = Duration::from_secs(2);

/// The files of a running server and what to do when they change.
#[derive(Default)]
pub struct Reloader(Vec<Source>);

struct Source {
    /// What the files are, for the log.
    what: &'static str,
    files: Vec<PathBuf>,
    contents: Vec<Option<Vec<u8>>>,
    reload: Box<dyn Fn() -> Result<(), String> + Send>,
}

impl Reloader {
    /// Adds files that belong together, or directories of such files; `reload` reads them.
    pub fn add(
        &mut self,
        what: &'static str,
        files: impl IntoIterator<Item = PathBuf>,
        reload: impl Fn() -> Result<(), String> + Send + 'static,
    ) {
        let files: Vec<PathBuf> = files.into_iter().collect();
        let contents = contents(&files);
        self.0.push(Source { what, files, contents, reload: Box::new(reload) });
    }

    /// Follows the files for as long as the server runs. A file that cannot be used is reported, and the previous content
    /// is kept.
    pub async fn run(mut self) {
        while !self.0.is_empty() {
            tokio::time::sleep(PERIOD).await;
            self.check();
        }
    }

    fn check(&mut self) {
        for source in &mut self.0 {
            let contents = contents(&source.files);
            if contents == source.contents {
                continue;
            }
            source.contents = contents;
            match (source.reload)() {
                Ok(()) => tracing::info!(what = source.what, "reloaded"),
                Err(error) => {
                    tracing::error!(what = source.what, %error, "not reloaded, keeping the previous state")
                }
            }
        }
    }
}

fn contents(files: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    files.iter().map(|file| content(file).ok()).collect()
}

/// Returns the content of a file; of a directory the names and contents of its files.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    if !path.is_dir() {
        return fs::read(path);
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    let mut all = Vec::new();
    for file in entries.iter().filter(|file| !file.is_dir()) {
        all.extend_from_slice(file.as_os_str().as_encoded_bytes());
        all.push(0);
        all.extend(fs::read(file)?);
        all.push(0);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_change_is_read_once_and_a_wrong_file_again_when_it_is_right() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tokens");
        fs::write(&file, "a").unwrap();
        let read = Arc::new(Mutex::new(Vec::new()));
        let mut reloader = Reloader::default();
        let (seen, path) = (read.clone(), file.clone());
        reloader.add("tokens", [file.clone()], move || {
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            seen.lock().unwrap().push(text.clone());
            if text == "wrong" { Err("wrong".into()) } else { Ok(()) }
        });
        for (text, expected) in [("a", 0), ("b", 1), ("b", 1), ("wrong", 2), ("c", 3)] {
            fs::write(&file, text).unwrap();
            reloader.check();
            assert_eq!(read.lock().unwrap().len(), expected, "{text}");
        }
    }

    #[test]
    fn files_of_a_directory_that_change_appear_or_go_are_seen() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        fs::write(&first, "1").unwrap();
        let count = Arc::new(Mutex::new(0));
        let mut reloader = Reloader::default();
        let counted = count.clone();
        reloader.add("files", [directory.path().to_owned()], move || {
            *counted.lock().unwrap() += 1;
            Ok(())
        });
        let mut check = |expected: i32| {
            reloader.check();
            assert_eq!(*count.lock().unwrap(), expected);
        };
        check(0);
        fs::write(&first, "2").unwrap();
        check(1);
        fs::write(&second, "").unwrap();
        check(2);
        fs::remove_file(&first).unwrap();
        check(3);
        check(3);
    }
}
