//! The examples do what they say.

#[allow(dead_code, reason = "an example is a program")]
#[path = "../examples/analyze.rs"]
mod analyze;
#[allow(dead_code, reason = "an example is a program")]
#[path = "../examples/back_end.rs"]
mod back_end;
#[allow(dead_code, reason = "an example is a program")]
#[path = "../examples/optimize.rs"]
mod optimize;

use back_end::Limits;

#[test]
fn optimize_writes_what_is_optimized() {
    let text = optimize::optimized("example.ptx", oriole::EXAMPLE).unwrap();
    assert!(text.len() < oriole::EXAMPLE.len());
    let error = optimize::optimized("k.ptx", "nothing").unwrap_err();
    assert!(
        error.to_string().starts_with("k.ptx:1:1: error: "),
        "{error}"
    );
}

#[test]
fn analyze_finds_the_bank_conflict_of_the_example() {
    let lines = analyze::findings("example.ptx", oriole::EXAMPLE).unwrap();
    let first = lines.lines().next().unwrap();
    assert!(first.starts_with("example.cu:"), "{lines}");
    assert!(first.contains("high bank-conflict"), "{lines}");
    assert!(lines.contains("    fix: "), "{lines}");
}

#[test]
fn the_back_end_refuses_what_does_not_fit() {
    let finished = |registers, occupancy| {
        let limits = Limits {
            registers,
            occupancy,
        };
        back_end::finish("example.ptx", oriole::EXAMPLE, &limits)
    };
    let text = finished(128, 25.0).unwrap();
    assert!(oriole::parse("example.ptx", text).is_ok());
    let error = finished(4, 25.0).unwrap_err().to_string();
    assert!(error.ends_with("registers, not 4"), "{error}");
    let error = finished(128, 101.0).unwrap_err().to_string();
    assert!(error.contains("limited by"), "{error}");
}
