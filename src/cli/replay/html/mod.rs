//! The page of a family: every session with its turns, what came from where, what it used. One file without any
//! other, that works offline; everything from a log is escaped, and a policy in the page lets nothing else run.

mod article;
mod branch;
mod charts;
mod tree;

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::Args;
use crate::{
    cli::{Run, pick::Opened},
    error::Result,
    format::json::hex,
};
use branch::Branch;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How many characters of a text the page holds unless told otherwise: a tool may have put out megabytes.
const LONGEST: usize = 20_000;

/// The page of the family of a session.
pub(super) fn page(run: &Run, args: &Args, opened: &Opened) -> Result<String> {
    let longest = if args.full { usize::MAX } else { LONGEST };
    let (branches, usage) = branch::family(run, opened, longest)?;
    let here = branches.iter().position(|branch| branch.id == opened.session.id()).unwrap_or(0);
    let body = body(&branches, here, &usage);
    // Nobody who wrote into a log can know a hash of all that is on the page.
    let nonce = hex(&Sha256::digest(&body)[..16]);
    let title = opened.title().unwrap_or_default();
    let title = if title.trim().is_empty() { opened.session.id().to_owned() } else { title };
    let mut page = String::with_capacity(body.len() + STYLE.len() + SCRIPT.len() + 2000);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'nonce-{nonce}'; \
         script-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"sessctl {}\">\n\
         <title>{} · sessctl</title>\n<style nonce=\"{nonce}\">\n{STYLE}</style>\n</head>\n\
         <body>\n{body}<script nonce=\"{nonce}\">\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        text(&title),
    );
    Ok(page)
}

fn body(branches: &[Branch], here: usize, usage: &charts::Usage) -> String {
    let mut out = String::new();
    out.push_str(
        "<a class=\"skip\" href=\"#main\">to the sessions</a>\n<header class=\"bar\">\n\
         <strong class=\"brand\">sessctl</strong>\n\
         <form class=\"search\" role=\"search\"><label for=\"q\" class=\"quiet\">search</label>\
         <input id=\"q\" type=\"search\" placeholder=\"Search  /\" autocomplete=\"off\" spellcheck=\"false\">\
         <output id=\"hits\" for=\"q\" aria-live=\"polite\"></output>\
         <button type=\"button\" id=\"prev\" aria-label=\"previous hit\">↑</button>\
         <button type=\"button\" id=\"next\" aria-label=\"next hit\">↓</button></form>\n\
         <button type=\"button\" id=\"theme\" aria-label=\"light or dark\">◐</button>\n</header>\n",
    );
    out.push_str(
        "<div class=\"page\">\n<nav class=\"side-bar\" aria-label=\"family\">\n<h2>Family</h2>\n",
    );
    article::contents(&mut out, branches, here);
    out.push_str(
        "<p class=\"keys\"><kbd>/</kbd> search <kbd>Enter</kbd> next hit <kbd>j</kbd> <kbd>k</kbd> next and previous \
         turn <kbd>t</kbd> light or dark</p>\n</nav>\n<main id=\"main\">\n",
    );
    out.push_str(
        "<section class=\"card\" aria-labelledby=\"h-tree\">\n<h2 id=\"h-tree\">Lineage</h2>\n",
    );
    tree::draw(&mut out, branches, here);
    out.push_str("</section>\n");
    charts::draw(&mut out, branches, usage);
    for at in 0..branches.len() {
        if !branches[at].beside {
            article::draw(&mut out, branches, at);
        }
    }
    out.push_str("</main>\n</div>\n");
    out
}

/// `raw` as text or as an attribute's value of a page, without what a reader could not see.
fn text(raw: &str) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for c in crate::cli::output::printable(raw).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_would_obey_is_escaped() {
        let evil = "</pre><script>alert('x')</script>\" onload=\"\u{202e}";
        let text = text(evil);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{202e}']), "{text}");
        assert_eq!(super::text("a & b"), "a &amp; b");
    }
}
