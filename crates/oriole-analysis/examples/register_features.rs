//! Prints the features of every kernel in a recorded table, with what `ptxas` said, for `tools/fit-registers`.
//!
//!     cargo run --release -p oriole-analysis --example register_features -- tests/corpus/registers.tsv tests/corpus/ptx

#![allow(clippy::print_stdout)]

use oriole_analysis::liveness::Registers;
use oriole_analysis::liveness::features::{NAMES, Summary, features};
use oriole_ir::Formats;
use oriole_isa::Target;
use oriole_syntax::scopes::{Globals, resolve};
use oriole_translate::into_ssa;
use std::collections::BTreeMap;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(table), Some(folder)) = (arguments.next(), arguments.next()) else {
        panic!("usage: register_features TABLE FOLDER");
    };
    let table = std::fs::read_to_string(table).expect("the table can be read");
    let mut files: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        files.entry(fields[0]).or_default().push(fields);
    }
    println!("file\ttarget\tname\tregisters\tlimit\t{}", NAMES.join("\t"));
    for (file, rows) in files {
        let text =
            std::fs::read_to_string(format!("{folder}/{file}")).expect("the file can be read");
        let (module, errors) = oriole_syntax::parse(file, text);
        assert!(errors.is_empty(), "{file}");
        let (globals, _) = Globals::of(&module);
        let summaries: Vec<Option<Summary>> = module
            .functions
            .iter()
            .enumerate()
            .map(|(index, function)| {
                let body = function.body.as_ref()?;
                let mut formats = Formats::new();
                let (scopes, _) = resolve(&module, &globals, function);
                let registers = Registers::of(&module, body, &scopes, &mut formats);
                let translated = into_ssa(&module, &globals, index, formats).ok()?;
                Some(Summary::of(
                    &module,
                    &globals,
                    function,
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
                let all = features(&module, &summaries, index, target);
                let numbers: Vec<String> = all.values().iter().map(f32::to_string).collect();
                println!(
                    "{file}\t{}\t{name}\t{}\t{}\t{}",
                    row[1],
                    row[4],
                    all.limit,
                    numbers.join("\t")
                );
            }
        }
    }
}
