//! `oriole opt --verify`: says what running both versions of each kernel showed.

use crate::Failure;
use crate::report::Reporter;
use oriole::{Module, Verdict, VerifyOptions};

/// The percentage of instructions below which being equal says little.
const HALF: usize = 50;

/// Compares a module with the text that optimization made of it.
pub fn run(
    original: &Module,
    text: &str,
    options: &VerifyOptions,
    report: &Reporter,
) -> Result<(), Failure> {
    let optimized = oriole::parse(original.name(), text)
        .map_err(|error| Failure::Wrong(format!("what Oriole printed cannot be read: {error}")))?;
    let kernels = match oriole::verify(original, &optimized, options) {
        Ok(kernels) => kernels,
        Err(error) => {
            report.message("note", &format!("could not verify anything: {error}"));
            return Ok(());
        }
    };
    let mut different = Vec::new();
    for own in &kernels {
        let name = own.kernel.as_str();
        let (level, text) = match &own.verdict {
            Verdict::Equal { inputs, executed } => {
                let plural = if *inputs == 1 { "" } else { "s" };
                let text = format!(
                    "verified: {name}: equal on {inputs} input{plural}, {executed} % of its instructions executed"
                );
                match *executed < HALF {
                    true => ("warning", format!("{text}, less than half")),
                    false => ("note", text),
                }
            }
            Verdict::Different(difference) => {
                different.push(name);
                ("error", format!("DIFFERENT: {name}: {difference}"))
            }
            Verdict::Unknown(reason) => ("note", format!("could not verify: {name}: {reason}")),
            _ => continue,
        };
        report.message(level, &text);
    }
    if different.is_empty() {
        Ok(())
    } else {
        Err(Failure::Wrong(format!(
            "optimization changed what {} does; nothing was written",
            different.join(", ")
        )))
    }
}
