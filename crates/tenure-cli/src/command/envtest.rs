//! `tenure envtest`: the binaries that envtest and similar test frameworks start.

use crate::{
    Error, Outcome,
    envtest::{Program, installed_version},
    started,
    terminal::Terminal,
};
use clap::{Args, Subcommand};
use std::{
    env, fs, io,
    os::unix::fs::{PermissionsExt, symlink},
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
        let path = directory.join(program.name());
        install(&own, &path, copy, force).map_err(|error| failed(&path, error))?;
    }
    installed_version::write(&directory, kubernetes_version).map_err(|error| failed(&directory, error))?;
    // A kubectl of the directory itself stays.
    let path = directory.join(KUBECTL);
    if !path.exists() {
        match find(KUBECTL) {
            Some(kubectl) => install(&kubectl, &path, copy, force).map_err(|error| failed(&path, error))?,
            None => terminal.note("kubectl is not in the PATH; suites that call it need one in the directory"),
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
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755))?;
    } else {
        symlink(program, &draft)?;
    }
    fs::rename(&draft, path)
}

/// Finds a program in the PATH.
fn find(name: &str) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
    let found = env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(name)).find(is_program)?;
    found.canonicalize().ok()
}
