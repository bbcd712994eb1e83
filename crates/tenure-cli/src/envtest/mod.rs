//! Tenure as `kube-apiserver` and `etcd`: started under one of these names, the binary accepts that program's
//! flags. Test frameworks such as envtest start both programs for every suite; with Tenure the data lives in the API
//! server, in memory, and the `etcd` only answers health checks.

mod api_server;
mod api_server_flags;
mod etcd;
mod flags;
pub mod installed_version;
mod shared_flags;

use crate::outcome::{FAILED, Outcome};
use flags::FlagError;
use std::{env::consts::EXE_SUFFIX, ffi::OsString, path::Path};

/// A program that the binary can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The API server.
    KubeApiserver,
    /// A stand-in for the store of the API server.
    Etcd,
}

impl Program {
    /// All programs.
    pub const ALL: [Program; 2] = [Program::KubeApiserver, Program::Etcd];

    /// Returns the file name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Program::KubeApiserver => "kube-apiserver",
            Program::Etcd => "etcd",
        }
    }

    /// Returns the program that is started under a path; `None` for Tenure itself.
    pub fn of_path(path: &Path) -> Option<Program> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(EXE_SUFFIX).unwrap_or(name);
        Program::ALL.into_iter().find(|program| program.name() == name)
    }

    /// Runs the program that was started by a path until it receives a signal, and returns the exit code.
    pub fn run(self, path: &Path, arguments: impl Iterator<Item = OsString>) -> u8 {
        let arguments: Vec<String> =
            arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
        let result = match self {
            Program::KubeApiserver => installed_version::of(path)
                .map_err(Error::Run)
                .and_then(|version| api_server::run(&arguments, version)),
            Program::Etcd => etcd::run(&arguments),
        };
        match result {
            Ok(()) => Outcome::Done.exit_code(),
            Err(Error::Flag(error)) => {
                eprintln!("Error: {error}\nSee '{} --help' for usage.", self.name());
                FAILED
            }
            Err(Error::Run(error)) => {
                eprintln!("Error: {error}");
                FAILED
            }
        }
    }
}

/// Why a program ended.
#[derive(Debug)]
enum Error {
    /// The command line is wrong.
    Flag(FlagError),
    /// The program could not run.
    Run(String),
}

impl From<FlagError> for Error {
    fn from(error: FlagError) -> Error {
        Error::Flag(error)
    }
}

impl From<String> for Error {
    fn from(error: String) -> Error {
        Error::Run(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_decides() {
        for (path, program) in [
            ("kube-apiserver", Some(Program::KubeApiserver)),
            ("/opt/assets/kube-apiserver", Some(Program::KubeApiserver)),
            ("./etcd", Some(Program::Etcd)),
            ("tenure", None),
            ("/etcd/tenure", None),
            ("etcdctl", None),
            ("", None),
        ] {
            assert_eq!(Program::of_path(Path::new(path)), program, "{path}");
        }
    }
}
