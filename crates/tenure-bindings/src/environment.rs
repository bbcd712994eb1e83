//! What suites need beside a server: the objects of their files, and a certificate for webhooks that they serve themselves.

use crate::{Error, ErrorKind, Value};
use std::path::Path;
use tenure_transport::serving::ServingCertificate;

/// Returns the objects of files and directories, in their order. A path that does not exist is an error unless it may be missing.
pub fn manifests(paths: &[String], may_be_missing: bool) -> Result<Value, Error> {
    let mut objects = Vec::new();
    for path in paths.iter().map(Path::new).filter(|path| !may_be_missing || path.exists()) {
        objects.extend(tenure_testing::read_manifests(path)?);
    }
    Ok(Value::array(objects))
}

/// Creates a certificate for names and addresses in a directory, with a new authority, and returns the paths of its PEM file, which the
/// authority's certificate follows in, and of its key.
pub fn serving_certificate(directory: &str, names: Vec<String>) -> Result<[String; 2], Error> {
    let directory = Path::new(directory);
    ServingCertificate::open(directory, names)
        .map_err(|error| Error::new(ErrorKind::Server, error.to_string()))?;
    Ok(ServingCertificate::files(directory).map(|path| path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_and_certificates_created() {
        let directory = std::env::temp_dir().join(format!("tenure-environment-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join("two.yaml");
        std::fs::write(&file, "kind: A\n---\n---\nkind: B\n").unwrap();
        let missing = directory.join("missing").display().to_string();
        let paths = [file.display().to_string(), missing.clone()];
        assert_eq!(manifests(&paths, true).unwrap().to_string(), r#"[{"kind":"A"},{"kind":"B"}]"#);
        assert!(manifests(&paths, false).unwrap_err().message.contains(&missing));

        let [certificate, key] =
            serving_certificate(&directory.display().to_string(), vec!["127.0.0.1".into()]).unwrap();
        let certificate = std::fs::read_to_string(certificate).unwrap();
        assert_eq!(certificate.matches("BEGIN CERTIFICATE").count(), 2, "{certificate}");
        assert!(std::fs::read_to_string(key).unwrap().contains("PRIVATE KEY"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
