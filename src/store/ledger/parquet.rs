//! A ledger as Parquet, by the crate's own column writer.

use std::{collections::HashMap, io, io::Write, sync::Arc};

use parquet::{
    basic::{Compression, ZstdLevel},
    data_type::{ByteArray, ByteArrayType, Int64Type},
    errors::ParquetError,
    file::{
        properties::{EnabledStatistics, WriterProperties},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::{parser::parse_message_type, types::ColumnPath},
};

use crate::ops::export::Entry;

/// The columns, in the order of [`Entry`].
const SCHEMA: &str = "message ledger {
    REQUIRED BYTE_ARRAY completion_id (UTF8);
    REQUIRED BYTE_ARRAY client (UTF8);
    REQUIRED BYTE_ARRAY key_quality (UTF8);
    REQUIRED BYTE_ARRAY session_id (UTF8);
    REQUIRED BYTE_ARRAY root_session_id (UTF8);
    OPTIONAL BYTE_ARRAY parent_session_id (UTF8);
    REQUIRED BYTE_ARRAY kind (UTF8);
    OPTIONAL INT64 ts (TIMESTAMP(MICROS,true));
    REQUIRED BYTE_ARRAY ts_quality (UTF8);
    OPTIONAL BYTE_ARRAY provider (UTF8);
    OPTIONAL BYTE_ARRAY model (UTF8);
    OPTIONAL BYTE_ARRAY tier (UTF8);
    REQUIRED INT64 input;
    REQUIRED INT64 output;
    REQUIRED INT64 reasoning;
    REQUIRED INT64 cache_read;
    REQUIRED INT64 cache_write_5m;
    REQUIRED INT64 cache_write_1h;
    OPTIONAL INT64 cost_recorded_nano;
    OPTIONAL INT64 cost_computed_nano;
    OPTIONAL BYTE_ARRAY price_version (UTF8);
    OPTIONAL BYTE_ARRAY cwd (UTF8);
    REQUIRED INT64 copies;
    REQUIRED BYTE_ARRAY host (UTF8);
}";

/// How many rows are held at once.
const GROUP: usize = 128 * 1024;

/// A column: how its value is taken from a row.
enum Column {
    /// A text of its own in every row.
    Unique(fn(&Entry<'_>) -> String),
    /// A text that many rows share.
    Text(for<'a> fn(&Entry<'a>) -> Option<&'a str>, Presence),
    /// A number.
    Number(fn(&Entry<'_>) -> Option<i64>, Presence),
}

/// Whether a column may lack a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Always,
    Maybe,
}

use Presence::{Always, Maybe};

const COLUMNS: [Column; 24] = [
    Column::Unique(|row| crate::ops::export::id(row.completion_id)),
    Column::Text(|row| Some(row.client), Always),
    Column::Text(|row| Some(row.key_quality), Always),
    Column::Text(|row| Some(row.session_id), Always),
    Column::Text(|row| Some(row.root_session_id), Always),
    Column::Text(|row| row.parent_session_id, Maybe),
    Column::Text(|row| Some(row.kind), Always),
    Column::Number(|row| row.ts, Maybe),
    Column::Text(|row| Some(row.ts_quality), Always),
    Column::Text(|row| row.provider, Maybe),
    Column::Text(|row| row.model, Maybe),
    Column::Text(|row| row.tier, Maybe),
    Column::Number(|row| number(Some(row.input)), Always),
    Column::Number(|row| number(Some(row.output)), Always),
    Column::Number(|row| number(Some(row.reasoning)), Always),
    Column::Number(|row| number(Some(row.cache_read)), Always),
    Column::Number(|row| number(Some(row.cache_write_5m)), Always),
    Column::Number(|row| number(Some(row.cache_write_1h)), Always),
    Column::Number(|row| number(row.cost_recorded_nano), Maybe),
    Column::Number(|row| number(row.cost_computed_nano), Maybe),
    Column::Text(|row| row.price_version, Maybe),
    Column::Text(|row| row.cwd, Maybe),
    Column::Number(|row| number(Some(row.copies)), Always),
    Column::Text(|row| Some(row.host), Always),
];

fn number(count: Option<u64>) -> Option<i64> {
    count.map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}

/// Writes every entry, in order. The same entries give the same bytes.
pub(super) fn write<'a>(
    mut entries: impl ExactSizeIterator<Item = Entry<'a>>,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let schema = Arc::new(parse_message_type(SCHEMA).map_err(io::Error::other)?);
    let level = ZstdLevel::try_new(1).map_err(io::Error::other)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(concat!("sessctl ledger 1 (", env!("CARGO_PKG_VERSION"), ")").into())
        // Every id stands once, so that a dictionary would only be thrown away.
        .set_column_dictionary_enabled(ColumnPath::from("completion_id"), false)
        .build();
    let mut writer =
        SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(io::Error::other)?;
    loop {
        let rows: Vec<Entry<'a>> = entries.by_ref().take(GROUP).collect();
        if rows.is_empty() {
            break;
        }
        let mut group = writer.next_row_group().map_err(io::Error::other)?;
        for column in &COLUMNS {
            fill(&mut group, column, &rows).map_err(io::Error::other)?;
        }
        group.close().map_err(io::Error::other)?;
    }
    writer.close().map(drop).map_err(io::Error::other)
}

fn fill<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    rows: &[Entry<'_>],
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    match column {
        Column::Unique(value) => {
            let values: Vec<ByteArray> =
                rows.iter().map(|row| value(row).into_bytes().into()).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        }
        Column::Text(value, presence) => {
            let mut known: HashMap<&str, ByteArray> = HashMap::new();
            let values: Vec<ByteArray> = rows
                .iter()
                .filter_map(value)
                .map(|text| {
                    known.entry(text).or_insert_with(|| text.as_bytes().to_vec().into()).clone()
                })
                .collect();
            let levels = levels(rows, *presence, &|row| value(row).is_some());
            writer.typed::<ByteArrayType>().write_batch(&values, levels.as_deref(), None)?;
        }
        Column::Number(value, presence) => {
            let values: Vec<i64> = rows.iter().filter_map(value).collect();
            let levels = levels(rows, *presence, &|row| value(row).is_some());
            writer.typed::<Int64Type>().write_batch(&values, levels.as_deref(), None)?;
        }
    }
    writer.close()
}

/// Which rows have a value, for columns that may lack some.
fn levels(
    rows: &[Entry<'_>],
    presence: Presence,
    has: &dyn Fn(&Entry<'_>) -> bool,
) -> Option<Vec<i16>> {
    (presence == Maybe).then(|| rows.iter().map(|row| i16::from(has(row))).collect())
}
