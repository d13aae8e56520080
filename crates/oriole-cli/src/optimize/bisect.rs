//! Finds the first rewrite after which a command fails.

use super::difference;
use crate::Failure;
use crate::shell;
use oriole::{Fuel, Keep, Module, Options, Report};
use oriole_files::temporary;
use std::fmt::Write;

/// The functions that are kept with all the fuel there is. They are kept with less, too: halfway a function may cost more.
pub fn settled(module: &Module, options: &Options) -> Result<Keep, Failure> {
    let options = Options {
        fuel: Fuel::unlimited(),
        ..options.clone()
    };
    let report = oriole::optimize(&mut module.clone(), &options)
        .map_err(|error| Failure::message(error.to_string()))?;
    let functions = report.functions.into_iter();
    let kept = functions.filter(|function| function.is_better);
    Ok(Keep::Named(kept.map(|function| function.name).collect()))
}

/// What [`settled`] means, in the words of those who read the result.
pub const JUDGED: &str = "of the functions that are kept with all rewrites, what the passes make of them is taken, better or not";

/// Runs a command on the file optimized with more and with less fuel. Gives what there is to say about the rewrite that made
/// it fail.
pub fn run(
    module: &Module,
    options: &Options,
    command: &str,
    color: bool,
) -> Result<String, Failure> {
    let folder = temporary::folder()?;
    let file = folder.path().join("optimized.ptx");
    let keep = settled(module, options)?;
    let optimized = |fuel: Fuel| {
        let mut copy = module.clone();
        let options = Options {
            fuel,
            remarks: true,
            keep: keep.clone(),
            ..options.clone()
        };
        let report = oriole::optimize(&mut copy, &options)
            .map_err(|error| Failure::message(error.to_string()))?;
        Ok::<(Module, Report), Failure>((copy, report))
    };
    let mut tried = 0;
    let mut fails_on = |module: &Module| -> Result<bool, Failure> {
        std::fs::write(&file, oriole::print(module))?;
        let succeeds = shell::succeeds(command, &file)
            .map_err(|error| Failure::message(format!("cannot run the command: {error}")))?;
        tried += 1;
        Ok(!succeeds)
    };
    let mut fails = |fuel: Fuel| -> Result<(bool, u64), Failure> {
        let (copy, report) = optimized(fuel)?;
        Ok((fails_on(&copy)?, report.rewrites))
    };
    let (failed, rewrites) = fails(Fuel::unlimited())?;
    if !failed {
        return Err(Failure::message(
            "the command succeeds on the optimized file: there is nothing to find",
        ));
    }
    if fails(Fuel::limited(0))?.0 {
        return Err(Failure::message(match fails_on(module)? {
            true => "the command fails on the file before any rewrite: no rewrite is to blame",
            false => {
                "the command fails on functions that are written anew without any rewrite: no rewrite is to blame"
            }
        }));
    }
    // It succeeds with `good` rewrites and fails with `bad`.
    let (mut good, mut bad) = (0, rewrites);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fails(Fuel::limited(middle))?.0 {
            bad = middle;
        } else {
            good = middle;
        }
    }
    let (before, _) = optimized(Fuel::limited(good))?;
    let (after, report) = optimized(Fuel::limited(bad))?;
    let mut text =
        format!("the command fails from rewrite {bad} of {rewrites} on ({tried} runs); {JUDGED}\n");
    if let Some(remark) = report.remarks.last() {
        let _ = writeln!(
            text,
            "{}",
            oriole_diagnostics::printable_line(&remark.to_string())
        );
    }
    let names = [good, bad].map(|rewrites| format!("output after rewrite {rewrites}"));
    let names = names.each_ref().map(String::as_str);
    text.push_str(&difference::of_output(names, &before, &after, color));
    Ok(text)
}
