//! How far a long run has come, on standard error, for a person who waits.

use std::{
    io::{IsTerminal, stderr},
    sync::OnceLock,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Before that nobody wonders.
const PATIENCE: Duration = Duration::from_secs(1);

/// A count of things done, which is shown on a terminal once it has taken long.
pub struct Progress {
    began: Instant,
    total: u64,
    what: &'static str,
    bar: ProgressBar,
    shown: OnceLock<()>,
    wanted: bool,
}

impl Progress {
    /// Of `total` things, in their plural.
    pub fn new(total: usize, what: &'static str, quiet: bool) -> Self {
        let total = total as u64;
        Self {
            began: Instant::now(),
            total,
            what,
            bar: ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()),
            shown: OnceLock::new(),
            wanted: !quiet && stderr().is_terminal(),
        }
    }

    /// One more is done.
    pub fn step(&self) {
        self.bar.inc(1);
        if self.wanted && self.began.elapsed() >= PATIENCE {
            self.shown.get_or_init(|| self.show());
        }
    }

    fn show(&self) {
        let form = format!("{{bar:30}} {{pos}}/{} {} {{eta}}", self.total, self.what);
        if let Ok(style) = ProgressStyle::with_template(&form) {
            self.bar.set_style(style);
        }
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
