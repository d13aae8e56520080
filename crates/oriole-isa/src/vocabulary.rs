//! The words that mnemonics consist of, and the nearest one to a word that no PTX version knows.
//!
//! A word is known if any instruction has it. That an instruction has a word of another one is for `ptxas` to refuse.

use crate::mnemonic::Decoder;
use crate::modifier::{
    BooleanOperation, CacheOperator, Comparison, Direction, Flag, Geometry, Level1Eviction,
    Level2Eviction, Level2Prefetch, MatrixShape, MulMode, PermuteMode, REPEAT_WORDS,
    ReductionOperation, Rounding, Scope, Semantics, ShiftMode, ShuffleMode, SurfaceClamp,
    TestOperation, VECTOR_WORDS, VoteMode,
};
use crate::scalar_type::ScalarType;
use crate::space::Space;
use crate::table;

/// Modifiers that `ptxas` 13.0 knows and the table does not need: other spellings, and what the manual leaves out.
const OTHERS: &[&str] = &[
    "shared::cta",
    "gl",
    "b2",
    "L2::no_allocate",
    "evict_first",
    "evict_last",
    "evict_normal",
    "evict_unchanged",
    "no_allocate",
    "no_membermask_overlap",
    "maxabs",
    "negA",
    "negB",
    "transA",
    "transB",
    "safeadd",
    "en",
    "base",
    "invall",
];

/// The most edits between a word and the one that was meant.
const MOST_EDITS: usize = 2;

/// A word of a mnemonic that no PTX version knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// Where it starts in the mnemonic, in bytes.
    pub start: usize,
    /// The word, without its dot.
    pub word: String,
    /// The known word with the nearest spelling, if one is near.
    pub nearest: Option<&'static str>,
}

impl UnknownWord {
    /// True for the first word of a mnemonic, the name of the instruction.
    pub fn is_opcode(&self) -> bool {
        self.start == 0
    }
}

/// The words of a mnemonic that no PTX version knows. After an unknown name, modifiers are skipped.
pub fn unknown_words(mnemonic: &str) -> Vec<UnknownWord> {
    let mut words = mnemonic.split('.');
    let name = words.next().unwrap_or_default();
    // `_` starts the names that are of `ptxas` alone; `cctl` is left of PTX before version 2.0.
    if !(name.starts_with('_') || name.starts_with("cctl") || table::is_opcode_word(name)) {
        let nearest = nearest(name, table::names().filter_map(|own| own.split('.').next()));
        return vec![UnknownWord {
            start: 0,
            word: name.to_owned(),
            nearest,
        }];
    }
    let mut start = name.len() + 1;
    let mut unknown = Vec::new();
    for word in words {
        if !is_modifier(word) {
            let own = own_modifiers(mnemonic);
            unknown.push(UnknownWord {
                start,
                word: word.to_owned(),
                nearest: nearest(word, own.into_iter().chain(modifiers())),
            });
        }
        start += word.len() + 1;
    }
    unknown
}

/// Whether some instruction has this modifier, given without its dot.
pub fn is_modifier(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
        || MatrixShape::from_text(word).is_some()
        || modifiers().any(|own| own == word)
}

/// Every modifier that is not a number or the shape of a matrix; some more than once.
fn modifiers() -> impl Iterator<Item = &'static str> {
    macro_rules! texts {
        ($first:ident $(, $other:ident)*) => {
            $first::ALL.iter().map(|own| own.text())$(.chain($other::ALL.iter().map(|own| own.text())))*
        };
    }
    let decoded = texts!(
        ScalarType,
        Space,
        Rounding,
        MulMode,
        Comparison,
        BooleanOperation,
        ShiftMode,
        Direction,
        ShuffleMode,
        VoteMode,
        ReductionOperation,
        Semantics,
        Scope,
        CacheOperator,
        Level1Eviction,
        Level2Eviction,
        Level2Prefetch,
        Geometry,
        SurfaceClamp,
        PermuteMode,
        TestOperation
    );
    let numbers = REPEAT_WORDS.iter().chain(&VECTOR_WORDS);
    decoded
        .chain(Flag::WORDS.iter().map(|&(word, _)| word))
        .chain(numbers.map(|&(word, _)| word))
        .chain(table::names().flat_map(|name| name.split('.').skip(1)))
        .chain(table::listed_words())
        .chain(OTHERS.iter().copied())
}

/// The modifiers that instructions of this name have.
pub fn own_modifiers(mnemonic: &str) -> Vec<&'static str> {
    if let Some((entry, _)) = table::find(mnemonic) {
        let is_own =
            |word: &&str| entry.words.contains(word) || Decoder::new(entry).decode(word).is_some();
        return modifiers().filter(is_own).collect();
    }
    let first = mnemonic.split('.').next();
    table::names()
        .filter(|name| name.split('.').next() == first)
        .filter_map(|name| name.split('.').nth(1))
        .collect()
}

/// The first of the words with the fewest edits to a word, if these are few.
fn nearest(word: &str, among: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // No spelling is near to a letter or two.
    let most = MOST_EDITS.min(word.len() / 2);
    among
        .map(|own| (edits(word, own), own))
        .filter(|&(edits, own)| !own.is_empty() && edits <= most)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, own)| own)
}

/// How many letters have to be put in, left out, replaced or exchanged with their neighbour to make one word of the other.
fn edits(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    // Larger than any distance in use.
    if one.len().abs_diff(other.len()) > MOST_EDITS {
        return usize::MAX;
    }
    let width = other.len() + 1;
    let mut costs: Vec<usize> = (0..width).collect();
    for row in 1..=one.len() {
        costs.push(row);
        for column in 1..width {
            let at = row * width + column;
            let is_other = usize::from(one[row - 1] != other[column - 1]);
            let mut least = (costs[at - width] + 1)
                .min(costs[at - 1] + 1)
                .min(costs[at - width - 1] + is_other);
            if row > 1
                && column > 1
                && one[row - 1] == other[column - 2]
                && one[row - 2] == other[column - 1]
            {
                least = least.min(costs[at - 2 * width - 2] + 1);
            }
            costs.push(least);
        }
    }
    costs.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(mnemonic: &str) -> Vec<(usize, Option<&'static str>)> {
        unknown_words(mnemonic)
            .into_iter()
            .map(|unknown| (unknown.start, unknown.nearest))
            .collect()
    }

    #[test]
    fn misspelled_words_have_the_nearest_spelling() {
        assert_eq!(near("ld.golbal.f32"), [(3, Some("global"))]);
        assert_eq!(near("add.s33"), [(4, Some("s32"))]);
        assert_eq!(near("bar.snyc"), [(4, Some("sync"))]);
        assert_eq!(near("setp.lt.xro.s32"), [(8, Some("xor"))]);
        assert_eq!(near("tcgen05.mm.cta_group::1"), [(8, Some("mma"))]);
        assert_eq!(near("mvo.b32"), [(0, Some("mov"))]);
        assert_eq!(near("frobnicate.golbal"), [(0, None)]);
        assert_eq!(near("add.gargantuan.s3x2"), [(4, None), (15, Some("s32"))]);
    }

    #[test]
    fn known_words_are_left_alone() {
        for mnemonic in [
            "ld.global.L1::no_allocate.v4.f32",
            "add.global.s32",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "pmevent.mask",
            "_own.golbals_are_not.known",
            "",
        ] {
            let unknown: Vec<_> = unknown_words(mnemonic)
                .into_iter()
                .filter(|unknown| !mnemonic.starts_with('_') && !unknown.word.is_empty())
                .collect();
            assert_eq!(unknown, [], "{mnemonic}");
        }
    }

    #[test]
    fn an_exchange_is_one_edit() {
        assert_eq!(edits("golbal", "global"), 1);
        assert_eq!(edits("s33", "s32"), 1);
        assert_eq!(edits("", "ab"), 2);
        assert_eq!(edits("abc", "abc"), 0);
    }
}
