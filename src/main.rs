//! `sessctl`: see the library.

fn main() -> std::process::ExitCode {
    sessctl::cli::main()
}
