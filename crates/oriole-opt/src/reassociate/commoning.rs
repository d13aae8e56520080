//! Computes equal instructions of a block once.
//!
//! Two instructions can be equal only if each value that one of them reads has another reader. Most blocks are done with when that was
//! asked of all their instructions.

use super::{Graph, Reassociation};
use crate::copy_propagation::is_acceptable;
use crate::equality::{self, Kind, kind_of, may_be_pure, reads_alone};
use crate::manager::Context;
use crate::remark::Rewrite;
use oriole_analysis::Analyses;
use oriole_collections::DenseMap;
use oriole_ir::{Block, Editor, Function, Instruction, Value};

/// Instructions by their hashes, each with its position among those of its block that are left.
type Known = DenseMap<u64, (Instruction, u64)>;

/// One in so many instructions usually is a candidate.
const USUALLY_ONE_IN: usize = 4;

impl Reassociation {
    /// Computes equal instructions of a block once, within the window; whether there is fuel left.
    pub(super) fn common(
        &mut self,
        editor: &mut Editor<'_>,
        graph: Graph<'_>,
        analyses: &mut Analyses,
        context: &mut Context<'_>,
    ) -> bool {
        if self.window == 0 {
            return true;
        }
        let count = editor.function().instruction_bound();
        let mut candidates = DenseMap::with_capacity(count / USUALLY_ONE_IN);
        let mut known = Known::new();
        let mut instructions: Vec<Instruction> = Vec::new();
        for &block in graph.0.reverse_postorder() {
            if !may_have_equals(editor.function(), block, &mut candidates) {
                continue;
            }
            if !self.has_facts {
                self.find_facts(editor.function(), graph);
            }
            // Before the first change.
            self.uniformity(editor.function(), analyses);
            instructions.clear();
            instructions.extend(editor.function().instructions_of(block));
            if !self.common_block(editor, block, &instructions, &mut known, context) {
                return false;
            }
        }
        true
    }

    /// Computes equal ones of the instructions of a block once; whether there is fuel left.
    fn common_block(
        &mut self,
        editor: &mut Editor<'_>,
        block: Block,
        instructions: &[Instruction],
        known: &mut Known,
        context: &mut Context<'_>,
    ) -> bool {
        let mut position = 0;
        for &instruction in instructions {
            position += 1;
            let function = editor.function();
            if !self.is_looked_at(instruction) || kind_of(function, instruction) != Some(Kind::Pure)
            {
                continue;
            }
            let hash = equality::hash(function, instruction, |value| value);
            let entry = known.get_or_insert(hash, (instruction, position));
            let (earlier, seen) = *entry;
            *entry = (instruction, position);
            let near = earlier != instruction
                && function.block_of(earlier) == Some(block)
                && position - seen <= self.window;
            if !near || !self.may_stand_for(editor, earlier, instruction) {
                continue;
            }
            let rewrite = Rewrite {
                counter: "reassociate-and-common.instructions",
                instruction,
                why: "an instruction before it in the block gives the same",
                equal: Some(earlier),
            };
            if !context.allows(editor.function(), rewrite) {
                return false;
            }
            // The window is counted from the one that stays.
            known.insert(hash, (earlier, seen));
            position -= 1;
            self.replace(editor, earlier, instruction);
        }
        true
    }

    /// Whether an earlier instruction gives what a later one gives, and its results may be read instead.
    fn may_stand_for(
        &mut self,
        editor: &Editor<'_>,
        early: Instruction,
        late: Instruction,
    ) -> bool {
        let function = editor.function();
        let bound: u32 = function
            .results(late)
            .map(|result| self.facts[result.index()].bound)
            .sum();
        // Where a register is decided, a copy may be needed; more than one of them would not pay.
        bound <= 1
            && equality::same(function, early, late, |value| value)
            && function
                .results(late)
                .zip(function.results(early))
                .all(|(late, early)| is_acceptable(function, late, early))
    }

    fn replace(&mut self, editor: &mut Editor<'_>, early: Instruction, late: Instruction) {
        let function = editor.function();
        for value in function.uses(late) {
            self.facts[value.index()].uses -= 1;
        }
        // Its readers have another leaf now, and what it read has one reader less: both may change trees.
        self.again = true;
        let pairs: Vec<(Value, Value)> = function
            .results(late)
            .zip(function.results(early))
            .collect();
        for (late, early) in pairs {
            let more = self.facts[late.index()];
            let facts = &mut self.facts[early.index()];
            facts.uses += more.uses;
            facts.bound += more.bound;
            editor.replace_value(late, early);
        }
        editor.remove_instruction(late);
    }
}

/// Whether there may be equal instructions in a block. Until one is replaced by another a value is equal to itself only.
/// `candidates` are instructions by their hashes, of other blocks too.
fn may_have_equals(
    function: &Function,
    block: Block,
    candidates: &mut DenseMap<u64, Instruction>,
) -> bool {
    for instruction in function.instructions_of(block) {
        if !may_be_pure(function.format(instruction))
            || reads_alone(function, instruction)
            || kind_of(function, instruction) != Some(Kind::Pure)
        {
            continue;
        }
        let hash = equality::hash(function, instruction, |value| value);
        let entry = candidates.get_or_insert(hash, instruction);
        let earlier = std::mem::replace(entry, instruction);
        if earlier != instruction && function.block_of(earlier) == Some(block) {
            return true;
        }
    }
    false
}
