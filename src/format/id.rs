//! Ids that depend on nothing but what they name, so that a second run finds what the first one wrote.

use sha2::{Digest, Sha256};

use super::json::{hex, line};

/// How the ids of our notes begin.
pub const NOTE: &str = "5e55c711";
/// How those of our framings begin.
pub const FRAMING: &str = "5e55c710";
/// How those of recorded questions and answers begin.
pub const RECORDED: &str = "5e55c712";

/// The digest that identifies what `parts` say, in hex.
#[must_use]
pub fn digest(parts: &[&str]) -> String {
    hex(&Sha256::digest(line(parts)))
}

/// A digest as a UUID of version 8, whose first digits tell what it is.
#[must_use]
pub fn marked(prefix: &str, d: &str) -> String {
    let variant = variant(d.as_bytes()[7]);
    format!("{prefix}-{}-8{}-{variant}{}-{}", &d[..4], &d[4..7], &d[8..11], &d[11..23])
}

/// A digest as a UUID of version 7 that was made at `millis`.
#[must_use]
pub fn dated(millis: i64, d: &str) -> String {
    let time = format!("{:012x}", millis.max(0));
    let variant = variant(d.as_bytes()[3]);
    format!("{}-{}-7{}-{variant}{}-{}", &time[..8], &time[8..12], &d[..3], &d[4..7], &d[7..19])
}

/// The variant of a UUID, by the low bits of a hex digit.
pub(super) fn variant(digit: u8) -> char {
    let low = if digit.is_ascii_digit() { digit - b'0' } else { digit.wrapping_sub(b'a') + 10 } & 3;
    ['8', '9', 'a', 'b'][usize::from(low)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_of_their_versions() {
        let digest = digest(&["sessctl/pointer/1", "parent", "pane"]);
        for (id, version) in [
            (marked(NOTE, &digest), 8),
            (dated(1_795_969_556_945, &digest), 7),
            (dated(-1, &digest), 7),
        ] {
            let id = uuid::Uuid::parse_str(&id).unwrap();
            assert_eq!((id.get_version_num(), id.get_variant()), (version, uuid::Variant::RFC4122));
        }
        assert!(dated(1_795_969_556_945, &digest).starts_with("01a22820-a1d1-7"));
    }
}
