//! How long a ledger of a million rows takes in each form.

use std::{path::Path, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sessctl::{
    fact::{Tokens, Word},
    ops::export::Origin,
    session::ledger::{Completion, Maker},
    store::ledger::export,
};

const ROWS: u64 = 1_000_000;

fn completions() -> Vec<Completion> {
    let start = DateTime::<Utc>::from_timestamp(1_790_000_000, 0).expect("a time");
    let session = |nth: u64| format!("01a2281b-b0f9-74f9-b07d-{nth:012x}").into();
    let maker = |nth: u64| Maker {
        client: "claude-code",
        session: session(nth),
        family: session(nth / 2),
        ..Maker::default()
    };
    let makers: Vec<Arc<Maker>> = (0..5_000).map(|nth| Arc::new(maker(nth))).collect();
    let models: [Word; 3] =
        ["claude-opus-4-5-20251101".into(), "gpt-5.1-codex".into(), "deepseek-v4-flash".into()];
    let kinds: [Word; 2] = ["main".into(), "subagent".into()];
    let at = |from: &[Word], nth: u64| from[usize::try_from(nth).unwrap_or(0) % from.len()].clone();
    (0..ROWS)
        .map(|nth| Completion {
            id: u128::from(nth).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835),
            maker: makers[usize::try_from(nth / 200).unwrap_or(0) % makers.len()].clone(),
            kind: at(&kinds, nth),
            at: start.checked_add_signed(TimeDelta::seconds(i64::try_from(nth).unwrap_or(0))),
            model: Some(at(&models, nth)),
            tokens: Tokens {
                input: nth % 977,
                cache_read: nth % 100_003,
                cache_write_5m: nth % 1_009,
                output: nth % 4_001,
                ..Tokens::default()
            },
            cost_computed: Some(nth * 7_919 % 1_000_003),
            copies: 1 + nth % 3,
            ..Completion::default()
        })
        .collect()
}

fn ledgers(criterion: &mut Criterion) {
    let completions = completions();
    let folder = tempfile::tempdir().expect("a folder");
    let origin = Origin { host: "bench".into(), price_version: None, paths: false };
    let mut group = criterion.benchmark_group("ledger");
    group.sample_size(10).throughput(Throughput::Elements(ROWS));
    for name in ["million.ndjson", "million.ndjson.zst", "million.parquet"] {
        let path = folder.path().join(Path::new(name));
        group.bench_function(name, |bench| {
            bench.iter(|| export(&path, &completions, &origin).expect("written"));
        });
    }
    group.finish();
}

criterion_group!(benches, ledgers);
criterion_main!(benches);
