//! What a kernel asks of a multiprocessor besides registers: threads, shared memory, barriers, as the PTX says.

use super::features::directive;
use oriole_isa::ScalarType;
use oriole_syntax::scopes::{Global, Globals, Reference, Scopes};
use oriole_syntax::tree::{
    self, Body, Declaration, Declarator, Linkage, Module, Statement, Storage,
};

/// The resources of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of shared memory with a fixed size.
    pub shared: u32,
    /// Whether it also uses shared memory whose size is given at launch.
    pub dynamic_shared: bool,
    /// Bytes of local memory declared.
    pub local: u32,
    /// Named barriers used.
    pub barriers: u32,
    /// The block's shape, if `.reqntid` fixes it.
    pub required_block: Option<[u32; 3]>,
    /// Most threads of a block, if `.maxntid` bounds them.
    pub maximum_threads: Option<u32>,
    /// Most registers of a thread, by the function's directives.
    pub register_limit: u32,
}

/// Bytes and alignment of a variable; nothing for one whose size is not known.
fn size(
    module: &Module,
    body: &Body,
    declaration: &Declaration,
    declarator: &Declarator,
) -> Option<(u32, u32)> {
    let element = module
        .text(declaration.element)
        .strip_prefix('.')
        .and_then(ScalarType::from_text)
        .map_or(1, |own| own.bytes() * u32::from(declaration.vector.max(1)));
    let words = body.words(declarator.dimensions);
    let mut bytes = element;
    let mut dimensions = 0;
    for &word in words {
        let text = module.text(word);
        if text == "]" {
            dimensions += 1;
        } else if let Ok(number) = text.parse::<u32>() {
            bytes = bytes.saturating_mul(number);
        }
    }
    let numbers = words
        .iter()
        .filter(|&&word| module.text(word).parse::<u32>().is_ok())
        .count();
    (numbers == dimensions).then_some((bytes, declaration.alignment.max(element).max(1)))
}

impl Resources {
    /// The resources of a function and of what it calls: `functions` has itself first, each with its resolved names.
    pub fn of(
        module: &Module,
        globals: &Globals,
        functions: &[(&tree::Function, &Scopes)],
    ) -> Resources {
        let mut resources = Resources {
            register_limit: 255,
            ..Resources::default()
        };
        let Some(&(kernel, _)) = functions.first() else {
            return resources;
        };
        resources.register_limit = super::features::register_limit(module, kernel);
        let shape = |keyword: &str| directive(module, kernel, keyword);
        resources.required_block = shape(".reqntid").map(|sizes| {
            let at = |index: usize| sizes.get(index).copied().unwrap_or(1).max(1);
            [at(0), at(1), at(2)]
        });
        resources.maximum_threads = shape(".maxntid").map(|sizes| {
            sizes
                .iter()
                .fold(1, |product: u32, &own| product.saturating_mul(own))
        });
        let mut mentioned: Vec<u32> = Vec::new();
        for &(function, scopes) in functions {
            let Some(body) = &function.body else {
                continue;
            };
            resources.local += super::features::frame_bytes(module, function);
            resources.barriers = resources.barriers.max(barriers(module, body));
            for declaration in &body.declarations {
                if declaration.storage == Storage::Shared {
                    for declarator in body.declarators(declaration) {
                        resources.add_shared(size(module, body, declaration, declarator));
                    }
                }
            }
            mentioned.extend(
                scopes
                    .references
                    .iter()
                    .filter_map(|reference| match reference {
                        Reference::Global(global) => Some(*global),
                        _ => None,
                    }),
            );
        }
        mentioned.sort_unstable();
        mentioned.dedup();
        for global in mentioned {
            if let (
                _,
                Global::Variable {
                    declaration,
                    declarator,
                },
            ) = globals.entries[global as usize]
            {
                let declaration = &module.top.declarations[declaration as usize];
                if declaration.storage == Storage::Shared {
                    let declarator = &module.top.declarators[declarator as usize];
                    if declaration.linkage == Linkage::Extern {
                        resources.dynamic_shared = true;
                    } else {
                        resources.add_shared(size(module, &module.top, declaration, declarator));
                    }
                }
            }
        }
        resources
    }

    fn add_shared(&mut self, size: Option<(u32, u32)>) {
        match size {
            Some((bytes, alignment)) => {
                self.shared = self
                    .shared
                    .next_multiple_of(alignment)
                    .saturating_add(bytes);
            }
            None => self.dynamic_shared = true,
        }
    }
}

/// Named barriers a function takes: up to the highest that is written as a number, or all if one is in a register.
fn barriers(module: &Module, body: &Body) -> u32 {
    let mut used = 0;
    for statement in &body.statements {
        let Statement::Instruction(instruction) = statement else {
            continue;
        };
        let mnemonic = module.text(instruction.mnemonic);
        let is_barrier = (mnemonic.starts_with("bar.") || mnemonic.starts_with("barrier."))
            && !mnemonic.starts_with("bar.warp")
            && !mnemonic.starts_with("barrier.cluster");
        if !is_barrier {
            continue;
        }
        // The barrier is the first operand, or behind the result of a reduction.
        let reduction = mnemonic.contains(".red");
        let operand = body.operand_list(instruction).nth(usize::from(reduction));
        let number = operand
            .and_then(|nodes| nodes.first())
            .and_then(|node| module.text(node.text).parse::<usize>().ok());
        match number {
            Some(number) if number < 16 => used = used.max(number as u32 + 1),
            _ => return 16,
        }
    }
    used
}
