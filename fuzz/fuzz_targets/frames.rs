//! A compressed log: whole frames behind each other are the log, and whatever follows them is named.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sessctl::log::{Log, compress};

fuzz_target!(|input: (Vec<Vec<u8>>, Vec<u8>)| {
    let (texts, tail) = input;
    let plain = texts.concat();
    let frames: Vec<u8> = texts.iter().flat_map(|text| compress(text).expect("memory")).collect();
    let log = Log::spool(&[&frames[..], &tail].concat()[..]).expect("memory can be read");
    if frames.is_empty() || log.is_empty() {
        return;
    }
    let read = log.slice(0..log.len()).expect("what was decoded can be read");
    // A tail may be a frame as well.
    assert!(read.starts_with(&plain), "whole frames are the log");
    assert!(read.len() > plain.len() || tail.is_empty() || log.findings().next().is_some());
});
