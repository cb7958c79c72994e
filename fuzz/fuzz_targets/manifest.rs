//! The first line of a snapshot, whoever wrote it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sessctl::ops::manifest_of;

fuzz_target!(|line: &[u8]| {
    let Some(manifest) = manifest_of(line) else { return };
    let again = serde_json::to_vec(&manifest).expect("a manifest always serialises");
    let again = manifest_of(&again).expect("what was written can be read");
    assert_eq!(format!("{manifest:?}"), format!("{again:?}"));
});
