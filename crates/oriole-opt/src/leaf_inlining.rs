//! Puts the bodies of small leaf functions in the place of calls to them.
//!
//! ## Example
//! ```text
//! st.param.b32 [first], %r1;                              mul.lo.s32 %t1, %r1, %r1;
//! call (result), square, (first);                 →       mov.b32 %r2, %t1;
//! ld.param.b32 %r2, [result];
//! ```
//!
//! ## Soundness
//! The callee is known, has a body, calls nobody, and touches its parameters only by plain loads of whole parameters and stores
//! of whole results right before it returns; the caller stores every argument in the block of the call, before it, and loads
//! results behind it. So what the callee loads is what the caller stored, and what the caller loads what the callee stored.
//! Warp-synchronous operations are not copied, as `full-unrolling` says. Local variables of the callee start with any contents in
//! every call, so each place it is copied to has variables of its own. Its shared variables are one for all calls.
//!
//! ## Method
//! The block of the call is cut behind it, the callee's blocks are copied between with a value map, and its returns lead to the
//! second half, whose parameters are the results. Variables of the call that nothing names any more are removed. Callees go
//! through all phases before their callers, so a function whose calls were all replaced is a leaf for those that call it.
//!
//! ## Not done
//! Recursion, indirect calls, callees with shared variables, calls or pinned registers, parameters that are structures
//! (`leaf_inlining_unchanged`).

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::Analyses;
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{
    AccessKind, Address, Base, Block, Editor, Function, FunctionId, Imported, Instruction, Operand,
    Symbol, SymbolKind, Value, Variable, VariableKind,
};
use oriole_isa::{Opcode, ScalarType, Space, Terminator, build};
use oriole_syntax::tree::Guard;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "leaf-inlining",
    summary: "Put the bodies of small functions that call nobody in the place of calls to them",
    action: Action::Once(run, Trigger::Changes),
};

/// Instructions of a function that is copied.
const MOST_INSTRUCTIONS: usize = 64;
/// Calls replaced in one function.
const MOST_CALLS: usize = 64;

/// The functions of a module that calls can be replaced by.
#[derive(Debug, Default)]
pub struct Callees {
    functions: DenseMap<FunctionId, Callee>,
}

#[derive(Debug)]
struct Callee {
    function: Function,
    /// Its results and parameters, in the order in which a call names its own.
    results: Vec<Variable>,
    parameters: Vec<Variable>,
    /// Loads of parameters: which parameter.
    loads: DenseMap<Instruction, usize>,
    /// Stores of results.
    stores: DenseSet<Instruction>,
    returns: Vec<Return>,
}

/// A place where a function returns.
#[derive(Debug)]
struct Return {
    block: Block,
    instruction: Instruction,
    /// What it returns.
    values: Vec<Value>,
}

impl Callees {
    /// Whether a function of so many instructions may be small enough.
    pub fn accepts(instructions: u64) -> bool {
        instructions <= MOST_INSTRUCTIONS as u64
    }

    /// Adds a function if it is small and simple enough.
    pub fn add(&mut self, id: FunctionId, function: Function) {
        let of_kind = |kind| {
            let variables = function.variables().iter();
            let own = variables.filter(move |(_, data)| data.kind == kind);
            own.map(|(variable, _)| variable).collect()
        };
        let mut callee = Callee {
            results: of_kind(VariableKind::Result),
            parameters: of_kind(VariableKind::Parameter),
            function,
            loads: DenseMap::new(),
            stores: DenseSet::new(),
            returns: Vec::new(),
        };
        if callee.examine().is_some() {
            self.functions.insert(id, callee);
        }
    }
}

impl Callee {
    /// Finds what it does with its parameters and results; nothing if it cannot be copied.
    fn examine(&mut self) -> Option<()> {
        let function = &self.function;
        let mut size = 0;
        for &block in function.block_order() {
            let mut stored: Vec<Option<(Option<Operand>, Guard, Value)>> =
                vec![None; self.results.len()];
            for instruction in function.instructions_of(block) {
                let format = function.format(instruction);
                let effects = &format.effects;
                size += 1;
                if size > MOST_INSTRUCTIONS
                    || format.opaque
                    || effects.is_call
                    || effects.convergent
                    || matches!(
                        effects.terminator,
                        Terminator::IndirectBranch | Terminator::Exit
                    )
                    || function
                        .operands(instruction)
                        .iter()
                        .any(|operand| matches!(operand, Operand::Register(_)))
                {
                    return None;
                }
                if let Some((variable, value)) = whole_parameter(function, instruction) {
                    if let Some(position) = self.parameters.iter().position(|&own| own == variable)
                    {
                        if format.mnemonic.opcode() != Opcode::Ld || format.is_guarded() {
                            return None;
                        }
                        self.loads.insert(instruction, position);
                    } else {
                        let position = self.results.iter().position(|&own| own == variable)?;
                        if format.mnemonic.opcode() != Opcode::St {
                            return None;
                        }
                        stored[position] = Some((function.guard(instruction), format.guard, value));
                        self.stores.insert(instruction);
                    }
                } else if !is_nameable(function, instruction) {
                    return None;
                }
                if effects.terminator == Terminator::Return {
                    let guard = (function.guard(instruction), format.guard);
                    let values: Option<Vec<Value>> = stored
                        .iter()
                        .map(|stored| {
                            let (predicate, sense, value) = (*stored)?;
                            let always = sense == Guard::None;
                            (always || (predicate, sense) == guard).then_some(value)
                        })
                        .collect();
                    self.returns.push(Return {
                        block,
                        instruction,
                        values: values?,
                    });
                }
            }
            let ends = function.edges(block).is_empty();
            let returns = self.returns.last().is_some_and(|last| last.block == block);
            // Running off the end returns too, with whatever results there are.
            if ends && !returns {
                return None;
            }
        }
        Some(())
    }
}

/// The parameter that an instruction loads or stores whole, and the value.
fn whole_parameter(function: &Function, instruction: Instruction) -> Option<(Variable, Value)> {
    let access = function.access(instruction)?;
    let Address {
        base: Base::Symbol(symbol),
        offset: 0,
    } = access.address?
    else {
        return None;
    };
    let in_parameters = matches!(
        access.space,
        Space::Param | Space::ParamEntry | Space::ParamFunc
    );
    if !in_parameters || access.vector > 1 || access.volatile {
        return None;
    }
    let value = match (access.kind, function.leaves(instruction)) {
        (AccessKind::Load, &[Operand::Result(0), _]) => function.results(instruction).next()?,
        (AccessKind::Store, &[_, Operand::Value(value)]) => value,
        _ => return None,
    };
    let is_whole = access.element.bits() == function.values()[value].scalar_type.bits();
    let variable = function.symbols()[symbol].variable()?;
    is_whole.then_some((variable, value))
}

/// Whether a copy of an instruction in another function can name what it names.
fn is_nameable(function: &Function, instruction: Instruction) -> bool {
    function
        .operands(instruction)
        .iter()
        .all(|operand| match operand {
            Operand::Symbol(symbol) => match function.symbols()[*symbol].kind {
                SymbolKind::Global(_) | SymbolKind::Special(_) => true,
                SymbolKind::Variable(variable) => {
                    let data = &function.variables()[variable];
                    data.space == Some(Space::Local) && data.variable_type.can_be_declared()
                }
                _ => false,
            },
            _ => true,
        })
}

fn run(editor: &mut Editor<'_>, _: &mut Analyses, context: &mut Context<'_>) {
    let mut calls: Vec<Instruction> = Vec::new();
    for &block in editor.function().block_order() {
        let instructions = editor.function().instructions_of(block);
        calls.extend(instructions.filter(|&call| editor.function().format(call).effects.is_call));
    }
    let mut named: Vec<Variable> = Vec::new();
    for call in calls.into_iter().take(MOST_CALLS) {
        let Some((callee, site)) = Site::of(editor.function(), context, call) else {
            continue;
        };
        let rewrite = Rewrite {
            counter: "leaf-inlining.calls",
            instruction: call,
            why: "the function is small and calls nobody",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            break;
        }
        inline(editor, callee, &site);
        named.extend(site.variables);
    }
    named.sort_unstable();
    named.dedup();
    editor.remove_unmentioned(&named);
}

/// A call that can be replaced.
struct Site {
    call: Instruction,
    /// The instruction behind it.
    next: Instruction,
    /// What the arguments are, in order of the callee's parameters, and the stores of them.
    arguments: Vec<(Instruction, Value)>,
    /// Loads of results: which, and the type.
    loads: Vec<(Instruction, usize, ScalarType)>,
    /// The variables that it names.
    variables: Vec<Variable>,
}

impl Site {
    fn of<'callees>(
        function: &Function,
        context: &Context<'callees>,
        call: Instruction,
    ) -> Option<(&'callees Callee, Site)> {
        let format = function.format(call);
        let leaves = function.leaves(call);
        if format.opaque || format.is_guarded() {
            return None;
        }
        let symbol_of = |operand: &Operand| match *operand {
            Operand::Symbol(symbol) => Some(symbol),
            _ => None,
        };
        let symbols: Vec<Symbol> = leaves.iter().map(symbol_of).collect::<Option<_>>()?;
        let at = symbols
            .iter()
            .position(|&symbol| matches!(function.symbols()[symbol].kind, SymbolKind::Global(_)))?;
        let SymbolKind::Global(global) = function.symbols()[symbols[at]].kind else {
            return None;
        };
        let id = context.environment.module()?.function(global)?;
        let callee = context.callees.functions.get(&id)?;
        let (results, arguments) = (&symbols[..at], &symbols[at + 1..]);
        if results.len() != callee.results.len() || arguments.len() != callee.parameters.len() {
            return None;
        }
        let number = |symbol: Symbol| match function.symbols()[symbol].kind {
            SymbolKind::Variable(number) => Some(number),
            _ => None,
        };
        let results: Vec<Variable> = results
            .iter()
            .map(|&symbol| number(symbol))
            .collect::<Option<_>>()?;
        let arguments: Vec<Variable> = arguments
            .iter()
            .map(|&symbol| number(symbol))
            .collect::<Option<_>>()?;
        let block = function.block_of(call)?;
        let mut stored: Vec<Option<(Instruction, Value)>> = vec![None; arguments.len()];
        let mut loads = Vec::new();
        let mut is_behind = false;
        for instruction in function.instructions_of(block) {
            if instruction == call {
                is_behind = true;
                continue;
            }
            let Some((variable, value)) = whole_parameter(function, instruction) else {
                // Any other mention of an argument or result is more than is understood.
                let touches = function.operands(instruction).iter().any(|operand| {
                    symbol_of(operand).and_then(number).is_some_and(|variable| {
                        arguments.contains(&variable) || results.contains(&variable)
                    })
                });
                if touches {
                    return None;
                }
                continue;
            };
            let format = function.format(instruction);
            let is_load = format.mnemonic.opcode() == Opcode::Ld;
            if let Some(position) = arguments.iter().position(|&own| own == variable) {
                if is_load || is_behind || format.is_guarded() || stored[position].is_some() {
                    return None;
                }
                stored[position] = Some((instruction, value));
            } else if let Some(position) = results.iter().position(|&own| own == variable) {
                if !is_load || !is_behind || format.is_guarded() {
                    return None;
                }
                loads.push((instruction, position, function.values()[value].scalar_type));
            }
        }
        let variables = results.into_iter().chain(arguments).collect();
        let arguments: Vec<(Instruction, Value)> = stored.into_iter().collect::<Option<_>>()?;
        let bits = |function: &Function, value: Value| function.values()[value].scalar_type.bits();
        let fits = callee.loads.iter_sorted().all(|(&load, &position)| {
            let mut results = callee.function.results(load);
            results.next().is_some_and(|result| {
                bits(&callee.function, result) == bits(function, arguments[position].1)
            })
        });
        let returned_fit = callee.returns.iter().all(|place| {
            loads.iter().all(|&(_, position, scalar_type)| {
                bits(&callee.function, place.values[position]) == scalar_type.bits()
            })
        });
        let site = Site {
            call,
            next: function.next_instruction(call)?,
            arguments,
            loads,
            variables,
        };
        (fits && returned_fit).then_some((callee, site))
    }
}

fn inline(editor: &mut Editor<'_>, callee: &Callee, site: &Site) {
    let block = editor
        .function()
        .block_of(site.call)
        .expect("the call is in a block");
    let behind = editor.split_block(site.next);
    let clones = editor.import(&callee.function, block, |instruction| {
        if let Some(&position) = callee.loads.get(&instruction) {
            return Imported::Move(site.arguments[position].1);
        }
        let returns = callee
            .returns
            .iter()
            .any(|place| place.instruction == instruction);
        if returns || callee.stores.contains(&instruction) {
            Imported::Nothing
        } else {
            Imported::Copy
        }
    });
    editor.redirect(block, 0, clones.block(callee.function.entry()), Vec::new());
    for place in &callee.returns {
        let values: Vec<Value> = site
            .loads
            .iter()
            .map(|&(_, position, _)| clones.value(place.values[position]))
            .collect();
        let from = clones.block(place.block);
        let guard = callee.function.format(place.instruction).guard;
        match callee.function.guard(place.instruction) {
            Some(Operand::Value(predicate)) => {
                let predicate = Operand::Value(clones.value(predicate));
                editor.branch_if(from, guard, predicate, behind, &values);
            }
            _ => editor.set_fall_through(from, behind, &values),
        }
    }
    for &(load, _, scalar_type) in &site.loads {
        let parameter = editor.add_parameter(behind, scalar_type);
        let format = editor.plain_format(&build::copy(scalar_type), 2);
        editor.rewrite(
            load,
            format,
            &[Operand::Result(0), Operand::Value(parameter)],
        );
    }
    editor.remove_instruction(site.call);
    for &(store, _) in &site.arguments {
        editor.remove_instruction(store);
    }
}
