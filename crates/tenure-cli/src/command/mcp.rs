//! `tenure mcp`: a Model Context Protocol server for agents, at standard input and output or on a loopback port.

use super::{approve::ApprovalDirectory, rehearse};
use crate::{
    Error, Outcome, connection::Connection, history_source::HistorySource, logging, recorder_files, signal,
    state, terminal, terminal::Terminal, undo_files,
};
use clap::{Args, ValueEnum};
use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    path::{Path, PathBuf},
};
use tenure_client::Cluster;
use tenure_http::listener;
use tenure_mcp::{AuditLog, Context, Guard, Quota, Rehearsal, RehearsalFuture, Server};
use tenure_ownership::{ApplyingManager, ForcedFields};
use tenure_value::Value;

/// The fewest bytes of a token.
const TOKEN: usize = 16;

/// Serve objects, owners and plans to agents (Model Context Protocol).
#[derive(Args)]
#[command(after_help = "\
The server speaks the Model Context Protocol at standard input and output, with your credentials. Its tools read objects with their
owners and make plans; apply_plan alone writes, and only plans that this server made and that still hold. Nothing is forced but by path.
Each task has a field manager of its own, agent/TASK.

With --approve plan, a plan is carried out only after a person approved its digest with `tenure approve`. Values of Secrets are not
shown. docs/agents.md has the tools, the limits, and a role for agents.

Examples:
  tenure mcp --read-only
  tenure mcp --namespaces shop --approve plan --audit-log audit.jsonl
  tenure mcp --listen 127.0.0.1:8700 --kinds deployments.apps,configmaps")]
pub struct Options {
    /// Write nothing.
    #[arg(long)]
    read_only: bool,
    /// The namespaces that may be read and changed [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    namespaces: Vec<String>,
    /// The kinds that may be read and changed, such as deployments.apps [default: all].
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<String>,
    /// The most objects of a plan.
    #[arg(long, value_name = "COUNT", default_value_t = Guard::default().max_objects)]
    max_objects: usize,
    /// The most objects that are changed in a minute, by all tasks together [default: not limited].
    #[arg(long, value_name = "COUNT")]
    max_changes_per_minute: Option<usize>,
    /// What a person has to approve before it is done.
    #[arg(long, value_enum, value_name = "WHAT")]
    approve: Option<Approve>,
    #[command(flatten)]
    directory: ApprovalDirectory,
    /// Append a line for each call to this file.
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// Show the values of Secrets.
    #[arg(long)]
    show_secrets: bool,
    /// Repeat results as text, for clients that do not read structured results.
    #[arg(long)]
    full_text: bool,
    /// Serve streamable HTTP on this loopback address, at /mcp, instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The file with the bearer token for --listen; it is made if it does not exist [default: $XDG_STATE_HOME/tenure/mcp-token].
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
    /// What is logged to standard error, such as info or tenure_mcp=debug.
    #[arg(
        long,
        value_name = "FILTER",
        env = "TENURE_LOG",
        default_value = "warn,rmcp=error",
        hide_short_help = true
    )]
    log: String,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// What a person approves.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Approve {
    /// Every plan, by its digest.
    Plan,
}

/// Serves agents until the client leaves or the command is interrupted.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    logging::init(&options.log).map_err(Error::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Error::Runtime)?;
    let served = runtime.block_on(serve(&options, terminal));
    // A read of standard input that waits does not keep the command from ending.
    runtime.shutdown_background();
    served
}

async fn serve(options: &Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let failed = |error: io::Error| Error::Serve(error.into());
    let stop = signal::terminated().map_err(failed)?;
    let server = Server::new(context(options).await?);
    let Some(address) = options.listen else {
        tokio::select! {
            served = server.serve_stdio() => served.map_err(failed)?,
            () = stop => server.at_rest().await,
        }
        return Ok(Outcome::Done);
    };
    let (token, file) = token(options.token_file.as_deref())?;
    let socket = listener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    if address.ip().is_loopback() {
        terminal.print(format!(
            "The MCP server listens on http://{address}{}; the bearer token is in {}.\n",
            tenure_mcp::http::PATH,
            file.display()
        ))?;
    }
    tenure_mcp::http::serve(socket, server, &token, stop).await.map_err(failed)?;
    Ok(Outcome::Done)
}

async fn context(options: &Options) -> Result<Context, Error> {
    let connect = options.history.options(&options.connection).await?;
    let cluster = Cluster::connect(&connect).await?;
    let server = cluster.server().to_owned();
    let mut context = Context::new(cluster, terminal::now);
    context.guard = Guard {
        read_only: options.read_only,
        namespaces: options.namespaces.clone(),
        kinds: options.kinds.clone(),
        max_objects: options.max_objects,
        show_secrets: options.show_secrets,
    };
    context.quota = options.max_changes_per_minute.map(Quota::new);
    context.full_text = options.full_text;
    if let Some(Approve::Plan) = options.approve {
        context.approvals = Some(options.directory.open()?);
    }
    if let Some(file) = &options.audit_log {
        let log = AuditLog::open(file).map_err(|source| Error::Write { path: file.clone(), source })?;
        context.audit = Some(log);
    }
    context.rehearsal = Some(Box::new(OnCopy));
    context.keep_undo = Some(Box::new(move |applied| {
        let written = undo_files::write_plan(applied, &server, None);
        written.map(drop).map_err(|error| io::Error::other(error.to_string()))
    }));
    Ok(context)
}

/// Rehearses on a copy in this process.
struct OnCopy;

impl Rehearsal for OnCopy {
    fn rehearse<'a>(
        &'a self,
        manifests: Vec<Value>,
        manager: String,
        cluster: &'a Cluster,
    ) -> RehearsalFuture<'a> {
        Box::pin(async move {
            let applier = ApplyingManager { manager, force: ForcedFields::None, now: terminal::now() };
            rehearse::on_live(manifests, &applier, cluster).await.map_err(|error| error.to_string())
        })
    }
}

/// Reads the token, or makes one.
fn token(given: Option<&Path>) -> Result<(String, PathBuf), Error> {
    let default = || state::directory().map(|state| state.join("mcp-token"));
    let file = given.map(Path::to_owned).or_else(default);
    let file =
        file.ok_or_else(|| Error::usage("there is no home directory; name a file with --token-file"))?;
    // Whoever has the token acts with the credentials of the user.
    if tenure_files::is_private(&file).is_ok_and(|is_private| !is_private) {
        return Err(Error::usage(format!(
            "{}: others can read the token; make it private with `chmod 600`",
            file.display()
        )));
    }
    match std::fs::read_to_string(&file) {
        Ok(text) if text.trim().len() >= TOKEN => return Ok((text.trim().to_owned(), file)),
        Ok(_) => {
            let problem =
                format!("{}: the token is too short; it needs at least {TOKEN} bytes", file.display());
            return Err(Error::usage(problem));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(Error::Read { path: file, source }),
    }
    let written = || -> io::Result<String> {
        let token = recorder_files::new_token()?;
        if let Some(directory) = file.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            tenure_files::create_directory(directory)?;
        }
        tenure_files::create_new(&file, format!("{token}\n").as_bytes())?;
        Ok(token)
    };
    match written() {
        Ok(token) => Ok((token, file)),
        Err(source) => Err(Error::Write { path: file, source }),
    }
}
