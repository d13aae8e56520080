//! Removes what nobody reads any more since everything that was dead was removed.
//!
//! What is dead by now lost a reader, or was made since. If it is in no loop, or in one with parameters that it does not depend on, then nobody
//! reads it, or only what is dead too: one counts the readers that are left. In a loop values may read each other and
//! nobody else; so of each value that has readers left one is looked for that must stay. Where none is found soon, the whole function is walked.

use super::must_stay;
use crate::history::Changes;
use crate::manager::Context;
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::{BitSet, DenseMap, SmallVec};
use oriole_ir::{Block, Change, Definition, Editor, Function, Instruction, Traits, Use, Value};
use std::cell::LazyCell;

/// Values that are looked at to find somebody who needs one.
const MOST_STEPS: usize = 64;

/// Removes what became dead by these changes. If that takes a walk over the function, nothing is done and the answer is no.
pub(super) fn remove(
    editor: &mut Editor<'_>,
    analyses: &mut Analyses,
    context: &mut Context<'_>,
    changes: Changes<'_>,
) -> bool {
    let function = editor.function();
    let flow = analyses.get::<ControlFlow>(function);
    let is_reachable = |block: &Block| flow.is_reachable(*block);
    if function.traits().have(Traits::REMOVABLE_IF_CONVERGED)
        || !function.block_order().iter().all(is_reachable)
    {
        return false;
    }
    let mut unread = Unread {
        function,
        flow: &flow,
        gone: DenseMap::new(),
        is_dead: BitSet::with_domain(function.instruction_bound()),
        instructions: Vec::new(),
        parameters: DenseMap::new(),
        blocks: BitSet::new(),
        work: Vec::new(),
        left: Vec::new(),
        is_left: BitSet::with_domain(function.values().len()),
        is_large: false,
    };
    unread.find(changes);
    let is_doubtful = |value: &Value| !unread.is_needed(*value);
    if unread.is_large || unread.has_loop() && unread.left.iter().any(is_doubtful) {
        return false;
    }
    let Unread {
        instructions,
        parameters,
        blocks,
        ..
    } = unread;
    for instruction in instructions {
        let rewrite = Rewrite {
            counter: "dead-code.instructions",
            instruction,
            why: "nobody reads its result",
            equal: None,
        };
        context.allows(editor.function(), rewrite);
        editor.remove_instruction(instruction);
    }
    for &block in flow.reverse_postorder() {
        if !blocks.contains(block) {
            continue;
        }
        let is_dead = |parameter: &Value| parameters.get(parameter).is_some();
        let all = editor.function().blocks()[block].parameters.clone();
        let dead = all.iter().filter(|parameter| is_dead(parameter)).count();
        context.allows_other(
            "dead-code.parameters",
            dead as u64,
            "nobody reads the values that paths into a block bring",
        );
        let incoming: Vec<Block> = flow.predecessors(block).collect();
        editor.retain_parameters(block, &incoming, |position| !is_dead(&all[position]));
    }
    true
}

struct Unread<'run> {
    function: &'run Function,
    flow: &'run ControlFlow,
    /// How many of the readers of a value are dead.
    gone: DenseMap<Value, u32>,
    is_dead: BitSet<Instruction>,
    /// What is dead, readers before what they read.
    instructions: Vec<Instruction>,
    parameters: DenseMap<Value, ()>,
    /// Blocks with dead parameters.
    blocks: BitSet<Block>,
    /// Values that lost a reader.
    work: Vec<Value>,
    /// Values that lost a reader and have others.
    left: Vec<Value>,
    is_left: BitSet<Value>,
    /// Whether a block has too many parameters to look through them for each that is dead.
    is_large: bool,
}

impl Unread<'_> {
    fn find(&mut self, changes: Changes<'_>) {
        for change in changes.entries {
            match *change {
                Change::Inserted(instruction) | Change::Rewritten(instruction) => {
                    self.instruction(instruction);
                }
                Change::Replaced(old, _) => self.value(old),
                _ => {}
            }
            self.drain();
        }
        for &value in changes.released {
            self.value(value);
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some(value) = self.work.pop() {
            self.value(value);
        }
    }

    fn is_read(&self, value: Value) -> bool {
        self.function.use_count(value) > self.gone.get_or(&value, 0)
    }

    /// A value lost a reader.
    fn value(&mut self, value: Value) {
        if self.is_read(value) {
            if self.is_left.insert(value) {
                self.left.push(value);
            }
            return;
        }
        match self.function.values()[value].definition {
            Definition::Instruction(definer) => self.instruction(definer),
            Definition::Parameter(block) => self.parameter(block, value),
            Definition::Undefined => {}
        }
    }

    /// Finds out whether an instruction is dead.
    fn instruction(&mut self, instruction: Instruction) {
        let function = self.function;
        let mut results = function.results(instruction);
        if results.any(|result| self.is_read(result))
            || function.block_of(instruction).is_none()
            || self.is_dead.contains(instruction)
            || must_stay(function, instruction, false, &LazyCell::new(|| false))
        {
            return;
        }
        self.is_dead.insert(instruction);
        self.instructions.push(instruction);
        for value in function.uses(instruction) {
            *self.gone.get_or_default(value) += 1;
            self.work.push(value);
        }
    }

    /// Nobody reads a parameter.
    fn parameter(&mut self, block: Block, parameter: Value) {
        let function = self.function;
        let parameters = &function.blocks()[block].parameters;
        let Some(position) = parameters.iter().position(|&other| other == parameter) else {
            return;
        };
        if parameters.len() > MOST_STEPS {
            self.is_large = true;
            return;
        }
        if self.parameters.insert(parameter, ()).is_some() {
            return;
        }
        self.blocks.insert(block);
        let mut last = None;
        for from in self.flow.predecessors(block) {
            // Predecessors are in order, once per edge.
            if last.replace(from) == Some(from) {
                continue;
            }
            for edge in function.edges(from) {
                if edge.target == block {
                    let argument = function.arguments(*edge)[position];
                    *self.gone.get_or_default(argument) += 1;
                    self.work.push(argument);
                }
            }
        }
    }

    /// Whether an edge brings something back to an earlier block.
    fn has_loop(&self) -> bool {
        let flow = self.flow;
        flow.reverse_postorder().iter().any(|&block| {
            !self.function.blocks()[block].parameters.is_empty()
                && flow.predecessors(block).any(|from| {
                    !flow.is_reachable(from) || flow.position(from) >= flow.position(block)
                })
        })
    }

    /// Whether something is known to need a value.
    fn is_needed(&self, value: Value) -> bool {
        let function = self.function;
        let mut seen: SmallVec<[Value; MOST_STEPS]> = SmallVec::new();
        let mut stack: SmallVec<[Value; 8]> = SmallVec::from_slice(&[value]);
        let mut steps = 0;
        while let Some(value) = stack.pop() {
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            for user in function.uses_of(value) {
                steps += 1;
                if steps > MOST_STEPS {
                    return false;
                }
                match user {
                    Use::Instruction(user) => {
                        if self.is_dead.contains(user) {
                            continue;
                        }
                        let format = function.format(user);
                        if format.opaque
                            || !format.is_removable()
                            || function.results(user).len() == 0
                        {
                            return true;
                        }
                        stack.extend(function.results(user));
                    }
                    Use::Edge(block) => {
                        for edge in function.edges(block) {
                            let arguments = function.arguments(*edge).iter();
                            steps += arguments.len();
                            let parameters = &function.blocks()[edge.target].parameters;
                            for (&argument, &parameter) in arguments.zip(parameters) {
                                if argument == value {
                                    stack.push(parameter);
                                }
                            }
                        }
                    }
                }
            }
        }
        // Nobody, unless nobody was left to be asked.
        !self.is_read(value)
    }
}
