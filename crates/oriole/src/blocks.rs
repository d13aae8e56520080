//! Block shapes given by the user, checked against the launch bounds of kernels.

use crate::targets::target_span;
use oriole_diagnostics::Diagnostic;
use oriole_ir::{FunctionId, LaunchBounds};
use oriole_isa::LaunchLimits;
use oriole_syntax::tree::{FunctionKind, Module};

/// The block that was asked for, if a kernel can be launched with it.
pub(crate) fn allowed(asked: Option<[u32; 3]>, bounds: &LaunchBounds) -> Option<[u32; 3]> {
    asked.filter(|&block| bounds.allow(block))
}

/// Warnings about the kernels that cannot be launched with a block, whose own is taken instead.
///
/// # Errors
/// Errors if the target does not allow the shape, or none of the selected kernels can be launched with it.
pub(crate) fn check(
    module: &Module,
    declared: &oriole_ir::Module,
    asked: Option<[u32; 3]>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let Some(block) = asked else {
        return Ok(Vec::new());
    };
    let limits = declared
        .limits
        .map_or(LaunchLimits::UNKNOWN, |own| own.launch);
    if let Err(why) = limits.check_block(block) {
        return Err(vec![Diagnostic::error(
            "wrong-block",
            target_span(module),
            why,
        )]);
    }
    let mut refused = Vec::new();
    let mut kernels = 0;
    for (index, function) in module.functions.iter().enumerate() {
        let name = module.text(function.name);
        let is_kernel = function.kind == FunctionKind::Entry && function.body.is_some();
        if !is_kernel || !is_wanted(name) {
            continue;
        }
        kernels += 1;
        let bounds = declared.bounds(FunctionId::from_index(index));
        if bounds.allow(block) {
            continue;
        }
        let [x, y, z] = block;
        let allowed = match (bounds.required_block, bounds.maximum_threads) {
            (Some([x, y, z]), _) => format!("requires blocks of {x}x{y}x{z}"),
            (None, most) => format!("allows {} threads a block", most.unwrap_or(0)),
        };
        let message = format!("`{name}` {allowed}: it cannot be launched with {x}x{y}x{z}");
        refused.push((function.name.span(), message));
    }
    let is_error = refused.len() == kernels && kernels > 0;
    let refused = refused.into_iter().map(|(span, message)| match is_error {
        true => Diagnostic::error("wrong-block", span, message),
        false => Diagnostic::warning(
            "wrong-block",
            span,
            format!("{message}, so its own is taken"),
        ),
    });
    match is_error {
        true => Err(refused.collect()),
        false => Ok(refused.collect()),
    }
}
