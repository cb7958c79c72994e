//! Any bytes are a session or an error, and never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sessctl::{
    format,
    log::Log,
    session::{History, Session, history::unfold},
};

fuzz_target!(|data: &[u8]| {
    let Some((client, bytes)) = data.split_first() else { return };
    let wanted = format::ALL.get(usize::from(*client)).copied();
    let log = Log::spool(bytes).expect("memory can be read");
    let Ok(session) = Session::read_usages(log, wanted) else { return };
    let thread = session.thread(None).expect("there is a path");
    let history = History::of(&thread, thread.path().len(), thread.seed).expect("a history");
    for message in &history.messages {
        unfold(&session, message).expect("what was read once can be read again");
    }
    let _ = thread.findings();
});
