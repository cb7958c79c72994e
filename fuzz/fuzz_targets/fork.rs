//! A child of whatever can be read is read back, and remembers what it was given.
#![no_main]

use chrono::{DateTime, Utc};
use libfuzzer_sys::fuzz_target;
use sessctl::{
    format::{self, Birth},
    log::{Encoding, Log},
    ops::{self, Child, Intent, Policy},
    session::{At, History, Session},
};

fuzz_target!(|data: &[u8]| {
    let Some((client, bytes)) = data.split_first() else { return };
    let wanted = format::ALL.get(usize::from(*client)).copied();
    let log = Log::spool(bytes).expect("memory can be read");
    let Ok(session) = Session::read(log, wanted) else { return };
    let policy = Policy::default();
    let intent = Intent { at: &At::LastTurn, leaf: None, policy: &policy };
    let Ok(cut) = ops::cut(&session, &intent) else { return };
    let birth = Birth {
        id: "01a2281b-ffff-74f9-b07d-d389f5b79d80".into(),
        at: DateTime::<Utc>::from_timestamp_millis(1_780_000_000_000).expect("a time"),
        cwd: session.header().cwd.clone(),
        title: Some("A child".into()),
        parent: session.id().into(),
        parent_path: "/home/ada/parent.jsonl".into(),
        seed_length: session.format.seed_length(&session.facts, &cut.kept),
        version: session.format.written_version(session.header().version),
        base: None,
        aside: false,
    };
    let child = Child { cut: &cut, birth: &birth, inherit: true, framing: None, folder: None };
    let Ok(draft) = ops::child(&child) else { return };
    let mut bytes = Vec::new();
    draft.write_as(Encoding::Plain, &mut bytes).expect("read").expect("written");
    let child = Session::read(Log::spool(&bytes[..]).expect("memory"), Some(session.format));
    let child = child.expect("a child can be read");
    let digests = |session: &Session, keep: Option<usize>| {
        let thread = session.thread(None).expect("a path");
        let keep = keep.unwrap_or(thread.path().len());
        History::of(&thread, keep, thread.seed).expect("a history").digests
    };
    assert_eq!(digests(&child, None), digests(&session, Some(cut.boundary.keep())));
});
