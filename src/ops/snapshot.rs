//! A seed at a boundary, apart from any child: its manifest, then its lines as they stand in the source.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Cut;
use crate::{error::Result, log::Draft, session::Outline};

/// The version of the form that is written and read.
pub const SNAPSHOT_VERSION: u32 = 1;

/// The first line of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// `sessctl/snapshot`.
    pub r#type: String,
    /// The version of this form.
    pub version: u32,
    /// Where the seed comes from.
    pub source: Origin,
    /// The title of the source, or what its client would show.
    pub title: Option<String>,
    /// The source's own header line; none where the client has no header.
    pub header: Option<String>,
    /// What a fork of it will say.
    pub meta: Meta,
    /// How many messages the model sees at the end of the seed.
    pub messages: usize,
    /// The hash of these messages.
    pub hash: String,
}

/// The session that a seed was taken from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// Its id.
    pub id: String,
    /// Its client.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// Where it lay.
    pub path: String,
}

/// What DSH's fork design calls the metadata of a seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The session that a child will name as its parent.
    pub parent_session: String,
    /// The inherited length in the client's own unit.
    pub seed_length: u64,
    /// The working folder.
    pub cwd: Option<String>,
}

/// The manifest of a cut with that history; `path` is absolute.
pub fn manifest(cut: &Cut<'_>, outline: &Outline, path: &Path) -> Result<Manifest> {
    let session = cut.thread.session;
    let header = session.header();
    let line = header.line.map(|line| session.log.line(line as usize)).transpose()?;
    Ok(Manifest {
        r#type: "sessctl/snapshot".into(),
        version: SNAPSHOT_VERSION,
        source: Origin {
            id: header.id.clone(),
            format: session.format.name().into(),
            version: header.version,
            path: path.display().to_string(),
        },
        title: session.title(),
        header: line.map(|line| String::from_utf8_lossy(&line).into_owned()),
        meta: Meta {
            parent_session: header.id.clone(),
            seed_length: session.format.seed_length(&session.facts, &cut.kept),
            cwd: header.cwd.clone(),
        },
        messages: outline.messages,
        hash: outline.hash.clone(),
    })
}

/// The snapshot as a whole.
#[must_use]
pub fn seed_lines<'a>(cut: &Cut<'a>, manifest: &Manifest) -> Draft<'a> {
    let mut draft = Draft::of(&cut.thread.session.log);
    draft.line(&serde_json::to_vec(manifest).expect("a manifest always serialises"));
    // Where files of a chain begin is no part of the history.
    let lines = cut.kept.iter().copied().filter(|line| !cut.thread.is_joint(*line));
    let mut lines: Vec<u32> = lines.collect();
    cut.put_unreadable(&mut lines);
    for line in lines {
        draft.copy(line as usize);
    }
    draft
}

/// The manifest, if a file that begins like this is a snapshot.
#[must_use]
pub fn manifest_of(first_line: &[u8]) -> Option<Manifest> {
    serde_json::from_slice::<Manifest>(first_line)
        .ok()
        .filter(|manifest| manifest.r#type == "sessctl/snapshot")
}
