//! The terminal report of `oriole analyze`: layout, widths, colours, and what its options leave out or add.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

/// Runs the command in the repository, with these variables.
fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    for name in [
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "TERM",
        "LC_ALL",
        "LC_CTYPE",
        "LANG",
    ] {
        command.env_remove(name);
    }
    command.current_dir(root()).args(arguments);
    command
        .envs(variables.iter().copied())
        .output()
        .expect("oriole runs")
}

const TRANSPOSE: [&str; 4] = ["analyze", "examples/transpose.ptx", "--block", "32x8"];

#[test]
fn the_verdict_comes_first() {
    let text = out(&run(&TRANSPOSE, &[("COLUMNS", "80")]));
    let expected = "\
transpose: 94 % of its shared-memory wavefronts are wasted; 1 fix removes that

  shared memory  132 wavefronts per warp, 124 wasted (94 %)
  global memory  32 sectors per warp, none wasted
  occupancy      100 % (64 of 64 warps), limited by warps
";
    assert!(text.starts_with(expected), "{text}");
    let expected = "
  accesses       4, all decided

high[bank-conflict]: load from tile takes 32 wavefronts instead of 1
    --> examples/transpose.cu:18 (PTX 87)
  18 | out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
     |                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
     cost  124 of the kernel's 132 wavefronts per warp (94 %), proved
     why   threadIdx.x indexes the rows of tile, 128 bytes apart: 32 lanes meet
           in one bank
     fix   pad tile to 33 elements per row: 32 → 1 wavefront; 128 bytes more,
           same occupancy
     or    swizzle tile (oriole opt --swizzle-shared): 32 → 1 wavefront; no
           source change

1 finding (1 high)
";
    assert!(text.ends_with(expected), "{text}");
    let padded = [
        "analyze",
        "examples/transpose_padded.ptx",
        "--block",
        "32x8",
    ];
    let text = out(&run(&padded, &[]));
    assert!(text.starts_with("transpose: nothing to fix\n"), "{text}");
    assert!(text.lines().count() <= 10, "{text}");
}

#[test]
fn lines_fit_the_terminal() {
    for (given, width) in [("20", 60), ("60", 60), ("90", 90), ("500", 120)] {
        let files = [
            "analyze",
            "tests/files/analyze",
            "tests/files/findings",
            "examples",
        ];
        let text = out(&run(&files, &[("COLUMNS", given)]));
        assert!(text.lines().count() <= 60, "{text}");
        let is_whole = |line: &&str| line.starts_with("    --> ") || !line.trim().contains(' ');
        let long = text.lines().filter(|line| line.chars().count() > width);
        let long: Vec<&str> = long.filter(|line| !is_whole(line)).collect();
        assert!(long.is_empty(), "{width}: {long:#?}");
    }
}

#[test]
fn colours_and_letters_are_those_of_the_terminal() {
    let has_color = |variables: &[(&str, &str)], more: &[&str]| {
        let arguments = [&TRANSPOSE[..], more].concat();
        out(&run(&arguments, variables)).contains("\x1b[1;31mhigh[bank-conflict]: \x1b[0m")
    };
    assert!(!has_color(&[], &[]), "a pipe has no colours");
    assert!(has_color(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!has_color(
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        &[]
    ));
    assert!(has_color(
        &[("NO_COLOR", "1"), ("TERM", "dumb")],
        &["--color", "always"]
    ));
    assert!(!has_color(
        &[("CLICOLOR_FORCE", "1")],
        &["--color", "never"]
    ));
    // Colours change no layout.
    let plain = out(&run(&TRANSPOSE, &[]));
    let mut painted = out(&run(&TRANSPOSE, &[("CLICOLOR_FORCE", "1")]));
    for code in ["0", "1", "1;31", "1;34", "2", "32"] {
        painted = painted.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(painted, plain);
    assert!(plain.contains("32 → 1"));
    let ascii = out(&run(&TRANSPOSE, &[("LC_ALL", "C")]));
    assert!(
        ascii.is_ascii() && ascii.contains("32 -> 1 wavefront"),
        "{ascii}"
    );
    let unicode = out(&run(&TRANSPOSE, &[("LANG", "de_DE.UTF-8")]));
    assert_eq!(unicode, plain);
}

#[test]
fn there_is_less_and_more() {
    let with = |more: &[&str]| {
        let output = run(&[&TRANSPOSE[..], more].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&output)
    };
    assert_eq!(with(&["-q"]), "1 finding (1 high)\n");
    let short = "examples/transpose.ptx";
    assert_eq!(
        with(&["--format", "short"]).replace(short, ""),
        "transpose.cu:18: high[bank-conflict]: load from tile takes 32 wavefronts instead of 1 (94 %, transpose)\n"
    );
    for more in [
        &["--all"][..],
        &["--kernel", "transpose"],
        &["--kernel", "nspos"],
    ] {
        let text = with(more);
        assert!(text.contains("bank +0"), "{text}");
        assert!(text.contains("parameter      0: .u64"), "{text}");
    }
    let output = run(
        &["analyze", "examples/transpose.ptx", "--kernel", "matmul"],
        &[],
    );
    assert_eq!(output.status.code(), Some(2));
    let message = "oriole: error: no kernel is named matmul: there is 1 kernel: transpose\n";
    assert_eq!(err(&output), message);
}

#[test]
fn a_line_is_explained() {
    for arguments in [
        &["explain", "examples/transpose.ptx:87"][..],
        &["explain", "transpose.cu:18", "examples/transpose.ptx"],
        &[
            "explain",
            "examples/transpose.cu:18",
            "examples/transpose.ptx",
            "--block",
            "32x8",
        ],
    ] {
        let output = run(arguments, &[]);
        let text = out(&output);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(text.starts_with("high[bank-conflict]: "), "{text}");
        assert!(
            text.contains("(PTX 87): ld.shared.f32 conflict 32-way"),
            "{text}"
        );
    }
    let output = run(&["explain", "examples/transpose.ptx:1"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("there is no finding at examples/transpose.ptx:1"));
}

#[test]
fn a_failing_run_says_why() {
    let output = run(&[&TRANSPOSE[..], &["--fail-on", "high"]].concat(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "\
failed: 1 finding at or above --fail-on high
  transpose.cu:18: high[bank-conflict]: load from tile takes 32 wavefronts instead of 1
      in transpose, examples/transpose.ptx:87
Accept them: --write-baseline known.json, then --baseline known.json
";
    assert_eq!(err(&output), expected);
    let output = run(
        &[&TRANSPOSE[..], &["--fail-on", "uncoalesced-access"]].concat(),
        &[],
    );
    assert_eq!(
        (output.status.code(), err(&output)),
        (Some(0), String::new())
    );
}
