//! A client's own list of session names, where it keeps one beside its logs.

use std::{collections::HashMap, fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path};

use super::{append::write_whole, journal::ends_torn};
use crate::{
    error::{Error, Result},
    format::{Birth, Layout},
};

/// The names of the sessions below the folder of logs `root`; the last naming of a session counts.
#[must_use]
pub fn names(layout: &dyn Layout, root: &Path) -> HashMap<String, String> {
    let text = layout.index(root).and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(|line| layout.indexed(line)).collect()
}

/// Adds the name of a new session to the list, if its client would look for it there and it does not stand there yet.
pub fn name_in_index(layout: &dyn Layout, root: &Path, birth: &Birth) -> Result<()> {
    let (Some(path), Some(mut line)) = (layout.index(root), layout.index_line(birth)) else {
        return Ok(());
    };
    if names(layout, root).get(&birth.id) == birth.title.as_ref() {
        return Ok(());
    }
    line.push(b'\n');
    let failed = || Error::io("append to", &path);
    let mut options = OpenOptions::new();
    let file = options.read(true).create(true).append(true).mode(0o600).open(&path);
    let mut file = file.map_err(failed())?;
    if ends_torn(&mut file).map_err(failed())? {
        line.insert(0, b'\n');
    }
    let before = file.metadata().map_err(failed())?.len();
    write_whole(&file, &path, &line, before)
}
