//! Credentials that change while a server runs: files are read again, and a watch ends with the certificate that opened it.

use crate::process::{CommandOutput, TIMEOUT, Tenure, run};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// An authority of certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Writes a certificate and its key, `NAME.crt` and `NAME.key`.
    fn certify(&self, directory: &Path, name: &str, change: impl FnOnce(&mut CertificateParams)) {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_string()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
        fs::write(directory.join(format!("{name}.crt")), certificate.pem()).unwrap();
    }

    /// Writes the certificate of a user in a group, which ends after some seconds.
    fn certify_user(&self, directory: &Path, name: &str, group: &str, seconds: i64) {
        self.certify(directory, name, |params| {
            params.distinguished_name.push(DnType::CommonName, name);
            params.distinguished_name.push(DnType::OrganizationName, group);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            params.not_after = time::OffsetDateTime::now_utc() + time::Duration::seconds(seconds);
        });
    }
}

/// A folder of files that a server is started with.
struct Files(TempDir);

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    fn start(&self, flags: &[(&str, &str)]) -> Tenure {
        let mut arguments = vec!["--in-memory".to_string(), "--listen".into(), "127.0.0.1:0".into()];
        for (flag, file) in flags {
            arguments.extend([format!("--{flag}"), self.text(file)]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Tenure::start(&self.path("data"), &arguments)
    }
}

fn curl(tenure: &Tenure, path: &str, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new("curl");
    command.args(["-s", "--max-time", "50", "-w", "\n%{http_code}"]).args(arguments);
    run(command.arg(format!("{}{path}", tenure.address)), "")
}

/// Returns the status of a request whose server is not verified.
fn status(tenure: &Tenure, arguments: &[&str]) -> String {
    let output = curl(tenure, MAPS, &[&["-k"], arguments].concat());
    output.out.rsplit('\n').next().unwrap_or_default().to_string()
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < TIMEOUT, "timed out: {what}");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn tokens_keys_authorities_and_certificates_rotate_without_a_restart() {
    let files = Files(TempDir::new().unwrap());
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    old.certify(files.0.path(), "server", |_| {});
    files.write("trusted-by-clients", &new.pem);
    files.write("clients", &old.pem);
    new.certify_user(files.0.path(), "bob", "devs", 3600);
    files.write("tokens", "token-of-ann-0123456789,ann,1\n");
    files.write("signer", &KeyPair::generate().unwrap().serialize_pem());
    let tenure = files.start(&[
        ("tls-cert-file", "server.crt"),
        ("tls-private-key-file", "server.key"),
        ("client-ca-file", "clients"),
        ("token-auth-file", "tokens"),
        ("service-account-signing-key-file", "signer"),
    ]);
    let bearer = |user: &str| format!("Authorization: Bearer token-of-{user}-0123456789");
    let (ann, eve) = (bearer("ann"), bearer("eve"));
    let (certificate, key) = (files.text("bob.crt"), files.text("bob.key"));
    let as_bob = ["--cert", certificate.as_str(), "--key", key.as_str()];
    let trusted = files.text("trusted-by-clients");
    let is_trusted = || curl(&tenure, "/livez", &["--cacert", &trusted]).code == Some(0);
    let admin = format!("Authorization: Bearer {}", fs::read_to_string(files.path("data/token")).unwrap());
    let keys = || curl(&tenure, "/openid/v1/jwks", &["-k", "-H", &admin]).out;
    // Known users have no permissions: 403. Others are not known: 401.
    assert_eq!(["-H"].map(|flag| status(&tenure, &[flag, &ann])), ["403"]);
    assert_eq!((status(&tenure, &["-H", &eve]), status(&tenure, &as_bob)), ("401".into(), "401".into()));
    assert!(!is_trusted());
    let published = keys();

    // A file that cannot be used changes nothing.
    files.write("tokens", "nonsense\n");
    files.write("clients", &new.pem);
    new.certify(files.0.path(), "server", |_| {});
    files.write("signer", &KeyPair::generate().unwrap().serialize_pem());
    wait_until("the authorities of clients are read", || status(&tenure, &as_bob) == "403");
    wait_until("the certificate is presented", is_trusted);
    wait_until("the new key is published", || keys() != published);
    assert_eq!(status(&tenure, &["-H", &ann]), "403");
    files.write("tokens", "token-of-eve-0123456789,eve,2\n");
    wait_until("the tokens are read", || status(&tenure, &["-H", &eve]) == "403");
    assert_eq!(status(&tenure, &["-H", &ann]), "401");
}

#[test]
fn a_watch_ends_with_the_certificate_that_opened_it() {
    let files = Files(TempDir::new().unwrap());
    let authority = Authority::new("clients");
    files.write("clients", &authority.pem);
    let tenure = files.start(&[("client-ca-file", "clients")]);
    authority.certify_user(files.0.path(), "bob", "system:masters", 6);
    let (certificate, key) = (files.text("bob.crt"), files.text("bob.key"));
    let start = Instant::now();
    let arguments = ["-k", "--cert", certificate.as_str(), "--key", key.as_str()];
    let watch = curl(&tenure, &format!("{MAPS}?watch=true"), &arguments);
    assert!(watch.code == Some(0) && watch.out.ends_with("200"), "{watch:?}");
    let lasted = start.elapsed();
    assert!(lasted > Duration::from_secs(2) && lasted < Duration::from_secs(30), "{lasted:?}");
    assert_eq!(status(&tenure, &arguments[1..]), "401");
}
