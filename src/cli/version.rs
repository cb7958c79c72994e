//! `sessctl --version`, and with `--json` what can be read and written.

use schemars::JsonSchema;
use serde::Serialize;

use super::output::Output;
use crate::format;

#[derive(Serialize, JsonSchema)]
pub(in crate::cli) struct Version {
    ok: bool,
    command: &'static str,
    version: &'static str,
    formats: Vec<Client>,
}

#[derive(Serialize, JsonSchema)]
struct Client {
    name: &'static str,
    reads: &'static [u32],
    writes: &'static [u32],
}

pub(super) fn print(output: &Output, json: bool) -> u8 {
    let version = env!("CARGO_PKG_VERSION");
    if !json {
        return output.line(&format!("sessctl {version}"));
    }
    let client = |format: &&dyn format::Format| {
        let (reads, writes) = format.versions();
        Client { name: format.name(), reads, writes }
    };
    let formats = format::ALL.iter().map(client).collect();
    let version = Version { ok: true, command: "version", version, formats };
    output.line(&serde_json::to_string(&version).expect("names and numbers always serialise"))
}
