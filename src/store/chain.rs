//! Logs that go on from the bytes of others: the links are opened until none is left, one is missing, or one comes twice.

use std::path::{Path, PathBuf};

use super::{Glance, Store, layout_of};
use crate::{
    error::Result,
    fact::Base,
    finding::{Code, Finding},
    format::{self, Format, Head},
    log::Log,
};

/// How much of a log is looked at to tell what it continues.
const HEAD: u64 = 256 * 1024;

/// The longest first line that is looked at.
const LONGEST_HEADER: u64 = 64 * 1024 * 1024;

/// Opens the log at `path` with everything that it continues. Links are sought in `store`, where the log's own client
/// keeps its logs, and beside the log. What is wrong with a link is a finding of the log.
pub fn open(path: &Path, store: Option<&Store>) -> Result<Log> {
    let mut own = Log::open(path)?;
    let Some((format, first)) = base_of(&own)? else { return Ok(own) };
    let mut stores: Vec<Store> = store.cloned().into_iter().collect();
    stores.extend(layout_of(path).map(|(format, root)| Store::home(format.layout(), root)));
    stores.push(Store::near(path.parent().unwrap_or(Path::new("."))));

    let mut links: Vec<(Log, u64)> = Vec::new();
    let mut seen: Vec<PathBuf> = vec![canonical(path)];
    let mut wrong = None;
    let mut next = Some(first);
    while let Some(base) = next.take() {
        let Some(found) = find(format, &stores, &base.file) else {
            let message = format!("{} is not there, whose bytes this log continues", base.file);
            wrong = Some(missing(message, &base));
            break;
        };
        let place = canonical(&found);
        if seen.contains(&place) {
            let message =
                format!("this log continues {}, which comes to continue itself", base.file);
            let finding = Finding::new(Code::HistoryBaseCycle, message);
            wrong = Some(finding.on(1).with("history_base", base.file.as_str()));
            links.clear();
            break;
        }
        seen.push(place);
        let link = Log::open(&found)?;
        next = base_of(&link)?.map(|(_, base)| base);
        links.push((link, base.bytes));
        if let Some(last) = links.last()
            && wrong.is_none()
        {
            wrong = check(format, last, &base)?;
        }
    }
    if let Some(wrong) = wrong {
        own.find(wrong);
    }
    links.reverse();
    Ok(own.behind(links))
}

/// Whether the bytes that a log continues are there and end where it says.
fn check(format: &dyn Format, (link, bytes): &(Log, u64), base: &Base) -> Result<Option<Finding>> {
    if *bytes > link.len() {
        let message = format!(
            "{} has {} bytes, not the {bytes} that this log continues",
            base.file,
            link.len()
        );
        return Ok(Some(missing(message, base).with("got", link.len())));
    }
    if !link.ends_line_at(*bytes)? {
        let message = format!("byte {bytes} of {} is no line end", base.file);
        return Ok(Some(missing(message, base)));
    }
    let next = last_number(format, link, *bytes)?.map(|number| number + 1);
    if next.is_some_and(|next| next != base.end) {
        let message = format!(
            "this log continues {} at event {}, but byte {bytes} stands before another",
            base.file, base.end
        );
        return Ok(Some(
            missing(message, base).with("expected", base.end).with("got", next.unwrap_or_default()),
        ));
    }
    Ok(None)
}

/// The number of the last event of the first `bytes` bytes.
fn last_number(format: &dyn Format, link: &Log, bytes: u64) -> Result<Option<u64>> {
    let mut window = 64 * 1024;
    loop {
        let from = bytes.saturating_sub(window);
        let end = link.slice(from..bytes)?;
        let whole = end.strip_suffix(b"\n").unwrap_or(&end);
        let start = memchr::memrchr(b'\n', whole);
        if start.is_none() && from > 0 {
            window *= 4;
            continue;
        }
        return Ok(format.number_of(&whole[start.map_or(0, |at| at + 1)..]));
    }
}

fn missing(message: String, base: &Base) -> Finding {
    let finding = Finding::new(Code::HistoryBaseMissing, message).on(1);
    finding.with("history_base", base.file.as_str())
}

fn base_of(log: &Log) -> Result<Option<(&'static dyn Format, Base)>> {
    let mut head = log.head(HEAD)?;
    // A header holds the client's instructions and tools, which may be long.
    let mut len = HEAD;
    while memchr::memchr(b'\n', &head).is_none() && len < log.len().min(LONGEST_HEADER) {
        len *= 4;
        head = log.head(len)?;
    }
    let format = format::of(&Head(&head));
    Ok(format.and_then(|format| Some((format, format.base(&Head(&head))?))))
}

/// The file of that id: by its name, else by its header where the name tells nothing.
fn find(format: &dyn Format, stores: &[Store], file: &str) -> Option<PathBuf> {
    let layout = format.layout();
    let named = |store: &Store| {
        store.logs().into_iter().rfind(|path| layout.file_id(path).as_deref() == Some(file))
    };
    let headed = |store: &Store| {
        let nameless = store.logs().into_iter().filter(|path| layout.file_id(path).is_none());
        nameless
            .filter(|path| Glance::at(path).is_some_and(|glance| glance.header.id == file))
            .last()
    };
    stores.iter().find_map(named).or_else(|| stores.iter().find_map(headed))
}

fn canonical(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.into())
}
