//! Which parameters of a kernel are pointers.
//!
//! PTX says so only with `.ptr`, which compilers may leave out. Otherwise: a 64-bit value that is loaded from a parameter and
//! reaches an address, or a `cvta`, by copies, additions and selections. Offsets are added to pointers too, so where a `cvta`
//! shows which of two summands is the pointer, the other is none.

use crate::Module;
use oriole_emulator::Signature;
use oriole_syntax::tree::{Body, Function, Operand, OperandKind, Statement};
use std::collections::{BTreeMap, BTreeSet};

/// A parameter, by its place in the list, and a byte in it.
pub type Place = (usize, usize);

/// Where pointers lie, and where 64-bit values lie that may be pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointers {
    /// Certainly.
    pub certain: BTreeSet<Place>,
    /// Perhaps.
    pub possible: BTreeSet<Place>,
    /// Pointers to integers that are used in addresses, with the size of the integers.
    pub indices: BTreeMap<Place, usize>,
}

/// Times the statements are walked: values go around a loop once.
const WALKS: usize = 2;

struct Walk<'module> {
    module: &'module Module,
    /// Index of each parameter, by name.
    parameters: BTreeMap<&'module str, usize>,
    /// Where the value of a register may come from.
    origins: BTreeMap<&'module str, BTreeSet<Place>>,
    found: Pointers,
    /// The pointers through which the integers that a register depends on were loaded, with their sizes.
    loaded: BTreeMap<&'module str, BTreeSet<(Place, usize)>>,
    converted: BTreeSet<Place>,
    /// Origins of each address.
    addresses: Vec<BTreeSet<Place>>,
}

/// Parameters that a value may come from; one that comes from more is a sum, not a pointer.
const MOST_ORIGINS: usize = 8;

/// Looks at one kernel.
pub fn of(module: &Module, function: &Function, body: &Body, signature: &Signature) -> Pointers {
    let mut walk = Walk {
        module,
        parameters: BTreeMap::new(),
        origins: BTreeMap::new(),
        found: Pointers::default(),
        loaded: BTreeMap::new(),
        converted: BTreeSet::new(),
        addresses: Vec::new(),
    };
    let declarations = function.parameters.clone();
    for (index, at) in declarations.unwrap_or(0..0).enumerate() {
        let declaration = &module.top.declarations[at as usize];
        if let Some(declarator) = module.top.declarators(declaration).first() {
            walk.parameters.insert(module.text(declarator.name), index);
        }
        let words = module.top.words(declaration.words);
        let is_pointer = words.iter().any(|&word| module.text(word) == ".ptr");
        let eight = |parameter: &(String, usize)| parameter.1 == 8;
        if signature.parameters.get(index).is_some_and(eight) {
            walk.found.possible.insert((index, 0));
            if is_pointer {
                walk.found.certain.insert((index, 0));
            }
        }
    }
    for _ in 0..WALKS {
        for statement in &body.statements {
            if let Statement::Instruction(instruction) = statement {
                let mnemonic = module.text(instruction.mnemonic);
                let operands: Vec<&[Operand]> = body.operand_list(instruction).collect();
                walk.instruction(mnemonic, &operands);
            }
        }
    }
    let known: BTreeSet<Place> = walk.converted.union(&walk.found.certain).copied().collect();
    walk.found.certain.extend(walk.converted);
    for origins in &walk.addresses {
        if origins.is_disjoint(&known) {
            walk.found.certain.extend(origins);
        }
    }
    walk.found
}

/// The bytes of the integers that a load gives, if it gives any.
fn integer_bytes(mnemonic: &str) -> Option<usize> {
    let element = mnemonic.rsplit('.').next()?;
    let bits = element.strip_prefix(['u', 's', 'b'])?;
    let bytes = bits.parse::<usize>().ok()? / 8;
    matches!(bytes, 1 | 2 | 4 | 8).then_some(bytes)
}

impl<'module> Walk<'module> {
    fn instruction(&mut self, mnemonic: &str, operands: &[&'module [Operand]]) {
        let opcode = mnemonic.split('.').next().unwrap_or(mnemonic);
        if mnemonic.starts_with("ld.param") {
            self.load(mnemonic, operands);
            return;
        }
        self.follow_loaded(mnemonic, operands);
        for nodes in operands {
            if nodes[0].kind == OperandKind::Address {
                let indices: Vec<_> = self.loaded_by(nodes).collect();
                self.found.indices.extend(indices);
                let origins = self.origins_of(nodes);
                if !origins.is_empty() {
                    self.addresses.push(origins);
                }
            }
        }
        let sources = match opcode {
            "mov" | "cvta" => operands.get(1..2),
            "add" | "sub" | "selp" => operands.get(1..3),
            "mad" => operands.get(3..4),
            _ => None,
        };
        let (Some(sources), Some(target)) = (sources, operands.first()) else {
            return;
        };
        let origins: BTreeSet<Place> = sources
            .iter()
            .flat_map(|nodes| self.origins_of(nodes))
            .collect();
        if origins.is_empty() || origins.len() > MOST_ORIGINS {
            return;
        }
        if opcode == "cvta" {
            self.converted.extend(&origins);
        }
        let name = self.module.text(target[0].text);
        let all = self.origins.entry(name).or_default();
        if all.len() + origins.len() <= 2 * MOST_ORIGINS {
            all.extend(origins);
        }
    }

    /// Notes what the result of an instruction depends on that was loaded.
    fn follow_loaded(&mut self, mnemonic: &str, operands: &[&'module [Operand]]) {
        let Some((targets, sources)) = operands.split_first() else {
            return;
        };
        if targets[0].kind == OperandKind::Address {
            return;
        }
        let sources = sources.iter().copied();
        let loaded: BTreeSet<(Place, usize)> = match mnemonic.starts_with("ld.") {
            true => {
                let Some(bytes) = integer_bytes(mnemonic) else {
                    return;
                };
                let places = sources.flat_map(|nodes| self.origins_of(nodes));
                places.map(|place| (place, bytes)).collect()
            }
            false => sources.flat_map(|nodes| self.loaded_by(nodes)).collect(),
        };
        if loaded.is_empty() || loaded.len() > MOST_ORIGINS {
            return;
        }
        for node in targets.iter().filter(|node| node.kind == OperandKind::Name) {
            let all = self.loaded.entry(self.module.text(node.text)).or_default();
            if all.len() + loaded.len() <= 2 * MOST_ORIGINS {
                all.extend(&loaded);
            }
        }
    }

    /// The pointers through which the integers that an operand depends on were loaded.
    fn loaded_by(&self, nodes: &[Operand]) -> impl Iterator<Item = (Place, usize)> {
        let names = nodes
            .iter()
            .filter(|node| node.kind == OperandKind::Name)
            .filter_map(|node| self.loaded.get(self.module.text(node.text)));
        names.flatten().copied()
    }

    /// Where the names in an operand come from.
    fn origins_of(&self, nodes: &[Operand]) -> BTreeSet<Place> {
        nodes
            .iter()
            .filter(|node| node.kind == OperandKind::Name)
            .filter_map(|node| self.origins.get(self.module.text(node.text)))
            .flatten()
            .copied()
            .collect()
    }

    /// A load of one or several 64-bit values from a parameter.
    fn load(&mut self, mnemonic: &str, operands: &[&'module [Operand]]) {
        let wide = [".u64", ".s64", ".b64"];
        let (true, &[targets, address]) =
            (wide.iter().any(|kind| mnemonic.ends_with(kind)), operands)
        else {
            return;
        };
        let mut parameter = None;
        let mut offset = 0;
        for node in address {
            let text = self.module.text(node.text);
            match node.kind {
                OperandKind::Name => parameter = self.parameters.get(text).copied(),
                OperandKind::Number => {
                    offset = text
                        .parse()
                        .ok()
                        .filter(|&at: &usize| at < 1 << 20)
                        .unwrap_or(0);
                }
                _ => {}
            }
        }
        let Some(parameter) = parameter else { return };
        let names = targets
            .iter()
            .filter(|node| matches!(node.kind, OperandKind::Name | OperandKind::Sink));
        for (index, node) in names.enumerate() {
            let place = (parameter, offset + 8 * index);
            self.found.possible.insert(place);
            let name = self.module.text(node.text);
            let all = self.origins.entry(name).or_default();
            if all.len() < 2 * MOST_ORIGINS {
                all.insert(place);
            }
        }
    }
}
