//! Puts back functions whose machine code got worse.
//!
//! ## Method
//! The module is assembled as it was and as it is, and kernels are compared one by one. One that is worse gets its original back, and so
//! do the functions it may call: their code is part of it, inlined or beside it. That may make other kernels worse that call them
//! too, so this is done until none is worse that could get anything back. Each round puts back at least one function, or limits
//! the registers of a kernel for the first time; after [`MOST_ROUNDS`] of them all are put back.
//!
//! A kernel that is worse for its registers alone, whose code is all its own and which says nothing of registers itself, is first given a
//! `.maxnreg` of as many as the original has: often `ptxas` took more only because nothing kept it from doing so. It stays if the
//! kernel is then no worse.

use super::{Assembler, AssemblerError, MachineCode, Measurement, Worse};
use crate::Module;
use oriole_ir::FunctionId;
use oriole_syntax::scopes::{Global, Globals};
use std::collections::BTreeMap;
use std::fmt;

/// Rounds until all functions are put back. Two are enough where kernels share no functions.
const MOST_ROUNDS: usize = 8;

/// The least `.maxnreg` that `ptxas` does not raise, with a warning.
const LEAST_LIMIT: u32 = 24;

/// A kernel, or a function by itself, before and after.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// Its name.
    pub name: String,
    /// As it was.
    pub before: Measurement,
    /// As it was optimized, whether that was kept or not.
    pub after: Measurement,
    /// In which way it got worse, if it did.
    pub worse: Option<Worse>,
    /// Whether its original was put back.
    pub is_put_back: bool,
    /// The `.maxnreg` it was given to be no worse; `after` is with it.
    pub register_limit: Option<u32>,
}

/// What became of the functions of a module.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Selection {
    /// All kernels, and functions that have code of their own, in the order of `ptxas`.
    pub comparisons: Vec<Comparison>,
    /// The functions whose originals were put back, called ones included, in the order of the file.
    pub put_back: Vec<String>,
}

/// Why modules could not be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectionError {
    /// The assembler does not make anything of the original.
    Original(AssemblerError),
    /// It does of the original but not of what became of it. The original was put back.
    Optimized(AssemblerError),
}

impl fmt::Display for SelectionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelectionError::Original(error) => write!(formatter, "{error}"),
            SelectionError::Optimized(error) => write!(
                formatter,
                "ptxas accepts the file but not what Oriole made of it, which is a bug in Oriole: {error}"
            ),
        }
    }
}

impl std::error::Error for SelectionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SelectionError::Original(error) | SelectionError::Optimized(error) => Some(error),
        }
    }
}

/// Assembles a module as it was and as it is, and puts back the functions that got worse. `module` is a copy of `original` that was
/// optimized: it has the same functions, in the same order.
///
/// # Errors
/// If one of the two is not accepted. `module` is then as the original was.
pub fn keep_better(
    original: &Module,
    module: &mut Module,
    assembler: &mut Assembler,
) -> Result<Selection, SelectionError> {
    let target = assembler.target();
    let before = assembler
        .assemble(original.source())
        .map_err(SelectionError::Original)?;
    let before: BTreeMap<String, Measurement> = Measurement::all(original, target, before)
        .into_iter()
        .map(|measured| (measured.code.name.clone(), measured))
        .collect();
    let callees = Callees::of(original);
    let mut limits = RegisterLimits::of(original);
    let mut is_put_back = vec![false; module.functions.len()];
    let mut comparisons: Vec<Comparison> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for round in 0.. {
        let after = match assembler.assemble(&crate::print(module)) {
            Ok(after) => after,
            Err(error) => {
                put_all_back(original, module);
                return Err(SelectionError::Optimized(error));
            }
        };
        let mut is_done = true;
        for after in Measurement::all(module, target, after) {
            let Some(before) = before.get(&after.code.name) else {
                continue;
            };
            let mut functions = callees.closure(&before.code);
            functions.extend(callees.closure(&after.code));
            let mut now = Comparison {
                name: before.code.name.clone(),
                before: before.clone(),
                worse: after.compare(before),
                after,
                is_put_back: false,
                register_limit: None,
            };
            if now.worse.is_none() {
                now.register_limit = limits.limit_of(&functions, before);
            } else if limits.limit(module, &functions, &now) {
                is_done = false;
            } else {
                now = limits.give_up(&functions).unwrap_or(now);
                for &function in &functions {
                    if !is_put_back[function] {
                        is_put_back[function] = true;
                        put_back(original, module, function);
                        is_done = false;
                    }
                }
            }
            let place = *places.entry(&before.code.name).or_insert(comparisons.len());
            match comparisons.get_mut(place) {
                // An earlier round found it worse: that is why it is as it is now.
                Some(known) if known.worse.is_some() && now.register_limit.is_none() => {}
                Some(known) => *known = now,
                None => comparisons.push(now),
            }
        }
        if is_done {
            break;
        }
        if round == MOST_ROUNDS {
            put_all_back(original, module);
            is_put_back.fill(true);
        }
    }
    for comparison in &mut comparisons {
        let own = callees.by_name.get(&comparison.name);
        comparison.is_put_back = own.is_some_and(|&own| is_put_back[own]);
        if comparison.is_put_back {
            comparison.register_limit = None;
        }
    }
    let put_back = original.functions.iter().zip(is_put_back);
    Ok(Selection {
        comparisons,
        put_back: put_back
            .filter(|(function, is_put_back)| *is_put_back && function.body.is_some())
            .map(|(function, _)| original.text(function.name).to_owned())
            .collect(),
    })
}

/// Makes a function what it was.
fn put_back(original: &Module, module: &mut Module, function: usize) {
    let (own, original) = (
        &mut module.functions[function],
        &original.functions[function],
    );
    own.body.clone_from(&original.body);
    // Directives are only ever added behind all others, so this run means in the copy what it means in the original.
    own.directives.clone_from(&original.directives);
}

fn put_all_back(original: &Module, module: &mut Module) {
    for function in 0..module.functions.len() {
        put_back(original, module, function);
    }
}

/// What became of the registers of a kernel.
#[derive(Clone, Default)]
enum Limit {
    /// They may be limited.
    #[default]
    Possible,
    /// Its directives speak of registers or of resident blocks, or a limit did not help.
    Impossible,
    /// They were limited because of this.
    Tried(Box<Comparison>),
}

/// Which kernels were given a `.maxnreg`, by their index in the module.
struct RegisterLimits(Vec<Limit>);

impl RegisterLimits {
    fn of(module: &Module) -> RegisterLimits {
        let (globals, _) = Globals::of(module);
        let declared = oriole_translate::module_of(module, &globals);
        let of = |index| {
            let bounds = declared.bounds(FunctionId::from_index(index));
            match (bounds.maximum_registers, bounds.minimum_blocks) {
                (None, None) => Limit::Possible,
                _ => Limit::Impossible,
            }
        };
        RegisterLimits((0..module.functions.len()).map(of).collect())
    }

    /// Limits the registers of a kernel that got worse to those it had. Whether that was done.
    fn limit(&mut self, module: &mut Module, functions: &[usize], now: &Comparison) -> bool {
        let (Some(Worse::Occupancy | Worse::Registers), Some(&kernel)) =
            (now.worse, functions.first())
        else {
            return false;
        };
        let is_alone = functions.iter().all(|&function| function == kernel);
        let most = now.before.code.registers;
        let is_possible = most >= LEAST_LIMIT && matches!(self.0[kernel], Limit::Possible);
        if !is_alone || !now.after.code.is_kernel || !is_possible {
            return false;
        }
        module.add_function_directive(kernel, &[".maxnreg", &most.to_string()]);
        self.0[kernel] = Limit::Tried(Box::new(now.clone()));
        true
    }

    /// What the registers of a kernel are limited to, if they are.
    fn limit_of(&self, functions: &[usize], before: &Measurement) -> Option<u32> {
        let kernel = functions.first()?;
        matches!(self.0[*kernel], Limit::Tried(_)).then_some(before.code.registers)
    }

    /// What a kernel was without its limit, which did not help.
    fn give_up(&mut self, functions: &[usize]) -> Option<Comparison> {
        let kernel = functions.first()?;
        match std::mem::replace(&mut self.0[*kernel], Limit::Impossible) {
            Limit::Tried(without) => Some(*without),
            Limit::Possible | Limit::Impossible => None,
        }
    }
}

/// Which functions each function mentions, and so may call.
struct Callees {
    by_name: BTreeMap<String, usize>,
    /// Of each function, sorted.
    mentioned: Vec<Vec<usize>>,
}

impl Callees {
    fn of(module: &Module) -> Callees {
        let (globals, _) = Globals::of(module);
        let defined = |name: &str| {
            let (_, global) = globals.entries.get(globals.index(name)? as usize)?;
            match *global {
                Global::Function(index) => Some(index as usize),
                _ => None,
            }
        };
        let mentioned = module
            .functions
            .iter()
            .map(|function| {
                let operands = function.body.iter().flat_map(|body| &body.operands);
                let mut own: Vec<usize> = operands
                    .filter_map(|operand| defined(module.text(operand.text)))
                    .collect();
                own.sort_unstable();
                own.dedup();
                own
            })
            .collect();
        let by_name = module
            .functions
            .iter()
            .enumerate()
            .filter(|(_, function)| function.body.is_some())
            .map(|(index, function)| (module.text(function.name).to_owned(), index))
            .collect();
        Callees { by_name, mentioned }
    }

    /// The functions that machine code may come from: its own, those it is said to hold, and all that these mention.
    fn closure(&self, code: &MachineCode) -> Vec<usize> {
        let names = std::iter::once(&code.name).chain(&code.functions);
        let mut worklist: Vec<usize> = names
            .filter_map(|name| self.by_name.get(name).copied())
            .collect();
        let mut is_found = vec![false; self.mentioned.len()];
        let mut found = Vec::new();
        while let Some(function) = worklist.pop() {
            if !std::mem::replace(&mut is_found[function], true) {
                found.push(function);
                worklist.extend(&self.mentioned[function]);
            }
        }
        found.sort_unstable();
        found
    }
}
