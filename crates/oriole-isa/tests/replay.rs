//! Every recorded result of real hardware must be what `evaluate` computes.

mod vectors;

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
        report.forms > 2_400 && report.exact > 600_000,
        "the recording is incomplete"
    );
}
