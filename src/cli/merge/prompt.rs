//! What a client is told when it is to make a note, and how that is known again in a log.

/// What the client is asked for unless the user says otherwise.
pub const PROMPT: &str = "Condense this side conversation into one note for the main session: what was asked, what was found out, and what follows from it. Plain text of at most {max_chars} characters, complete in itself; no heading, no greeting, no word about this request. Use no tools. Answer with the note alone.";

/// What is said to words of the user that do not name the cap.
pub const CAP: &str = "\n\nAt most {max_chars} characters.";

/// What the client is told once when the note is too long.
pub const AGAIN: &str = "That note has {chars} characters; at most {max_chars} are allowed. Give it again, shorter, and nothing else.";

/// The template with its numbers.
pub fn filled(template: &str, chars: Option<usize>, max: usize) -> String {
    let text = template.replace("{max_chars}", &max.to_string());
    chars.map_or(text.clone(), |chars| text.replace("{chars}", &chars.to_string()))
}

/// Whether `text` is that template with numbers in it.
pub fn fits(template: &str, text: &str) -> bool {
    let mut rest = text.trim();
    let pieces = template.trim().replace("{max_chars}", "{chars}");
    for (nth, piece) in pieces.split("{chars}").enumerate() {
        if nth > 0 {
            let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            if digits.len() == rest.len() {
                return false;
            }
            rest = digits;
        }
        let Some(after) = rest.strip_prefix(piece) else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_known_again_whatever_the_cap_was() {
        assert!(fits(PROMPT, &filled(PROMPT, None, 2000)));
        assert!(fits(AGAIN, &format!(" {}\n", filled(AGAIN, Some(2345), 80))));
        assert!(!fits(PROMPT, &filled(AGAIN, Some(2345), 80)));
        assert!(!fits(PROMPT, PROMPT), "a cap is a number");
        assert!(!fits("note {max_chars}", "note 80 and more"));
        assert!(fits("{max_chars} or {max_chars}?", "80 or 90?"));
    }
}
