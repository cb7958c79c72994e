//! A large child is begun while its parent is read: at the tip it has all of its parent's lines, in one run.

use std::path::Path;

use super::{
    ContextArg, Order,
    plan::{LARGE, folder_of},
};
use crate::{
    cli::Run,
    format::Birth,
    log::{Encoding, Tee},
    ops,
    session::{At, Beginning},
};

/// Takes the lines of a parent for a child that will most likely have them. Where it turns out to have others, or to begin
/// with another number of bytes, what was taken is given up; where no file without a name can be made, nothing is taken.
pub(super) fn begins(run: &Run, order: &Order<'_>, beginning: Beginning<'_>) -> Option<Tee> {
    let Beginning { format, log, facts, line } = beginning;
    let making = order.making;
    let whole = matches!(order.at, At::Tip | At::LastTurn)
        && making.context == ContextArg::Inherit
        && making.leaf.is_none()
        && making.drop.is_empty()
        && !making.dry_run;
    let plain = log.encoding() == Encoding::Plain && order.out != Some(Path::new("-"));
    let header = facts.header.as_ref()?;
    let version = format.written_version(header.version);
    let refers = format.refers(version) && !order.flatten;
    let path = log.path().filter(|_| whole && plain && !refers && log.len() > LARGE)?;
    let path = run.env.absolute(path);
    let birth = Birth {
        id: making.id.clone().unwrap_or_else(|| format.layout().new_id()),
        at: run.now,
        cwd: folder_of(run, order).or_else(|| header.cwd.clone()),
        title: making.title.clone(),
        parent: header.id.clone(),
        parent_path: path.clone(),
        seed_length: 0,
        version,
        base: None,
        aside: order.verb == "side",
    };
    let (first, keeps_header) = ops::beginning(format, facts, &birth, line)?;
    let out = order.out.map(|out| run.env.absolute(out));
    // The file system that the child will most likely lie in.
    let folder = out.as_deref().unwrap_or(&path).parent()?;
    let file = tempfile::tempfile_in(folder).ok()?;
    let from = if keeps_header { 0 } else { line.len() as u64 + 1 };
    Some(Tee::new(file, first.len() as u64 + 1, from, log.len()))
}
