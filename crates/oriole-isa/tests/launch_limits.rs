//! Only `target.rs` has limits of launches as numbers.

use std::path::{Path, PathBuf};

/// The owner of the limits.
const OWNER: &str = "crates/oriole-isa/src/target.rs";

/// Numbers that limits of launches are or may be written as.
const NUMBERS: [u64; 4] = [1023, 1024, 65_534, 65_535];
/// Such numbers in base 16, which may be masks instead.
const MASKS: [u64; 6] = [0x3FF, 0x400, 0xFFFE, 0xFFFF, 0x7FFF_FFFE, 0x7FFF_FFFF];
/// Words on the line of a mask that is a limit.
const WORDS: [&str; 7] = [
    "grid", "block", "thread", "launch", "tid", "cluster", "limit",
];

/// Other numbers: the file, how many lines have one, and their meaning.
const OTHERS: [(&str, usize, &str); 21] = [
    (
        "crates/oriole-analysis/src/branch_joins.rs",
        1,
        "work that is always allowed",
    ),
    (
        "crates/oriole-analysis/src/liveness/joins.rs",
        1,
        "work that is always allowed",
    ),
    (
        "crates/oriole-analysis/src/memory_requests/fixes.rs",
        1,
        "bytes of a row",
    ),
    (
        "crates/oriole-analysis/src/scalar_evolution/tables.rs",
        1,
        "links that are always allowed",
    ),
    (
        "crates/oriole-cli/src/arguments.rs",
        2,
        "elements of a buffer, in help",
    ),
    (
        "crates/oriole-cli/src/optimize/alignment.rs",
        1,
        "lines of a difference",
    ),
    (
        "crates/oriole-emulator/src/printf.rs",
        1,
        "the bias of an exponent",
    ),
    (
        "crates/oriole-emulator/src/tensor_core.rs",
        1,
        "the bias of an exponent",
    ),
    ("crates/oriole-ir/src/format.rs", 1, "a bit"),
    (
        "crates/oriole-ir/src/text/operands.rs",
        1,
        "the largest number of 16 bits",
    ),
    (
        "crates/oriole-ir/src/text/reader.rs",
        2,
        "the largest number of 16 bits, and numbers that may be left out",
    ),
    ("crates/oriole-isa/src/scalar_type.rs", 1, "bits of a type"),
    (
        "crates/oriole-isa/src/table/index.rs",
        1,
        "places of a table",
    ),
    (
        "crates/oriole-opt/src/local_promotion.rs",
        1,
        "work that is always allowed",
    ),
    (
        "crates/oriole-opt/src/swizzle_shared/search.rs",
        1,
        "bytes of a row",
    ),
    (
        "crates/oriole-report/src/html/drawing.rs",
        1,
        "bytes of an access",
    ),
    (
        "crates/oriole-syntax/src/parser.rs",
        1,
        "the largest number of 16 bits",
    ),
    (
        "crates/oriole-syntax/src/parser/operands.rs",
        1,
        "the largest number of 16 bits",
    ),
    (
        "crates/oriole-syntax/src/parser/parallel.rs",
        1,
        "bytes of a text",
    ),
    ("crates/oriole-syntax/src/scopes/known.rs", 1, "names"),
    (
        "crates/oriole/src/verification/inputs.rs",
        1,
        "bytes of an element",
    ),
];

/// The numbers of a line, however they are written.
fn numbers(line: &str) -> impl Iterator<Item = (u64, bool)> {
    let separated =
        |character: char| !character.is_ascii_alphanumeric() && !"_.".contains(character);
    line.split(separated).filter_map(|word| {
        let word = word.replace('_', "").to_ascii_lowercase();
        let is_hexadecimal = word.starts_with("0x");
        let (digits, base) = match word.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (&word[..], 10),
        };
        let digits = match is_hexadecimal {
            true => digits,
            false => digits.trim_end_matches(|own: char| !own.is_ascii_digit()),
        };
        let digits = ["u16", "u32", "u64", "i32", "i64", "u", "i"]
            .iter()
            .find_map(|suffix| digits.strip_suffix(suffix))
            .unwrap_or(digits);
        Some((u64::from_str_radix(digits, base).ok()?, is_hexadecimal))
    })
}

/// Finds numbers on a line of a source that may be limits of a launch.
fn is_suspect(line: &str) -> bool {
    if line.contains("1,024 thread") || line.contains("65,535 block") {
        return true;
    }
    let code = line.split("//").next().unwrap_or_default();
    let lower = code.to_ascii_lowercase();
    let has_word = WORDS.iter().any(|word| lower.contains(word));
    code.contains("1 << 10")
        || numbers(code).any(|(number, is_hexadecimal)| match is_hexadecimal {
            false => NUMBERS.contains(&number) || MASKS.contains(&number) && has_word,
            true => MASKS.contains(&number) && has_word,
        })
}

/// The lines of a source that may have a limit of a launch. Its tests are left out.
fn suspects(source: &str) -> Vec<(usize, &str)> {
    let end = source.find("\n#[cfg(test)]\nmod ").unwrap_or(source.len());
    let lines = source[..end].lines().enumerate();
    let found = lines.filter(|(_, line)| is_suspect(line));
    found
        .map(|(index, line)| (index + 1, line.trim()))
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !["tests", "benches", "examples", "target"].contains(&&*name) {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_target_rs_has_limits_of_launches_as_numbers() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut paths = Vec::new();
    for folder in ["crates", "python/src"] {
        sources(&root.join(folder), &mut paths);
    }
    assert!(paths.len() > 300, "{} files", paths.len());
    let mut wrong = String::new();
    let mut seen = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(root).expect("below the root");
        let name = name.to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(path).expect("a source");
        let found = suspects(&text);
        if name == OWNER {
            assert!(
                found.len() > 10,
                "the limits are not where they are looked for"
            );
            continue;
        }
        let own = OTHERS.iter().find(|own| own.0 == name);
        seen.extend(own.filter(|_| !found.is_empty()).map(|own| own.0));
        if found.len() != own.map_or(0, |own| own.1) {
            for (line, text) in found {
                wrong += &format!("{name}:{line}: {text}\n");
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "limits of launches belong in {OWNER}; list in OTHERS what is none:\n{wrong}"
    );
    let mut gone = OTHERS.iter().filter(|own| !seen.contains(&own.0));
    assert_eq!(gone.next(), None, "no such number any more");
}

#[test]
fn limits_are_found_however_they_are_written() {
    for line in [
        "threads: threads.unwrap_or(THREADS).clamp(1, 1024),",
        "const MOST_THREADS: u32 = 1_024;",
        "let most = 1024_u32;",
        "let threads = 1 << 10;",
        "let grid = of(self.grid, [0x7FFF_FFFF, 0xFFFF, 0xFFFF][index]);",
        "Ctaid => vector(0x7fff_fffe, 65_534, 65_534),",
        "grid: [2_147_483_647, 65535, 1],",
        "if !(1..=1024).contains(&threads) {",
        "/// At most 1,024 threads a block.",
    ] {
        assert!(is_suspect(line), "{line}");
    }
    for line in [
        "let magnitude = bits & 0x7fff_ffff;",
        "// 512 keys into 1024 slots",
        "assert_eq!(single(&[10.0]), 11024.0);",
        "let half = word >> 16 & 0xffff;",
    ] {
        assert!(!is_suspect(line), "{line}");
    }
    let source = "let a = 1024;\n#[cfg(test)]\nmod tests {\nlet b = 1024;\n}\n";
    assert_eq!(suspects(source), [(1, "let a = 1024;")]);
}
