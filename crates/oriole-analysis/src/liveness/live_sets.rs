//! What is live where blocks begin and end.
//!
//! ## Method
//! `live_in(b) = exposed(b) ∪ (live_out(b) − defined(b))` and `live_out(b) = exit_uses(b) ∪ ⋃ live_in(successors)`, least
//! fixed point, over reachable blocks; nothing is live in the others. Most registers never cross a block boundary, so only
//! those some block reads before it writes (*globals*) get a bit. A block's row is two bit vectors side by side, data
//! registers and predicates, each of whole 64-bit words with the tail bits zero; both go through one fixed point with one
//! changed flag. Blocks are taken in postorder from a worklist.
//!
//! Rows are quadratic where thousands of globals live in a few blocks each. There the words are taken one after the other:
//! the 64 globals of a word are followed back together from the blocks that read them, and a row keeps only the words that
//! are not zero. Globals are numbered in the order in which they are read, so those of one word tend to live side by side.
//! Where loops are nested deep even these words are quadratic, and globals are kept as runs of blocks: see
//! [`deep_nests`](super::deep_nests). A function of one block has no rows, one of at most [`SMALL`] instructions is iterated without a worklist. All ways give
//! the same sets.

use super::deep_nests::{self, Runs};
use super::program::{Program, RegisterFile};
use oriole_ir::graph::postorder;

/// Functions of at most this many instructions take the short way.
pub const SMALL: usize = 15;

/// Rows of at most this many words are always dense.
const NARROW: usize = 8;

/// No global.
const NONE: u32 = u32::MAX;

/// How the sets are to be computed; all give the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As the function's size suggests.
    Automatic,
    /// Bit vectors and a worklist.
    Dense,
    /// Word after word, each followed back from its uses.
    Sparse,
    /// Runs of blocks, for loops nested deep.
    Runs,
}

#[derive(Clone, Debug)]
enum Rows {
    Dense(Vec<u64>),
    Sparse(Words),
    Runs(Runs),
}

/// Bits of blocks, by blocks and words; words that are zero are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    starts: Vec<u32>,
    /// Which words a block has, in rising order.
    indices: Vec<u32>,
    words: Vec<u64>,
}

/// A word of a block's bits: its index, the block, and the bits.
pub(crate) type Found = (u32, u32, u64);

impl Words {
    /// Sorts words by blocks; those of each block come in rising order.
    pub(crate) fn new(block_count: usize, found: &[Found]) -> Words {
        let mut starts = vec![0u32; block_count + 1];
        for &(_, block, _) in found {
            starts[block as usize + 1] += 1;
        }
        for block in 0..block_count {
            starts[block + 1] += starts[block];
        }
        let mut next = starts.clone();
        let mut indices = vec![0; found.len()];
        let mut words = vec![0; found.len()];
        for &(index, block, word) in found {
            let place = next[block as usize] as usize;
            next[block as usize] += 1;
            indices[place] = index;
            words[place] = word;
        }
        Words {
            starts,
            indices,
            words,
        }
    }

    /// A block's words with their indices.
    pub(crate) fn of(&self, block: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = self.range(block);
        let indices = self.indices[range.clone()].iter().copied();
        indices.zip(self.words[range].iter().copied())
    }

    /// One word.
    pub(crate) fn word(&self, block: u32, index: u32) -> u64 {
        let range = self.range(block);
        match self.indices[range.clone()].binary_search(&index) {
            Ok(place) => self.words[range.start + place],
            Err(_) => 0,
        }
    }

    fn range(&self, block: u32) -> std::ops::Range<usize> {
        self.starts[block as usize] as usize..self.starts[block as usize + 1] as usize
    }
}

/// Pairs of a bit and a block, sorted by the words of the bits.
pub(crate) struct ByWord {
    starts: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl ByWord {
    pub(crate) fn new(
        word_count: usize,
        pairs: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> ByWord {
        let mut starts = vec![0u32; word_count + 1];
        for (bit, _) in pairs.clone() {
            starts[bit as usize / 64 + 1] += 1;
        }
        for word in 0..word_count {
            starts[word + 1] += starts[word];
        }
        let mut next = starts.clone();
        let mut sorted = vec![(0, 0); starts[word_count] as usize];
        for pair in pairs {
            let place = &mut next[pair.0 as usize / 64];
            sorted[*place as usize] = pair;
            *place += 1;
        }
        ByWord {
            starts,
            pairs: sorted,
        }
    }

    pub(crate) fn of(&self, word: usize) -> &[(u32, u32)] {
        &self.pairs[self.starts[word] as usize..self.starts[word + 1] as usize]
    }
}

/// The live-in and live-out sets of all blocks.
#[derive(Clone, Debug)]
pub struct LiveSets {
    /// Bit of each entity, [`NONE`] for those that never cross a block boundary.
    bits: Vec<u32>,
    /// Entity of each bit, [`NONE`] for padding.
    entities: Vec<u32>,
    words: usize,
    rows: Rows,
    reachable: Vec<bool>,
    postorder: Vec<u32>,
    /// Per entity: how many reachable instructions and blocks define it, at most 2.
    definitions: Vec<u8>,
}

struct Scan {
    definitions: Vec<u8>,
    /// Entities read before written, with the block.
    exposed: Vec<(u32, u32)>,
    /// Entities written, with the block; only globals are kept in the end.
    defined: Vec<(u32, u32)>,
}

fn scan(program: &impl Program, reachable: &[bool]) -> Scan {
    let count = program.entity_count();
    let mut exposed_in = vec![0u32; count];
    let mut defined_in = vec![0u32; count];
    let mut definitions = vec![0u8; count];
    let mut exposed = Vec::new();
    let mut defined = Vec::new();
    for block in 0..program.block_count() as u32 {
        if !reachable[block as usize] {
            continue;
        }
        let stamp = block + 1;
        for &entity in program.entry_definitions(block) {
            defined_in[entity as usize] = stamp;
            definitions[entity as usize] = (definitions[entity as usize] + 1).min(2);
            defined.push((entity, block));
        }
        for instruction in program.instructions(block) {
            let accesses = program.accesses(instruction);
            for access in accesses {
                let at = access.entity() as usize;
                if access.uses() && defined_in[at] != stamp && exposed_in[at] != stamp {
                    exposed_in[at] = stamp;
                    exposed.push((access.entity(), block));
                }
            }
            for access in accesses {
                let at = access.entity() as usize;
                if access.defines() {
                    definitions[at] = (definitions[at] + 1).min(2);
                    if defined_in[at] != stamp {
                        defined_in[at] = stamp;
                        defined.push((access.entity(), block));
                    }
                }
            }
        }
        for &entity in program.exit_uses(block) {
            let at = entity as usize;
            if defined_in[at] != stamp && exposed_in[at] != stamp {
                exposed_in[at] = stamp;
                exposed.push((entity, block));
            }
        }
    }
    Scan {
        definitions,
        exposed,
        defined,
    }
}

impl LiveSets {
    /// The sets of a program.
    pub fn of(program: &impl Program) -> LiveSets {
        LiveSets::with(program, Method::Automatic)
    }

    /// The sets of a program, computed in a given way.
    pub fn with(program: &impl Program, method: Method) -> LiveSets {
        LiveSets::with_definitions(program, method).0
    }

    /// The sets, and which globals are defined in which blocks, as bits.
    pub(crate) fn with_definitions(
        program: &impl Program,
        method: Method,
    ) -> (LiveSets, Vec<(u32, u32)>) {
        let blocks = program.block_count();
        let postorder = if blocks == 0 {
            Vec::new()
        } else {
            postorder(program.successors(), 0)
        };
        let mut reachable = vec![false; blocks];
        for &block in &postorder {
            reachable[block as usize] = true;
        }
        let Scan {
            definitions,
            mut exposed,
            mut defined,
        } = scan(program, &reachable);
        let mut sets = LiveSets {
            bits: vec![NONE; program.entity_count()],
            entities: Vec::new(),
            words: 0,
            rows: Rows::Dense(Vec::new()),
            reachable,
            postorder,
            definitions,
        };
        sets.number_globals(program, &exposed);
        // From here on both lists have bits.
        for pair in &mut exposed {
            pair.0 = sets.bits[pair.0 as usize];
        }
        defined.retain_mut(|pair| {
            pair.0 = sets.bits[pair.0 as usize];
            pair.0 != NONE
        });
        let small = method == Method::Automatic && program.instruction_count() <= SMALL;
        let dense = match method {
            Method::Dense => true,
            Method::Sparse | Method::Runs => false,
            Method::Automatic => sets.words <= NARROW,
        };
        let nest = match method {
            Method::Runs => Some(deep_nests::nest(program)),
            Method::Automatic if !dense => deep_nests::deep_nest(program),
            _ => None,
        };
        sets.rows = if let Some(nest) = nest {
            Rows::Runs(Runs::new(
                program,
                &nest,
                &sets.reachable,
                sets.entities.len(),
                &exposed,
                &defined,
                |bit, is_live_at_entry| sets.is_complex(bit, is_live_at_entry),
            ))
        } else if dense {
            sets.iterate(program, &exposed, &defined, small)
        } else {
            sets.follow(program, &exposed, &defined)
        };
        (sets, defined)
    }

    /// Gives every exposed entity, and every one read at a block's end, a bit: data registers first.
    fn number_globals(&mut self, program: &impl Program, exposed: &[(u32, u32)]) {
        for file in [RegisterFile::Data, RegisterFile::Predicate] {
            let exits = (0..program.block_count() as u32)
                .filter(|&block| self.reachable[block as usize])
                .flat_map(|block| program.exit_uses(block).iter().copied());
            for entity in exposed.iter().map(|pair| pair.0).chain(exits) {
                if self.bits[entity as usize] == NONE && program.file(entity) == file {
                    self.bits[entity as usize] = self.entities.len() as u32;
                    self.entities.push(entity);
                }
            }
            let whole = self.entities.len().next_multiple_of(64);
            self.entities.resize(whole, NONE);
        }
        self.words = self.entities.len() / 64;
    }

    fn iterate(
        &self,
        program: &impl Program,
        exposed: &[(u32, u32)],
        defined: &[(u32, u32)],
        small: bool,
    ) -> Rows {
        let words = self.words;
        let blocks = program.block_count();
        let mut live_in = vec![0u64; blocks * words];
        let mut kept = vec![!0u64; blocks * words];
        for &(bit, block) in exposed {
            let bit = bit as usize;
            live_in[block as usize * words + bit / 64] |= 1 << (bit % 64);
        }
        for &(bit, block) in defined {
            let bit = bit as usize;
            kept[block as usize * words + bit / 64] &= !(1 << (bit % 64));
        }
        if words == 0 {
            return Rows::Dense(live_in);
        }
        // One block after the other: what its successors need and it does not define is added to its row.
        let mut step = |block: u32| {
            let row = block as usize * words;
            let mut changed = false;
            for &successor in program.successors().of(block) {
                let other = successor as usize * words;
                for word in 0..words {
                    let new = live_in[other + word] & kept[row + word] & !live_in[row + word];
                    live_in[row + word] |= new;
                    changed |= new != 0;
                }
            }
            changed
        };
        if small {
            while self
                .postorder
                .iter()
                .fold(false, |changed, &block| step(block) | changed)
            {}
            return Rows::Dense(live_in);
        }
        let position = self.positions();
        // The worklist is a bit per block in postorder; taking the lowest again and again sweeps it in that order.
        let mut pending = vec![true; self.postorder.len()];
        let mut again = true;
        while again {
            again = false;
            for at in 0..self.postorder.len() {
                if !std::mem::replace(&mut pending[at], false) {
                    continue;
                }
                let block = self.postorder[at];
                if step(block) {
                    for &from in program.predecessors().of(block) {
                        if self.reachable[from as usize] {
                            let place = position[from as usize] as usize;
                            pending[place] = true;
                            again |= place <= at;
                        }
                    }
                }
            }
        }
        Rows::Dense(live_in)
    }

    /// Position of each block in postorder.
    pub(crate) fn positions(&self) -> Vec<u32> {
        let mut position = vec![0u32; self.reachable.len()];
        for (index, &block) in self.postorder.iter().enumerate() {
            position[block as usize] = index as u32;
        }
        position
    }

    /// Follows the globals back from their uses, those of one word together.
    fn follow(
        &self,
        program: &impl Program,
        exposed: &[(u32, u32)],
        defined: &[(u32, u32)],
    ) -> Rows {
        let blocks = program.block_count();
        let position = self.positions();
        let exposed = ByWord::new(self.words, exposed.iter().copied());
        let defined = ByWord::new(self.words, defined.iter().copied());
        let mut live = vec![0u64; blocks];
        let mut kept = vec![!0u64; blocks];
        // Blocks to look at, a bit each, in postorder; they are taken from the lowest up, again and again.
        let mut pending = vec![0u64; self.postorder.len().div_ceil(64)];
        let mut found: Vec<Found> = Vec::new();
        for word in 0..self.words {
            let first_found = found.len();
            let (mut waiting, mut start) = (0usize, pending.len());
            for &(bit, block) in defined.of(word) {
                kept[block as usize] &= !(1 << (bit % 64));
            }
            for &(bit, block) in exposed.of(word) {
                if live[block as usize] == 0 {
                    found.push((word as u32, block, 0));
                    let at = position[block as usize] as usize;
                    pending[at / 64] |= 1 << (at % 64);
                    waiting += 1;
                    start = start.min(at / 64);
                }
                live[block as usize] |= 1 << (bit % 64);
            }
            let mut at = start;
            while waiting > 0 {
                if pending[at] == 0 {
                    at += 1;
                    if at >= pending.len() {
                        at = start;
                    }
                    continue;
                }
                let low = pending[at].trailing_zeros() as usize;
                pending[at] &= pending[at] - 1;
                waiting -= 1;
                let block = self.postorder[at * 64 + low];
                let here = live[block as usize];
                for &from in program.predecessors().of(block) {
                    let before = live[from as usize];
                    let new = here & kept[from as usize] & !before;
                    if new == 0 || !self.reachable[from as usize] {
                        continue;
                    }
                    if before == 0 {
                        found.push((word as u32, from, 0));
                    }
                    live[from as usize] = before | new;
                    let place = position[from as usize] as usize;
                    if pending[place / 64] >> (place % 64) & 1 == 0 {
                        pending[place / 64] |= 1 << (place % 64);
                        waiting += 1;
                        start = start.min(place / 64);
                    }
                }
            }
            for &(_, block) in defined.of(word) {
                kept[block as usize] = !0;
            }
            for (_, block, bits) in &mut found[first_found..] {
                *bits = std::mem::take(&mut live[*block as usize]);
            }
        }
        Rows::Sparse(Words::new(blocks, &found))
    }

    /// Whether execution can get to a block.
    pub fn is_reachable(&self, block: u32) -> bool {
        self.reachable[block as usize]
    }

    /// Whether something is live at the start of a block.
    pub fn is_live_in(&self, entity: u32, block: u32) -> bool {
        let bit = self.bits[entity as usize];
        match &self.rows {
            _ if bit == NONE => false,
            Rows::Runs(runs) => runs.contains(bit, block),
            _ => self.word(block, bit / 64) >> (bit % 64) & 1 != 0,
        }
    }

    /// One word of what is live at the start of a block.
    pub(crate) fn word(&self, block: u32, index: u32) -> u64 {
        match &self.rows {
            Rows::Dense(words) => words[block as usize * self.words + index as usize],
            Rows::Sparse(words) => words.word(block, index),
            Rows::Runs(runs) => runs.word(block, index),
        }
    }

    /// The words that are not zero, if only those are kept.
    pub(crate) fn sparse(&self) -> Option<&Words> {
        match &self.rows {
            Rows::Dense(_) | Rows::Runs(_) => None,
            Rows::Sparse(words) => Some(words),
        }
    }

    /// The runs of blocks, if things are kept as such.
    pub(crate) fn runs(&self) -> Option<&Runs> {
        match &self.rows {
            Rows::Runs(runs) => Some(runs),
            Rows::Dense(_) | Rows::Sparse(_) => None,
        }
    }

    /// Whether the values of a global are to be told apart, given whether it is live at the start of the entry: it has
    /// several, or one and what was there before the function began.
    pub(crate) fn is_complex(&self, bit: u32, is_live_at_entry: bool) -> bool {
        let entity = self.entities[bit as usize];
        entity != NONE
            && match self.definitions[entity as usize] {
                0 => false,
                1 => is_live_at_entry,
                _ => true,
            }
    }

    /// What is live at the start of a block, in no particular order.
    pub fn live_in(&self, block: u32) -> Vec<u32> {
        let mut found = Vec::new();
        self.for_each_live_in(block, |bit| found.push(self.entities[bit as usize]));
        found
    }

    /// What is live at the end of a block, each once, in no particular order.
    pub fn live_out(&self, program: &impl Program, block: u32) -> Vec<u32> {
        if !self.reachable[block as usize] {
            return Vec::new();
        }
        let mut found: Vec<u32> = program.exit_uses(block).to_vec();
        for &successor in program.successors().of(block) {
            found.extend(self.live_in(successor));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Things that are live across some block boundary.
    pub fn globals(&self) -> impl Iterator<Item = u32> + '_ {
        self.entities
            .iter()
            .copied()
            .filter(|&entity| entity != NONE)
    }

    /// Whether only words that are not zero are kept.
    pub fn is_sparse(&self) -> bool {
        self.sparse().is_some()
    }

    /// Bytes the sets take.
    pub fn bytes(&self) -> usize {
        self.bits.len() * 4
            + self.definitions.len()
            + self.entities.len() * 4
            + match &self.rows {
                Rows::Dense(words) => words.len() * 8,
                Rows::Sparse(words) => words.starts.len() * 4 + words.words.len() * 12,
                Rows::Runs(runs) => runs.bytes(),
            }
    }

    pub(crate) fn bit(&self, entity: u32) -> Option<u32> {
        Some(self.bits[entity as usize]).filter(|&bit| bit != NONE)
    }

    pub(crate) fn entity(&self, bit: u32) -> u32 {
        self.entities[bit as usize]
    }

    pub(crate) fn bit_count(&self) -> usize {
        self.entities.len()
    }

    pub(crate) fn word_count(&self) -> usize {
        self.words
    }

    /// The words of a block's row, if rows are dense.
    pub(crate) fn row(&self, block: u32) -> Option<&[u64]> {
        match &self.rows {
            Rows::Dense(words) => {
                Some(&words[block as usize * self.words..(block as usize + 1) * self.words])
            }
            Rows::Sparse(..) | Rows::Runs(..) => None,
        }
    }

    pub(crate) fn for_each_live_in(&self, block: u32, mut visit: impl FnMut(u32)) {
        let mut spread = |index: u32, word: u64| {
            let mut rest = word;
            while rest != 0 {
                visit(index * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        };
        match &self.rows {
            Rows::Dense(_) => {
                let row = self.row(block).expect("dense");
                for (index, &word) in row.iter().enumerate() {
                    spread(index as u32, word);
                }
            }
            Rows::Sparse(words) => words
                .of(block)
                .for_each(|(index, word)| spread(index, word)),
            Rows::Runs(runs) => {
                for index in 0..self.words as u32 {
                    spread(index, runs.word(block, index));
                }
            }
        }
    }
}
