//! The arguments of `ptxas` that matter here. All others are handed on unchanged.
//!
//! The grammar is that of `ptxas` 13.0, which `tests/fuzzed_arguments.rs` holds it to:
//!
//! - `--name` and `-name` are looked up whole. A value follows `=`, or is the next argument, whatever that looks like.
//! - The value of `-O` follows at once or after `=`, never as the next argument. Without a value it is 0.
//! - The last value counts, if an option is given twice.
//! - An options file takes the place of the argument that names it. Blanks separate words, `"` joins them.
//!
//! Arguments that are not understood are handed on unchanged, and nothing is optimized.

use std::ffi::OsString;
use std::path::Path;

/// The kinds of options, by their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Flag,
    Value,
    /// The code is to be as it was written.
    Debug,
    /// Something is printed and nothing is compiled.
    Information,
    Level,
    Target,
    Output,
    OptionsFile,
}

/// The options of `ptxas`: the long name, the short name and what follows.
pub const OPTIONS: [(&str, &str, Kind); 54] = [
    ("Ofast-compile", "Ofc", Kind::Value),
    (
        "allow-expensive-optimizations",
        "allow-expensive-optimizations",
        Kind::Value,
    ),
    ("compile-as-tools-patch", "astoolspatch", Kind::Flag),
    ("compile-only", "c", Kind::Flag),
    ("compiler-annotations", "annotate", Kind::Flag),
    ("def-load-cache", "dlcm", Kind::Value),
    ("def-store-cache", "dscm", Kind::Value),
    ("device-debug", "g", Kind::Debug),
    (
        "device-function-maxrregcount",
        "func-maxrregcount",
        Kind::Value,
    ),
    (
        "device-stack-protector",
        "device-stack-protector",
        Kind::Value,
    ),
    (
        "disable-optimizer-constants",
        "disable-optimizer-consts",
        Kind::Flag,
    ),
    ("disable-warnings", "w", Kind::Flag),
    ("dont-merge-basicblocks", "no-bb-merge", Kind::Flag),
    ("entry", "e", Kind::Value),
    ("extensible-whole-program", "ewp", Kind::Flag),
    ("fmad", "fmad", Kind::Value),
    ("force-load-cache", "flcm", Kind::Value),
    ("force-store-cache", "fscm", Kind::Value),
    (
        "g-tensor-memory-access-check",
        "g-tmem-access-check",
        Kind::Flag,
    ),
    ("generate-line-info", "lineinfo", Kind::Flag),
    (
        "gno-tensor-memory-access-check",
        "gno-tmem-access-check",
        Kind::Flag,
    ),
    ("gpu-name", "arch", Kind::Target),
    ("help", "h", Kind::Information),
    ("input-as-string", "ias", Kind::Value),
    (
        "legacy-bar-warp-wide-behavior",
        "legacy-bar-warp-wide-behavior",
        Kind::Flag,
    ),
    ("list-version", "version-ls", Kind::Information),
    ("machine", "m", Kind::Value),
    (
        "make-errors-visible-at-exit",
        "make-errors-visible-at-exit",
        Kind::Flag,
    ),
    ("maxntid", "maxntid", Kind::Value),
    ("maxrregcount", "maxrregcount", Kind::Value),
    ("minnctapersm", "minnctapersm", Kind::Value),
    ("opt-level", "O", Kind::Level),
    ("optimize-float-atomics", "opt-fp-atomics", Kind::Flag),
    ("options-file", "optf", Kind::OptionsFile),
    ("output-file", "o", Kind::Output),
    (
        "override-directive-values",
        "override-directive-values",
        Kind::Flag,
    ),
    ("position-independent-code", "pic", Kind::Value),
    ("preserve-relocs", "preserve-relocs", Kind::Flag),
    ("register-usage-level", "regUsageLevel", Kind::Value),
    ("return-at-end", "ret-end", Kind::Flag),
    ("sanitize", "sanitize", Kind::Value),
    ("sp-bounds-check", "sp-bounds-check", Kind::Flag),
    ("split-compile", "split-compile", Kind::Value),
    (
        "suppress-async-bulk-multicast-advisory-warning",
        "suppress-async-bulk-multicast-advisory-warning",
        Kind::Flag,
    ),
    ("suppress-debug-info", "suppress-debug-info", Kind::Flag),
    (
        "suppress-double-demote-warning",
        "suppress-double-demote-warning",
        Kind::Flag,
    ),
    (
        "suppress-sparse-mma-advisory-info",
        "suppress-sparse-mma-advisory-info",
        Kind::Flag,
    ),
    (
        "suppress-stack-size-warning",
        "suppress-stack-size-warning",
        Kind::Flag,
    ),
    ("verbose", "v", Kind::Flag),
    ("version", "V", Kind::Information),
    (
        "warn-on-double-precision-use",
        "warn-double-usage",
        Kind::Flag,
    ),
    ("warn-on-local-memory-usage", "warn-lmem-usage", Kind::Flag),
    ("warn-on-spills", "warn-spills", Kind::Flag),
    ("warning-as-error", "Werror", Kind::Flag),
];

/// Options files that name options files, at most.
const MOST_NESTED: usize = 4;
/// Arguments, those of options files included, at most.
const MOST_ARGUMENTS: usize = 100_000;

/// A place among the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An argument is it.
    Whole(usize),
    /// The rest of an argument after so many bytes is it.
    Behind(usize, usize),
}

/// The arguments that matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// All arguments, those of options files among them.
    pub arguments: Vec<OsString>,
    /// The arguments that name input files.
    pub inputs: Vec<usize>,
    /// The places of the names of output files. The last one counts.
    pub outputs: Vec<Place>,
    /// The optimization level.
    level: i64,
    /// Whether debug information is asked for.
    is_debug: bool,
    /// The architecture, such as `sm_90a`.
    pub target: Option<String>,
}

impl Place {
    /// The text there.
    pub fn of(self, given: &[OsString]) -> Option<OsString> {
        match self {
            Place::Whole(index) => given.get(index).cloned(),
            Place::Behind(index, bytes) => {
                let text = given.get(index)?.to_str()?.get(bytes..)?;
                Some(text.into())
            }
        }
    }

    /// Puts a path there.
    pub fn replace(self, given: &mut [OsString], path: &Path) {
        match self {
            Place::Whole(index) => given[index] = path.into(),
            Place::Behind(index, bytes) => {
                let start = given[index].to_str().and_then(|text| text.get(..bytes));
                let mut text = OsString::from(start.unwrap_or_default());
                text.push(path);
                given[index] = text;
            }
        }
    }
}

/// An option: its kind, the length of its name, and the value that is joined to the name.
struct Given<'a> {
    kind: Option<Kind>,
    name: usize,
    joined: Option<&'a str>,
}

impl Given<'_> {
    fn of(text: &str) -> Given<'_> {
        let (named, joined) = match text.split_once('=') {
            Some((named, value)) => (named, Some(value)),
            None => (text, None),
        };
        let found = OPTIONS.iter().find(|(long, short, _)| {
            named.strip_prefix("--") == Some(*long) || named.strip_prefix('-') == Some(*short)
        });
        if let Some((_, _, kind)) = found {
            // `-O` does not take the next argument.
            let joined = joined.or((named == "-O").then_some(""));
            return Given {
                kind: Some(*kind),
                name: named.len() + 1,
                joined,
            };
        }
        for (start, kind) in [("-O", Kind::Level), ("-m", Kind::Value)] {
            if let Some(value) = text.strip_prefix(start) {
                return Given {
                    kind: Some(kind),
                    name: start.len(),
                    joined: Some(value),
                };
            }
        }
        Given {
            kind: None,
            name: named.len() + 1,
            joined,
        }
    }
}

/// A number as `ptxas` reads it: octal after `0`, hexadecimal after `0x`. Nothing is 0.
fn number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        None if digits.is_empty() => return Some(0),
        None => (10, digits),
    };
    i64::from_str_radix(digits, radix)
        .ok()
        .map(|value| sign * value)
}

/// The words of an options file. Nothing where `ptxas` might see other ones.
fn words(text: &str) -> Option<Vec<OsString>> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r') && byte != b'\\';
    if !text.bytes().all(is_plain) {
        return None;
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' | '\t' | '\n' | '\r' if !is_quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    (!is_quoted).then(|| words.into_iter().map(OsString::from).collect())
}

impl Parsed {
    /// Whether the code is to be as it was written: `-O0`, `-g`.
    pub fn is_unoptimized(&self) -> bool {
        self.is_debug || self.level == 0
    }

    /// Reads arguments, of the command or of an options file.
    fn read(&mut self, given: &[OsString], depth: usize) -> Option<()> {
        let mut given = given.iter().peekable();
        while let Some(argument) = given.next() {
            let index = self.arguments.len();
            if index > MOST_ARGUMENTS {
                return None;
            }
            self.arguments.push(argument.clone());
            if argument == "-" || !argument.as_encoded_bytes().starts_with(b"-") {
                self.inputs.push(index);
                continue;
            }
            let own = Given::of(argument.to_str()?);
            let takes_none = match own.kind {
                Some(Kind::Flag | Kind::Debug) => true,
                Some(Kind::Information) => return None,
                Some(_) => false,
                // The next argument may be the value of an unknown option.
                None => {
                    let next = given.peek().map(|next| next.as_encoded_bytes());
                    if own.joined.is_none() && next.is_some_and(|next| !next.starts_with(b"-")) {
                        return None;
                    }
                    continue;
                }
            };
            if takes_none {
                if own.joined.is_some() {
                    return None;
                }
                self.is_debug |= own.kind == Some(Kind::Debug);
                continue;
            }
            let (value, place) = match own.joined {
                Some(value) => (OsString::from(value), Place::Behind(index, own.name)),
                None => {
                    let next = given.next()?;
                    self.arguments.push(next.clone());
                    (next.clone(), Place::Whole(index + 1))
                }
            };
            match own.kind {
                Some(Kind::Output) => self.outputs.push(place),
                Some(Kind::Target) => self.target = Some(value.into_string().ok()?),
                Some(Kind::Level) => self.level = number(value.to_str()?)?,
                Some(Kind::OptionsFile) => {
                    self.arguments.truncate(index);
                    self.read_files(value.to_str()?, depth)?;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Reads options files.
    fn read_files(&mut self, names: &str, depth: usize) -> Option<()> {
        if depth == MOST_NESTED || names.contains(['"', '\\']) {
            return None;
        }
        for name in names.split(',').filter(|name| !name.is_empty()) {
            // A pipe can be read only once, by the real one.
            let file = Path::new(name);
            if !file.metadata().is_ok_and(|data| data.is_file()) {
                return None;
            }
            let text = std::fs::read_to_string(file).ok()?;
            self.read(&words(&text)?, depth + 1)?;
        }
        Some(())
    }
}

/// Reads arguments as `ptxas` does. Nothing where they are not understood, or compile nothing.
pub fn parse(given: &[OsString]) -> Option<Parsed> {
    let mut parsed = Parsed {
        level: 3,
        ..Parsed::default()
    };
    parsed.read(given, 0)?;
    Some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn parsed(line: &str) -> Parsed {
        parse(&split(line)).unwrap_or_else(|| panic!("{line}"))
    }

    #[test]
    fn inputs_and_output_are_found_among_options() {
        for line in [
            "-arch=sm_80 -m64 a.ptx -o out.cubin",
            "-lineinfo -v --gpu-name=sm_90a a.ptx --output-file out.cubin",
            "--gpu-name sm_90a -m 64 -O3 a.ptx --output-file=out.cubin",
            "-o=out.cubin -e kernel -maxrregcount 32 a.ptx",
            "-sanitize memcheck -O a.ptx -o other -o out.cubin",
            "-Ofc max --unknown=1 -o out.cubin --other -v a.ptx",
        ] {
            let parsed = parsed(line);
            let given = &parsed.arguments;
            let inputs: Vec<_> = parsed.inputs.iter().map(|&index| &given[index]).collect();
            assert_eq!(inputs, ["a.ptx"], "{line}");
            let output = parsed.outputs.last().unwrap();
            assert_eq!(output.of(given).unwrap(), "out.cubin", "{line}");
            let mut other = given.clone();
            output.replace(&mut other, Path::new("/tmp/x"));
            assert_eq!(output.of(&other).unwrap(), "/tmp/x", "{line}");
        }
        for line in ["-arch=sm_90a a.ptx", "a.ptx -arch sm_80 --gpu-name sm_90a"] {
            assert_eq!(parsed(line).target.as_deref(), Some("sm_90a"), "{line}");
        }
        assert_eq!(parsed("- -v").inputs, [0]);
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        for line in [
            "--version",
            "a.ptx -V",
            "-v=1 a.ptx",
            "a.ptx -o",
            "--unknown a.ptx",
            "-O=x a.ptx",
            "-optf missing a.ptx",
        ] {
            assert_eq!(parse(&split(line)), None, "{line}");
        }
    }

    #[test]
    fn code_to_debug_is_left_alone() {
        for line in [
            "-g a.ptx",
            "-O0 a.ptx",
            "-O a.ptx",
            "-O= a.ptx",
            "-O-0 a.ptx",
            "-O3 --opt-level 0x0 a.ptx",
            "--opt-level=00 a.ptx",
            "--device-debug a.ptx",
        ] {
            assert!(parsed(line).is_unoptimized(), "{line}");
        }
        for line in [
            "-O1 a.ptx",
            "-O0 --opt-level 1 a.ptx",
            "-lineinfo a.ptx",
            "-O=-1 a.ptx",
        ] {
            assert!(!parsed(line).is_unoptimized(), "{line}");
        }
    }

    #[test]
    fn options_files_take_the_place_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            file.into_os_string().into_string().unwrap()
        };
        let level = file("level", "-v\r\n\t-O0");
        let output = file("output", "\"-o\" \"o \"ut");
        let both = file("both", &format!("-optf={level},{output} b.ptx"));
        let text = parsed(&format!("a.ptx -optf {both} c.ptx"));
        let expected = ["a.ptx", "-v", "-O0", "-o", "o ut", "b.ptx", "c.ptx"];
        assert_eq!(text.arguments, expected);
        assert_eq!(text.inputs, [0, 5, 6]);
        assert!(text.is_unoptimized());
        assert!(!parsed(&format!("-optf {level} -O2 a.ptx")).is_unoptimized());
        assert!(parsed(&format!("-O2 -optf {level} a.ptx")).is_unoptimized());
        let own = folder.path().join("own");
        let itself = file("own", &format!("-optf {}", own.display()));
        for line in [
            format!("-optf {itself} a.ptx"),
            format!("-optf {} a.ptx", file("stray", "-o \"out")),
            format!("-optf {} a.ptx", file("escaped", "-o o\\ut")),
            format!("-optf {} out a.ptx", file("open", "-o")),
        ] {
            assert_eq!(parse(&split(&line)), None, "{line}");
        }
    }
}
