//! Which type a document has: that of its apiVersion and kind, or the one named with `--kind`.

use crate::{
    Error,
    compatibility::AnswerFor,
    connection::Connection,
    document::Document,
    kinds,
    types::{SchemaFiles, Types},
};
use clap::Args;
use tenure_profile::Profile;
use tenure_schema::{Type, TypeRef};

/// The flags that say of which type documents are.
#[derive(Args)]
pub struct Typed {
    /// The kind of the documents, where they do not say it: Deployment, deployments, apps/v1/Deployment.
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    #[command(flatten)]
    schemas: SchemaFiles,
    /// Ask the server of the kubeconfig for types that are neither built in nor in a file, and answer for that server.
    #[arg(long = "live")]
    ask_server: bool,
    #[command(flatten)]
    connection: Connection,
}

impl Typed {
    /// Reads the types of all files; the built-in ones are those of the profile's version.
    pub fn types(&self, profile: Profile) -> Result<Types, Error> {
        Ok(self.schemas.types()?.at(profile.version()))
    }

    /// Returns the profile of the server that takes the patch: the one that is asked for types, if any.
    pub fn profile(&self, answer_for: AnswerFor) -> Result<Profile, Error> {
        let version = self.schemas.kubernetes_version;
        match self.ask_server {
            true => answer_for.connected(&self.connection, version),
            false => Ok(answer_for.offline(version)),
        }
    }

    /// Whether a server is asked.
    pub fn asks_server(&self) -> bool {
        self.ask_server
    }

    /// Returns the type of a document; an unknown one is an error, since lists would be replaced without a word.
    pub fn of(&self, types: &Types, document: &Document) -> Result<TypeRef<'static>, Error> {
        if let Some(kind) = &self.kind {
            return match kinds::find(types, kind) {
                Err(_) if self.ask_server => self.called(kind),
                found => Ok(found?.ty),
            };
        }
        let (api_version, kind) = document.kind().map_err(|_| {
            Error::document(
                &document.place,
                "it does not say its apiVersion and kind; name the kind with --kind, such as --kind apps/v1/Deployment",
            )
        })?;
        let known = match types.of(api_version, kind) {
            None if self.ask_server => self.published(api_version, kind)?,
            known => known,
        };
        known.ok_or_else(|| {
            Error::document(
                &document.place,
                format!(
                    "no type is known for {api_version} {kind}; give its definition with --schema FILE, ask the server \
                     with --live, or use --type merge or json, which need none"
                ),
            )
        })
    }

    /// Returns the type of a kind that the server knows by this name.
    fn called(&self, name: &str) -> Result<TypeRef<'static>, Error> {
        self.connection.run(async |cluster| {
            let resource = cluster.kind_named(name).await?;
            Ok(cluster.type_of(&resource.api_version(), &resource.kind).await?)
        })
    }

    /// Returns the type that the server publishes of a kind.
    fn published(&self, api_version: &str, kind: &str) -> Result<Option<TypeRef<'static>>, Error> {
        let found = self.connection.run(async |cluster| Ok(cluster.type_of(api_version, kind).await?))?;
        Ok(Some(found).filter(|found| !matches!(found.get(), Type::Untyped)))
    }
}
