//! What a function costs, to tell whether optimizing it was worth it.

use oriole_analysis::machine_cost::{copies_cost, function_cost};
use oriole_analysis::ptxas_hazards::{Hazard, hazards};
use oriole_analysis::{Analyses, Loops};
use oriole_ir::Function;
use oriole_isa::cost::CostModel;
use oriole_syntax::tree::{Body, Statement};
use oriole_translate::InsertedCopies;

/// How many instructions a body has.
pub(crate) fn instructions(body: &Body) -> u64 {
    let is_instruction = |statement: &&Statement| matches!(statement, Statement::Instruction(_));
    body.statements.iter().filter(is_instruction).count() as u64
}

/// What ptxas will make of a function, as far as PTX tells.
#[derive(Debug, Default)]
pub(crate) struct Quality {
    /// What its instructions cost on the machine.
    cost: u64,
    /// How many places of each kind ptxas gets wrong.
    hazards: [usize; Hazard::KINDS],
}

impl Quality {
    pub fn of(function: &Function, analyses: &mut Analyses, model: CostModel) -> Quality {
        let mut counts = [0; Hazard::KINDS];
        for hazard in hazards(function, analyses) {
            counts[hazard.kind()] += 1;
        }
        Quality {
            cost: function_cost(function, &analyses.get::<Loops>(function), model),
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

    /// Whether it costs less, and ptxas gets no more of any kind wrong.
    pub fn is_better_than(&self, other: &Quality) -> bool {
        self.cost < other.cost && self.is_as_safe_as(other)
    }

    /// Whether ptxas gets no more of any kind wrong.
    pub fn is_as_safe_as(&self, other: &Quality) -> bool {
        let mut kinds = self.hazards.iter().zip(&other.hazards);
        kinds.all(|(own, other)| own <= other)
    }
}
