//! Which blocks use a register before they define it, and which define it: all that placing block parameters has to know.
//!
//! Instructions are observed as they are entered, block after block. Registers that turn out to be pinned are observed too;
//! whoever reads this leaves them out.

use oriole_analysis::ControlFlow;
use oriole_collections::{IndexVec, PackedOption};
use oriole_ir::{Block, Function, Operand, Register};
use oriole_isa::Role;

/// What is known of one register.
#[derive(Clone, Copy, Default)]
pub(crate) struct Summary {
    /// The last block found that uses it before it defines it.
    exposed_in: PackedOption<Block>,
    /// The last block found that defines it.
    pub defined_in: PackedOption<Block>,
    /// Whether several blocks define it.
    pub more_definitions: bool,
}

/// The mentions of all registers of a function.
pub(crate) struct Mentions {
    /// Of each register.
    pub summaries: IndexVec<Register, Summary>,
    /// Uses that a definition in their own block does not cover, once for each block.
    pub exposed: Vec<(Register, Block)>,
    /// Blocks that define a register which several do.
    pub definitions: Vec<(Register, Block)>,
}

impl Mentions {
    pub fn new(registers: usize) -> Mentions {
        Mentions {
            summaries: IndexVec::from_elem(Summary::default(), registers),
            // About half of all registers are used outside the block that defines them.
            exposed: Vec::with_capacity(registers / 2),
            definitions: Vec::new(),
        }
    }

    /// Observes a use. Uses of an instruction come before its definitions, and a guarded definition is a use too.
    #[inline]
    pub fn on_use(&mut self, register: Register, block: Block) {
        let here = PackedOption::some(block);
        let summary = &mut self.summaries[register];
        if summary.defined_in != here && summary.exposed_in != here {
            summary.exposed_in = here;
            self.exposed.push((register, block));
        }
    }

    /// Observes a definition.
    #[inline]
    pub fn on_definition(&mut self, register: Register, block: Block) {
        let here = PackedOption::some(block);
        let summary = &mut self.summaries[register];
        let earlier = std::mem::replace(&mut summary.defined_in, here);
        if earlier != here
            && let Some(earlier) = earlier.expand()
        {
            if !summary.more_definitions {
                summary.more_definitions = true;
                self.definitions.push((register, earlier));
            }
            self.definitions.push((register, block));
        }
    }

    /// Observes a function over registers again, without the blocks that control never gets to.
    pub fn where_control_gets(function: &Function, flow: &ControlFlow) -> Mentions {
        let mut mentions = Mentions::new(function.registers().len());
        for &block in flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                let format = function.format(instruction);
                let guarded = format.is_guarded();
                let (guards, leaves) = function
                    .operands(instruction)
                    .split_at(usize::from(guarded));
                let registers = || {
                    let leaves = format.leaves.iter().zip(leaves);
                    leaves.filter_map(|(leaf, operand)| match *operand {
                        Operand::Register(register) => Some((leaf.role, register)),
                        _ => None,
                    })
                };
                if let Some(&Operand::Register(register)) = guards.first() {
                    mentions.on_use(register, block);
                }
                for (role, register) in registers() {
                    if role != Role::Define || guarded {
                        mentions.on_use(register, block);
                    }
                }
                for (role, register) in registers() {
                    if role == Role::Define {
                        mentions.on_definition(register, block);
                    }
                }
            }
        }
        mentions
    }
}
