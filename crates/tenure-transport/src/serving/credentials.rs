//! The server's credentials: a certificate authority, an administrator token and a kubeconfig with both, created on
//! first start and kept in the data directory.

use super::{
    ClientAuthorities, Tls, certificate_expiry, machine,
    serving_certificate::{ServingCertificate, authority_params, serving_params, write_secret},
};
use rcgen::{Issuer, KeyPair};
use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};
use tenure_value::base64;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};

/// The files in the data directory.
const AUTHORITY: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";
const TOKEN: &str = "token";
const KUBECONFIG: &str = "kubeconfig";
/// The shortest token that is accepted.
const TOKEN_BYTES: usize = 16;
/// How long before its end the certificate of the authority is created again, with the same key. Clients that trust the old one
/// also trust what the new one signs, and have this long to take it over.
const AUTHORITY_RENEWAL_SECONDS: i64 = 2 * 365 * 24 * 60 * 60;
/// The names and addresses of every server.
const NAMES: [&str; 6] =
    ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// The credentials by which server and clients authenticate each other.
pub struct Credentials {
    /// The certificate of the authority, as PEM.
    pub authority: String,
    /// The bearer token of the administrator.
    pub token: String,
    /// The path of the kubeconfig.
    pub kubeconfig: PathBuf,
    /// The TLS configuration of the listener.
    pub tls: Tls,
}

impl Credentials {
    /// Reads the credentials of a data directory and creates those that are missing. The server's own certificate is
    /// created on each start for the address it listens on; clients trust the authority.
    pub fn open(
        directory: &Path,
        listen: SocketAddr,
        authorities: Option<ClientAuthorities>,
    ) -> io::Result<Credentials> {
        for name in [AUTHORITY_KEY, TOKEN, KUBECONFIG] {
            make_private(&directory.join(name))?;
        }
        let key = match read(directory, AUTHORITY_KEY)? {
            Some(pem) => KeyPair::from_pem(&pem).map_err(|error| broken(directory, AUTHORITY_KEY, &error))?,
            None => {
                let key = KeyPair::generate().map_err(io::Error::other)?;
                write_secret(&directory.join(AUTHORITY_KEY), &key.serialize_pem())?;
                key
            }
        };
        let authority = match read(directory, AUTHORITY)? {
            Some(pem) if !is_ending(&pem) => pem,
            _ => {
                let pem = authority_params()
                    .and_then(|params| params.self_signed(&key))
                    .map_err(io::Error::other)?
                    .pem();
                write_secret(&directory.join(AUTHORITY), &pem)?;
                pem
            }
        };
        let token = match read(directory, TOKEN)? {
            Some(token) => checked_token(token.trim()).map_err(|why| broken(directory, TOKEN, &why))?,
            None => {
                let token = new_token();
                write_secret(&directory.join(TOKEN), &token)?;
                token
            }
        };
        let tls = tls_config(listen.ip(), key, authorities).map_err(io::Error::other)?;
        let kubeconfig = directory.join(KUBECONFIG);
        let server = format!("https://{}", reachable(listen));
        // A file that still leads here may have got further users and contexts since, which must not be lost.
        let lines = [format!("server: {server}"), format!("token: {token}"), base64::encode(&authority)];
        let kept = read(directory, KUBECONFIG)?.filter(|text| lines.iter().all(|line| has_end(text, line)));
        if kept.is_none() {
            write_secret(&kubeconfig, &kubeconfig_text(&server, Some(&authority), Some(&token)))?;
        }
        Ok(Credentials { authority, token, kubeconfig, tls })
    }
}

/// Creates a data directory that its owner alone can read, or makes an existing one so. A directory that is shared on purpose, such as
/// `/tmp`, is refused.
pub fn create_private_directory(directory: &Path) -> io::Result<()> {
    let named = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("cannot create the data directory {}: {error}", directory.display()),
        )
    };
    tenure_files::create_directory(directory).map_err(named)?;
    if tenure_files::is_shared(directory).map_err(named)? {
        return Err(named(io::Error::other("everyone can write to it; choose a directory inside it")));
    }
    make_private(directory)
}

/// Takes the permissions of others from a file or directory, if it exists.
fn make_private(path: &Path) -> io::Result<()> {
    let made = match tenure_files::is_private(path) {
        Ok(false) => tenure_files::make_private(path),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    made.map_err(|error| {
        io::Error::new(error.kind(), format!("cannot make {} private: {error}", path.display()))
    })
}

/// Whether a line of a text ends with something.
fn has_end(text: &str, end: &str) -> bool {
    text.lines().any(|line| line.ends_with(end))
}

/// Writes the kubeconfig of a server with plain HTTP and no token, and returns its path.
pub fn write_insecure_kubeconfig(directory: &Path, listen: SocketAddr) -> io::Result<PathBuf> {
    let kubeconfig = directory.join(KUBECONFIG);
    write_secret(&kubeconfig, &kubeconfig_text(&format!("http://{}", reachable(listen)), None, None))?;
    Ok(kubeconfig)
}

/// Returns the address that a client on this machine connects to.
pub fn reachable(listen: SocketAddr) -> SocketAddr {
    let mut address = listen;
    if listen.ip().is_unspecified() {
        address.set_ip(if listen.is_ipv4() {
            IpAddr::from([127, 0, 0, 1])
        } else {
            IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])
        });
    }
    address
}

/// Checks a token that was read: a short one can be guessed, and an empty one would be sent by any client.
fn checked_token(token: &str) -> Result<String, String> {
    if token.len() < TOKEN_BYTES {
        return Err(format!("the token has {} bytes and must have at least {TOKEN_BYTES}", token.len()));
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the token must consist of printable ASCII characters without spaces".into());
    }
    Ok(token.to_string())
}

fn new_token() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Returns the names and addresses in the certificate of a server that listens on an address: for the wildcard address,
/// the addresses and the name of this machine.
pub fn serving_names(listen: IpAddr) -> Vec<String> {
    let mut names: Vec<String> = NAMES.map(String::from).into();
    match listen.is_unspecified() {
        true => {
            names.extend(machine::host_name());
            names.extend(machine::addresses().iter().map(IpAddr::to_string));
        }
        false => names.push(listen.to_string()),
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Whether the certificate of an authority ends soon. One that cannot be read does not: the server must not replace it.
fn is_ending(pem: &str) -> bool {
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok();
    let end = certificate.and_then(|certificate| certificate_expiry(&certificate));
    let now = time::OffsetDateTime::now_utc().unix_timestamp();
    end.is_some_and(|end| end - now < AUTHORITY_RENEWAL_SECONDS)
}

fn tls_config(
    listen: IpAddr,
    authority_key: KeyPair,
    authorities: Option<ClientAuthorities>,
) -> Result<Tls, Box<dyn std::error::Error + Send + Sync>> {
    let key = KeyPair::generate()?;
    let certificate = serving_params(serving_names(listen))?
        .signed_by(&key, &Issuer::new(authority_params()?, authority_key))?;
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok(ServingCertificate { chain: vec![certificate.der().clone()], key: private }.tls(authorities)?)
}

fn kubeconfig_text(server: &str, authority: Option<&str>, token: Option<&str>) -> String {
    let trust = match authority {
        Some(pem) => format!("    certificate-authority-data: {}\n", base64::encode(pem)),
        // Some clients take plain HTTP only if they are told not to check certificates.
        None if server.starts_with("http:") => "    insecure-skip-tls-verify: true\n".into(),
        None => String::new(),
    };
    let user = token.map_or("{}".into(), |token| format!("\n    token: {token}"));
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: tenure\n  cluster:\n    server: {server}\n{}\
         contexts:\n- name: tenure\n  context:\n    cluster: tenure\n    user: admin\ncurrent-context: tenure\n\
         users:\n- name: admin\n  user: {user}\n",
        trust
    )
}

fn read(directory: &Path, name: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(directory.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(broken(directory, name, &error)),
    }
}

fn broken(directory: &Path, name: &str, error: &dyn std::fmt::Display) -> io::Error {
    let path = directory.join(name);
    io::Error::other(format!("{}: {error}; remove the file and the server creates a new one", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let directory =
            std::env::temp_dir().join(format!("tenure-credentials-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    #[test]
    fn credentials_survive_a_restart_and_are_private() {
        let directory = directory("kept");
        let listen = "127.0.0.1:6443".parse().unwrap();
        let first = Credentials::open(&directory, listen, None).unwrap();
        let second = Credentials::open(&directory, listen, None).unwrap();
        assert_eq!((&first.token, &first.authority), (&second.token, &second.authority));
        assert_eq!(first.token.len(), 64);
        for name in [TOKEN, AUTHORITY_KEY, KUBECONFIG] {
            assert!(tenure_files::is_private(&directory.join(name)).unwrap(), "{name}");
        }
        let text = fs::read_to_string(&first.kubeconfig).unwrap();
        assert!(text.contains("https://127.0.0.1:6443") && text.contains(&first.token), "{text}");
        // Additions are kept while the file points to the server; otherwise the file is replaced.
        fs::write(&first.kubeconfig, format!("{text}# ann\n")).unwrap();
        Credentials::open(&directory, listen, None).unwrap();
        assert!(fs::read_to_string(&first.kubeconfig).unwrap().ends_with("# ann\n"));
        Credentials::open(&directory, "127.0.0.1:643".parse().unwrap(), None).unwrap();
        assert!(!fs::read_to_string(&first.kubeconfig).unwrap().contains("# ann"));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn the_certificate_has_every_address_that_is_listened_on() {
        let names = |listen: &str| serving_names(listen.parse().unwrap());
        assert_eq!(names("127.0.0.1"), NAMES);
        assert_eq!(names("10.1.2.3"), [&NAMES[..], &["10.1.2.3"]].concat());
        for wildcard in ["0.0.0.0", "::"] {
            let names = names(wildcard);
            assert!(!names.iter().any(|name| name == wildcard), "{names:?}");
            for address in machine::addresses() {
                assert!(names.contains(&address.to_string()), "{names:?}");
            }
            assert!(machine::host_name().is_none_or(|name| names.contains(&name)), "{names:?}");
        }
    }

    #[test]
    fn an_authority_is_renewed_with_its_key_before_it_ends() {
        let directory = directory("renewed");
        let listen = "127.0.0.1:6443".parse().unwrap();
        let first = Credentials::open(&directory, listen, None).unwrap();
        assert!(!is_ending(&first.authority));
        let key = KeyPair::from_pem(&fs::read_to_string(directory.join(AUTHORITY_KEY)).unwrap()).unwrap();
        let mut params = authority_params().unwrap();
        params.not_after = time::OffsetDateTime::now_utc() + time::Duration::days(30);
        fs::write(directory.join(AUTHORITY), params.self_signed(&key).unwrap().pem()).unwrap();
        let renewed = Credentials::open(&directory, listen, None).unwrap();
        assert!(!is_ending(&renewed.authority));
        assert_eq!(fs::read_to_string(directory.join(AUTHORITY)).unwrap(), renewed.authority);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_short_token_is_refused() {
        let directory = directory("short");
        for token in ["", "\n", "short", "sixteen bytes of"] {
            fs::write(directory.join(TOKEN), token).unwrap();
            let error = Credentials::open(&directory, "127.0.0.1:0".parse().unwrap(), None).err().unwrap();
            assert!(error.to_string().contains("/token: the token"), "{token:?}: {error}");
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_broken_key_is_named_with_the_remedy() {
        let directory = directory("broken");
        fs::write(directory.join(AUTHORITY_KEY), "nonsense").unwrap();
        let error =
            Credentials::open(&directory, "127.0.0.1:0".parse().unwrap(), None).err().unwrap().to_string();
        assert!(error.contains("ca.key") && error.contains("remove the file"), "{error}");
        fs::remove_dir_all(directory).unwrap();
    }
}
