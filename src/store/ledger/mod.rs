//! Ledgers as files: one file, or a folder of parts that are named by what they hold and never written again.

#[cfg(feature = "parquet")]
mod parquet;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::create::{write_new, write_over};
use crate::{
    error::{Error, Result},
    format::json::hex,
    ops::export::{self, Entry, Origin},
    session::ledger::Completion,
};

/// Owner may read and write; nobody else anything.
const PRIVATE: u32 = 0o600;

/// What a line of a ledger begins with, and a Parquet file.
const BEGINNINGS: (&[u8], &[u8]) = (b"{\"completion_id\":\"", b"PAR1");

/// How a ledger is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Ndjson,
    Packed,
    Parquet,
}

/// A file of a ledger.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Part {
    /// The file.
    pub path: PathBuf,
    /// How many completions it holds.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// Whether it was written; else it was there already.
    pub written: bool,
}

/// Whether a path is one that a ledger can be written to, before anything was counted.
pub fn check(path: &Path) -> Result<()> {
    match form(path) {
        Some(Form::Parquet) | None if !cfg!(feature = "parquet") => Err(Error::BadUsage(
            "this sessctl was built without Parquet: name a file that ends in .ndjson or .ndjson.zst"
                .into(),
        )),
        Some(form) => may_replace(path, form),
        None if path.extension().is_some() && !path.is_dir() => Err(Error::BadUsage(format!(
            "{} is no ledger: .parquet, .ndjson, .ndjson.zst, or a folder (with a slash at its end)",
            path.display()
        ))),
        None if path.exists() && !path.is_dir() => {
            Err(Error::BadUsage(format!("{} is no folder", path.display())))
        }
        None => Ok(()),
    }
}

/// Writes `completions` to a file, or as parts of a folder. The same completions give the same bytes.
pub fn export(path: &Path, completions: &[Completion], origin: &Origin) -> Result<Vec<Part>> {
    let mut sorted: Vec<&Completion> = completions.iter().collect();
    sorted.sort_by_key(|completion| completion.id);
    match form(path) {
        Some(form) => Ok(vec![file(path, form, &sorted, origin)?]),
        None => parts(path, &sorted, origin),
    }
}

/// The form of a file by its name; none for a folder.
fn form(path: &Path) -> Option<Form> {
    let name = path.as_os_str().to_str()?;
    if path.is_dir() || name.ends_with('/') {
        return None;
    }
    let ends = |end: &str| name.to_ascii_lowercase().ends_with(end);
    if ends(".parquet") {
        return Some(Form::Parquet);
    }
    match (ends(".zst") || ends(".zstd"), ends(".ndjson") || ends(".jsonl")) {
        (true, _) => Some(Form::Packed),
        (_, true) => Some(Form::Ndjson),
        _ => None,
    }
}

/// Only a ledger is ever replaced by another.
fn may_replace(path: &Path, form: Form) -> Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mut start = Vec::new();
    let mut head = |from: &mut dyn Read| from.take(32).read_to_end(&mut start).is_ok();
    let read = match form {
        Form::Packed => zstd::stream::read::Decoder::new(BufReader::new(&file))
            .is_ok_and(|mut lines| head(&mut lines)),
        _ => head(&mut &file),
    };
    let wanted = if form == Form::Parquet { BEGINNINGS.1 } else { BEGINNINGS.0 };
    if read && (start.is_empty() || start.starts_with(wanted)) {
        Ok(())
    } else {
        Err(Error::AlreadyExists(path.into()))
    }
}

fn file(path: &Path, form: Form, completions: &[&Completion], origin: &Origin) -> Result<Part> {
    may_replace(path, form)?;
    write_over(path, PRIVATE, |out| Ok(encode(form, completions.iter().copied(), origin, out)))?;
    let bytes = fs::metadata(path).map_err(Error::io("read", path))?.len();
    Ok(Part { path: path.into(), rows: completions.len() as u64, bytes, written: true })
}

/// One part for each client and month, which tells engines what they need not read.
fn parts(folder: &Path, completions: &[&Completion], origin: &Origin) -> Result<Vec<Part>> {
    let mut groups: BTreeMap<(&str, String), Vec<&Completion>> = BTreeMap::new();
    for completion in completions {
        groups.entry((completion.client, export::month(completion))).or_default().push(completion);
    }
    let mut parts = Vec::new();
    for ((client, month), rows) in groups {
        let mut content = Vec::new();
        let count = rows.len() as u64;
        let place = folder.join(format!("client={client}")).join(format!("month={month}"));
        encode(Form::Parquet, rows.into_iter(), origin, &mut content)
            .map_err(Error::io("write into", &place))?;
        let hash = &hex(&Sha256::digest(&content))[..16];
        let path = place.join(format!("part-{}-{hash}.parquet", plain(&origin.host)));
        let written = match write_new(&path, PRIVATE, |out| Ok(out.write_all(&content))) {
            Ok(()) => true,
            // The name is the content's.
            Err(Error::AlreadyExists(_)) => false,
            Err(error) => return Err(error),
        };
        parts.push(Part { path, rows: count, bytes: content.len() as u64, written });
    }
    Ok(parts)
}

/// A host's name as a part of a file's.
fn plain(host: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    host.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn encode<'a>(
    form: Form,
    completions: impl ExactSizeIterator<Item = &'a Completion>,
    origin: &'a Origin,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let entries = completions.map(|completion| Entry::of(completion, origin));
    match form {
        Form::Ndjson => lines(entries, out),
        Form::Packed => {
            let mut packed = zstd::stream::write::Encoder::new(out, 0)?;
            packed.include_checksum(true)?;
            lines(entries, &mut packed)?;
            packed.finish().map(drop)
        }
        #[cfg(feature = "parquet")]
        Form::Parquet => parquet::write(entries, out),
        #[cfg(not(feature = "parquet"))]
        Form::Parquet => Err(io::Error::other("built without Parquet")),
    }
}

fn lines<'a>(entries: impl Iterator<Item = Entry<'a>>, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::with_capacity(1024);
    for entry in entries {
        line.clear();
        serde_json::to_writer(&mut line, &entry)?;
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}
