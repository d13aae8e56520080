//! Names that end in a number: those that a range may declare, and those declared alone that a range could mean too.

use crate::tree::Text;
use oriole_collections::DenseMap;

/// A name declared alone that ends in a number.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct NumberedName {
    pub scope: u32,
    pub number: u32,
    pub name: Text,
}

/// Names declared alone, and labels, that end in a number, so that a range could declare them too.
///
/// Such names are common and ranges that begin like them are not, so a filter of 64 bits comes first, and the tables are
/// filled only when it says they may be needed.
pub(super) struct Numbered<'module> {
    /// Prefixes of names not yet in the tables, and for what is not a label more.
    waiting: Vec<(&'module str, Option<NumberedName>)>,
    /// Bits of all prefixes, and of the names of all ranges.
    prefix_bits: u64,
    range_bits: u64,
    pub prefixes: DenseMap<&'module str, ()>,
    /// By prefix and scope, the smallest number and its name.
    pub smallest: DenseMap<(&'module str, u32), (u32, Text)>,
}

impl<'module> Numbered<'module> {
    pub fn new() -> Numbered<'module> {
        Numbered {
            // Enough for the parameters and labels of most functions.
            waiting: Vec::with_capacity(16),
            prefix_bits: 0,
            range_bits: 0,
            prefixes: DenseMap::new(),
            smallest: DenseMap::new(),
        }
    }

    fn bit(prefix: &str) -> u64 {
        let last = prefix.as_bytes().last().copied().unwrap_or(0);
        1 << ((usize::from(last) + prefix.len()) % 64)
    }

    /// Enters a name; whether there may be a range that begins like it.
    pub fn insert(&mut self, prefix: &'module str, declared: Option<NumberedName>) -> bool {
        // Labels in a row mostly have one prefix.
        if declared.is_some() || self.waiting.last() != Some(&(prefix, None)) {
            self.waiting.push((prefix, declared));
        }
        let bit = Numbered::bit(prefix);
        self.prefix_bits |= bit;
        self.range_bits & bit != 0
    }

    /// Notes that there is a range of this name; whether there may be numbered names that begin like it.
    pub fn insert_range(&mut self, name: &str) -> bool {
        let bit = Numbered::bit(name);
        self.range_bits |= bit;
        if self.prefix_bits & bit == 0 {
            return false;
        }
        for (prefix, declared) in self.waiting.drain(..) {
            self.prefixes.insert(prefix, ());
            if let Some(declared) = declared {
                let NumberedName {
                    scope,
                    number,
                    name,
                } = declared;
                let smallest = self.smallest.get_or_insert((prefix, scope), (number, name));
                if number < smallest.0 {
                    *smallest = (number, name);
                }
            }
        }
        true
    }
}

/// Splits `%r12` into the length of `%r` and 12; nothing for names that no range can declare. Leading zeros do not count.
#[inline]
pub(super) fn split_number(name: &[u8]) -> Option<(usize, u32)> {
    let mut start = name.len();
    let mut number = 0u32;
    let mut place = 1u32;
    while start > 0 {
        let digit = name[start - 1].wrapping_sub(b'0');
        if digit >= 10 {
            break;
        }
        start -= 1;
        number = number.wrapping_add(u32::from(digit).wrapping_mul(place));
        place = place.wrapping_mul(10);
    }
    let digits = name.len() - start;
    if start == 0 || digits == 0 {
        return None;
    }
    // Nine digits always fit.
    if digits > 9 {
        number = long_number(name)?;
    }
    Some((start, number))
}

/// The same of a name of `length` bytes as a number, as [`short_word`](super::short_word) gives it, at all digits at once.
#[inline]
pub(super) fn split_word(word: u64, length: usize) -> Option<(usize, u32)> {
    const ONES: u64 = u64::MAX / 0xFF;
    // The last byte is the highest one. What is no digit has its highest bit set in `others`; so have bytes behind the name.
    let values = (word << (64 - 8 * length)) ^ (ONES * 0x30);
    let others = (((values & (ONES * 0x7F)) + ONES * (0x80 - 10)) | values) & (ONES * 0x80);
    let digits = others.leading_zeros() as usize / 8;
    if digits == 0 || digits == length {
        return None;
    }
    // Neighbours are put together: digits to hundreds, these to ten thousands, and these to the number.
    let values = values & !(u64::MAX >> (8 * digits));
    let pairs = (values.wrapping_mul(10 * 0x100 + 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100 * 0x1_0000 + 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    let number = fours.wrapping_mul(10_000 * 0x1_0000_0000 + 1) >> 32;
    Some((length - digits, number as u32))
}

/// The number at the end of a name, if it fits. Given the whole name, since to keep track of where its digits start would cost
/// [`split_number`] a little for every digit of every name.
#[cold]
fn long_number(name: &[u8]) -> Option<u32> {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let number = name[name.len() - digits.count()..]
        .iter()
        .fold(0u64, |number, &digit| {
            (number * 10 + u64::from(digit - b'0')).min(u64::from(u32::MAX) + 1)
        });
    u32::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::super::short_word;
    use super::*;

    #[test]
    fn short_names_are_split_alike() {
        for name in [
            "a", "%r1", "%r", "%r0", "%rd12", "%p007", "1", "123", "x1y", "%r9999", "r1234567",
            "%f/9", "%f:9", "%f90210", "abcdefgh", "1bcdefg8", "x\u{e9}7", "_99", "$L__BB1_",
        ] {
            let bytes = name.as_bytes();
            for text in [name.to_owned(), format!("{name}, %r1234567;")] {
                let word = short_word(text.as_bytes(), 0, bytes.len()).expect("short");
                assert_eq!(split_word(word, bytes.len()), split_number(bytes), "{name}");
            }
        }
    }
}
