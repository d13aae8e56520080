//! What of the arguments of `ptxas` matters here. All others are handed on as they are.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Options whose value is the next argument. What follows one is no input.
const WITH_VALUE: [&str; 42] = [
    "-O",
    "--opt-level",
    "-Ofc",
    "--Ofast-compile",
    "-allow-expensive-optimizations",
    "--allow-expensive-optimizations",
    "-dlcm",
    "--def-load-cache",
    "-dscm",
    "--def-store-cache",
    "-func-maxrregcount",
    "--device-function-maxrregcount",
    "-device-stack-protector",
    "--device-stack-protector",
    "-e",
    "--entry",
    "-fmad",
    "--fmad",
    "-flcm",
    "--force-load-cache",
    "-fscm",
    "--force-store-cache",
    "-arch",
    "--gpu-name",
    "-ias",
    "--input-as-string",
    "-m",
    "--machine",
    "-maxntid",
    "--maxntid",
    "-maxrregcount",
    "--maxrregcount",
    "-minnctapersm",
    "--minnctapersm",
    "-optf",
    "--options-file",
    "-pic",
    "--position-independent-code",
    "-regUsageLevel",
    "--register-usage-level",
    "-split-compile",
    "--split-compile",
];
const OUTPUT: [&str; 2] = ["-o", "--output-file"];
const TARGET: [&str; 2] = ["-arch", "--gpu-name"];
const DEBUG: [&str; 2] = ["-g", "--device-debug"];

/// Where among the arguments something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An argument is it.
    Whole(usize),
    /// It is what follows this many bytes of an argument.
    Behind(usize, usize),
}

/// The arguments that matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Which arguments name input files.
    pub inputs: Vec<usize>,
    /// Where the output file is named.
    pub output: Option<Place>,
    /// Whether the code is to be as it was written: `-O0`, `-g`.
    pub is_unoptimized: bool,
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

/// Reads arguments as `ptxas` does: an option and its value are joined by `=` or follow each other.
pub fn parse(given: &[OsString]) -> Parsed {
    let mut parsed = Parsed::default();
    let mut index = 0;
    while let Some(argument) = given.get(index) {
        let text = argument.to_str().unwrap_or_default();
        let next = given.get(index + 1).and_then(|next| next.to_str());
        if !argument.as_encoded_bytes().starts_with(b"-") {
            parsed.inputs.push(index);
        } else if OUTPUT.contains(&text) {
            index += 1;
            parsed.output = Some(Place::Whole(index));
        } else if let Some((option, value)) = text.split_once('=') {
            if TARGET.contains(&option) {
                parsed.target = Some(value.to_owned());
            }
            if OUTPUT.contains(&option) {
                parsed.output = Some(Place::Behind(index, option.len() + 1));
            }
            parsed.is_unoptimized |= matches!(text, "-O=0" | "--opt-level=0");
        } else if WITH_VALUE.contains(&text) {
            parsed.is_unoptimized |= matches!(text, "-O" | "--opt-level") && next == Some("0");
            if TARGET.contains(&text) {
                parsed.target = next.map(str::to_owned);
            }
            index += 1;
        } else {
            parsed.is_unoptimized |= DEBUG.contains(&text) || text == "-O0";
        }
        index += 1;
    }
    parsed
}

/// Whether a path is that of a device or a pipe, which cannot be written beside and renamed.
pub fn is_special(path: &OsStr) -> bool {
    let path = Path::new(path);
    path == Path::new("-") || path.metadata().is_ok_and(|data| !data.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> (Vec<OsString>, Parsed) {
        let given: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let parsed = parse(&given);
        (given, parsed)
    }

    #[test]
    fn inputs_and_output_are_found_among_options() {
        for line in [
            "-arch=sm_80 -m64 a.ptx -o out.cubin",
            "-lineinfo -v --gpu-name=sm_90a a.ptx --output-file out.cubin",
            "--gpu-name sm_90a -m 64 -O 3 a.ptx --output-file=out.cubin",
            "-o=out.cubin -e kernel -maxrregcount 32 a.ptx",
            "-O3 -c -optf options.txt -o out.cubin a.ptx",
        ] {
            let (given, parsed) = parsed(line);
            let inputs: Vec<_> = parsed.inputs.iter().map(|&index| &given[index]).collect();
            assert_eq!(inputs, ["a.ptx"], "{line}");
            let output = parsed.output.unwrap();
            assert_eq!(output.of(&given).unwrap(), "out.cubin", "{line}");
            let mut other = given.clone();
            output.replace(&mut other, Path::new("/tmp/x"));
            assert_eq!(output.of(&other).unwrap(), "/tmp/x", "{line}");
            assert!(!parsed.is_unoptimized);
        }
        assert_eq!(parsed("--version").1, Parsed::default());
        for line in ["-arch=sm_90a a.ptx", "a.ptx --gpu-name sm_90a"] {
            assert_eq!(parsed(line).1.target.as_deref(), Some("sm_90a"), "{line}");
        }
    }

    #[test]
    fn code_to_debug_is_left_alone() {
        for line in [
            "-g a.ptx",
            "-O0 a.ptx",
            "-O 0 a.ptx",
            "--opt-level=0 a.ptx",
            "--device-debug a.ptx",
        ] {
            assert!(parsed(line).1.is_unoptimized, "{line}");
        }
        for line in ["-O1 a.ptx", "--opt-level 1 a.ptx", "-lineinfo a.ptx"] {
            assert!(!parsed(line).1.is_unoptimized, "{line}");
        }
    }
}
