//! Asks the real `ptxas`.

use crate::Failure;
use oriole_isa::Target;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// What `ptxas` says of one function.
pub struct Assembled {
    pub name: String,
    pub registers: u32,
    pub stack: u32,
    pub spill_stores: u32,
    pub spill_loads: u32,
    pub shared: u32,
    pub barriers: u32,
}

/// Assembles a text and reads what is said about it.
pub fn run(program: &Path, text: &str, target: Target) -> Result<Vec<Assembled>, Failure> {
    let folder = crate::temporary::folder()?;
    let input = folder.path().join("input.ptx");
    std::fs::File::create(&input)?.write_all(text.as_bytes())?;
    let assemble = |separate: bool| {
        let mut command = Command::new(program);
        command
            .arg("-v")
            .arg(format!("-arch={target}"))
            .arg(&input)
            .arg("-o")
            .arg(folder.path().join("output.cubin"));
        if separate {
            command.arg("-c");
        }
        command.output().map_err(|error| {
            Failure::message(format!("cannot run `{}`: {error}", program.display()))
        })
    };
    let mut output = assemble(false)?;
    if !output.status.success() {
        // Perhaps it only calls what is in another module.
        let separate = assemble(true)?;
        if separate.status.success() {
            output = separate;
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let first = said
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or("");
        return Err(Failure::message(format!(
            "`{}` does not accept the file for {target}: {}",
            program.display(),
            first.trim()
        )));
    }
    Ok(parse(&said))
}

/// The number before a word.
fn before(line: &str, word: &str) -> u32 {
    line.find(word)
        .and_then(|at| line[..at].split_whitespace().next_back())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

fn quoted(line: &str) -> Option<&str> {
    line.split('\'').nth(1)
}

fn parse(text: &str) -> Vec<Assembled> {
    let mut found = Vec::new();
    let mut name: Option<String> = None;
    let mut frame = (0, 0, 0);
    for line in text.lines() {
        if line.contains("Compiling entry function") {
            name = quoted(line).map(str::to_owned);
        } else if let Some((_, function)) = line.split_once("Function properties for ") {
            if name.is_none() {
                name = Some(function.trim().to_owned());
            }
        } else if line.contains("bytes stack frame") {
            frame = (
                before(line, " bytes stack frame"),
                before(line, " bytes spill stores"),
                before(line, " bytes spill loads"),
            );
        } else if line.contains("Used ")
            && line.contains(" registers")
            && let Some(name) = name.take()
        {
            found.push(Assembled {
                name,
                registers: before(line, " registers"),
                stack: frame.0,
                spill_stores: frame.1,
                spill_loads: frame.2,
                shared: before(line, " bytes smem"),
                barriers: before(line, " barriers"),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ptxas_says_is_read() {
        let said = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'a' for 'sm_80'\n\
            ptxas info    : Function properties for a\n    \
            8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
            ptxas info    : Used 42 registers, used 1 barriers, 1024 bytes smem, 380 bytes cmem[0]\n\
            ptxas info    : Compile time = 1.000 ms\n\
            ptxas info    : Compiling entry function 'b' for 'sm_80'\n\
            ptxas info    : Function properties for b\n    \
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]\n";
        let found = parse(said);
        assert_eq!(found.len(), 2);
        let first = &found[0];
        assert_eq!(
            (
                first.name.as_str(),
                first.registers,
                first.shared,
                first.barriers
            ),
            ("a", 42, 1024, 1)
        );
        assert_eq!(
            (first.stack, first.spill_stores, first.spill_loads),
            (8, 4, 12)
        );
        assert_eq!((found[1].registers, found[1].shared), (8, 0));
    }
}
