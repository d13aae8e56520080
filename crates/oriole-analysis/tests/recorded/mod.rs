//! What `ptxas` said of kernels, with their features: read by the test of the prediction and by the example that prints
//! them for `tools/fit-registers`.

use oriole_analysis::liveness::Registers;
use oriole_analysis::register_model::features::{Features, Summary, features};
use oriole_ir::{Formats, FunctionId};
use oriole_isa::Target;
use oriole_syntax::scopes::{Globals, resolve};
use oriole_translate::{into_ssa, module_of};
use std::collections::BTreeMap;
use std::path::Path;

/// A kernel for a target.
#[derive(Clone)]
pub struct Recorded {
    /// Its file, in the folder.
    pub file: String,
    /// The target.
    pub target: Target,
    /// The kernel's name.
    pub name: String,
    /// Registers by `ptxas`.
    pub registers: u32,
    /// What a prediction looks at.
    pub features: Features,
}

/// Reads a table of `tools/record-register-counts` and the files of its folder that are wanted.
pub fn recorded(table: &Path, folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<Recorded> {
    let table = std::fs::read_to_string(table).expect("the table can be read");
    let mut files: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        files.entry(fields[0]).or_default().push(fields);
    }
    files.retain(|file, _| wanted(file));
    let mut found = Vec::new();
    for (file, rows) in files {
        let text = std::fs::read_to_string(folder.join(file)).expect("the file can be read");
        let (module, errors) = oriole_syntax::parse(file, text);
        assert!(errors.is_empty(), "{file}");
        let (globals, _) = Globals::of(&module);
        let outside = module_of(&module, &globals);
        let summaries: Vec<Option<Summary>> = module
            .functions
            .iter()
            .enumerate()
            .map(|(index, function)| {
                let body = function.body.as_ref()?;
                let mut formats = Formats::new();
                let (scopes, _) = resolve(&module, &globals, function);
                let registers = Registers::of(&module, body, &scopes, &mut formats);
                let translated = into_ssa(&module, &globals, index, &mut formats).ok()?;
                Some(Summary::of(
                    &outside,
                    FunctionId::from_index(index),
                    &registers,
                    &translated.function,
                ))
            })
            .collect();
        for (index, function) in module.functions.iter().enumerate() {
            let name = module.text(function.name);
            if summaries[index].is_none() {
                continue;
            }
            for row in rows.iter().filter(|row| row[3] == name) {
                let target = Target::from_text(row[1]).expect("a target");
                found.push(Recorded {
                    file: file.to_owned(),
                    target,
                    name: name.to_owned(),
                    registers: row[4].parse().expect("a number"),
                    features: features(&outside, &summaries, target)[index]
                        .clone()
                        .expect("a function with a summary"),
                });
            }
        }
    }
    found
}
