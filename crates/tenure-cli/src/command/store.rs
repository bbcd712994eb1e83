//! `tenure store`: moves a control plane between disk and etcd, and makes backups of either.

use crate::{
    Outcome,
    control::{self, Request},
    encryption::EncryptionFlags,
    etcd::EtcdFlags,
    terminal::Terminal,
};
use clap::{Args, Subcommand, ValueEnum};
use std::{
    io::{self, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};
use tenure_store::{
    Backup, EmbeddedOptions, EmbeddedStore, Encryption, EtcdOptions, EtcdStore,
    etcd::{self, Progress},
};

/// Move or back up a control plane.
#[derive(Args)]
#[command(
    after_help = "From disk to etcd, while reads are served:\n  tenure store export --freeze all.backup\n  tenure store import --store etcd --etcd-endpoints http://127.0.0.1:2379 all.backup\n  tenure serve --store etcd --etcd-endpoints http://127.0.0.1:2379"
)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write all entries of a store to a file, while the store is in use.
    #[command(
        after_help = "Examples:\n  tenure store export all.backup\n  tenure store export --freeze --data-dir /var/lib/tenure all.backup"
    )]
    Export {
        #[command(flatten)]
        place: Place,
        /// Refuse writes from now on, so that the file is complete; reads and watches continue.
        #[arg(long)]
        freeze: bool,
        /// The file to write; it appears when it is complete.
        file: PathBuf,
    },
    /// Create a store from such a file.
    #[command(
        after_help = "Examples:\n  tenure store import all.backup --data-dir new-data\n  tenure store import --store etcd --etcd-endpoints http://127.0.0.1:2379 all.backup"
    )]
    Import {
        #[command(flatten)]
        place: Place,
        /// The file to read.
        file: PathBuf,
    },
    /// Create a new store from what can still be read of a damaged one. The old files are kept beside it.
    #[command(
        after_help = "Examples:\n  tenure store repair\n  tenure store repair --data-dir /var/lib/tenure"
    )]
    Repair {
        /// The data directory.
        #[arg(long, value_name = "DIR", default_value = "tenure-data")]
        data_dir: PathBuf,
        #[command(flatten)]
        encryption: EncryptionFlags,
    },
    /// Accept writes again after an export with --freeze.
    #[command(after_help = "Examples:\n  tenure store thaw\n  tenure store thaw --data-dir /var/lib/tenure")]
    Thaw {
        #[command(flatten)]
        place: Place,
    },
}

/// The store.
#[derive(Args)]
struct Place {
    /// The kind of store.
    #[arg(long, value_enum, default_value_t = Kind::Embedded)]
    store: Kind,
    /// The data directory of an embedded store.
    #[arg(long, value_name = "DIR", default_value = "tenure-data")]
    data_dir: PathBuf,
    #[command(flatten)]
    encryption: EncryptionFlags,
    #[command(flatten)]
    etcd: EtcdFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// On disk, in the data directory.
    Embedded,
    /// In etcd.
    Etcd,
}

type Error = Box<dyn std::error::Error>;

/// Runs the command.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, crate::Error> {
    carry_out(options, terminal).map_err(crate::Error::Store)?;
    Ok(Outcome::Done)
}

fn carry_out(options: Options, terminal: &Terminal) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match options.action {
        Action::Export { place, freeze, file } => {
            let request = if freeze { Request::ExportFrozen } else { Request::Export };
            let encryption = place.encryption.load()?.encryption();
            let outcome = match place.store {
                Kind::Embedded => export_embedded(&place.data_dir, request, &file, &encryption),
                Kind::Etcd => runtime.block_on(export_etcd(&place.etcd, request, &file, &encryption)),
            };
            outcome?;
            // The backup is verified by reading it.
            let backup = Backup::open(&file, &encryption)?;
            terminal.print(format!(
                "{}: {} entries at revision {}\n",
                file.display(),
                backup.entries.len(),
                backup.revision
            ))?;
        }
        Action::Import { place, file } => match place.store {
            Kind::Embedded => {
                let directory = place.data_dir.join("store");
                tenure_files::create_directory(&place.data_dir)?;
                let encryption = place.encryption.load()?.encryption();
                let options = EmbeddedOptions { encryption, ..EmbeddedOptions::default() };
                let revision = EmbeddedStore::restore(&file, &directory, &options)?;
                terminal.print(format!("{}: a store at revision {revision}\n", directory.display()))?;
            }
            Kind::Etcd => {
                let encryption = place.encryption.load()?.encryption();
                let backup = Backup::open(&file, &encryption)?;
                let options = EtcdOptions { encryption, ..place.etcd.options()? };
                let revision = runtime.block_on(etcd::import(&options, &backup, show))?;
                terminal.print(format!("{}: a store at revision {revision}\n", options.prefix))?;
            }
        },
        Action::Repair { data_dir, encryption } => {
            let encryption = encryption.load()?.encryption();
            let options = EmbeddedOptions { encryption, ..EmbeddedOptions::default() };
            let repair = EmbeddedStore::repair(data_dir.join("store"), &options)?;
            for problem in &repair.problems {
                terminal.print(format!("{problem}\n"))?;
            }
            terminal.print(format!(
                "recovered {} entries up to revision {}; the store continues at revision {}\nthe old files are in {}\n",
                repair.entries,
                repair.recovered,
                repair.revision,
                repair.old_files.display()
            ))?;
        }
        Action::Thaw { place } => match place.store {
            Kind::Embedded => {
                // A server that is not running is not frozen.
                control::request(&place.data_dir, Request::Thaw)?;
            }
            Kind::Etcd => runtime.block_on(etcd::thaw(&place.etcd.options()?))?,
        },
    }
    Ok(())
}

fn export_embedded(
    directory: &Path,
    request: Request,
    file: &Path,
    encryption: &Encryption,
) -> Result<(), Error> {
    match control::request(directory, request)? {
        Some(mut from) => write_all(file, |out| copy(&mut from, out)),
        None => {
            let options = EmbeddedOptions { encryption: encryption.clone(), ..EmbeddedOptions::default() };
            let store = EmbeddedStore::open(directory.join("store"), options)?;
            store.backup(file)?;
            Ok(())
        }
    }
}

async fn export_etcd(
    flags: &EtcdFlags,
    request: Request,
    file: &Path,
    encryption: &Encryption,
) -> Result<(), Error> {
    let options = EtcdOptions { encryption: encryption.clone(), ..flags.options()? };
    if request == Request::ExportFrozen {
        etcd::freeze(&options).await?;
    }
    let store = EtcdStore::open(options).await?;
    Backup::of(&store).await?.write(file, encryption)?;
    Ok(())
}

/// Writes a file that appears when it is complete and synced.
fn write_all(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    tenure_files::replace_with(path, write).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Copies and shows the progress.
fn copy(from: &mut impl Read, to: &mut dyn Write) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 20];
    let mut copied = 0;
    loop {
        let count = from.read(&mut bytes)?;
        let Some(read) = bytes.get(..count).filter(|read| !read.is_empty()) else {
            finish_line();
            return Ok(());
        };
        to.write_all(read)?;
        copied += count;
        say(&format!("{} MB exported", copied / 1_000_000));
    }
}

fn show(progress: Progress) {
    say(&format!("{} of {} entries imported", progress.entries, progress.total));
    if progress.entries == progress.total {
        finish_line();
    }
}

/// Shows progress on one line of a terminal.
fn say(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r{text}");
    }
}

fn finish_line() {
    if io::stderr().is_terminal() {
        eprintln!();
    }
}
