//! The version of Kubernetes that an installed `kube-apiserver` serves: a file beside it, which `tenure envtest install` writes. A
//! link or a copy of the binary cannot say it by itself.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};
use tenure_profile::KubernetesVersion;

const FILE: &str = "kubernetes-version";

/// Writes the version of the programs of a directory, whole at once: programs may be starting there.
pub fn write(directory: &Path, version: KubernetesVersion) -> io::Result<()> {
    let draft = directory.join(format!("{FILE}.new{}", std::process::id()));
    fs::write(&draft, format!("{version}\n"))?;
    fs::rename(draft, directory.join(FILE))
}

/// Returns the version of a program, by the path that it was started by; the default if nothing says it.
pub fn of(program: &Path) -> Result<KubernetesVersion, String> {
    let Some(directory) = directory(program) else { return Ok(KubernetesVersion::DEFAULT) };
    let file = directory.join(FILE);
    match fs::read_to_string(&file) {
        Ok(text) => text.trim().parse().map_err(|error| format!("{}: {error}", file.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(KubernetesVersion::DEFAULT),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

/// Returns the directory of a program; one that was started by its name alone is in the PATH.
fn directory(program: &Path) -> Option<PathBuf> {
    match program.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => Some(parent.to_owned()),
        _ => env::split_paths(&env::var_os("PATH")?).find(|directory| directory.join(program).is_file()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_beside_a_program_decides() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("kube-apiserver");
        assert_eq!(of(&program), Ok(KubernetesVersion::DEFAULT));
        for version in KubernetesVersion::ALL {
            write(directory.path(), version).unwrap();
            assert_eq!(of(&program), Ok(version));
        }
        fs::write(directory.path().join(FILE), "2.0").unwrap();
        assert!(
            of(&program)
                .unwrap_err()
                .ends_with("unknown version of Kubernetes \"2.0\"; expected 1.36 or 1.37")
        );
    }
}
