//! What is only counted is counted as what is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sessctl::{format, log::Log, session::Session};

fuzz_target!(|data: &[u8]| {
    let Some((client, bytes)) = data.split_first() else { return };
    let wanted = format::ALL.get(usize::from(*client)).copied();
    // What was paid for a last line counts whether it ends or not, what it says does not: here all of them end.
    let bytes = [bytes, b"\n"].concat();
    let log = || Log::spool(bytes.as_slice()).expect("memory can be read");
    let full = Session::read_usages(log(), wanted);
    let scan = Session::read_ledger(log(), wanted);
    // A ledger takes the records of an answer in parts as one.
    let spent = |session: &Session| -> u64 {
        let mut usages = Vec::new();
        session.facts.usages.iter().cloned().for_each(|usage| usage.put(&mut usages));
        usages.iter().map(|usage| usage.tokens.total()).sum()
    };
    match (full, scan) {
        (Ok(full), Ok(scan)) => assert_eq!(spent(&full), spent(&scan)),
        (full, scan) => assert_eq!(full.is_ok(), scan.is_ok()),
    }
});
