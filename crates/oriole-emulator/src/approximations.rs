//! Results of approximate instructions as a machine gave them.
//!
//! The manual bounds the error of `ex2.approx`, `div.full` and their kind but fixes no bits, and the bits differ between
//! architectures. A recording holds what one machine answered, one line a result:
//!
//! ```text
//! # NVIDIA H200, compute capability 9.0
//! ex2.approx.ftz.f32 3f000000 = 3fb504f3
//! div.full.f32 3f800000 40400000 = 3eaaaaab
//! ```
//!
//! The instruction is written as in the kernel, operands and result as hexadecimal bits. A line without `=` asks for a result:
//! `tools/oriole-generate/record_approximations.py` fills such files in on a GPU, and [`Approximations::missing`] writes them.

use oriole_isa::{Bits, Flag, Mnemonic};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// The operands of an instruction, the second 0 where there is none.
type Key = [u64; 2];

/// Recorded results of one instruction.
pub(crate) type Recorded = HashMap<Key, u64>;

/// Recorded results by instruction, and what was asked for that is not among them.
#[derive(Debug, Default)]
pub struct Approximations {
    by_mnemonic: HashMap<String, Arc<Recorded>>,
    missing: Mutex<BTreeSet<(String, usize, Key)>>,
}

impl Approximations {
    /// Reads a recording.
    ///
    /// # Errors
    /// A sentence naming the first line that is none.
    pub fn parse(text: &str) -> Result<Approximations, String> {
        let mut tables: HashMap<String, Recorded> = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (mnemonic, key, result) = entry(line)
                .ok_or_else(|| format!("line {} is no recorded result: `{line}`", index + 1))?;
            let table = tables.entry(mnemonic.to_owned()).or_default();
            if table.insert(key, result).is_some_and(|old| old != result) {
                return Err(format!("line {} contradicts another: `{line}`", index + 1));
            }
        }
        let by_mnemonic = tables
            .into_iter()
            .map(|(mnemonic, table)| (mnemonic, Arc::new(table)))
            .collect();
        Ok(Approximations {
            by_mnemonic,
            missing: Mutex::default(),
        })
    }

    /// Recorded results, of all instructions.
    pub fn len(&self) -> usize {
        self.by_mnemonic.values().map(|table| table.len()).sum()
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.by_mnemonic.is_empty()
    }

    /// How many different results launches asked for that are not recorded; they got their own approximation.
    pub fn missing_count(&self) -> usize {
        self.missing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// These, in order, as lines that a GPU can fill in.
    pub fn missing(&self) -> String {
        let mut text = String::new();
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        for (mnemonic, count, key) in missing.iter() {
            text.push_str(mnemonic);
            for value in &key[..*count] {
                let _ = write!(text, " {value:x}");
            }
            text.push('\n');
        }
        text
    }

    /// The results of an instruction, if it is approximate.
    pub(crate) fn of(&self, mnemonic: &Mnemonic) -> Option<Arc<Recorded>> {
        is_approximate(mnemonic).then(|| {
            self.by_mnemonic
                .get(mnemonic.text())
                .cloned()
                .unwrap_or_default()
        })
    }

    /// Notes that a result was asked for and is not recorded.
    pub(crate) fn miss(&self, mnemonic: &Mnemonic, inputs: &[Bits]) {
        if let Some(key) = key(inputs) {
            self.missing
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert((mnemonic.text().to_owned(), inputs.len(), key));
        }
    }
}

/// Whether the manual bounds the result of an instruction without fixing it.
pub(crate) fn is_approximate(mnemonic: &Mnemonic) -> bool {
    mnemonic.has(Flag::Approximate) || mnemonic.has(Flag::FullRange)
}

/// Operands as the tables hold them.
pub(crate) fn key(inputs: &[Bits]) -> Option<Key> {
    match *inputs {
        [a] => Some([a as u64, 0]),
        [a, b] => Some([a as u64, b as u64]),
        _ => None,
    }
}

/// `mnemonic a [b] = d`.
fn entry(line: &str) -> Option<(&str, Key, u64)> {
    let (left, right) = line.split_once('=')?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut words = left.split_whitespace();
    let mnemonic = words.next()?;
    let inputs: Vec<Bits> = words
        .map(|word| hexadecimal(word).map(Bits::from))
        .collect::<Option<_>>()?;
    Some((mnemonic, key(&inputs)?, hexadecimal(right.trim())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_and_misses_are_written() {
        let text =
            "# a machine\n\nex2.approx.f32 3f000000 = 3fb504f3 # half\ndiv.full.f32 1 2 = 3\n";
        let recorded = Approximations::parse(text).expect("valid");
        assert_eq!(recorded.len(), 2);
        assert!(!recorded.is_empty());
        let mnemonic = Mnemonic::parse("div.full.f32");
        let table = recorded.of(&mnemonic).expect("approximate");
        assert_eq!(table.get(&[1, 2]), Some(&3));
        assert_eq!(table.get(&[2, 1]), None);
        assert!(recorded.of(&Mnemonic::parse("div.rn.f32")).is_none());
        recorded.miss(&mnemonic, &[2, 1]);
        recorded.miss(&mnemonic, &[2, 1]);
        recorded.miss(&Mnemonic::parse("cos.approx.f32"), &[0x7f]);
        assert_eq!(recorded.missing_count(), 2);
        assert_eq!(recorded.missing(), "cos.approx.f32 7f\ndiv.full.f32 2 1\n");
    }

    #[test]
    fn a_bad_line_is_named() {
        for text in [
            "ex2.approx.f32 1",
            "= 3",
            "ex2.approx.f32 x = 1",
            "ex2.approx.f32 1 2 3 = 4",
        ] {
            let error = Approximations::parse(&format!("# fine\n{text}\n")).expect_err(text);
            assert!(error.starts_with("line 2 "), "{error}");
        }
        let twice = "ex2.approx.f32 1 = 2\nex2.approx.f32 1 = 3";
        let error = Approximations::parse(twice).expect_err("a contradiction");
        assert!(error.contains("contradicts"), "{error}");
    }
}
