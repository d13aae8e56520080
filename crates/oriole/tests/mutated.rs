//! Whatever the input, the pipeline neither panics nor prints something it cannot read back.
//!
//! Corpus files are mutated token by token (deleted, doubled, exchanged, replaced by tokens from elsewhere) and go through
//! parsing, checking, optimization and printing. `ORIOLE_MUTATIONS=N` asks for more than the smoke run's number.

use oriole::{Diagnostic, Level, Options, Severity, check, optimize, parse, print};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Tokens and what stands between them, so that a mutation leaves the rest as it was.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut end = 0;
    for token in oriole_syntax::tokens(text) {
        let start = token.as_ptr() as usize - text.as_ptr() as usize;
        parts.push(&text[end..start]);
        parts.push(token);
        end = start + token.len();
    }
    parts.push(&text[end..]);
    parts
}

/// What a token looks like: registers, labels, numbers and mnemonics are exchanged with their like.
fn class(token: &str) -> u8 {
    match token.bytes().next() {
        Some(b'%') => 1,
        Some(b'$') => 2,
        Some(byte) if byte.is_ascii_digit() => 3,
        Some(byte) if byte.is_ascii_alphabetic() && token.contains('.') => 4,
        Some(byte) if byte.is_ascii_alphabetic() => 5,
        Some(b'.') => 6,
        _ => 0,
    }
}

/// Exchanges, moves, doubles or drops something.
fn mutate(texts: &[String], random: &mut Random) -> String {
    let text = &texts[random.below(texts.len())];
    if random.below(3) == 0 {
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..1 + random.below(3) {
            let (at, other) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(4) {
                0 => lines[at] = "",
                1 => lines.insert(other, lines[at]),
                2 => lines.swap(at, other),
                _ => {
                    let end = (at + random.below(6)).min(lines.len());
                    lines.drain(at..end);
                }
            }
            if lines.is_empty() {
                break;
            }
        }
        return lines.join("\n");
    }
    let mut parts = split(text);
    let donor = split(&texts[random.below(texts.len())]);
    for _ in 0..1 + random.below(4) {
        // Tokens have odd places.
        let at = random.below(parts.len() / 2) * 2 + 1;
        let wild = random.below(12) == 0;
        let pool = if random.below(3) == 0 {
            donor.clone()
        } else {
            parts.clone()
        };
        let like: Vec<&str> = pool
            .iter()
            .skip(1)
            .step_by(2)
            .copied()
            .filter(|token| wild || class(token) == class(parts[at]))
            .collect();
        match random.below(8) {
            0 => parts[at] = "",
            1 => parts.insert(at, parts[at]),
            _ if !like.is_empty() => parts[at] = like[random.below(like.len())],
            _ => {}
        }
    }
    parts.concat()
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .count()
}

#[test]
fn mutated_files_are_survived() {
    let texts: Vec<String> = oriole_corpus::files()
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .filter(|text| text.len() < 12_000)
        .collect();
    assert!(texts.len() > 50, "only {} small files", texts.len());
    let count =
        std::env::var("ORIOLE_MUTATIONS").map_or(600, |count| count.parse().expect("a number"));
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let (mut parsed, mut sound) = (0, 0);
    for _ in 0..count {
        let text = mutate(&texts, &mut random);
        let Ok(module) = parse("mutated.ptx", text.as_str()) else {
            continue;
        };
        parsed += 1;
        if errors(&check(&module)) > 0 {
            continue;
        }
        sound += 1;
        for level in [Level::None, Level::Default] {
            let mut module = module.clone();
            let outcome = optimize(&mut module, &Options::level(level));
            assert!(outcome.is_ok(), "what is checked can be optimized:\n{text}");
            let printed = print(&module);
            let again = parse("printed.ptx", printed.as_str());
            assert!(
                again.is_ok(),
                "what is printed can be read:\n{text}\n---\n{printed}"
            );
            assert_eq!(
                errors(&check(&again.unwrap())),
                0,
                "what is printed is sound:\n{text}\n---\n{printed}"
            );
        }
    }
    assert!(
        parsed * 5 > count,
        "only {parsed} of {count} mutations parse"
    );
    assert!(
        sound * 20 > count,
        "only {sound} of {count} mutations are sound"
    );
}
