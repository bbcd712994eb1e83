//! Manifests that are not in files: at an address, or built from a kustomization.

use crate::Error;
use std::{
    io::{self, ErrorKind},
    path::Path,
    process::{Command, Stdio},
};
use tenure_transport::WebClient;

/// The programs that build a kustomization, in the order in which they are tried.
const BUILDERS: [&[&str]; 2] = [&["kubectl", "kustomize"], &["kustomize", "build"]];

/// Returns the address that is given in place of a file, if it is one.
pub fn address(file: &Path) -> Option<&str> {
    file.to_str().filter(|text| text.starts_with("https://") || text.starts_with("http://"))
}

/// Reads what is at an address.
pub fn download(url: &str) -> Result<Vec<u8>, Error> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let failed = |problem: String| Error::Read { path: url.into(), source: io::Error::other(problem) };
    let response =
        runtime.block_on(WebClient::for_manifests().get(url, None)).map_err(|error| failed(error.problem))?;
    match response.code {
        200 => Ok(response.body.to_vec()),
        code => Err(failed(format!("the server answers with the code {code}"))),
    }
}

/// Builds a kustomization.
pub fn kustomization(directory: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Read { path: directory.into(), source };
    for builder in BUILDERS {
        let (program, arguments) = builder.split_first().unwrap_or((&"", &[]));
        let built = Command::new(program).args(arguments).arg(directory).stdin(Stdio::null()).output();
        return match built {
            Ok(output) if output.status.success() => Ok(output.stdout),
            Ok(output) => {
                Err(failed(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => Err(failed(error)),
        };
    }
    Err(Error::usage("-k needs `kubectl` or `kustomize` on the PATH to build the kustomization"))
}
