//! Which part of a sum each value belongs to.
//!
//! Only trees of several leaves are ordered by it, and few functions have any: so neither parts nor the uniformity that they are
//! found from are there before somebody asks. Uniformity is that of the function before the pass changed anything. What is computed from no
//! parameter of a block, and from nothing of a loop outside of it, is as uniform as what it is computed from: while trees are
//! looked at, uniformity is found only if a leaf is none of these and nothing that it is computed from differs by thread anyhow.

use super::tree::{Leaf, Part};
use super::{Graph, Reassociation};
use oriole_analysis::{Analyses, ControlFlow, Loops, Uniformity, differs_by_thread};
use oriole_collections::SmallVec;
use oriole_ir::{Definition, Function, Instruction, Value};
use oriole_isa::{Opcode, Space};
use std::rc::Rc;

/// The part of a value as far as it follows from what the value is computed from.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LocalPart {
    /// Nobody asked.
    #[default]
    NotFound,
    /// It is this one.
    Known(Part),
    /// It depends on which way threads went.
    Open,
}

impl Reassociation {
    /// Finds the parts of the leaves of the tree at hand, and of all values if uniformity is needed for that.
    pub(super) fn find_parts_of_tree(
        &mut self,
        function: &Function,
        graph: Graph<'_>,
        analyses: &mut Analyses,
    ) {
        if self.has_parts {
            return;
        }
        self.local_parts
            .resize(function.values().len(), LocalPart::NotFound);
        for index in 0..self.terms.terms.len() {
            let leaf = self.terms.terms[index].leaf;
            let values = match leaf {
                Leaf::Value(value) | Leaf::Scaled(value, _) => [value, value],
                Leaf::Product(one, other) => [one, other],
            };
            for value in values {
                let LocalPart::Known(part) = self.local_part(function, graph.1, value) else {
                    return self.find_parts(function, graph.0, analyses);
                };
                self.facts[value.index()].part = part;
            }
            self.terms.terms[index].rank.part = self.part_of_leaf(leaf);
        }
    }

    /// The part that a value belongs to, if it is found without uniformity.
    fn local_part(&mut self, function: &Function, loops: &Loops, value: Value) -> LocalPart {
        let mut stack: SmallVec<[Value; 16]> = SmallVec::new();
        stack.push(value);
        while let Some(&top) = stack.last() {
            if self.local_parts[top.index()] != LocalPart::NotFound {
                stack.pop();
                continue;
            }
            let part = match function.values()[top].definition {
                Definition::Undefined => LocalPart::Known(Part::default()),
                Definition::Parameter(_) => LocalPart::Open,
                Definition::Instruction(it) if !may_be_scalar(function, it) => {
                    LocalPart::Known(Part::Divergent)
                }
                Definition::Instruction(it) => {
                    let is_missing =
                        |used: &Value| self.local_parts[used.index()] == LocalPart::NotFound;
                    let count = stack.len();
                    stack.extend(function.uses(it).filter(is_missing));
                    if stack.len() > count {
                        continue;
                    }
                    self.local_part_of(function, loops, it)
                }
            };
            self.local_parts[top.index()] = part;
            stack.pop();
        }
        self.local_parts[value.index()]
    }

    /// The part of the results of an instruction whose operands have theirs.
    fn local_part_of(&self, function: &Function, loops: &Loops, it: Instruction) -> LocalPart {
        let is = |part: LocalPart| {
            let mut used = function.uses(it);
            used.any(|used| self.local_parts[used.index()] == part)
        };
        if is(LocalPart::Known(Part::Divergent)) || differs_by_thread(function, it) {
            return LocalPart::Known(Part::Divergent);
        }
        // Threads may leave a loop at different times.
        let block = function.block_of(it);
        let leaves_loop = |used: Value| {
            let inner = (function.defining_block(used)).and_then(|from| loops.innermost(from));
            let is_inside = |inner| block.is_some_and(|block| loops.contains(inner, block));
            inner.is_some_and(|inner| !is_inside(inner))
        };
        if is(LocalPart::Open) || function.uses(it).any(leaves_loop) {
            return LocalPart::Open;
        }
        LocalPart::Known(scalar_part(function, it))
    }

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
        let is_scalar = may_be_scalar(function, instruction)
            && (function.results(instruction)).all(|result| uniformity.is_uniform(result))
            && (function.uses(instruction))
                .all(|value| self.facts[value.index()].part != Part::Divergent);
        match is_scalar {
            true => scalar_part(function, instruction),
            false => Part::Divergent,
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

/// Whether what an instruction gives can be the same for all threads of a warp. What is loaded comes to each thread, unless it is a constant
/// or a parameter of a kernel.
fn may_be_scalar(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    format.is_pure()
        || function.is_invariant_load(instruction)
            && matches!(format.mnemonic.space(), Some(Space::Param | Space::Const))
}

/// The part that the results of an instruction belong to which are the same for all threads of a warp.
fn scalar_part(function: &Function, instruction: Instruction) -> Part {
    match function.format(instruction).mnemonic.opcode() {
        Opcode::Mul | Opcode::Mad | Opcode::Shl => Part::ScalarProduct,
        _ => Part::Scalar,
    }
}
