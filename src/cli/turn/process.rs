//! A process that is waited for: what ends us ends it first.

use std::{
    fs,
    io::{self, Read, Write},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    flag::register_conditional_default,
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::{emulate_default_handler, siginfo::Cause},
};

/// The signals by which a person or a supervisor ends a run.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// How often a running process is looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// How often that is done, at most, for those who were told to end and outlive the process that was waited for.
const PATIENCE: u32 = 500;

/// The most that is taken of an output.
pub const LONGEST: u64 = 16 * 1024 * 1024;

/// Takes the signals that would end this process while another one runs, and none at other times.
pub struct Watch {
    signals: SignalsInfo<WithOrigin>,
    idle: Arc<AtomicBool>,
}

/// How a process ended.
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// What it said, if that was asked for.
    pub output: Vec<u8>,
    /// The signal that was sent to end this run.
    pub interrupted: Option<i32>,
}

impl Watch {
    /// Signals that the caller has this process ignore stay ignored, as under `nohup`.
    pub fn new() -> io::Result<Self> {
        let ignored = ignored();
        let ending: Vec<i32> =
            ENDING.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect();
        let idle = Arc::new(AtomicBool::new(true));
        for signal in &ending {
            register_conditional_default(*signal, Arc::clone(&idle))?;
        }
        Ok(Self { signals: SignalsInfo::new(&ending)?, idle })
    }

    /// Runs `command` to its end. `input` goes to its standard input, else it has none; with `keep` its standard output
    /// is kept.
    pub fn run(
        &mut self,
        command: &mut Command,
        input: Option<Vec<u8>>,
        keep: bool,
    ) -> io::Result<Ended> {
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        if keep {
            command.stdout(Stdio::piped());
        }
        self.idle.store(false, Ordering::SeqCst);
        let ended = command.spawn().and_then(|child| self.wait(child, input));
        self.idle.store(true, Ordering::SeqCst);
        // What came between the last look and this line.
        let late = self.signals.pending().last().map(|origin| origin.signal);
        ended.map(|ended| Ended { interrupted: ended.interrupted.or(late), ..ended })
    }

    fn wait(&mut self, mut child: Child, input: Option<Vec<u8>>) -> io::Result<Ended> {
        // Threads of their own, so that neither side waits for the other. What nobody reads is no error.
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            thread::spawn(move || {
                let _ = stdin.write_all(&input);
            });
        }
        let output: Option<JoinHandle<io::Result<Vec<u8>>>> = child.stdout.take().map(|stdout| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                stdout.take(LONGEST).read_to_end(&mut bytes)?;
                Ok(bytes)
            })
        });
        let mut interrupted = None;
        let mut status = None;
        let mut told = Vec::new();
        loop {
            for origin in self.signals.pending() {
                interrupted = Some(origin.signal);
                // A key on a terminal tells the whole group; that it is gone is told to the leader alone.
                let known = matches!(origin.cause, Cause::Kernel) && origin.signal != SIGHUP;
                if status.is_none() && !known {
                    told = family(&child);
                    pass_on(&told, origin.signal);
                }
            }
            status = match status {
                None => child.try_wait()?,
                known => known,
            };
            // Somebody may still hold the output of a process that is gone; that is waited for, but not against a signal.
            let heard =
                output.as_ref().is_none_or(JoinHandle::is_finished) || interrupted.is_some();
            if let Some(status) = status.filter(|_| heard) {
                let output = match output.filter(JoinHandle::is_finished).map(JoinHandle::join) {
                    Some(Ok(bytes)) => bytes?,
                    _ => Vec::new(),
                };
                self.outlive(&told);
                return Ok(Ended { status, output, interrupted });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Waits for those who were told to end: a shell goes before its client has written its last line.
    fn outlive(&mut self, told: &[Pid]) {
        for _ in 0..PATIENCE {
            let again = self.signals.pending().next().is_some();
            if again || !told.iter().any(|pid| lives(*pid)) {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

fn pass_on(told: &[Pid], signal: i32) {
    let Some(signal) = Signal::from_named_raw(signal) else { return };
    for pid in told {
        let _ = kill_process(*pid, signal); // It may be gone already.
    }
}

/// The process and what descends from it, as far as the system tells: a shell does not pass a signal on.
fn family(child: &Child) -> Vec<Pid> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = vec![child.id()];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
    }
    found.into_iter().filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).collect()
}

/// What stands behind the name in a process's status: its state, then its parent.
fn status(pid: u32) -> Option<(String, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

fn parent(pid: u32) -> Option<u32> {
    status(pid).map(|(_, parent)| parent)
}

fn lives(pid: Pid) -> bool {
    let pid = pid.as_raw_nonzero().get().unsigned_abs();
    status(pid).is_some_and(|(state, _)| state != "Z")
}

/// Ends this process as the signal would have.
pub fn end_by(signal: i32) -> ! {
    let _ = emulate_default_handler(signal);
    std::process::exit(128 + signal)
}

/// The signals that this process was started to ignore, one bit each; none where the system does not tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).unwrap_or(0)
}
