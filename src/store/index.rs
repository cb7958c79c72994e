//! A client's own list of session names, where it keeps one beside its logs.

use std::{
    collections::HashMap, fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::Path,
};

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

/// Adds the name of a new session to the list, if its client would look for it there.
pub fn name_in_index(layout: &dyn Layout, root: &Path, birth: &Birth) -> Result<()> {
    let (Some(path), Some(mut line)) = (layout.index(root), layout.index_line(birth)) else {
        return Ok(());
    };
    line.push(b'\n');
    let failed = || Error::io("append to", &path);
    let mut file =
        OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(failed())?;
    file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed())
}
