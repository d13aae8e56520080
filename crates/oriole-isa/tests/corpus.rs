//! Every mnemonic found in real PTX (nvcc, clang, Triton, Numba) must be known, with roles for its operand count.

use oriole_isa::{Mnemonic, Opcode};

#[test]
fn every_mnemonic_of_the_corpus_is_known() {
    let mut checked = 0;
    let mut failures = Vec::new();
    for line in include_str!("data/corpus_mnemonics.txt").lines() {
        let (text, count) = line.split_once('\t').expect("mnemonic and operand count");
        let count: usize = count.parse().expect("operand count");
        let mnemonic = Mnemonic::parse(text);
        if mnemonic.is_opaque() {
            failures.push(format!("{text}: opaque"));
        } else if mnemonic.opcode() != Opcode::Call && mnemonic.operand_roles(count).is_none() {
            failures.push(format!("{text}: no form with {count} operands"));
        }
        checked += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked > 250, "the list is incomplete: {checked}");
}
