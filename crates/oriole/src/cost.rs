//! What a function costs, to tell whether optimizing it was worth it.

use oriole_analysis::machine_cost::{copies_cost, function_cost};
use oriole_analysis::ptxas_hazards::{Hazard, hazards};
use oriole_analysis::{Analyses, Loops};
use oriole_ir::{Block, Function, Traits, VariableData, VariableKind};
use oriole_isa::Space;
use oriole_isa::cost::{CostModel, MACHINE_INSTRUCTION};
use oriole_syntax::tree::{Body, Statement};
use oriole_translate::InsertedCopies;

/// How many instructions a body has.
pub(crate) fn instructions(body: &Body) -> u64 {
    let is_instruction = |statement: &&Statement| matches!(statement, Statement::Instruction(_));
    body.statements.iter().filter(is_instruction).count() as u64
}

/// The part of the cost that has to be gained where matrices are multiplied in a loop. `ptxas` places loads and copies of such loops
/// between the products, and places all of them anew for any change: a product of matrices that was to gain 0.04 % took 9 % longer on an
/// H200, one that was to gain 0.14 % took 2.5 % longer.
const LEAST_PART: u64 = 400;

/// What it takes to find out that a loop runs too few times for its unrolled copies.
const UNROLLED_TESTS: u64 = 2 * MACHINE_INSTRUCTION;

/// What ptxas will make of a function, as far as PTX tells.
#[derive(Debug, Default)]
pub(crate) struct Quality {
    /// What its instructions cost on the machine.
    cost: u64,
    /// Whether matrices are multiplied in a loop.
    multiplies_matrices: bool,
    /// How many places of each kind ptxas gets wrong.
    hazards: [usize; Hazard::KINDS],
}

impl Quality {
    pub fn of(function: &Function, analyses: &mut Analyses, model: CostModel) -> Quality {
        let mut counts = [0; Hazard::KINDS];
        for hazard in hazards(function, analyses) {
            counts[hazard.kind()] += 1;
        }
        let loops = analyses.get::<Loops>(function);
        let mut in_loops = function
            .block_order()
            .iter()
            .filter(|&&block| loops.depth(block) > 0);
        let multiplies = |each| {
            let traits = function.format(each).traits();
            traits.have(Traits::MULTIPLIES_MATRICES)
        };
        // `ptxas` reserves the bytes of every local variable. One unit decides where nothing else does.
        let is_local = |variable: &&VariableData| {
            variable.kind == VariableKind::Declared
                && variable.space == Some(Space::Local)
                && !variable.is_removed()
        };
        let frame = function.variables().values().filter(is_local).count() as u64;
        let is_new = |&&block: &&Block| function.blocks()[block].adds_nounroll;
        let forbidden = function.block_order().iter().filter(is_new).count() as u64;
        Quality {
            cost: function_cost(function, &loops, model)
                .saturating_sub(forbidden * UNROLLED_TESTS)
                .saturating_add(frame),
            multiplies_matrices: function.traits().have(Traits::MULTIPLIES_MATRICES)
                && in_loops.any(|&block| function.instructions_of(block).any(multiplies)),
            hazards: counts,
        }
    }

    /// Adds what leaving SSA form inserted.
    pub fn add_copies(&mut self, loops: &Loops, copies: &[InsertedCopies]) {
        for each in copies {
            let cost = copies_cost(loops, each.block, each.target, each.count);
            self.cost = self.cost.saturating_add(cost);
        }
    }

    /// Whether it costs less, by as much as has to be, and ptxas gets no more of any kind wrong.
    pub fn is_better_than(&self, other: &Quality) -> bool {
        let least = match other.multiplies_matrices {
            true => other.cost / LEAST_PART,
            false => 0,
        };
        self.cost.saturating_add(least) < other.cost && self.is_as_safe_as(other)
    }

    /// Whether ptxas gets no more of any kind wrong.
    pub fn is_as_safe_as(&self, other: &Quality) -> bool {
        let mut kinds = self.hazards.iter().zip(&other.hazards);
        kinds.all(|(own, other)| own <= other)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, optimize, parse, print};

    /// A loop of products, and before it a sum that is computed twice.
    fn products(product: &str) -> String {
        let body = format!("{product}\n").repeat(60);
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
             .reg .pred %p;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<3>;\n\
             ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n\
             mov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\n\
             mad.lo.s32 %r3, %r1, %r2, 7;\nmad.lo.s32 %r4, %r1, %r2, 7;\n\
             $loop:\n{body}add.s32 %r1, %r1, -1;\nsetp.ne.s32 %p, %r1, 0;\n@%p bra $loop;\n\
             st.global.f32 [%rd1], %f1;\nst.global.f32 [%rd1+4], %f2;\nst.global.f32 [%rd1+8], %f3;\n\
             st.global.f32 [%rd1+12], %f4;\nst.global.u32 [%rd1+16], %r3;\nst.global.u32 [%rd1+20], %r4;\nret;\n}}\n"
        )
    }

    fn is_changed(text: &str) -> bool {
        let mut module = parse("products.ptx", text).unwrap();
        let before = print(&module);
        optimize(&mut module, &Options::default()).unwrap();
        print(&module) != before
    }

    #[test]
    fn a_loop_of_matrix_products_is_not_changed_for_next_to_nothing() {
        let matrix = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, \
                      {%r3, %r4, %r3, %r4}, {%r3, %r4}, {%f1, %f2, %f3, %f4};";
        assert!(!is_changed(&products(matrix)));
        assert!(is_changed(&products(
            "fma.rn.f32 %f1, %f1, 0f40000000, %f2;"
        )));
    }
}
