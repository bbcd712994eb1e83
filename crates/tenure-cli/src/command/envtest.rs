//! `tenure envtest`: the binaries that envtest and similar test frameworks start.

use crate::{
    Error, Outcome,
    envtest::{Program, installed_version},
    started,
    terminal::Terminal,
};
use clap::{Args, Subcommand};
use std::{
    env::{self, consts::EXE_SUFFIX},
    fs, io,
    path::{Path, PathBuf},
};
use tenure_profile::KubernetesVersion;

/// The client that some suites call, which is linked where it is found.
const KUBECTL: &str = "kubectl";

/// Replace the binaries of envtest.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tenure envtest install ./assets\n  KUBEBUILDER_ASSETS=$PWD/assets go test ./..."
)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write a directory for KUBEBUILDER_ASSETS: kube-apiserver, etcd, and kubectl if it is found.
    #[command(
        after_help = "Examples:\n  tenure envtest install ./assets\n  tenure envtest install ./assets && KUBEBUILDER_ASSETS=$PWD/assets go test ./..."
    )]
    Install {
        /// Copy the binary instead of linking to it, for images and caches.
        #[arg(long)]
        copy: bool,
        /// Replace files that are not links, such as the original binaries.
        #[arg(long)]
        force: bool,
        /// The version of Kubernetes that the kube-apiserver serves.
        #[arg(long, value_name = "VERSION", default_value_t = KubernetesVersion::DEFAULT)]
        kubernetes_version: KubernetesVersion,
        /// The directory; it is created.
        directory: PathBuf,
    },
}

/// Writes the directory and prints how to use it.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let Action::Install { copy, force, kubernetes_version, directory } = options.action;
    let failed = |path: &Path, source: io::Error| Error::Write { path: path.into(), source };
    fs::create_dir_all(&directory).map_err(|error| failed(&directory, error))?;
    let directory = directory.canonicalize().map_err(|error| failed(&directory, error))?;
    let own = started::file().map_err(Error::Runtime)?;
    for program in Program::ALL {
        let path = directory.join(format!("{}{EXE_SUFFIX}", program.name()));
        install(&own, &path, copy, force).map_err(|error| failed(&path, error))?;
    }
    installed_version::write(&directory, kubernetes_version).map_err(|error| failed(&directory, error))?;
    // A kubectl of the directory itself stays.
    let kubectl = format!("{KUBECTL}{EXE_SUFFIX}");
    let path = directory.join(&kubectl);
    if !path.exists() {
        match find(&kubectl) {
            Some(kubectl) => install(&kubectl, &path, copy, force).map_err(|error| failed(&path, error))?,
            None => {
                terminal.note("kubectl is not in the PATH; suites that call it need one in the directory")
            }
        }
    }
    terminal.print(format!("export KUBEBUILDER_ASSETS={}\n", directory.display()))?;
    Ok(Outcome::Done)
}

/// Puts a program at a path. Links are replaced; files only if they may be.
fn install(program: &Path, path: &Path, copy: bool, force: bool) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_symlink() && !force => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the file exists and is not a link; choose another directory, or replace it with --force",
            ));
        }
        Ok(_) | Err(_) => {}
    }
    // A program that is running can be renamed over, but not written. Several installations may run at once.
    let draft = path.with_extension(format!("new{}", std::process::id()));
    let _ = fs::remove_file(&draft);
    if copy {
        fs::copy(program, &draft)?;
        make_executable(&draft)?;
    } else {
        link(program, &draft)?;
    }
    fs::rename(&draft, path)
}

/// Finds a program in the PATH.
fn find(name: &str) -> Option<PathBuf> {
    let found = env::split_paths(&env::var_os("PATH")?)
        .map(|directory| directory.join(name))
        .find(|path| is_program(path))?;
    found.canonicalize().ok()
}

#[cfg(unix)]
use unix::{is_program, link, make_executable};
#[cfg(windows)]
use windows::{is_program, link, make_executable};

#[cfg(unix)]
mod unix {
    use std::{
        fs, io,
        os::unix::fs::{PermissionsExt, symlink},
        path::Path,
    };

    pub fn is_program(path: &Path) -> bool {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }

    pub fn link(program: &Path, path: &Path) -> io::Result<()> {
        symlink(program, path)
    }

    pub fn make_executable(path: &Path) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    }
}

#[cfg(windows)]
mod windows {
    use std::{fs, io, path::Path};

    pub fn is_program(path: &Path) -> bool {
        path.is_file()
    }

    /// Links need a right that few users have; a second name of the file needs none, but has to be on the same disk.
    pub fn link(program: &Path, path: &Path) -> io::Result<()> {
        fs::hard_link(program, path).or_else(|_| fs::copy(program, path).map(drop))
    }

    pub fn make_executable(_path: &Path) -> io::Result<()> {
        Ok(())
    }
}
