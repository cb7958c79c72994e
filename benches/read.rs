//! Lines and facts a second, by client.

use std::{hint::black_box, io::Cursor, path::Path};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sessctl::{
    log::Log,
    session::{History, Session},
};

/// A log as large as a long day's session: the fixture's turns again and again, with ids and numbers that follow.
fn grown(fixture: &str, times: usize) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let (header, body) = text.split_once('\n').expect("a header line");
    let mut out = format!("{header}\n");
    let mut last = None;
    for nth in 0..times {
        for line in body.lines() {
            let mut entry: serde_json::Value =
                serde_json::from_str(line).expect("a fixture is JSON");
            let id = format!("{}-{nth}", entry["id"].as_str().unwrap_or_default());
            entry["parentId"] = last.take().into();
            entry["id"] = id.clone().into();
            last = Some(id);
            out.push_str(&entry.to_string());
            out.push('\n');
        }
    }
    out.into_bytes()
}

fn read(criterion: &mut Criterion) {
    let bytes = grown("pi/pi-1.6.0-tool-calls.jsonl", 1000);
    let mut group = criterion.benchmark_group("pi");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.sample_size(10);
    let session = || {
        let log = Log::spool(Cursor::new(bytes.clone())).expect("memory can be read");
        Session::read(log, None).expect("a grown fixture is a session")
    };
    group.bench_function("facts", |bench| bench.iter(|| black_box(session())));
    group.bench_function("history", |bench| {
        let session = session();
        bench.iter(|| {
            let thread = session.thread(None).expect("a path");
            black_box(History::of(&thread, thread.path().len(), 0).expect("a history").hash())
        });
    });
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
