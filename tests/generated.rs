//! `man/` and `completions/` are what the clap definition says they are, and `docs/schema/` what the types of the reports are. `SESSCTL_REGENERATE=1` rewrites them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use clap_complete::{Shell, generate};
use sessctl::cli;

const SHELLS: [Shell; 5] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell];

const ENVIRONMENT: &str = include_str!("../docs/help/environment.md");

const EXIT_STATUS: &str = include_str!("../docs/help/exit-status.md");

/// Every generated file, by its path in the project.
fn wanted() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for shell in SHELLS {
        let mut script = Vec::new();
        generate(shell, &mut cli::definition(), "sessctl", &mut script);
        let name = match shell {
            Shell::Bash => "sessctl.bash",
            Shell::Zsh => "_sessctl",
            Shell::Fish => "sessctl.fish",
            Shell::Elvish => "sessctl.elv",
            _ => "_sessctl.ps1",
        };
        files.insert(Path::new("completions").join(name), script);
    }
    for (name, schema) in cli::schemas() {
        let mut text = serde_json::to_vec_pretty(&schema).expect("a schema serialises");
        text.push(b'\n');
        files.insert(Path::new("docs/schema").join(format!("{name}.json")), text);
    }
    let mut root = cli::definition();
    root.build();
    files.insert("man/sessctl.1".into(), page(&root, "sessctl"));
    for verb in root.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("sessctl-{}", verb.get_name());
        files.insert(Path::new("man").join(format!("{name}.1")), page(verb, &name));
    }
    files
}

fn page(command: &clap::Command, name: &str) -> Vec<u8> {
    let mut page = Vec::new();
    let command = command.clone().display_name(name.to_owned());
    let usage = command.clone().render_usage().to_string();
    let examples = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let mut commands = String::new();
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let (name, about) = (verb.get_name(), verb.get_about().map(ToString::to_string));
        let about = plain(&about.unwrap_or_default());
        let _ = writeln!(commands, ".TP\n\\fBsessctl\\-{name}\\fR(1)\n{about}");
    }
    let man = clap_mangen::Man::new(command).title(name.to_owned());
    let mut write = || -> std::io::Result<()> {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        // As in `--help`: a list of all flags without their values tells nobody how to call it.
        writeln!(page, ".SH SYNOPSIS\n{}", plain(usage.trim_start_matches("Usage: ")))?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if name == "sessctl" {
            writeln!(page, ".SH COMMANDS\n{commands}")?;
        }
        for (heading, lines) in [
            ("EXAMPLES", examples.strip_prefix("Examples:\n").unwrap_or_default()),
            ("ENVIRONMENT", if name == "sessctl" { ENVIRONMENT } else { "" }),
            ("EXIT STATUS", if name == "sessctl" { EXIT_STATUS } else { "" }),
        ] {
            let lines = lines
                .trim_start_matches(|c| c != '\n' && lines.starts_with('#'))
                .trim_matches('\n');
            if !lines.is_empty() {
                writeln!(page, ".SH {heading}\n.nf\n{}\n.fi", plain(lines))?;
            }
        }
        let pages = if name == "sessctl" { String::new() } else { r"\fBsessctl\fR(1), ".into() };
        writeln!(
            page,
            ".SH SEE ALSO\n{pages}\\fBsessctl help\\fR for boundaries, formats and codes"
        )
    };
    write().expect("memory takes everything");
    page
}

/// Text that roff leaves as it is.
fn plain(text: &str) -> String {
    text.replace('\\', r"\e").replace('-', r"\-").replace('\'', r"\(aq")
}

#[test]
fn man_pages_completions_and_schemas_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = wanted();
    assert!(wanted.len() >= SHELLS.len() + 7, "a page for the tool and one for each verb");
    if std::env::var_os("SESSCTL_REGENERATE").is_some() {
        for (path, bytes) in &wanted {
            fs::create_dir_all(root.join(path).parent().expect("a file has a folder"))
                .expect("made");
            fs::write(root.join(path), bytes).expect("written");
        }
    }
    for (path, bytes) in &wanted {
        let have = fs::read(root.join(path)).unwrap_or_default();
        assert!(have == *bytes, "{} is not what clap says; run `just regen`", path.display());
    }
    for folder in ["man", "completions", "docs/schema"] {
        for entry in fs::read_dir(root.join(folder)).expect("a folder") {
            let path = Path::new(folder).join(entry.expect("an entry").file_name());
            // What only loads what the program says is written by hand.
            let live = path == Path::new("completions/live");
            assert!(live || wanted.contains_key(&path), "{} belongs to no command", path.display());
        }
    }
}
