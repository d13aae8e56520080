//! What a kernel asks of a multiprocessor besides registers: threads, shared memory, barriers, as the PTX says.

use crate::register_model::features::{Summary, call_closures};
use oriole_ir::{FunctionId, Global, GlobalVariableData, LaunchBounds, Linkage, Module};
use oriole_isa::{Limits, Space};
use oriole_syntax::scopes::{Reference, Scopes};
use oriole_syntax::tree::{self, Body, Statement};
use std::collections::BTreeMap;

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
    /// Columns of tensor memory allocated, at least.
    pub tensor_columns: u32,
    /// The block's shape, if `.reqntid` fixes it.
    pub required_block: Option<[u32; 3]>,
    /// Most threads of a block, if `.maxntid` bounds them.
    pub maximum_threads: Option<u32>,
    /// Most registers of a thread, by the function's directives.
    pub register_limit: u32,
}

/// What is known of the shared memory that a launch adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicShared {
    /// The kernel uses none.
    Unused,
    /// So many bytes.
    Given(u32),
    /// The kernel uses some, and nobody says how much.
    Unknown,
}

impl DynamicShared {
    /// The bytes, if they are known.
    pub fn bytes(self) -> Option<u32> {
        match self {
            DynamicShared::Given(bytes) => Some(bytes),
            DynamicShared::Unused | DynamicShared::Unknown => None,
        }
    }
}

/// The barriers and shared variables of one function, without what it calls.
#[derive(Clone, Debug, Default)]
struct Own {
    barriers: u32,
    tensor_columns: u32,
    /// Shared variables of the module that it mentions.
    mentioned: Vec<Global>,
}

impl Own {
    fn of(module: &Module, tree: &tree::Module, body: &Body, scopes: &Scopes) -> Own {
        let mut mentioned: Vec<Global> = scopes
            .references
            .iter()
            .filter_map(|reference| match reference {
                Reference::Global(global) => Some(Global::from_u32(*global)),
                _ => None,
            })
            .filter(|&global| shared_variable(module, global).is_some())
            .collect();
        mentioned.sort_unstable();
        mentioned.dedup();
        Own {
            barriers: barriers(tree, body),
            tensor_columns: tensor_columns(tree, body),
            mentioned,
        }
    }
}

/// A shared variable of the module, if a name stands for one.
fn shared_variable(module: &Module, global: Global) -> Option<&GlobalVariableData> {
    let variable = module.variable(global)?;
    (variable.space == Some(Space::Shared)).then_some(variable)
}

/// What a function and everything it calls come to; functions with shared memory as a list, callers first.
#[derive(Clone, Copy)]
struct Total {
    local: u32,
    barriers: u32,
    tensor_columns: u32,
    /// The last of `lists` for this function: a function, and the rest.
    shared: Option<u32>,
}

impl Resources {
    /// The resources of all functions with a summary, each with all it calls; `scopes` are their resolved names.
    pub fn of(
        module: &Module,
        tree: &tree::Module,
        summaries: &[Option<Summary>],
        scopes: &[Option<&Scopes>],
    ) -> Vec<Option<Resources>> {
        let closures = call_closures(summaries);
        let own: Vec<Option<(Own, &Summary)>> = tree
            .functions
            .iter()
            .zip(scopes)
            .zip(summaries)
            .map(|((function, scopes), summary)| {
                let own = Own::of(module, tree, function.body.as_ref()?, (*scopes)?);
                Some((own, summary.as_ref()?))
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
                tensor_columns: 0,
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
                let Some((own, summary)) = &own[function] else {
                    continue;
                };
                total.local = total.local.saturating_add(summary.local);
                total.barriers = total.barriers.max(own.barriers);
                total.tensor_columns = total.tensor_columns.saturating_add(own.tensor_columns);
                if !summary.shared.is_empty() || !own.mentioned.is_empty() {
                    lists.push((function, total.shared));
                    total.shared = Some(lists.len() as u32 - 1);
                }
            }
            totals[index] = Some(total);
            let bounds = module.bounds(FunctionId::from_index(index));
            let mut resources = Resources {
                local: total.local,
                barriers: total.barriers,
                tensor_columns: total.tensor_columns.min(MOST_COLUMNS),
                ..Resources::of_directives(bounds, module.limits.as_ref())
            };
            let mut mentioned: Vec<Global> = Vec::new();
            let mut at = total.shared;
            while let Some((function, rest)) = at.map(|at| lists[at as usize]) {
                if let Some((own, summary)) = &own[function] {
                    for &size in &summary.shared {
                        resources.add_shared(size);
                    }
                    mentioned.extend(&own.mentioned);
                }
                at = rest;
            }
            mentioned.sort_unstable();
            mentioned.dedup();
            for variable in mentioned
                .into_iter()
                .filter_map(|global| shared_variable(module, global))
            {
                if variable.linkage == Linkage::Extern {
                    resources.dynamic_shared = true;
                } else {
                    let own = &variable.variable_type;
                    resources.add_shared(own.bytes.map(|bytes| (bytes, own.alignment)));
                }
            }
            found[index] = Some(resources);
        }
        found
    }

    /// What the directives of a function say: its block, and its registers on a target of these limits.
    pub fn of_directives(bounds: &LaunchBounds, limits: Option<&Limits>) -> Resources {
        Resources {
            register_limit: bounds.register_limit(limits),
            required_block: bounds.required_block,
            maximum_threads: bounds.maximum_threads,
            ..Resources::default()
        }
    }

    /// The dynamic shared memory of a launch that is given so much, or nothing is said of it.
    pub fn dynamic_shared(&self, given: Option<u32>) -> DynamicShared {
        match given {
            Some(bytes) => DynamicShared::Given(bytes),
            None if self.dynamic_shared => DynamicShared::Unknown,
            None => DynamicShared::Unused,
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

/// Fewest and most columns of tensor memory that an instruction can allocate.
const LEAST_COLUMNS: u32 = 32;
const MOST_COLUMNS: u32 = 512;

/// The columns of tensor memory that a body allocates; of an allocation of unknown size the least there is.
fn tensor_columns(module: &tree::Module, body: &Body) -> u32 {
    let operand = |instruction: &tree::Instruction, place: usize| {
        let nodes = body.operand_list(instruction).nth(place)?;
        Some(module.text(nodes.first()?.text))
    };
    // The number that each register was given last, of those that a `mov` gave one.
    let mut constants: BTreeMap<&str, u32> = BTreeMap::new();
    let mut columns = 0u32;
    for statement in &body.statements {
        let Statement::Instruction(instruction) = statement else {
            continue;
        };
        let mnemonic = module.text(instruction.mnemonic);
        if mnemonic.starts_with("tcgen05.alloc") {
            let size = operand(instruction, 1);
            let number = size.and_then(|size| {
                let constant = constants.get(size).copied();
                constant.or_else(|| size.parse().ok())
            });
            let own = number.unwrap_or(LEAST_COLUMNS);
            columns = columns.saturating_add(own.clamp(LEAST_COLUMNS, MOST_COLUMNS));
        } else if let Some(written) = operand(instruction, 0) {
            let number = operand(instruction, 1).and_then(|text| text.parse().ok());
            match number.filter(|_| mnemonic.starts_with("mov.b32")) {
                Some(number) => constants.insert(written, number),
                None => constants.remove(written),
            };
        }
    }
    columns
}

/// Named barriers a function takes: up to the highest that is written as a number, or all if one is in a register.
fn barriers(module: &tree::Module, body: &Body) -> u32 {
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
