//! Products of a group of warps that begin with zeros: they only write their accumulators.
//!
//! `wgmma.mma_async` adds to its accumulators unless the predicate *scale-d* is false. Compilers begin sums so: the first product of
//! a kernel has a 0 there, or a predicate that `mov.pred` or a comparison of zeros makes false.

use super::lists::Lists;
use super::program::{Access, AccessKind};
use oriole_ir::{Definition, Function, Instruction, Operand, ShapeKind};
use oriole_isa::{Comparison, Mnemonic, Opcode};
use oriole_syntax::literal;
use oriole_syntax::scopes::{Reference, Scopes};
use oriole_syntax::tree::{Body, Module, Prefix, Statement};

/// The operand of a product that says whether it adds to its accumulators.
pub(super) fn scale_operand(opcode: Opcode) -> Option<usize> {
    match opcode {
        Opcode::WgmmaMmaAsync => Some(3),
        Opcode::WgmmaMmaAsyncSp => Some(5),
        _ => None,
    }
}

/// The source of an operand.
enum Source<D> {
    Zero,
    DefinedBy(D),
    Other,
}

/// True of a zero and of a predicate that is always false: a literal, a move of one, or a comparison of such. `sources` gives the
/// mnemonic and the sources of an instruction.
fn is_zero<D>(
    source: Source<D>,
    sources: impl Fn(D) -> Option<(Mnemonic, Vec<Source<D>>)>,
) -> bool {
    let is_moved_zero = |source: Source<D>| match source {
        Source::Zero => true,
        Source::Other => false,
        Source::DefinedBy(definer) => sources(definer).is_some_and(|(mnemonic, read)| {
            mnemonic.opcode() == Opcode::Mov && matches!(read[..], [Source::Zero])
        }),
    };
    let Source::DefinedBy(definer) = source else {
        return matches!(source, Source::Zero);
    };
    sources(definer).is_some_and(|(mnemonic, read)| match mnemonic.opcode() {
        Opcode::Mov => matches!(read[..], [Source::Zero]),
        Opcode::Setp => {
            mnemonic.modifiers().comparison == Some(Comparison::NotEqual)
                && read.len() == 2
                && read.into_iter().all(is_moved_zero)
        }
        _ => false,
    })
}

/// True of a product in SSA form that only writes its accumulators.
pub(super) fn are_overwritten(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let Some(scale) = scale_operand(format.mnemonic.opcode()) else {
        return false;
    };
    let source = |operand: &Operand| match *operand {
        Operand::Constant(constant) => match function.constants()[constant].literal {
            Some(literal) if literal.integer() == Some(0) => Source::Zero,
            _ => Source::Other,
        },
        Operand::Value(value) => match function.values()[value].definition {
            Definition::Instruction(definer) => Source::DefinedBy(definer),
            _ => Source::Other,
        },
        _ => Source::Other,
    };
    let sources = |definer: Instruction| {
        let read = function.leaves(definer).iter();
        let read = read.filter(|leaf| !matches!(leaf, Operand::Result(_)));
        let is_plain = function.guard(definer).is_none();
        is_plain.then(|| {
            (
                function.format(definer).mnemonic.clone(),
                read.map(source).collect(),
            )
        })
    };
    let leaves = format.leaves.iter().zip(function.leaves(instruction));
    let mut scales = leaves.filter(|(leaf, _)| usize::from(leaf.operand) == scale);
    scales
        .next()
        .is_some_and(|(_, operand)| is_zero(source(operand), sources))
}

/// Makes the accumulators of products definitions that only write them. Products and the statements of all instructions are given.
pub(super) fn overwrite(
    accesses: &mut Lists<Access>,
    products: &[u32],
    statements: &[u32],
    (module, body, scopes): (&Module, &Body, &Scopes),
) {
    if products.is_empty() {
        return;
    }
    // The only instruction that defines a register, and does so always.
    let mut definers: Vec<Option<Option<u32>>> = vec![None; scopes.registers.len()];
    for instruction in 0..accesses.len() as u32 {
        for access in accesses
            .of(instruction)
            .iter()
            .filter(|access| access.defines())
        {
            let definer = &mut definers[access.entity() as usize];
            let is_only = definer.is_none() && access.kind() == AccessKind::Define;
            *definer = Some(is_only.then_some(instruction));
        }
    }
    // The mnemonic and the sources of a statement, operand by operand.
    let read = |instruction: u32| {
        let Statement::Instruction(own) =
            &body.statements[statements[instruction as usize] as usize]
        else {
            return None;
        };
        let nodes = body.operands(own);
        let mut at = own.nodes().end - nodes.len();
        let mut sources = Vec::new();
        for operand in body.operand_list(own) {
            sources.push(match scopes.references[at] {
                _ if ShapeKind::of(operand[0].kind) != ShapeKind::Leaf => Source::Other,
                _ if operand[0].prefix != Prefix::None => Source::Other,
                Reference::Register(register) => match definers[register as usize] {
                    Some(Some(definer)) => Source::DefinedBy(definer),
                    _ => Source::Other,
                },
                _ => match literal::parse(module.text(operand[0].text)) {
                    Some(literal) if literal.integer() == Some(0) => Source::Zero,
                    _ => Source::Other,
                },
            });
            at += operand.len();
        }
        Some((Mnemonic::parse(module.text(own.mnemonic)), sources))
    };
    let sources = |definer: u32| {
        let (mnemonic, mut sources) = read(definer)?;
        sources.remove(0);
        Some((mnemonic, sources))
    };
    for &product in products {
        let Some((mnemonic, operands)) = read(product) else {
            continue;
        };
        let scale = scale_operand(mnemonic.opcode());
        let source = scale.and_then(|scale| operands.into_iter().nth(scale));
        if source.is_some_and(|source| is_zero(source, sources)) {
            for access in accesses.of_mut(product) {
                if access.kind() == AccessKind::UseDefine {
                    *access = Access::new(access.entity(), AccessKind::Define);
                }
            }
        }
    }
}
