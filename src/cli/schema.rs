//! The JSON schemas of all reports, made of the types that are printed.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{fork, help, lineage, list, merge, output, replay, side, snapshot, usage, version};

/// The schemas by the name of their file: one for each command's report, one for each kind of row.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("failure", failure()),
        ("fork", report::<fork::Forked>("fork")),
        ("side", report::<side::Sided>("side")),
        ("side-record", report::<side::record::Recorded>("side --record")),
        ("snapshot", report::<snapshot::Snapped>("snapshot")),
        ("snapshot-check", report::<snapshot::Checked>("snapshot --check")),
        ("merge", report::<merge::Merged>("merge")),
        ("replay", report::<replay::Replayed>("replay")),
        ("usage", report::<usage::Counted>("usage")),
        ("usage-statusline", report::<usage::Line>("usage --statusline")),
        ("usage-explain", report::<usage::Explanation>("usage --explain")),
        ("usage-reconcile", report::<usage::Reconciled>("usage --reconcile")),
        ("list", report::<list::Listed>("list")),
        ("help", report::<help::Explained>("help")),
        ("version", plain::<version::Version>("`sessctl --version --json`")),
        ("row-messages", plain::<replay::MessageRow<'_>>("a line of `replay --view messages`")),
        ("row-provider", plain::<replay::SentRow<'_>>("a line of `replay --view provider`")),
        ("row-turns", plain::<replay::TurnRow>("a line of `replay --view turns`")),
        ("row-lineage", plain::<lineage::Member>("a row of `replay --view lineage`")),
    ]
}

fn plain<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["title"] = title.into();
    schema
}

/// What every report begins with, and what a failure tells besides.
fn failure() -> Value {
    let mut schema = plain::<output::Common<'_>>("a report of a run that came to nothing");
    let details = plain::<output::Details>("");
    merge(&mut schema, &details);
    schema
}

/// The report of a command: the common fields always, its own ones when all is well.
fn report<T: JsonSchema>(command: &str) -> Value {
    let own = plain::<T>("");
    let mut schema = failure();
    merge(&mut schema, &own);
    schema["title"] = format!("the report of `sessctl {command} --json`").into();
    // A run that has nothing to tell but its failure has none of the fields of its own.
    schema["if"] = json!({ "properties": { "ok": { "const": true } } });
    schema["then"] = json!({ "required": own["required"] });
    schema["unevaluatedProperties"] = false.into();
    schema
}

/// Adds the fields and definitions of another schema, which stay optional.
fn merge(schema: &mut Value, other: &Value) {
    for part in ["properties", "$defs"] {
        let Some(theirs) = other[part].as_object() else { continue };
        let mut all = schema[part].as_object().cloned().unwrap_or_else(Map::new);
        for (name, value) in theirs {
            all.entry(name.clone()).or_insert_with(|| value.clone());
        }
        schema[part] = all.into();
    }
    for part in ["anyOf", "oneOf", "allOf"] {
        if !other[part].is_null() {
            schema[part] = other[part].clone();
        }
    }
}
