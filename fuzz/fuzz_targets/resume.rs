//! A log that is read on from where it was read to is counted as it is at once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sessctl::{
    format,
    log::Log,
    session::{resume, sheet::Sheet},
};

fuzz_target!(|data: &[u8]| {
    let Some(([client, cut], bytes)) = data.split_first_chunk() else { return };
    let wanted = format::ALL.get(usize::from(*client)).copied();
    let log = |len: usize| Log::spool(&bytes[..len]).expect("memory can be read");
    let begin = resume::read(log(bytes.len() * usize::from(*cut) / 256), wanted, None);
    let before = begin.ok().and_then(|(account, bookmark)| Some((bookmark?, account)));
    let have = resume::read(log(bytes.len()), wanted, before);
    let want = resume::read(log(bytes.len()), wanted, None);
    match (have, want) {
        (Ok((have, _)), Ok((want, _))) => assert_eq!(Sheet::of(&have), Sheet::of(&want)),
        (have, want) => assert_eq!(have.is_ok(), want.is_ok()),
    }
});
