//! Runs `ptxas` and reads what it says and writes.

use super::cubin;
use oriole_isa::Target;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The `ptxas` that is named, or else that of the variables `ORIOLE_PTXAS` and `PTXAS`, or of the `PATH`.
pub fn find_ptxas(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(oriole_toolchain::ptxas)
}

/// The machine code of a kernel and of the functions it calls; or, compiled separately, of a function by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineCode {
    /// The kernel or function.
    pub name: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Instructions, without padding.
    pub instructions: u64,
    /// Instructions, ten times as many for each loop around them.
    pub weighted: u64,
    /// Accesses to global, shared and generic memory, likewise. Where these change much a loop was unrolled otherwise.
    pub accesses: u64,
    /// Natural loops.
    pub loops: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of stack of a thread, those of called functions included where their number is known.
    pub stack: u32,
    /// Bytes stored to spill registers.
    pub spill_stores: u32,
    /// Bytes loaded to get spilled registers back.
    pub spill_loads: u32,
    /// Bytes of shared memory whose size is fixed.
    pub shared: u32,
    /// Named barriers.
    pub barriers: u32,
    /// Called functions whose code is part of this.
    pub functions: Vec<String>,
}

impl MachineCode {
    /// Bytes stored and loaded because of spilling.
    pub fn spills(&self) -> u32 {
        self.spill_stores.saturating_add(self.spill_loads)
    }
}

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssemblerError {
    /// The program could not be run, or the folder not be used.
    NotRun {
        /// The program.
        program: PathBuf,
        /// Why.
        reason: String,
    },
    /// The program does not accept the text.
    Refused {
        /// The program.
        program: PathBuf,
        /// The target it was asked for.
        target: Target,
        /// What it said.
        message: String,
    },
    /// What it wrote cannot be read.
    Unreadable(String),
}

impl fmt::Display for AssemblerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssemblerError::NotRun { program, reason } => {
                write!(formatter, "cannot run `{}`: {reason}", program.display())
            }
            AssemblerError::Refused {
                program,
                target,
                message,
            } => write!(
                formatter,
                "`{}` does not accept the file for {target}: {message}",
                program.display()
            ),
            AssemblerError::Unreadable(reason) => {
                write!(formatter, "what ptxas wrote cannot be read: {reason}")
            }
        }
    }
}

impl std::error::Error for AssemblerError {}

/// A `ptxas`, for one target.
#[derive(Clone, Debug)]
pub struct Assembler {
    program: PathBuf,
    folder: PathBuf,
    target: Target,
    /// Whether files are compiled separately, once it is known.
    is_separate: Option<bool>,
}

impl Assembler {
    /// Uses a program, and a folder for the files it reads and writes.
    pub fn new(
        program: impl Into<PathBuf>,
        folder: impl Into<PathBuf>,
        target: Target,
    ) -> Assembler {
        Assembler {
            program: program.into(),
            folder: folder.into(),
            target,
            is_separate: None,
        }
    }

    /// The target it assembles for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Assembles a text. If it is only accepted as a part of a program (`ptxas -c`), because it calls what is in another module, then
    /// so are all that follow.
    ///
    /// # Errors
    /// If it is refused either way.
    pub fn assemble(&mut self, text: &str) -> Result<Vec<MachineCode>, AssemblerError> {
        let output = self.folder.join("output.cubin");
        let said = self.run_on(text, &output)?;
        let cubin = std::fs::read(&output).map_err(|error| self.not_run(&error))?;
        let sections =
            cubin::read(&cubin, self.target.number()).map_err(AssemblerError::Unreadable)?;
        Ok(join(sections, &said))
    }

    /// What `ptxas -v` says of the functions of a text, for any target: each kernel before the functions it calls. Accepted as by
    /// [`Assembler::assemble`].
    ///
    /// # Errors
    /// If the text is refused.
    pub fn properties(&mut self, text: &str) -> Result<Vec<Properties>, AssemblerError> {
        let output = self.folder.join("output.cubin");
        self.run_on(text, &output).map(|said| properties(&said))
    }

    /// Writes a text into a file and has it assembled; what is said about it.
    fn run_on(&mut self, text: &str, output: &Path) -> Result<String, AssemblerError> {
        let input = self.folder.join("input.ptx");
        std::fs::write(&input, text).map_err(|error| self.not_run(&error))?;
        if let Some(is_separate) = self.is_separate {
            return self.run(&input, output, is_separate);
        }
        let (is_separate, said) = match self.run(&input, output, false) {
            Err(refused @ AssemblerError::Refused { .. }) => {
                let said = self.run(&input, output, true).map_err(|_| refused)?;
                (true, said)
            }
            said => (false, said?),
        };
        self.is_separate = Some(is_separate);
        Ok(said)
    }

    fn not_run(&self, error: &std::io::Error) -> AssemblerError {
        AssemblerError::NotRun {
            program: self.program.clone(),
            reason: error.to_string(),
        }
    }

    /// Runs the program; what it says.
    fn run(
        &self,
        input: &Path,
        output: &Path,
        is_separate: bool,
    ) -> Result<String, AssemblerError> {
        let mut command = Command::new(&self.program);
        command.arg("-v").arg(format!("-arch={}", self.target));
        if is_separate {
            command.arg("-c");
        }
        let done = command
            .arg(input)
            .arg("-o")
            .arg(output)
            .output()
            .map_err(|error| self.not_run(&error))?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() {
            return Ok(said);
        }
        let first = said.lines().find(|line| line.contains("error"));
        let first = first.or_else(|| said.lines().find(|line| line.contains("fatal")));
        Err(AssemblerError::Refused {
            program: self.program.clone(),
            target: self.target,
            message: match first {
                Some(line) => line.trim().to_owned(),
                None => done.status.to_string(),
            },
        })
    }
}

/// What `ptxas -v` says of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// The kernel or function.
    pub name: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Registers of a thread; nothing for functions.
    pub registers: Option<u32>,
    /// Bytes of stack of a thread, those of called functions included where their number is known.
    pub stack: u32,
    /// Bytes stored to spill registers.
    pub spill_stores: u32,
    /// Bytes loaded to get spilled registers back.
    pub spill_loads: u32,
    /// Bytes of shared memory whose size is fixed.
    pub shared: u32,
    /// Named barriers.
    pub barriers: u32,
}

/// The number before a word.
fn before(line: &str, word: &str) -> u32 {
    line.find(word)
        .and_then(|at| line[..at].split_whitespace().next_back())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// Reads what `ptxas -v` says, in its order.
fn properties(said: &str) -> Vec<Properties> {
    let mut found: Vec<Properties> = Vec::new();
    for line in said.lines() {
        if line.contains("Compiling entry function") {
            found.push(Properties {
                name: line.split('\'').nth(1).unwrap_or_default().to_owned(),
                is_kernel: true,
                ..Properties::default()
            });
        } else if let Some((_, function)) = line.split_once("Function properties for ") {
            let name = function.trim();
            if found.last().is_none_or(|last| last.name != name) {
                found.push(Properties {
                    name: name.to_owned(),
                    ..Properties::default()
                });
            }
        } else if let Some(last) = found.last_mut() {
            if line.contains("bytes stack frame") {
                last.stack = before(line, " bytes stack frame");
                last.spill_stores = before(line, " bytes spill stores");
                last.spill_loads = before(line, " bytes spill loads");
            } else if line.contains("Used ") && line.contains(" registers") {
                last.registers = Some(before(line, " registers"));
                last.stack = last.stack.max(before(line, " bytes cumulative stack size"));
                last.shared = before(line, " bytes smem");
                last.barriers = before(line, " barriers");
            }
        }
    }
    found
}

/// Puts together what was written and what was said; in the order of what was said.
fn join(sections: Vec<cubin::Section>, said: &str) -> Vec<MachineCode> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by(|&one, &other| sections[one].name.cmp(&sections[other].name));
    let section_of = |name: &str| {
        let place = order.binary_search_by(|&at| sections[at].name.as_str().cmp(name));
        place.ok().map(|place| &sections[order[place]])
    };
    let mut found: Vec<MachineCode> = Vec::new();
    for own in properties(said) {
        let section = section_of(&own.name);
        // A function without a section is part of the kernel before.
        let Some(section) = section else {
            if let Some(kernel) = found.last_mut() {
                kernel.spill_stores = kernel.spill_stores.saturating_add(own.spill_stores);
                kernel.spill_loads = kernel.spill_loads.saturating_add(own.spill_loads);
            }
            continue;
        };
        found.push(MachineCode {
            name: own.name,
            is_kernel: own.is_kernel,
            instructions: section.count.flat,
            weighted: section.count.by_depth,
            accesses: section.count.accesses,
            loops: section.count.loops,
            registers: own.registers.unwrap_or(section.registers),
            stack: own.stack,
            spill_stores: own.spill_stores,
            spill_loads: own.spill_loads,
            shared: own.shared,
            barriers: own.barriers,
            functions: section.functions.clone(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'a' for 'sm_80'\n\
        ptxas info    : Function properties for a\n    \
        8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
        ptxas info    : Used 42 registers, used 1 barriers, 24 bytes cumulative stack size, 1024 bytes smem, 380 bytes cmem[0]\n\
        ptxas info    : Compile time = 1.000 ms\n\
        ptxas info    : Function properties for f\n    \
        16 bytes stack frame, 20 bytes spill stores, 8 bytes spill loads\n\
        ptxas info    : Compiling entry function 'b' for 'sm_80'\n\
        ptxas info    : Function properties for b\n    \
        0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]\n";

    fn section(name: &str, registers: u32) -> cubin::Section {
        cubin::Section {
            name: name.to_owned(),
            count: super::super::code::Count::default(),
            registers,
            functions: Vec::new(),
        }
    }

    #[test]
    fn what_ptxas_says_is_read() {
        let found = join(vec![section("b", 8), section("a", 42)], SAID);
        let [a, b] = found.as_slice() else {
            panic!("two kernels: {found:?}");
        };
        assert_eq!((a.name.as_str(), a.registers, a.shared), ("a", 42, 1024));
        assert_eq!((a.barriers, a.stack), (1, 24));
        assert_eq!(
            (a.spill_stores, a.spill_loads),
            (24, 20),
            "those of the function it calls count too"
        );
        assert_eq!((b.registers, b.shared, b.spills()), (8, 0, 0));
    }

    #[test]
    fn a_function_with_code_of_its_own_stands_by_itself() {
        let sections = vec![section("f", 24), section("b", 8), section("a", 42)];
        let found = join(sections, SAID);
        let names: Vec<_> = found.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["a", "f", "b"]);
        assert_eq!((found[0].spill_stores, found[1].spill_stores), (4, 20));
        assert!(!found[1].is_kernel);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::from_text("sm_80").unwrap();
        let error = Assembler::new("/no/such/ptxas", folder.path(), target)
            .assemble("")
            .unwrap_err();
        assert!(error.to_string().contains("cannot run `/no/such/ptxas`"));
    }
}
