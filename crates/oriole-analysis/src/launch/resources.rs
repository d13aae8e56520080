//! What a kernel asks of a multiprocessor besides registers: threads, shared memory, barriers, as the PTX says.

use crate::register_model::features::{Summary, directive};
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

/// The memory and barriers of one function, without what it calls.
#[derive(Clone, Debug, Default)]
struct Own {
    local: u32,
    barriers: u32,
    /// Sizes of its shared variables.
    shared: Vec<Option<(u32, u32)>>,
    /// Shared variables of the module that it mentions, by their index among the globals.
    mentioned: Vec<u32>,
}

impl Own {
    fn of(module: &Module, globals: &Globals, function: &tree::Function, scopes: &Scopes) -> Own {
        let Some(body) = &function.body else {
            return Own::default();
        };
        let shared = body
            .declarations
            .iter()
            .filter(|declaration| declaration.storage == Storage::Shared)
            .flat_map(|declaration| {
                let declarators = body.declarators(declaration).iter();
                declarators.map(move |declarator| size(module, body, declaration, declarator))
            })
            .collect();
        let mut mentioned: Vec<u32> = scopes
            .references
            .iter()
            .filter_map(|reference| match reference {
                Reference::Global(global) => Some(*global),
                _ => None,
            })
            .filter(|&global| shared_variable(module, globals, global).is_some())
            .collect();
        mentioned.sort_unstable();
        mentioned.dedup();
        Own {
            local: crate::register_model::features::frame_bytes(module, function),
            barriers: barriers(module, body),
            shared,
            mentioned,
        }
    }
}

/// A shared variable of the module, if a global is one.
fn shared_variable<'module>(
    module: &'module Module,
    globals: &Globals,
    global: u32,
) -> Option<(&'module Declaration, &'module Declarator)> {
    match globals.entries[global as usize].1 {
        Global::Variable {
            declaration,
            declarator,
        } => {
            let declaration = &module.top.declarations[declaration as usize];
            (declaration.storage == Storage::Shared)
                .then(|| (declaration, &module.top.declarators[declarator as usize]))
        }
        _ => None,
    }
}

/// What a function and everything it calls come to; functions with shared memory as a list, callers first.
#[derive(Clone, Copy)]
struct Total {
    local: u32,
    barriers: u32,
    /// The last of `lists` for this function: a function, and the rest.
    shared: Option<u32>,
}

impl Resources {
    /// The resources of all functions with a summary, each with all it calls; `scopes` are their resolved names.
    pub fn of(
        module: &Module,
        globals: &Globals,
        summaries: &[Option<Summary>],
        scopes: &[Option<&Scopes>],
    ) -> Vec<Option<Resources>> {
        let closures = crate::register_model::features::call_closures(summaries);
        let own: Vec<Option<Own>> = module
            .functions
            .iter()
            .zip(scopes)
            .zip(summaries)
            .map(|((function, scopes), summary)| {
                summary.as_ref()?;
                Some(Own::of(module, globals, function, (*scopes)?))
            })
            .collect();
        let mut lists: Vec<(usize, Option<u32>)> = Vec::new();
        let mut totals: Vec<Option<Total>> = vec![None; own.len()];
        let mut found: Vec<Option<Resources>> = vec![None; own.len()];
        for index in closures.order() {
            if own[index].is_none() {
                continue;
            }
            let mut total = Total {
                local: 0,
                barriers: 0,
                shared: None,
            };
            let functions = match closures.extends(index).and_then(|other| totals[other]) {
                Some(other) => {
                    total = other;
                    vec![index]
                }
                None => closures.walk(index),
            };
            for function in functions {
                let Some(own) = &own[function] else {
                    continue;
                };
                total.local = total.local.saturating_add(own.local);
                total.barriers = total.barriers.max(own.barriers);
                if !own.shared.is_empty() || !own.mentioned.is_empty() {
                    lists.push((function, total.shared));
                    total.shared = Some(lists.len() as u32 - 1);
                }
            }
            totals[index] = Some(total);
            let mut resources = Resources::of_directives(module, &module.functions[index]);
            resources.local = total.local;
            resources.barriers = total.barriers;
            let mut mentioned: Vec<u32> = Vec::new();
            let mut at = total.shared;
            while let Some((function, rest)) = at.map(|at| lists[at as usize]) {
                if let Some(own) = &own[function] {
                    for &size in &own.shared {
                        resources.add_shared(size);
                    }
                    mentioned.extend(&own.mentioned);
                }
                at = rest;
            }
            mentioned.sort_unstable();
            mentioned.dedup();
            for (declaration, declarator) in mentioned
                .into_iter()
                .filter_map(|global| shared_variable(module, globals, global))
            {
                if declaration.linkage == Linkage::Extern {
                    resources.dynamic_shared = true;
                } else {
                    resources.add_shared(size(module, &module.top, declaration, declarator));
                }
            }
            found[index] = Some(resources);
        }
        found
    }

    /// What the directives of a function say: its block and its registers.
    pub fn of_directives(module: &Module, kernel: &tree::Function) -> Resources {
        let shape = |keyword: &str| directive(module, kernel, keyword);
        Resources {
            register_limit: crate::register_model::features::register_limit(module, kernel),
            required_block: shape(".reqntid").map(|sizes| {
                let at = |index: usize| sizes.get(index).copied().unwrap_or(1).max(1);
                [at(0), at(1), at(2)]
            }),
            maximum_threads: shape(".maxntid").map(|sizes| {
                sizes
                    .iter()
                    .fold(1, |product: u32, &own| product.saturating_mul(own))
            }),
            ..Resources::default()
        }
    }

    fn add_shared(&mut self, size: Option<(u32, u32)>) {
        match size {
            Some((bytes, alignment)) => {
                self.shared = self
                    .shared
                    .checked_next_multiple_of(alignment)
                    .unwrap_or(u32::MAX)
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
