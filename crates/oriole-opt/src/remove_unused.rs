//! Removes functions and variables of the module that nothing refers to and that the linker cannot see.
//!
//! ## Example
//! ```text
//! .global .u32 table[2] = {1, 2};
//! .func helper() { … }                   →
//! .visible .entry kernel() { … }                 .visible .entry kernel() { … }
//! ```
//!
//! ## Soundness
//! Kernels, and whatever is `.visible`, `.weak`, `.common` or `.extern`, can be asked for from outside; textures, samplers,
//! surfaces and variables with attributes are found by the host under their names. What these mention stays, and what that
//! mentions: in operands, in what variables hold at first, in tables of call targets. So does all that aliases and debug sections
//! mention. Nothing that stays mentions what goes. A host that asks for a variable by its name although it is not `.visible`
//! would miss it, so the pass is in no level.
//!
//! ## Method
//! One walk over all functions for their mentions, and one from what stays along them. If nobody can tell what some function
//! does, all stays.
//!
//! ## Not done
//! Prototypes and variables that are `.extern` (`remove_unused_unchanged`).

use crate::manager::{Action, Context, Pass};
use crate::program::Program;
use oriole_collections::BitSet;
use oriole_ir::graph::Adjacency;
use oriole_ir::{
    Function, FunctionId, FunctionKind, Global, GlobalKind, GlobalVariableData, Linkage, Module,
    SymbolKind,
};
use oriole_isa::{ScalarType, TypeKind};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "remove-unused",
    summary: "Remove functions and variables that nothing refers to and the linker cannot see",
    action: Action::Module(run),
};

fn run(program: &mut Program<'_>, context: &mut Context<'_>) {
    let module = program.module();
    let Some(mentions) = mentions(program) else {
        return;
    };
    let used = used(program, &mentions);
    let nodes = Nodes { module };
    let functions: Vec<FunctionId> = module
        .functions()
        .iter()
        .filter(|(_, data)| data.kind == FunctionKind::Function)
        .filter(|(_, data)| {
            let name = data.global.expand();
            name.is_some_and(|name| !used.contains(nodes.name(name)))
        })
        .map(|(function, _)| function)
        .collect();
    let variables = module.variables().keys();
    let variables: Vec<_> = variables
        .filter(|&variable| !used.contains(nodes.variable(variable)))
        .collect();
    if functions.is_empty() && variables.is_empty() {
        return;
    }
    // All at once: what goes may mention what else goes.
    let why = "nothing refers to it and the linker cannot see it";
    if context.allows_other("remove-unused.functions", functions.len() as u64, why) {
        let count = variables.len() as u64;
        context.statistics.add("remove-unused.variables", count);
        program.removed_functions = functions;
        program.removed_variables = variables;
    }
}

/// Names and variables of a module as nodes of one graph.
struct Nodes<'run> {
    module: &'run Module,
}

impl Nodes<'_> {
    fn count(&self) -> usize {
        self.module.global_count() + self.module.variables().len()
    }

    fn name(&self, global: Global) -> u32 {
        global.as_u32()
    }

    fn variable(&self, variable: oriole_ir::GlobalVariable) -> u32 {
        self.module.global_count() as u32 + variable.as_u32()
    }

    /// What a mention of a name mentions.
    fn mentioned(&self, global: Global) -> impl Iterator<Item = u32> {
        let (node, other) = match self.module.global(global) {
            GlobalKind::Variable(variable) => (self.variable(variable), None),
            GlobalKind::Function(_) => (self.name(global), None),
            GlobalKind::Alias(function) => {
                let function = function.expand();
                let name = function.and_then(|own| self.module.functions()[own].global.expand());
                (self.name(global), name.map(|name| self.name(name)))
            }
        };
        std::iter::once(node).chain(other)
    }
}

/// Pairs of what mentions and what is mentioned; nothing if nobody can tell.
fn mentions(program: &mut Program<'_>) -> Option<Vec<(u32, u32)>> {
    let module = program.module();
    let nodes = Nodes { module };
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (id, data) in module.functions().iter() {
        if !data.has_body {
            continue;
        }
        let name = nodes.name(data.global.expand()?);
        program.read(id, |function| {
            for global in mentioned_by(function) {
                found.extend(nodes.mentioned(global).map(|node| (name, node)));
            }
        })?;
    }
    let others = program.mentions();
    for &(function, global) in &others.by_functions {
        let name = nodes.name(module.functions()[function].global.expand()?);
        found.extend(nodes.mentioned(global).map(|node| (name, node)));
    }
    for &(variable, global) in &others.by_variables {
        let from = nodes.variable(variable);
        found.extend(nodes.mentioned(global).map(|node| (from, node)));
    }
    Some(found)
}

/// The names of the module that operands of a function mention: what has just been read has no symbols without mention.
fn mentioned_by(function: &Function) -> impl Iterator<Item = Global> {
    function
        .symbols()
        .values()
        .filter_map(|data| match data.kind {
            SymbolKind::Global(global) => Some(global),
            _ => None,
        })
}

/// Whether somebody else than the module can find a variable.
fn is_seen(variable: &GlobalVariableData) -> bool {
    let element = variable.variable_type.element;
    variable.linkage != Linkage::Internal
        || variable.space.is_none()
        || element.is_none_or(|own: ScalarType| own.kind() == TypeKind::Opaque)
}

/// What must stay.
fn used(program: &Program<'_>, mentions: &[(u32, u32)]) -> BitSet<u32> {
    let module = program.module();
    let nodes = Nodes { module };
    let mut worklist: Vec<u32> = Vec::new();
    for data in module.functions().values() {
        if data.kind == FunctionKind::Entry || data.linkage != Linkage::Internal {
            worklist.extend(data.global.expand().map(|name| nodes.name(name)));
        }
    }
    for (variable, data) in module.variables().iter() {
        if is_seen(data) {
            worklist.push(nodes.variable(variable));
        }
    }
    for &global in &program.mentions().elsewhere {
        worklist.extend(nodes.mentioned(global));
    }
    let graph = Adjacency::new(nodes.count(), mentions.iter().copied());
    let mut used: BitSet<u32> = BitSet::with_domain(nodes.count());
    while let Some(node) = worklist.pop() {
        if used.insert(node) {
            worklist.extend_from_slice(graph.of(node));
        }
    }
    used
}
