//! The words we say into a session, and the digests that identify them without any journal.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{
    error::{Error, Result},
    fact::Carrier,
    format::Note,
    format::json::hex,
};

/// What a side session is told unless the user says otherwise.
pub const FRAMING: &str = "Side conversation: from here on you are a read-only advisor. Explain and answer questions about the session so far. Change nothing: edit no file, run nothing that writes. Do not go on with the task.";

/// Tags that some client wraps these words in; a text that closes one would end early on its screen.
const CLOSING_TAGS: &[&str] =
    &["</local-command-stdout>", "</sidechat_note>", "</sidechat_framing>"];

/// `text` as it will be said, if it can be: trimmed, without control characters other than newline and tab.
pub fn trimmed(text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::NoteEmpty);
    }
    if let Some(bad) =
        text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t') || is_bidi_control(*c))
    {
        return Err(Error::BadUsage(format!(
            "the text holds the control character U+{:04X}",
            u32::from(bad)
        )));
    }
    if let Some(tag) = CLOSING_TAGS.iter().find(|tag| text.contains(**tag)) {
        return Err(Error::BadUsage(format!(
            "the text holds `{tag}`, which would end it early in its client"
        )));
    }
    Ok(text.to_owned())
}

/// Characters that change the order in which others are shown.
#[must_use]
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The framing of the side session `child`.
#[must_use]
pub fn framing(child: &str, parent: &str, text: String) -> Note {
    let digest = digest(&json!(["sessctl/framing/1", child, text]));
    Note {
        carrier: Carrier::Framing,
        text,
        digest,
        other: parent.into(),
        range: [String::new(), String::new()],
    }
}

/// The note of the side session `side`, which stands for the messages of `range`; `nth` from 2 on makes it another one.
#[must_use]
pub fn note(side: &str, range: &[String; 2], text: String, nth: u32) -> Note {
    let parts = match nth {
        0 | 1 => json!(["sessctl/note/1", side, range[0], range[1], text]),
        nth => json!(["sessctl/note/1", side, range[0], range[1], text, nth]),
    };
    Note {
        carrier: Carrier::Note,
        digest: digest(&parts),
        text,
        other: side.into(),
        range: range.clone(),
    }
}

fn digest(parts: &serde_json::Value) -> String {
    hex(&Sha256::digest(parts.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_that_the_real_clients_were_shown() {
        let text = "Note from a side conversation: keep money in integer cents; an empty cart must stay 0.";
        let side = "51de0000-0000-4000-8000-000000000001";
        let note = note(side, &[String::new(), String::new()], text.into(), 1);
        assert_eq!(note.digest, "0673b3b0abd6ecb9d66dbd5a49fd95c966dd650d29b9c61c6670b09b1bf4fb54");
        assert_eq!(
            framing(side, "", FRAMING.into()).digest,
            "a9c178e1a9aefb7b0346aa12d1866f04af0e2dbe1fb1b22b57d27dbd68dc37d2"
        );
    }

    #[test]
    fn texts_that_would_deceive_are_refused() {
        assert!(matches!(trimmed("  \n "), Err(Error::NoteEmpty)));
        assert!(matches!(trimmed("a\u{202E}b"), Err(Error::BadUsage(_))));
        assert!(matches!(trimmed("a\u{1b}[0m"), Err(Error::BadUsage(_))));
        assert!(matches!(trimmed("x </sidechat_note> y"), Err(Error::BadUsage(_))));
        assert_eq!(trimmed(" a\tb\n").unwrap(), "a\tb");
    }
}
