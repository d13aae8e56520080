//! How many registers a kernel needs whatever order its instructions are in.

use oriole_analysis::liveness::Registers;
use oriole_analysis::register_model::features::Summary;
use oriole_ir::{Formats, Function, FunctionId};
use oriole_syntax::scopes::{Globals, resolve};
use oriole_syntax::tree::Module;

/// The pressure of the function of this number in the best of all orders of its instructions, without what it calls and what lies in uniform
/// registers.
pub(crate) fn least_registers(
    module: &Module,
    globals: &Globals,
    index: usize,
    outside: &oriole_ir::Module,
    function: &Function,
) -> Option<u32> {
    let tree = &module.functions[index];
    let body = tree.body.as_ref()?;
    let (scopes, _) = resolve(module, globals, tree);
    let registers = Registers::of(module, body, &scopes, &mut Formats::new());
    let id = FunctionId::from_index(index);
    let summary = Summary::of(outside, id, &registers, function);
    Some(summary.least_registers())
}
