//! From SSA form back into the tree.
//!
//! Three steps: [`crate::assign`] gives every value a register, once more where loops must copy what would be lost
//! (`parameter_isolation`), emission writes statements, and the names of what was
//! written are resolved again to make sure that each operand means the register it should, unless emission saw which ones do
//! not. A register or variable that is needed where its scope has ended, or where another one hides it, is hoisted: it gets a
//! new name, declared at the function's start.

use crate::assignment::{Assignment, assign, homes};
use crate::checker::check;
use crate::copy_placement::Placement;
use crate::emission::{Emission, Meanings, can_be_declared, emit};
use crate::into_ssa::Translated;
use crate::parameter_isolation::isolate;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::{DenseSet, IndexVec};
use oriole_ir::{Block, Function, Register, Variable, VariableKind};
use oriole_syntax::scopes::{Globals, Reference, Scopes, resolve};
use oriole_syntax::tree::{Body, Module};
use std::fmt;

/// Why a function could not be written back. The module still holds the function as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfSsaError {
    message: String,
}

impl fmt::Display for OutOfSsaError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for OutOfSsaError {}

/// Registers and variables that are declared anew at the start of the function.
#[derive(Debug, Default)]
pub(crate) struct Hoisted {
    pub registers: DenseSet<Register>,
    pub variables: DenseSet<Variable>,
}

impl Hoisted {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.registers.is_empty() && self.variables.is_empty()
    }
}

/// Larger functions are not checked symbolically in debug builds: the check keeps a map per block.
const LARGEST_CHECKED: usize = 4_000_000;

/// What writing a function back gave.
#[derive(Debug)]
pub struct Written {
    /// The copies that were inserted.
    pub copies: Vec<InsertedCopies>,
    /// The body the function had before.
    pub original: Body,
}

/// Copies that stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertedCopies {
    /// The block they are in.
    pub block: Block,
    /// The block they lead to, if they are in one of their own behind `block`.
    pub target: Option<Block>,
    /// How many there are.
    pub count: usize,
}

/// Writes a function back into the module it came from, as the function with this index; `analyses` are of the function.
///
/// # Errors
/// If the function cannot be written without changing what a name means (a branch into a scope from outside).
pub fn out_of_ssa(
    module: &mut Module,
    globals: &Globals,
    index: usize,
    translated: &mut Translated,
    analyses: &mut Analyses,
) -> Result<Written, OutOfSsaError> {
    let Translated {
        function, scopes, ..
    } = translated;
    let mut assignment = match function.is_as_renamed() {
        true => homes(function),
        false => assign(function, analyses),
    };
    debug_assert!(
        !function.is_as_renamed() || assign(function, analyses).registers == assignment.registers,
        "values that were only renamed stay where they are"
    );
    let mut isolated = Vec::new();
    if !assignment.lost.is_empty() {
        isolated = isolate(function, analyses, &assignment.lost);
        assignment = assign(function, analyses);
    }
    let function = &*function;
    if cfg!(debug_assertions)
        && function.blocks().len() * function.registers().len().max(1) <= LARGEST_CHECKED
    {
        let flow = analyses.get::<ControlFlow>(function);
        let mismatches = check(function, &flow, &assignment);
        assert!(
            mismatches.is_empty(),
            "the register assignment is wrong: {}",
            mismatches[0]
        );
    }
    let original = module.functions[index]
        .body
        .take()
        .expect("only functions with a body are translated");
    let mut hoisted = Hoisted::default();
    // Once for functions with one scope or with no doubt, and a second time if that shows names to hoist: these get names
    // that nothing else has and that are visible everywhere, so what was right before stays right.
    loop {
        let emission = emit(
            module,
            globals,
            &original,
            function,
            scopes,
            &assignment,
            &hoisted,
        );
        if scopes.parents.len() == 1 {
            module.functions[index].body = Some(emission.body);
            break;
        }
        let Emission {
            body,
            meanings,
            misplaced,
            is_doubtful,
        } = emission;
        module.functions[index].body = Some(body);
        let misread =
            |module: &Module| misread(module, globals, index, scopes, function, &meanings);
        if !hoisted.is_empty() || !is_doubtful && misplaced.is_empty() {
            debug_assert!(
                misread(module).is_some_and(|misread| misread.is_empty()),
                "names that need not be resolved again mean what they should"
            );
            break;
        }
        let wrong = match is_doubtful {
            true => misread(module),
            false => {
                debug_assert!(
                    misread(module)
                        .is_some_and(|misread| misread.registers == misplaced
                            && misread.variables.is_empty()),
                    "registers that are mentioned where they cannot be seen are all that is wrong"
                );
                Some(Hoisted {
                    registers: misplaced,
                    variables: DenseSet::new(),
                })
            }
        };
        match wrong {
            None => {
                module.functions[index].body = Some(original);
                return Err(OutOfSsaError {
                    message: format!(
                        "`{}`: a label or variable cannot be seen from where it is needed",
                        module.text(module.functions[index].name)
                    ),
                });
            }
            Some(wrong) if wrong.is_empty() => break,
            Some(wrong) => hoisted = wrong,
        }
    }
    isolated.extend(inserted(function, &assignment));
    Ok(Written {
        copies: isolated,
        original,
    })
}

/// The copies of an assignment.
fn inserted(function: &Function, assignment: &Assignment) -> Vec<InsertedCopies> {
    let on_edges = assignment.edges.iter().map(|edge| {
        let target = function.blocks()[edge.block].edges[edge.edge].target;
        let (block, target) = match edge.placement {
            Placement::NewBlock => (edge.block, Some(target)),
            Placement::TargetStart => (target, None),
            Placement::AfterTerminator | Placement::BeforeTerminator => (edge.block, None),
        };
        InsertedCopies {
            block,
            target,
            count: edge.copies.len(),
        }
    });
    let ties = assignment.ties.iter_sorted();
    let before_guarded = ties.map(|(&instruction, copies)| InsertedCopies {
        block: function
            .block_of(instruction)
            .expect("what is tied is in a block"),
        target: None,
        count: copies.len(),
    });
    on_edges.chain(before_guarded).collect()
}

/// Registers and variables that some operand does not mean although it should; nothing if a label, a name of the module or a
/// variable that cannot be hoisted cannot be seen.
fn misread(
    module: &Module,
    globals: &Globals,
    index: usize,
    scopes: &Scopes,
    function: &Function,
    meanings: &Meanings,
) -> Option<Hoisted> {
    let (found, _) = resolve(module, globals, &module.functions[index]);
    for &(node, statement) in &meanings.labels {
        match found.references[node as usize] {
            Reference::Label(label) if found.labels[label as usize].statement == statement => {}
            _ => return None,
        }
    }
    for &(node, global) in &meanings.globals {
        if found.references[node as usize] != Reference::Global(global.as_u32()) {
            return None;
        }
    }
    let mut wrong = Hoisted::default();
    for &(node, variable) in &meanings.variables {
        let data = &function.variables()[variable];
        let is_declared = data.kind == VariableKind::Declared;
        let is_right = match found.references[node as usize] {
            Reference::Variable(resolved) => {
                // Names of one declaration differ.
                let resolved = &found.variables[resolved as usize];
                resolved.in_header != is_declared
                    && Some(resolved.declaration) == meanings.places.of(scopes, variable)
                    && (meanings.places.is_new(variable)
                        || module.text(resolved.name) == module.text(data.name))
            }
            _ => false,
        };
        if is_right {
            continue;
        }
        if !is_declared || !can_be_declared(data.space, &data.variable_type) {
            return None;
        }
        wrong.variables.insert(variable);
    }
    // Mentions of one register must resolve to one register, and to one that no other register resolves to.
    let mentioned = meanings.registers(scopes);
    let registers = mentioned.iter().map(|&(_, register)| register.index() + 1);
    let mut meaning: IndexVec<Register, Option<u32>> =
        IndexVec::from_elem(None, registers.max().unwrap_or(0));
    let mut owner: Vec<Option<Register>> = vec![None; found.registers.len()];
    for (node, register) in mentioned {
        let is_right = match found.references[node as usize] {
            Reference::Register(resolved) => {
                *meaning[register].get_or_insert(resolved) == resolved
                    && *owner[resolved as usize].get_or_insert(register) == register
            }
            _ => false,
        };
        if !is_right {
            wrong.registers.insert(register);
        }
    }
    Some(wrong)
}
