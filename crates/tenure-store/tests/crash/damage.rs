//! Damage to a copy of the directory of a killed writer: the store either still has everything that was acknowledged,
//! or refuses to open with a clear error. It never opens with less.

use super::Random;
use super::check::Witness;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tenure_store::{EmbeddedOptions, EmbeddedStore, Error};

/// How a file is damaged.
#[derive(Clone, Copy, Debug)]
enum Damage {
    CutTail,
    GarbleTail,
    GarbleAnywhere,
    ZeroPage,
    Empty,
}

const DAMAGES: [Damage; 5] =
    [Damage::CutTail, Damage::GarbleTail, Damage::GarbleAnywhere, Damage::ZeroPage, Damage::Empty];

/// Damages copies of the directory, each in one way, and opens them.
pub fn try_one(directory: &Path, place: &Path, witness: &mut Witness, random: &mut Random) {
    if !directory.join("table.redb").exists() {
        return;
    }
    for damage in DAMAGES {
        let copy = place.join("damaged");
        copy_directory(directory, &copy);
        let file = match random.next() % 4 {
            0 => newest_file(&copy),
            1 => copy.join("table.redb"),
            _ => any_journal(&copy, random).unwrap_or_else(|| copy.join("table.redb")),
        };
        apply(damage, &file, random);
        open(damage, &file, &copy, witness);
        fs::remove_dir_all(&copy).unwrap();
    }
}

fn open(damage: Damage, file: &Path, copy: &Path, witness: &mut Witness) {
    match EmbeddedStore::open(copy, EmbeddedOptions::default()) {
        Ok(store) => {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                witness.check_acknowledged(&store).await;
                witness.check_ledger(&store).await;
            });
            witness.report.recovered += 1;
        }
        Err(error @ (Error::Damaged { .. } | Error::UnknownFormat { .. } | Error::File { .. })) => {
            assert!(error.to_string().len() > 20, "no clear refusal: {error}");
            witness.report.refused += 1;
        }
        Err(error) => panic!("{damage:?} of {}: {error}", file.display()),
    }
}

fn apply(damage: Damage, path: &Path, random: &mut Random) {
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len().max(2);
    match damage {
        Damage::CutTail => file.set_len(length - random.within(1..length.min(100_000))).unwrap(),
        Damage::Empty => file.set_len(0).unwrap(),
        Damage::GarbleTail => {
            let place = length - random.within(1..length.min(100_000));
            garble(&mut file, place, 64.min(length - place), random);
        }
        Damage::GarbleAnywhere => {
            for _ in 0..20 {
                let place = random.within(0..length);
                garble(&mut file, place, 1, random);
            }
        }
        Damage::ZeroPage => {
            let place = random.within(0..length.div_ceil(4096)) * 4096;
            file.seek(SeekFrom::Start(place)).unwrap();
            file.write_all(&vec![0; 4096.min(length - place) as usize]).unwrap();
        }
    }
}

fn garble(file: &mut File, place: u64, length: u64, random: &mut Random) {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(place)).unwrap();
    file.take(length).read_to_end(&mut bytes).unwrap();
    for byte in &mut bytes {
        *byte ^= random.within(1..256) as u8;
    }
    file.seek(SeekFrom::Start(place)).unwrap();
    file.write_all(&bytes).unwrap();
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        fs::copy(&path, &target).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        File::options().write(true).open(target).unwrap().set_modified(modified).unwrap();
    }
}

fn any_journal(directory: &Path, random: &mut Random) -> Option<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_journal = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("journal-");
    let journals: Vec<_> = files.filter(is_journal).collect();
    (!journals.is_empty()).then(|| journals[random.next() as usize % journals.len()].clone())
}

fn newest_file(directory: &Path) -> PathBuf {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    files.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap()).unwrap().path()
}
