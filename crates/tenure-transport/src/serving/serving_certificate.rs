//! The certificate that a server presents: read from files, or created with an authority of its own and kept in a directory.

use super::{ClientAuthorities, Tls};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio_rustls::rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    time_provider::TimeProvider,
};

/// The files of a directory of certificates, by the names that kube-apiserver gives them.
const CERTIFICATE: &str = "apiserver.crt";
const KEY: &str = "apiserver.key";

/// A certificate with its chain, and its key.
#[derive(Debug)]
pub struct ServingCertificate {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl ServingCertificate {
    /// Reads a certificate and its key from PEM files.
    pub fn read(certificate: &Path, key: &Path) -> io::Result<ServingCertificate> {
        let text = |path: &Path| fs::read(path).map_err(|error| wrong(path, &error));
        ServingCertificate::from_pem(&text(certificate)?, &text(key)?)
            .map_err(|(part, error)| wrong(if part == KEY { key } else { certificate }, &error))
    }

    /// Reads `apiserver.crt` and `apiserver.key` of a directory. If both are missing they are created, for these names and
    /// addresses, with the authority behind the certificate, so that clients can trust the file.
    pub fn open(directory: &Path, names: Vec<String>) -> io::Result<ServingCertificate> {
        let [certificate, key] = ServingCertificate::files(directory);
        if certificate.exists() || key.exists() {
            return ServingCertificate::read(&certificate, &key);
        }
        fs::create_dir_all(directory).map_err(|error| wrong(directory, &error))?;
        let (certificate_pem, key_pem) = create(names).map_err(io::Error::other)?;
        write_secret(&key, &key_pem).map_err(|error| wrong(&key, &error))?;
        write_secret(&certificate, &certificate_pem).map_err(|error| wrong(&certificate, &error))?;
        ServingCertificate::from_pem(certificate_pem.as_bytes(), key_pem.as_bytes())
            .map_err(|(_, error)| wrong(&certificate, &error))
    }

    /// Returns the paths of the certificate and of the key in a directory.
    pub fn files(directory: &Path) -> [PathBuf; 2] {
        [directory.join(CERTIFICATE), directory.join(KEY)]
    }

    /// The error names the part that is wrong.
    fn from_pem(certificate: &[u8], key: &[u8]) -> Result<ServingCertificate, (&'static str, String)> {
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| (CERTIFICATE, format!("not a certificate in PEM: {error}")))?;
        if chain.is_empty() {
            return Err((CERTIFICATE, "no certificate in PEM".into()));
        }
        let key = PrivateKeyDer::from_pem_slice(key);
        let key = key.map_err(|error| (KEY, format!("not a private key in PEM: {error}")))?;
        Ok(ServingCertificate { chain, key })
    }

    /// Returns the TLS configuration of a listener. Client certificates are requested if there are authorities for them.
    pub fn tls(self, authorities: Option<ClientAuthorities>) -> Result<Tls, String> {
        let config = ServerConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(Clock))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match &authorities {
            Some(authorities) => config.with_client_cert_verifier(authorities.handshake_verifier()),
            None => config.with_no_client_auth(),
        };
        let config = config.with_single_cert(self.chain, self.key);
        let mut config = config.map_err(|error| format!("the certificate cannot be used: {error}"))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls { config: Arc::new(config), authorities })
    }
}

/// The clock of handshakes. That of the library panics before 1970.
#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        SystemTime::now().duration_since(UNIX_EPOCH).ok().map(UnixTime::since_unix_epoch)
    }
}

/// Creates an authority and a certificate of it, and returns both certificates and the key of the latter.
fn create(names: Vec<String>) -> Result<(String, String), rcgen::Error> {
    let (authority_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let authority = authority_params()?.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority_params()?, authority_key);
    let certificate = serving_params(names)?.signed_by(&key, &issuer)?;
    Ok((certificate.pem() + &authority, key.serialize_pem()))
}

/// How long certificates last: that of an authority, which has to be distributed to clients, and that of a server.
const AUTHORITY_DAYS: i64 = 10 * 365;
const SERVER_DAYS: i64 = 365;

/// Returns the certificate parameters of the authority, the same for every server.
pub(super) fn authority_params() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    lasting(&mut params, AUTHORITY_DAYS);
    params.distinguished_name.push(DnType::CommonName, "tenure-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
    Ok(params)
}

/// Returns the parameters of a certificate for a server with these names and addresses.
pub(super) fn serving_params(names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "tenure");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    lasting(&mut params, SERVER_DAYS);
    Ok(params)
}

/// Sets how long a certificate lasts; it starts a day ago, for clients whose clocks are behind.
fn lasting(params: &mut CertificateParams, days: i64) {
    let now = time::OffsetDateTime::now_utc();
    params.not_before = now - time::Duration::days(1);
    params.not_after = now + time::Duration::days(days);
}

/// Writes a file atomically, readable by its owner only.
pub(super) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let written = tenure_files::replace(path, text.as_bytes());
    written.map_err(|error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())))
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_created_once_and_then_kept() {
        let directory = std::env::temp_dir().join(format!("tenure-serving-{}", std::process::id()));
        let names = || vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let created = ServingCertificate::open(&directory, names()).unwrap();
        assert_eq!(created.chain.len(), 2, "the certificate and its authority");
        let read = ServingCertificate::open(&directory, names()).unwrap();
        assert_eq!(created.chain, read.chain);
        let tls = read.tls(None).unwrap();
        assert_eq!(tls.config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);

        fs::write(directory.join(KEY), "nonsense").unwrap();
        let error = ServingCertificate::open(&directory, names()).unwrap_err().to_string();
        assert!(error.contains("apiserver.key: not a private key in PEM"), "{error}");
        fs::remove_file(directory.join(KEY)).unwrap();
        let error = ServingCertificate::open(&directory, names()).unwrap_err().to_string();
        assert!(error.contains("apiserver.key: "), "a certificate without its key: {error}");
        fs::write(directory.join(CERTIFICATE), "").unwrap();
        fs::write(directory.join(KEY), KeyPair::generate().unwrap().serialize_pem()).unwrap();
        let error = ServingCertificate::open(&directory, names()).unwrap_err().to_string();
        assert!(error.contains("apiserver.crt: no certificate in PEM"), "{error}");
        fs::remove_dir_all(directory).unwrap();
    }
}
