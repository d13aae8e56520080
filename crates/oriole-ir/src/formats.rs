//! Finds the format of an instruction.
//!
//! ## Method
//! A hash table with open addressing, at most half full. Nearly all lookups are of an instruction as it was written, and nearly
//! all of those find a format: so guard and shape are packed into one number where they fit ([`packed`]), both ends of the
//! mnemonic into two ([`Ends`]), and as a rule to compare these numbers is all. The table itself has eight bytes for each
//! place, so that it stays in the cache nearest to the processor; keys stand side by side in the order in which they were met, the
//! common ones, which are met first, close together.

use crate::entities::Format;
use crate::format::{FormatData, ShapeKind, ShapeNode};
use crate::function::Function;
use crate::operand::Member;
use oriole_collections::{IndexVec, PackedOption, SmallVec};
use oriole_isa::Mnemonic;
use oriole_syntax::tree::{Guard, Operand, Prefix};

/// All formats met so far; shared by the functions of a module.
#[derive(Debug, Default)]
pub struct Formats {
    data: IndexVec<Format, FormatData>,
    /// What each is found by.
    keys: IndexVec<Format, Key>,
    /// By hash of the key; as many as a power of two, or none.
    slots: Vec<Slot>,
    /// Functions that had these formats, emptied: the next ones find their room there.
    #[expect(clippy::vec_box, reason = "a function is large, and stays where it is")]
    pub(crate) storage: Vec<Box<Function>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The hash of the format's key.
    hash: u32,
    format: PackedOption<Format>,
}

/// What tells a format from nearly all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Key {
    /// Guard and shape: see [`packed`].
    shape: u128,
    mnemonic: Ends,
}

impl Key {
    /// Whether no other guard and shape have this key.
    #[inline]
    fn has_whole_shape(&self) -> bool {
        self.shape >> 120 != HASHED
    }

    #[inline]
    fn hash(&self) -> u32 {
        let Ends {
            first,
            last,
            length,
        } = self.mnemonic;
        let shape = (self.shape as u64).rotate_left(17) ^ (self.shape >> 64) as u64;
        let word = first ^ last.rotate_left(29) ^ shape ^ length as u64;
        // Fibonacci hashing: the upper half of the product depends on all bits of the word.
        (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }
}

/// Both ends of a mnemonic and its length: enough to tell it from nearly all others, and up to [`Ends::WHOLE`] bytes from
/// all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    first: u64,
    last: u64,
    length: usize,
}

impl Ends {
    /// Mnemonics up to this length have no bytes between their ends.
    const WHOLE: usize = 16;

    #[inline]
    fn of(bytes: &[u8]) -> Ends {
        let length = bytes.len();
        let (first, last) =
            if let (Some(&first), Some(&last)) = (bytes.first_chunk(), bytes.last_chunk()) {
                (u64::from_le_bytes(first), u64::from_le_bytes(last))
            } else if let (Some(&first), Some(&last)) = (bytes.first_chunk(), bytes.last_chunk()) {
                (
                    u64::from(u32::from_le_bytes(first)),
                    u64::from(u32::from_le_bytes(last)),
                )
            } else {
                let word = |word, &byte| word << 8 | u64::from(byte);
                (bytes.iter().fold(0, word), 0)
            };
        Ends {
            first,
            last,
            length,
        }
    }
}

/// Nodes that fit into a packed shape: a byte each, and one for the guard.
const MOST_PACKED: usize = 15;
/// Nodes below a packed node and itself.
const LARGEST_PACKED: u16 = 10;
/// The highest byte of a shape that does not fit: no guard has this number.
const HASHED: u128 = 0xFF;

/// A node of a packed shape: at most (7 * 3 + 2) * 10 + 10 if its size is at most [`LARGEST_PACKED`], and never zero.
#[inline]
fn packed_node(kind: ShapeKind, prefix: Prefix, size: u16) -> u32 {
    (kind as u32 * 3 + prefix as u32) * u32::from(LARGEST_PACKED) + u32::from(size)
}

/// Guard and shape as a number, different for different ones; a mere hash, marked as such, of those with many nodes or parts of
/// registers.
fn packed(guard: Guard, shape: &[ShapeNode]) -> u128 {
    let fits = |node: &ShapeNode| node.size <= LARGEST_PACKED && node.member == Member::WHOLE;
    if shape.len() <= MOST_PACKED && shape.iter().all(fits) {
        shape.iter().fold(guard as u128 + 1, |packed, node| {
            packed << 8 | u128::from(packed_node(node.kind, node.prefix, node.size))
        })
    } else {
        hashed(guard, shape)
    }
}

/// The same for operands of the tree without parts of registers.
#[inline]
fn packed_operands(guard: Guard, operands: &[Operand]) -> u128 {
    let mut largest = 0;
    let mut packed_node = |node: &Operand| {
        largest = node.size.max(largest);
        packed_node(ShapeKind::of(node.kind), node.prefix, node.size)
    };
    let packed = match operands.len() {
        // These and the guard fit into half of it, which takes half the time.
        0..=7 => operands
            .iter()
            .fold(guard as u64 + 1, |packed, node| {
                packed << 8 | u64::from(packed_node(node))
            })
            .into(),
        8..=MOST_PACKED => operands.iter().fold(guard as u128 + 1, |packed, node| {
            packed << 8 | u128::from(packed_node(node))
        }),
        _ => return hashed(guard, &shape_of(operands)),
    };
    match largest <= LARGEST_PACKED {
        true => packed,
        false => hashed(guard, &shape_of(operands)),
    }
}

#[cold]
fn hashed(guard: Guard, shape: &[ShapeNode]) -> u128 {
    let hash = shape.iter().fold(guard as u64, |hash, node| {
        let parts = [
            node.kind as u64,
            node.prefix as u64,
            u64::from(node.size),
            u64::from(node.member.code()),
        ];
        parts.iter().fold(hash, |hash, part| {
            (hash.rotate_left(5) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
    });
    HASHED << 120 | u128::from(hash)
}

fn shape_of(operands: &[Operand]) -> SmallVec<[ShapeNode; 16]> {
    operands.iter().map(ShapeNode::of).collect()
}

impl Formats {
    /// No formats yet.
    pub fn new() -> Formats {
        Formats::default()
    }

    /// The format with this guard, mnemonic and shape, of an instruction that is read from text. Passes have none to read: see
    /// [`crate::Editor::format`].
    pub fn intern(
        &mut self,
        mnemonic: &str,
        guard: Guard,
        shape: impl Iterator<Item = ShapeNode>,
    ) -> Format {
        let shape: SmallVec<[ShapeNode; 16]> = shape.collect();
        let key = Key {
            shape: packed(guard, &shape),
            mnemonic: Ends::of(mnemonic.as_bytes()),
        };
        let is_same = |data: &FormatData| data.guard == guard && *data.shape == *shape;
        match self.find(mnemonic.as_bytes(), &key, is_same) {
            Some(format) => format,
            None => self.add(Mnemonic::parse(mnemonic), guard, &shape, key),
        }
    }

    /// The format with the mnemonic of another, and this guard and shape.
    pub(crate) fn derive(&mut self, from: Format, guard: Guard, shape: &[ShapeNode]) -> Format {
        let mnemonic = &self.data[from].mnemonic;
        let key = Key {
            shape: packed(guard, shape),
            mnemonic: Ends::of(mnemonic.text().as_bytes()),
        };
        let is_same = |data: &FormatData| data.guard == guard && *data.shape == *shape;
        match self.find(mnemonic.text().as_bytes(), &key, is_same) {
            Some(format) => format,
            None => self.add(mnemonic.clone(), guard, shape, key),
        }
    }

    /// The format of an instruction with these operands, guard aside, that mention no parts of registers. The mnemonic is given as bytes
    /// of a text, so that nobody has to see whether they end where characters do.
    ///
    /// # Panics
    /// If these are no text.
    #[inline]
    pub fn intern_operands(
        &mut self,
        mnemonic: &[u8],
        guard: Guard,
        operands: &[Operand],
    ) -> Format {
        let key = Key {
            shape: packed_operands(guard, operands),
            mnemonic: Ends::of(mnemonic),
        };
        let is_same = |data: &FormatData| {
            data.guard == guard
                && data
                    .shape
                    .iter()
                    .copied()
                    .eq(operands.iter().map(ShapeNode::of))
        };
        match self.find(mnemonic, &key, is_same) {
            Some(format) => format,
            None => {
                let mnemonic = std::str::from_utf8(mnemonic).expect("mnemonics are text");
                self.add(Mnemonic::parse(mnemonic), guard, &shape_of(operands), key)
            }
        }
    }

    /// Where to look first: the highest bits of a hash, which depend on all of the key.
    #[inline]
    fn place(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize
    }

    /// The format with this mnemonic and key; if the key is not the whole shape, `is_same` says whether a format has that. Nearly all
    /// are where they are looked for first.
    #[inline(always)]
    fn find(
        &self,
        mnemonic: &[u8],
        key: &Key,
        is_same: impl Fn(&FormatData) -> bool,
    ) -> Option<Format> {
        let hash = key.hash();
        let place = self.place(hash);
        let slot = self.slots.get(place)?;
        let format = slot.format.expand()?;
        if slot.hash == hash
            && self.keys[format] == *key
            && key.mnemonic.length <= Ends::WHOLE
            && key.has_whole_shape()
        {
            return Some(format);
        }
        self.find_from(place, mnemonic, key, is_same)
    }

    /// The same, from one place on.
    #[inline(never)]
    fn find_from(
        &self,
        mut place: usize,
        mnemonic: &[u8],
        key: &Key,
        is_same: impl Fn(&FormatData) -> bool,
    ) -> Option<Format> {
        let last = self.slots.len().wrapping_sub(1);
        let hash = key.hash();
        loop {
            let slot = self.slots.get(place)?;
            let format = slot.format.expand()?;
            if slot.hash == hash
                && self.keys[format] == *key
                && (key.mnemonic.length <= Ends::WHOLE
                    || self.data[format].mnemonic.text().as_bytes() == mnemonic)
                && (key.has_whole_shape() || is_same(&self.data[format]))
            {
                return Some(format);
            }
            place = (place + 1) & last;
        }
    }

    /// Adds a format that is not there.
    #[cold]
    fn add(&mut self, mnemonic: Mnemonic, guard: Guard, shape: &[ShapeNode], key: Key) -> Format {
        let data = FormatData::new(mnemonic, guard, shape.into());
        let format = self.data.push(data);
        self.keys.push(key);
        if self.slots.len() < 2 * self.data.len() {
            let count = (2 * self.slots.len()).max(128);
            let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); count]);
            for slot in slots.into_iter().filter(|slot| slot.format.is_some()) {
                self.occupy(slot);
            }
        }
        self.occupy(Slot {
            hash: key.hash(),
            format: PackedOption::some(format),
        });
        format
    }

    fn occupy(&mut self, slot: Slot) {
        let last = self.slots.len() - 1;
        let mut place = self.place(slot.hash);
        while self.slots[place].format.is_some() {
            place = (place + 1) & last;
        }
        self.slots[place] = slot;
    }
}

impl std::ops::Index<Format> for Formats {
    type Output = FormatData;

    #[inline]
    fn index(&self, format: Format) -> &FormatData {
        &self.data[format]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: ShapeNode = ShapeNode::LEAF;

    #[test]
    fn every_spelling_has_a_format_of_its_own() {
        let mut formats = Formats::new();
        let part = ShapeNode {
            member: Member::from_text(".x").unwrap(),
            ..LEAF
        };
        let mut shapes: Vec<Vec<ShapeNode>> = (0..40).map(|count| vec![LEAF; count]).collect();
        shapes.extend((1..40).map(|count| [vec![part], vec![LEAF; count]].concat()));
        // Some differ in the middle only, and some are as long as both ends together or shorter.
        let mnemonics = [
            "",
            "or",
            "add.s32",
            "add.u32",
            "mad.lo.s32",
            "ld.global.nc.f32",
            "cp.async.ca.shared.global",
            "cp.async.cg.shared.global",
        ];
        let mut intern_all = || -> Vec<Format> {
            let mut found = Vec::new();
            for mnemonic in mnemonics {
                for guard in [Guard::None, Guard::If, Guard::IfNot] {
                    for shape in &shapes {
                        let format = formats.intern(mnemonic, guard, shape.iter().copied());
                        let data = &formats[format];
                        assert_eq!((data.mnemonic.text(), data.guard), (mnemonic, guard));
                        assert_eq!(*data.shape, **shape);
                        found.push(format);
                    }
                }
            }
            found
        };
        let first = intern_all();
        assert_eq!(intern_all(), first, "all are found again");
        let mut distinct = first.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), first.len());
    }

    #[test]
    fn formats_are_derived_from_others() {
        let mut formats = Formats::new();
        let add = formats.intern("add.s32", Guard::None, [LEAF; 3].into_iter());
        let guarded = formats.intern("add.s32", Guard::If, [LEAF; 3].into_iter());
        assert_eq!(formats.derive(add, Guard::If, &[LEAF; 3]), guarded);
        assert_eq!(formats.derive(guarded, Guard::None, &[LEAF; 3]), add);
        let new = formats.derive(add, Guard::IfNot, &[LEAF; 3]);
        assert!(new != add && new != guarded);
        assert_eq!(formats[new].guard, Guard::IfNot);
        assert_eq!(formats[new].mnemonic, formats[add].mnemonic);
    }
}
