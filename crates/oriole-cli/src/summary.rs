//! The table at the end of what `oriole analyze` says of a kernel.

use oriole::pressure::{FunctionPressure, PressureOptions};
use oriole::{
    AccessOptions, Diagnostic, EvolutionOptions, EvolutionReport, InstructionMix, KernelAccesses,
    Module,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is known of the kernels of a module besides their accesses.
#[derive(Default)]
pub struct Summary {
    functions: BTreeMap<String, FunctionPressure>,
    loops: BTreeMap<String, EvolutionReport>,
    mixes: BTreeMap<String, InstructionMix>,
}

impl Summary {
    /// Of all kernels.
    ///
    /// # Errors
    /// What is wrong with the module's names.
    pub fn of(module: &Module, options: &AccessOptions) -> Result<Summary, Vec<Diagnostic>> {
        let pressure = PressureOptions {
            blocks: options.block.into_iter().collect(),
            ..PressureOptions::default()
        };
        let evolution = EvolutionOptions {
            block: options.block,
            function: options.kernel.clone(),
            without_values: true,
            ..EvolutionOptions::default()
        };
        let mix = |function| {
            let mix = InstructionMix::of(module, function);
            (module.text(function.name).to_owned(), mix)
        };
        let functions = oriole::pressure(module, &pressure)?.0.into_iter();
        let loops = oriole::evolution(module, &evolution)?.0.into_iter();
        Ok(Summary {
            functions: functions.map(|own| (own.name.clone(), own)).collect(),
            loops: loops.map(|own| (own.name.clone(), own)).collect(),
            mixes: module.functions.iter().map(mix).collect(),
        })
    }

    /// Writes the rows of a kernel.
    pub fn render(&self, kernel: &KernelAccesses, text: &mut String) {
        let mut row = |name: &str, what: String| {
            let _ = writeln!(text, "  {name:<13} {what}");
        };
        if let Some(function) = self.functions.get(&kernel.name) {
            let prediction = &function.prediction;
            let (low, high) = (prediction.low, prediction.high);
            row(
                "registers",
                format!("{} predicted, {low} to {high}", prediction.best),
            );
            if let Some(shape) = function.shapes.first() {
                let (percent, limiter) =
                    (shape.occupancy.percent(), shape.occupancy.limiter().text());
                row("occupancy", format!("{percent} %, limited by {limiter}"));
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
        if let Some(own) = self.loops.get(&kernel.name)
            && !own.loops.is_empty()
        {
            let deepest = own.loops.iter().map(|own| own.depth).max().unwrap_or(0);
            let count = own.loops.len();
            row("loops", format!("{count}, at most {deepest} deep"));
        }
        if let Some(mix) = self.mixes.get(&kernel.name) {
            let classes = mix.classes();
            let total: usize = classes.iter().map(|class| class.1).sum();
            let classes = classes
                .iter()
                .map(|(name, count)| format!("{count} {name}"));
            let classes: Vec<String> = classes.collect();
            row("instructions", format!("{total}: {}", classes.join(", ")));
        }
    }
}
