//! How much smaller functions get: instructions before and after, by kind.

use oriole_syntax::tree::{Body, FunctionKind, Module, OperandKind, Siblings, Statement, Storage};
use std::collections::BTreeSet;
use std::ops::AddAssign;

/// Instructions of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// All.
    pub all: u64,
    /// Loads and stores of local memory, generic ones of an address in it included.
    pub local: u64,
    /// What computes values in registers: all but memory, control flow and synchronization.
    pub arithmetic: u64,
    /// Calls.
    pub calls: u64,
}

impl Size {
    /// All but local-memory traffic.
    pub fn without_local(&self) -> u64 {
        self.all - self.local
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.all += other.all;
        self.local += other.local;
        self.arithmetic += other.arithmetic;
        self.calls += other.calls;
    }
}

/// The sizes of a module's functions with bodies, in order: name, whether it is an entry, size.
pub fn sizes(module: &Module) -> Vec<(String, bool, Size)> {
    module
        .functions
        .iter()
        .filter_map(|function| {
            Some((
                module.text(function.name).to_owned(),
                function.kind == FunctionKind::Entry,
                size(module, function.body.as_ref()?),
            ))
        })
        .collect()
}

/// The size of a body.
pub fn size(module: &Module, body: &Body) -> Size {
    let local = local_addresses(module, body);
    let mut size = Size::default();
    for statement in &body.statements {
        let Statement::Instruction(instruction) = statement else {
            continue;
        };
        let mnemonic = module.text(instruction.mnemonic);
        let opcode = mnemonic.split('.').next().unwrap_or(mnemonic);
        size.all += 1;
        size.arithmetic += u64::from(computes(opcode));
        size.calls += u64::from(opcode == "call");
        if matches!(opcode, "ld" | "st") {
            let generic = !mnemonic
                .split('.')
                .any(|word| SPACES.contains(&word.split("::").next().unwrap_or(word)));
            let of_local = || {
                body.operand_list(instruction)
                    .filter(|operand| operand[0].kind == OperandKind::Address)
                    .any(|address| {
                        address
                            .iter()
                            .any(|node| local.contains(module.text(node.text)))
                    })
            };
            if mnemonic.split('.').any(|word| word == "local") || generic && of_local() {
                size.local += 1;
            }
        }
    }
    size
}

const SPACES: &[&str] = &["const", "global", "local", "param", "shared"];

/// Whether an instruction of this opcode computes a value in registers and does nothing else.
fn computes(opcode: &str) -> bool {
    !matches!(
        opcode,
        "ld" | "ldu"
            | "st"
            | "atom"
            | "red"
            | "tex"
            | "tld4"
            | "suld"
            | "sust"
            | "sured"
            | "bra"
            | "brx"
            | "call"
            | "ret"
            | "exit"
            | "trap"
            | "bar"
            | "barrier"
            | "membar"
            | "fence"
            | "shfl"
            | "vote"
            | "match"
            | "redux"
            | "cp"
            | "prefetch"
            | "wmma"
            | "mma"
    )
}

/// Names that hold addresses in local memory: its variables, and registers made of them by moving, converting, adding.
fn local_addresses<'module>(module: &'module Module, body: &Body) -> BTreeSet<&'module str> {
    let mut names: BTreeSet<&str> = body
        .declarations
        .iter()
        .filter(|declaration| declaration.storage == Storage::Local)
        .flat_map(|declaration| body.declarators(declaration))
        .map(|declarator| module.text(declarator.name))
        .collect();
    loop {
        let before = names.len();
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else {
                continue;
            };
            let mnemonic = module.text(instruction.mnemonic);
            let opcode = mnemonic.split('.').next().unwrap_or(mnemonic);
            if !matches!(opcode, "mov" | "cvta" | "add") {
                continue;
            }
            let mut operands = body.operand_list(instruction);
            let Some(result) = operands.next() else {
                continue;
            };
            if operands.any(|operand| {
                Siblings::below(operand).next().is_none()
                    && names.contains(module.text(operand[0].text))
            }) {
                names.insert(module.text(result[0].text));
            }
        }
        if names.len() == before {
            return names;
        }
    }
}

/// What may be left of the instructions of kernels without calls, local-memory traffic aside.
pub const BAR: f64 = 0.60;

/// A kernel compiled without optimization, before and after Oriole.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// `origin/file: kernel`
    pub name: String,
    /// What went in.
    pub before: Size,
    /// What came out at the default level.
    pub after: Size,
}

/// The entries of the corpus' files that were compiled at `-O0`, in order.
///
/// # Panics
/// If a file cannot be read or optimized.
pub fn unoptimized() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for path in oriole_corpus::files() {
        let text = |part: Option<&std::ffi::OsStr>| {
            part.map_or(String::new(), |part| part.to_string_lossy().into_owned())
        };
        let file = text(path.file_name());
        let origin = text(path.parent().and_then(|folder| folder.file_name()));
        if !file.split('.').any(|word| word == "O0") {
            continue;
        }
        let source = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut module = oriole::parse(file.as_str(), source)
            .unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
        let before = sizes(&module);
        oriole::optimize(&mut module, &oriole::Options::default())
            .unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
        let short = file.split('.').next().unwrap_or(&file);
        for ((name, entry, before), (_, _, after)) in before.into_iter().zip(sizes(&module)) {
            if entry {
                kernels.push(Kernel {
                    name: format!("{origin}/{short}: {name}"),
                    before,
                    after,
                });
            }
        }
    }
    kernels
}
