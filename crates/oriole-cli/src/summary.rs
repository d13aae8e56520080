//! The table at the end of what `oriole analyze` says of a kernel.

use oriole::pressure::DynamicShared;
use oriole::{InstructionMix, KernelAccesses, Module};
use std::fmt::Write;

/// Says that an occupancy leaves out shared memory whose size is not known.
pub fn without_dynamic(shared: DynamicShared) -> &'static str {
    match shared {
        DynamicShared::Unknown => ", without dynamic shared memory (--shared BYTES)",
        DynamicShared::Given(_) | DynamicShared::Unused => "",
    }
}

/// Writes the rows of a kernel.
pub fn render(module: &Module, kernel: &KernelAccesses, text: &mut String) {
    let mut row = |name: &str, what: String| {
        let _ = writeln!(text, "  {name:<13} {what}");
    };
    if let Some(registers) = &kernel.registers {
        let prediction = &registers.prediction;
        let (low, high) = (prediction.low, prediction.high);
        row(
            "registers",
            format!("{} predicted, {low} to {high}", prediction.best),
        );
        if let Some(occupancy) = &registers.occupancy {
            let (percent, limiter) = (occupancy.percent(), occupancy.limiter().text());
            let without = without_dynamic(registers.dynamic_shared);
            row(
                "occupancy",
                format!("{percent} %, limited by {limiter}{without}"),
            );
        }
    }
    let global = kernel
        .efficiency(false)
        .map(|own| (own, "global", "sectors"));
    let shared = kernel
        .efficiency(true)
        .map(|own| (own, "shared", "wavefronts"));
    for (efficiency, name, unit) in global.into_iter().chain(shared) {
        let percent = (efficiency * 100.0).round();
        row(name, format!("{percent} % of {unit} needed"));
    }
    if let Some(deepest) = kernel.loop_depths.iter().max() {
        let count = kernel.loop_depths.len();
        row("loops", format!("{count}, at most {deepest} deep"));
    }
    let defined = module.functions.iter().filter(|own| own.body.is_some());
    let mut own = defined.filter(|own| module.text(own.name) == kernel.name);
    if let Some(function) = own.next() {
        let mix = InstructionMix::of(module, function);
        let classes = mix.classes();
        let total: usize = classes.iter().map(|class| class.1).sum();
        let classes = classes
            .iter()
            .map(|(name, count)| format!("{count} {name}"));
        let classes: Vec<String> = classes.collect();
        row("instructions", format!("{total}: {}", classes.join(", ")));
    }
}
