//! `oriole passes`, `oriole knobs`, shell completions and manual pages.

use crate::Failure;
use crate::arguments::Arguments;
use crate::output;
use clap::CommandFactory;
use oriole::{FindingKind, Level};
use std::io::Write;
use std::path::Path;

pub fn passes() -> Result<(), Failure> {
    let mut output = output::standard()?;
    writeln!(output, "Passes, with the names that ptxas has for them:")?;
    for pass in oriole_opt::PASSES {
        let part = oriole_opt::documented_part(pass);
        let part = part.map_or(String::new(), |name| format!(" ({name})"));
        writeln!(output, "  {:<28} {}{part}", pass.name, pass.summary)?;
    }
    for (flag, level) in [
        ("-O0", Level::None),
        ("-O1", Level::Less),
        ("-O2", Level::Default),
        ("-O3", Level::Aggressive),
    ] {
        writeln!(output, "\nPipeline of {flag}:")?;
        let phases = oriole_opt::pipeline(level);
        if phases.is_empty() {
            writeln!(output, "  (none: into SSA form and out again)")?;
        }
        for phase in phases {
            let name = phase.pass.name;
            match phase.number {
                Some(number) => {
                    let theirs = oriole_opt::documented_name(number).unwrap_or("unnamed");
                    writeln!(output, "  {number:>4}  {name} ({theirs})")?;
                }
                None => writeln!(output, "        {name}")?,
            }
        }
    }
    Ok(())
}

/// The page of a kind of finding, or all kinds with what they are.
pub fn kinds(kind: Option<&str>) -> Result<(), Failure> {
    let mut output = output::standard()?;
    if let Some(kind) = kind.and_then(FindingKind::from_text) {
        write!(output, "{}", kind.page())?;
        return Ok(());
    }
    for kind in FindingKind::ALL {
        writeln!(output, "{}\n    {}", kind.text(), kind.summary())?;
    }
    Ok(())
}

pub fn knobs() -> Result<(), Failure> {
    let mut output = output::standard()?;
    for knob in oriole_opt::KNOBS {
        writeln!(
            output,
            "{}={}\n    {} ({}; {}; {})",
            knob.name,
            knob.default,
            knob.summary,
            knob.pass,
            knob.takes(),
            knob.origin()
        )?;
    }
    Ok(())
}

pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "oriole", &mut script);
    output::standard()?.write_all(&script)?;
    Ok(())
}

pub fn man(directory: Option<&Path>) -> Result<(), Failure> {
    let command = Arguments::command();
    match directory {
        Some(directory) => {
            std::fs::create_dir_all(directory)?;
            clap_mangen::generate_to(command, directory)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            output::standard()?.write_all(&page)?;
        }
    }
    Ok(())
}
