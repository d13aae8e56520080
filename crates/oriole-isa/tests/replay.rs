//! Every recorded result of real hardware must be what `evaluate` computes.

mod vectors;

use oriole_isa::{Bits, Mnemonic, evaluate};

#[test]
fn evaluate_agrees_with_hardware() {
    let report = vectors::replay::replay(include_bytes!("data/recorded_vectors.bin"), 3);
    assert!(
        report.failures.is_empty(),
        "{}: {}",
        report.device,
        report.failures.join("\n")
    );
    assert!(
        report.forms > 2_400 && report.exact > 630_000,
        "the recording is incomplete"
    );
    assert_eq!(report.open, 0, "`evaluate` leaves recorded results open");
}

/// `fma.ftz` right below the smallest normal number, where it matters when a result counts as tiny.
#[test]
fn sums_are_flushed_as_recorded() {
    let text = include_str!("data/flushed_sums.txt");
    let mut count = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (left, right) = line.split_once(" = ").expect("a result");
        let mut words = left.split(' ');
        let mnemonic = Mnemonic::parse(words.next().expect("a mnemonic"));
        let hexadecimal = |word: &str| Bits::from_str_radix(word, 16).expect("a number");
        let inputs: Vec<Bits> = words.map(hexadecimal).collect();
        let outputs = evaluate(&mnemonic, &inputs).expect("certain");
        assert_eq!(outputs.values(), [hexadecimal(right)], "{line}");
        count += 1;
    }
    assert!(count >= 1000, "{count} lines");
}
