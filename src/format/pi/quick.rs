//! Messages that cost nothing, such as a person's words and what tools put out: for a ledger they are looked through
//! in one pass, without being taken apart.
//!
//! What states more is read by the structs of [`super::wire`], which say what a line means.

use crate::format::scan::Scan;

/// Whether a line is an entry with an id that states nothing a ledger keeps.
pub(super) fn is_silent(bytes: &[u8]) -> bool {
    let mut scan = Scan::of(bytes);
    silent(&mut scan).is_some() && scan.ends()
}

fn silent(scan: &mut Scan<'_>) -> Option<()> {
    let mut seen = 0_u32; // a key that comes twice is not for us to judge
    let mut needed = 0;
    scan.object(|scan, key| {
        let bit = match key {
            b"type" => {
                (scan.text()?? == "message").then_some(())?;
                0
            }
            b"id" => scan.text()?.map(|_| 1)?,
            b"message" => message(scan).map(|()| 2)?,
            b"parentId" => scan.text().map(|_| 3)?,
            b"timestamp" => scan.text().map(|_| 4)?,
            b"summary"
            | b"firstKeptEntryId"
            | b"firstKeptEntryIndex"
            | b"systemMessage"
            | b"usage"
            | b"fromHook"
            | b"kind"
            | b"customType"
            | b"content"
            | b"details"
            | b"data"
            | b"targetId"
            | b"label"
            | b"replacement"
            | b"name"
            | b"provider"
            | b"model"
            | b"modelId" => return None,
            _ => return scan.value().map(|_| ()),
        };
        needed += u32::from(bit < 3);
        let fresh = seen & 1 << bit == 0;
        seen |= 1 << bit;
        fresh.then_some(())
    })?;
    (needed == 3).then_some(())
}

fn message(scan: &mut Scan<'_>) -> Option<()> {
    let mut seen = 0_u32;
    let mut role = false;
    scan.object(|scan, key| {
        let bit = match key {
            b"role" => {
                role = scan.text()?.is_some();
                0
            }
            b"usage" => return None,
            b"content" => scan.value().map(|_| 1)?,
            b"summary" => scan.value().map(|_| 2)?,
            b"sections" => scan.value().map(|_| 3)?,
            b"timestamp" => scan.value().map(|_| 4)?,
            b"excludeFromContext" => scan.value().map(|_| 5)?,
            b"stopReason" => scan.text().map(|_| 6)?,
            b"toolCallId" => scan.text().map(|_| 7)?,
            b"provider" => scan.text().map(|_| 8)?,
            b"model" => scan.text().map(|_| 9)?,
            b"responseModel" => scan.text().map(|_| 10)?,
            b"responseId" => scan.text().map(|_| 11)?,
            _ => return scan.value().map(|_| ()),
        };
        let fresh = seen & 1 << bit == 0;
        seen |= 1 << bit;
        fresh.then_some(())
    })?;
    role.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_message_without_usage_is_silent() {
        let entry = |message: &str| {
            is_silent(format!(r#"{{"type":"message","id":"a","message":{message}}}"#).as_bytes())
        };
        assert!(entry(r#"{"role":"user","content":"\"usage\":{}"}"#));
        assert!(!entry(r#"{"role":"toolResult","usage":{}}"#));
        assert!(!entry(r#"{"role":"toolResult","us\u0061ge":{}}"#));
        assert!(!entry(r#"{"content":[]}"#));
        assert!(!entry(r#"{"role":7}"#));
        assert!(!is_silent(br#"{"type":"message","message":{"role":"user"}}"#));
        assert!(!is_silent(br#"{"type":"usage","id":"a"}"#));
    }
}
