//! Which part of a sum each value belongs to.
//!
//! Only trees of several leaves are ordered by it, and few functions have any: so neither parts nor the uniformity that they are
//! found from are there before somebody asks. Uniformity is that of the function before the pass changed anything.

use super::Reassociation;
use super::tree::{Leaf, Part};
use oriole_analysis::{Analyses, ControlFlow, Uniformity};
use oriole_ir::{Function, Instruction, Value};
use oriole_isa::{Opcode, Space};
use std::rc::Rc;

impl Reassociation {
    /// Uniformity. Has to be asked for before the first change, by whoever makes it if nobody else did.
    pub(super) fn uniformity(
        &mut self,
        function: &Function,
        analyses: &mut Analyses,
    ) -> Rc<Uniformity> {
        let found = self.uniformity.take();
        let uniformity = found.unwrap_or_else(|| analyses.get::<Uniformity>(function));
        self.uniformity = Some(Rc::clone(&uniformity));
        uniformity
    }

    /// Finds the parts of all values and of the leaves of the tree at hand, unless that was done since they were numbered.
    pub(super) fn find_parts(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        analyses: &mut Analyses,
    ) {
        if std::mem::replace(&mut self.has_parts, true) {
            return;
        }
        let uniformity = self.uniformity(function, analyses);
        for &block in flow.reverse_postorder() {
            for &parameter in &function.blocks()[block].parameters {
                self.facts[parameter.index()].part = match uniformity.is_uniform(parameter) {
                    true => Part::Scalar,
                    false => Part::Divergent,
                };
            }
            for instruction in function.instructions_of(block) {
                let part = self.part_of(function, instruction, &uniformity);
                for result in function.results(instruction) {
                    self.facts[result.index()].part = part;
                }
            }
        }
        for index in 0..self.terms.terms.len() {
            let part = self.part_of_leaf(self.terms.terms[index].leaf);
            self.terms.terms[index].rank.part = part;
        }
    }

    /// The part that the results of an instruction belong to, once that of its operands is known.
    fn part_of(
        &self,
        function: &Function,
        instruction: Instruction,
        uniformity: &Uniformity,
    ) -> Part {
        let mnemonic = &function.format(instruction).mnemonic;
        // What is loaded comes to each thread, unless it is a constant or a parameter of a kernel.
        let is_loaded_once = || {
            function.is_invariant_load(instruction)
                && matches!(mnemonic.space(), Some(Space::Param | Space::Const))
        };
        let is_scalar = (function.format(instruction).is_pure() || is_loaded_once())
            && (function.results(instruction)).all(|result| uniformity.is_uniform(result))
            && (function.uses(instruction))
                .all(|value| self.facts[value.index()].part != Part::Divergent);
        match mnemonic.opcode() {
            _ if !is_scalar => Part::Divergent,
            Opcode::Mul | Opcode::Mad | Opcode::Shl => Part::ScalarProduct,
            _ => Part::Scalar,
        }
    }

    /// The part that a leaf belongs to, once those of values are known.
    pub(super) fn part_of_leaf(&self, leaf: Leaf) -> Part {
        let part = |value: Value| self.facts[value.index()].part;
        let is_divergent = match leaf {
            Leaf::Value(value) => return part(value),
            Leaf::Scaled(value, _) => part(value) == Part::Divergent,
            Leaf::Product(one, other) => [one, other].map(part).contains(&Part::Divergent),
        };
        match is_divergent {
            true => Part::Divergent,
            false => Part::ScalarProduct,
        }
    }
}
