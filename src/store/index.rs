//! A client's own list of session names, where it keeps one beside its logs.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::{
    append::{self, write_whole},
    journal::{Journal, ends_torn},
    undo::Undo,
};
use crate::{
    error::{Error, Result},
    format::{Birth, Layout},
    log::Stamp,
};

/// The names of the sessions below the folder of logs `root`; the last naming of a session counts.
#[must_use]
pub fn names(layout: &dyn Layout, root: &Path) -> HashMap<String, String> {
    let text = layout.index(root).and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(|line| layout.indexed(line)).collect()
}

/// Adds the name of a new session to the list, if its client would look for it there and it does not stand there yet. What
/// a kill left of such a line before is taken back.
pub fn name_in_index(
    layout: &dyn Layout,
    root: &Path,
    birth: &Birth,
    journal: &Journal,
) -> Result<()> {
    let (Some(path), Some(mut line)) = (layout.index(root), layout.index_line(birth)) else {
        return Ok(());
    };
    if names(layout, root).get(&birth.id) == birth.title.as_ref() {
        return Ok(());
    }
    line.push(b'\n');
    let failed = || Error::io("append to", &path);
    if !path.exists() {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600).open(&path).map_err(failed())?;
    }
    // Opened for reading: who has it open for writing is a client.
    let lock = File::open(&path).map_err(failed())?;
    lock.lock().map_err(Error::io("lock", &path))?;
    let undo = Undo::of(journal, Stamp::of(&lock).map_err(failed())?.inode);
    undo.restore(&path, &birth.id)?;
    let mut file = append::open(&path)?;
    if ends_torn(&mut file).map_err(failed())? {
        line.insert(0, b'\n');
    }
    let before = file.metadata().map_err(failed())?.len();
    undo.begin(&path, before, &line)?;
    write_whole(&file, &path, &line, before)?;
    undo.end();
    Ok(())
}
