//! Every byte outside of the ranges is kept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sessctl::log::Splice;

fuzz_target!(|input: (Vec<u8>, Vec<(u8, u8, Vec<u8>)>)| {
    let (line, edits) = input;
    let mut splice = Splice::default();
    let (mut at, mut want) = (0, Vec::new());
    for (skip, len, with) in edits {
        let start = (at + usize::from(skip)).min(line.len());
        let end = (start + usize::from(len)).min(line.len());
        want.extend_from_slice(&line[at..start]);
        want.extend_from_slice(&with);
        splice.replace(start..end, with);
        at = end;
    }
    want.extend_from_slice(&line[at..]);
    assert_eq!(splice.apply(&line), want);
});
