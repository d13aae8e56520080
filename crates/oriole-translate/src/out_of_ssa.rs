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
use crate::emission::{Emission, Meanings, can_be_declared, emit, probably_misplaced};
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

impl From<DenseSet<Register>> for Hoisted {
    fn from(registers: DenseSet<Register>) -> Hoisted {
        Hoisted {
            registers,
            variables: DenseSet::new(),
        }
    }
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
    let mut writing = Writing {
        module,
        globals,
        index,
        original: &original,
        function,
        scopes,
        assignment: &assignment,
    };
    if !writing.run() {
        module.functions[index].body = Some(original);
        return Err(OutOfSsaError {
            message: format!(
                "`{}`: a label or variable cannot be seen from where it is needed",
                module.text(module.functions[index].name)
            ),
        });
    }
    isolated.extend(inserted(function, &assignment));
    Ok(Written {
        copies: isolated,
        original,
    })
}

/// A function that is written with what its values were assigned.
struct Writing<'a> {
    module: &'a mut Module,
    globals: &'a Globals,
    index: usize,
    original: &'a Body,
    function: &'a Function,
    scopes: &'a Scopes,
    assignment: &'a Assignment,
}

impl Writing<'_> {
    /// Writes the function; whether all names could be made to mean what they should.
    ///
    /// Once for functions with one scope or with no doubt, and a second time if that shows other names to hoist than were guessed:
    /// these get names that nothing else has and that are visible everywhere, so what was right before stays right.
    fn run(&mut self) -> bool {
        let guess = probably_misplaced(self.original, self.function, self.scopes, self.assignment);
        let mut hoisted = Hoisted::from(guess);
        let mut is_guess = !hoisted.is_empty();
        loop {
            let Emission {
                body,
                meanings,
                misplaced,
                is_doubtful,
            } = self.emit(&hoisted);
            self.module.functions[self.index].body = Some(body);
            if self.scopes.parents.len() == 1 {
                return true;
            }
            if std::mem::take(&mut is_guess) {
                if !is_doubtful && misplaced == hoisted.registers {
                    debug_assert!(
                        self.is_what_would_be_found(&misplaced),
                        "what was guessed is what would have been found"
                    );
                } else {
                    hoisted = match is_doubtful {
                        true => Hoisted::default(),
                        false => Hoisted::from(misplaced),
                    };
                    continue;
                }
            }
            if !hoisted.is_empty() || !is_doubtful && misplaced.is_empty() {
                debug_assert!(
                    self.misread(&meanings)
                        .is_some_and(|misread| misread.is_empty()),
                    "names that need not be resolved again mean what they should"
                );
                return true;
            }
            let wrong = match is_doubtful {
                true => self.misread(&meanings),
                false => {
                    debug_assert!(
                        self.are_misread(&meanings, &misplaced),
                        "registers that are mentioned where they cannot be seen are all that is wrong"
                    );
                    Some(Hoisted::from(misplaced))
                }
            };
            match wrong {
                None => return false,
                Some(wrong) if wrong.is_empty() => return true,
                Some(wrong) => hoisted = wrong,
            }
        }
    }

    fn emit(&mut self, hoisted: &Hoisted) -> Emission {
        emit(
            self.module,
            self.globals,
            self.original,
            self.function,
            self.scopes,
            self.assignment,
            hoisted,
        )
    }

    /// What is wrong with the names that were written.
    fn misread(&self, meanings: &Meanings) -> Option<Hoisted> {
        let Writing {
            module,
            globals,
            index,
            function,
            scopes,
            ..
        } = self;
        misread(module, globals, *index, scopes, function, meanings)
    }

    /// Whether just the names of these registers are wrong.
    fn are_misread(&self, meanings: &Meanings, registers: &DenseSet<Register>) -> bool {
        self.misread(meanings)
            .is_some_and(|wrong| wrong.registers == *registers && wrong.variables.is_empty())
    }

    /// Whether just the names of these registers are wrong if nothing is hoisted.
    fn is_what_would_be_found(&mut self, registers: &DenseSet<Register>) -> bool {
        let plain = self.emit(&Hoisted::default());
        let written = self.module.functions[self.index].body.replace(plain.body);
        let is_right = self.are_misread(&plain.meanings, registers);
        self.module.functions[self.index].body = written;
        is_right
    }
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
