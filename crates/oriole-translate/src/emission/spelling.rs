//! How copies and jumps were spelled.

use oriole_collections::DenseMap;
use oriole_syntax::scopes::{Reference, Scopes};
use oriole_syntax::tree::{self, Body, Guard, Module, OperandKind, Statement, Text};

/// The mnemonics of a function's plain copies and jumps. Leaving SSA form makes many of them anew that were there before: what
/// means the same is spelled the same.
#[derive(Default)]
pub(super) struct Spellings {
    /// `mov.u64` by the registers it copies to and from.
    pub copies: DenseMap<(u32, u32), Text>,
    /// `bra.uni` by the label it goes to. A jump without a guard is uniform in any case.
    pub jumps: DenseMap<u32, Text>,
}

impl Spellings {
    pub fn of(module: &Module, body: &Body, scopes: &Scopes) -> Spellings {
        let mut spellings = Spellings::default();
        let text = module.whole_text().as_bytes();
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else {
                continue;
            };
            let nodes = instruction.nodes();
            if instruction.guard != Guard::None || nodes.len() > 2 {
                continue;
            }
            let mnemonic = &text[instruction.mnemonic.span().range()];
            let references = &scopes.references[nodes.clone()];
            // A name with a dot is one member of a vector.
            let is_name = |node: &tree::Operand| {
                node.kind == OperandKind::Name
                    && node.prefix == tree::Prefix::None
                    && !(scopes.has_dotted_registers && module.text(node.text).contains('.'))
            };
            let are_names = || body.operands[nodes.clone()].iter().all(is_name);
            match *references {
                [Reference::Register(to), Reference::Register(from)]
                    if mnemonic.starts_with(b"mov.") && are_names() =>
                {
                    spellings
                        .copies
                        .get_or_insert_with((to, from), || instruction.mnemonic);
                }
                [Reference::Label(label)] if mnemonic == b"bra.uni" && are_names() => {
                    spellings
                        .jumps
                        .get_or_insert_with(label, || instruction.mnemonic);
                }
                _ => {}
            }
        }
        spellings
    }
}
