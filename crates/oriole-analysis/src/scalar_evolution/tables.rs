//! The memo tables, who read what to fill them, and how entries are forgotten.
//!
//! ## Method
//! Every answer is an entry of a table. Whoever computes an entry says what it reads: other entries, and *sources*, which are parts of
//! the function. Each source and entry keeps a list of the entries that were computed from it, also of those that found an opaque
//! leaf and looked no further: that the leaf was opaque is something that was read. A change touches sources; what was computed from
//! them, directly or not, is forgotten.

use super::exits::ExitCount;
use super::expression::Expression;
use super::guards::Facts;
use super::trip_counts::{BackedgeTaken, PredicatedCount};
use crate::known_bits::Known;
use oriole_collections::{DenseMap, IndexVec, PackedOption};
use oriole_ir::{Block, Definition, Instruction, Value};
use std::rc::Rc;

/// A source or an entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Source: how a value is defined, and where.
    Definition(Value),
    /// Source: the edges to a block with their arguments, whether it is a header, and whether it is reached.
    Incoming(Block),
    /// Source: how a block ends.
    Terminator(Block),
    /// Source: the blocks and edges of the loop with this header.
    Loop(Block),
    /// Source: the dominators of a block and the edges among them.
    Dominance(Block),
    /// The expression of a value, with parameters of headers as leaves.
    Value(Value),
    /// What a parameter of a header is.
    Recurrence(Value),
    /// An expression with recurrences for its leaves.
    Folded(Expression),
    /// The ranges of an expression.
    Range(Expression),
    /// The count of an exit: header and exiting block.
    Exit(Block, Block),
    /// The count of the loop with this header.
    Count(Block),
    /// The count of the loop with this header under assumptions.
    Predicated(Block),
    /// What the edge says that every way to a block takes from its immediate dominator.
    EdgeFacts(Block),
    /// What holds where a block is executed.
    Facts(Block),
    /// What a predicate is wherever it is computed.
    Decision(Value),
    /// Nobody: the answer is not kept.
    Nobody,
}

impl Key {
    /// Its kind, below [`KINDS`], and its number among those of the kind.
    #[inline]
    fn place(self) -> (usize, u64) {
        let one = |kind: usize, number: u32| (kind, u64::from(number));
        match self {
            Key::Definition(value) => one(0, value.as_u32()),
            Key::Incoming(block) => one(1, block.as_u32()),
            Key::Terminator(block) => one(2, block.as_u32()),
            Key::Loop(block) => one(3, block.as_u32()),
            Key::Dominance(block) => one(4, block.as_u32()),
            Key::Value(value) => one(5, value.as_u32()),
            Key::Recurrence(value) => one(6, value.as_u32()),
            Key::Folded(expression) => one(7, expression.as_u32()),
            Key::Range(expression) => one(8, expression.as_u32()),
            Key::Count(block) => one(9, block.as_u32()),
            Key::Predicated(block) => one(10, block.as_u32()),
            Key::Nobody => one(11, 0),
            Key::EdgeFacts(block) => one(12, block.as_u32()),
            Key::Facts(block) => one(13, block.as_u32()),
            Key::Decision(value) => one(14, value.as_u32()),
            Key::Exit(header, from) => (
                EXITS,
                u64::from(header.as_u32()) << 32 | u64::from(from.as_u32()),
            ),
        }
    }

    fn is_source(self) -> bool {
        matches!(
            self,
            Key::Definition(_)
                | Key::Incoming(_)
                | Key::Terminator(_)
                | Key::Loop(_)
                | Key::Dominance(_)
        )
    }
}

/// The kind of the counts of exits, the only ones whose numbers are not dense: they have two.
const EXITS: usize = 15;

/// How many kinds of sources and entries have dense numbers.
const KINDS: usize = EXITS;

/// Lists that room is made for at once.
const FEWEST: usize = 32;

/// Makes room for a number, and for as many more as the memory for it holds.
#[cold]
fn grow(heads: &mut Vec<u32>, number: usize) {
    heads.reserve((number + 1 - heads.len()).max(FEWEST));
    heads.resize(heads.capacity(), END);
}

/// The first of the readers of each source and entry, [`END`] where there are none.
#[derive(Debug, Default)]
struct Readers {
    dense: [Vec<u32>; KINDS],
    exits: DenseMap<u64, u32>,
}

impl Readers {
    /// The first reader, to change it.
    #[inline]
    fn head(&mut self, key: Key) -> &mut u32 {
        let (kind, number) = key.place();
        let Some(heads) = self.dense.get_mut(kind) else {
            return self.exits.get_or_insert(number, END);
        };
        let number = number as usize;
        if number >= heads.len() {
            grow(heads, number);
        }
        &mut heads[number]
    }

    /// Takes the readers away; the first of them.
    fn take(&mut self, key: Key) -> u32 {
        let (kind, number) = key.place();
        match self.dense.get_mut(kind) {
            Some(heads) => heads
                .get_mut(number as usize)
                .map_or(END, |head| std::mem::replace(head, END)),
            None => self.exits.remove(&number).unwrap_or(END),
        }
    }

    fn clear(&mut self) {
        let Readers { dense, exits } = self;
        dense.iter_mut().for_each(Vec::clear);
        exits.clear();
    }
}

/// What is known of a value by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueEntry {
    /// Its expression, with parameters of headers as leaves.
    pub expression: Expression,
    /// The bits that are the same in every execution.
    pub known: Known,
    /// How it was defined: an instruction may be given another result.
    pub definition: Definition,
    /// Whether control could reach its definition.
    pub is_reached: bool,
}

/// A range of unsigned numbers, and the bits that are the same in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsignedRange {
    /// The smallest.
    pub low: u64,
    /// The largest.
    pub high: u64,
    /// Bits that are known.
    pub known: Known,
}

/// A range of signed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedRange {
    /// The smallest.
    pub low: i64,
    /// The largest.
    pub high: i64,
}

/// How many levels of what was computed from a loop are forgotten with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What is kept of the loop itself.
    Shallow,
    /// Everything that was computed from it.
    All,
    /// So many levels.
    Bounded(u32),
}

impl Depth {
    fn levels(self) -> u32 {
        match self {
            Depth::Shallow => 0,
            Depth::All => u32::MAX,
            Depth::Bounded(levels) => levels,
        }
    }
}

/// How much was computed and forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Entries computed.
    pub computed: u64,
    /// Entries forgotten because something they were computed from changed.
    pub forgotten: u64,
    /// Entries there are.
    pub kept: u64,
    /// Sums and products that were too large to simplify.
    pub too_large: u32,
}

/// The end of a list of readers.
const END: u32 = u32::MAX;

/// The tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// 1: value → expression.
    pub value_expressions: IndexVec<Value, Option<ValueEntry>>,
    /// 2 and 3: expression → unsigned and signed range.
    pub ranges: IndexVec<Expression, Option<(UnsignedRange, SignedRange)>>,
    /// 4: header → backedge-taken counts.
    pub backedge_taken: DenseMap<Block, BackedgeTaken>,
    /// 5: header and exiting block → count of the exit.
    pub exit_counts: DenseMap<(Block, Block), ExitCount>,
    /// 6: recurrences of parameters, and expressions folded with them.
    pub recurrences: DenseMap<Value, Expression>,
    pub folded: IndexVec<Expression, PackedOption<Expression>>,
    /// 7: header → backedge-taken count under assumptions.
    pub predicated: DenseMap<Block, PredicatedCount>,
    /// 8: what holds behind the edge from its immediate dominator to a block, and where a block is executed.
    pub edge_facts: IndexVec<Block, Option<Rc<Facts>>>,
    pub facts: IndexVec<Block, Option<Rc<Facts>>>,
    /// 9: predicate → what it is wherever it is computed in a block, if that is known.
    pub decisions: DenseMap<Value, (Block, Option<bool>)>,
    /// The only result of each instruction whose result has an entry: it may be given another one.
    pub results: IndexVec<Instruction, PackedOption<Value>>,
    readers: Readers,
    /// Readers, each with the next.
    links: Vec<(Key, u32)>,
    entries: u64,
    computed: u64,
    forgotten: u64,
}

impl Tables {
    /// Tables of a function with so many values: room is made for what is asked of most of them.
    pub fn of(values: usize) -> Tables {
        let mut tables = Tables::default();
        tables.value_expressions.reserve(values);
        for kind in [Key::Definition, Key::Value].map(|kind| kind(Value::from_index(0)).place().0) {
            tables.readers.dense[kind].reserve(values);
        }
        tables.links.reserve(values);
        tables
    }

    /// Says that `reader` is computed from `read`.
    #[inline]
    pub fn read(&mut self, reader: Key, read: Key) {
        if reader == Key::Nobody {
            return;
        }
        let head = self.readers.head(read);
        if *head != END && self.links[*head as usize].0 == reader {
            return;
        }
        let next = std::mem::replace(head, self.links.len() as u32);
        self.links.push((reader, next));
    }

    /// Says that an entry was filled.
    #[inline]
    pub fn filled(&mut self) {
        self.entries += 1;
        self.computed += 1;
    }

    /// How much was computed and forgotten.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            computed: self.computed,
            forgotten: self.forgotten,
            kept: self.entries,
            too_large: 0,
        }
    }

    /// The entry of a value.
    #[inline]
    pub fn value(&self, value: Value) -> Option<ValueEntry> {
        *self.value_expressions.get(value)?
    }

    /// The ranges of an expression.
    #[inline]
    pub fn range_of(&self, expression: Expression) -> Option<(UnsignedRange, SignedRange)> {
        *self.ranges.get(expression)?
    }

    /// What an expression folds to.
    #[inline]
    pub fn fold_of(&self, expression: Expression) -> Option<Expression> {
        self.folded.get(expression)?.expand()
    }

    fn has(&self, key: Key) -> bool {
        match key {
            Key::Value(value) => self.value(value).is_some(),
            Key::Recurrence(value) => self.recurrences.contains_key(&value),
            Key::Folded(expression) => self.fold_of(expression).is_some(),
            Key::Range(expression) => self.range_of(expression).is_some(),
            Key::Exit(header, from) => self.exit_counts.contains_key(&(header, from)),
            Key::Count(block) => self.backedge_taken.contains_key(&block),
            Key::Predicated(block) => self.predicated.contains_key(&block),
            Key::EdgeFacts(block) => self.edge_facts.get(block).is_some_and(Option::is_some),
            Key::Facts(block) => self.facts.get(block).is_some_and(Option::is_some),
            Key::Decision(value) => self.decisions.contains_key(&value),
            _ => false,
        }
    }

    /// Takes an entry out; whether it was there.
    fn erase(&mut self, key: Key) -> bool {
        match key {
            Key::Value(value) => self
                .value_expressions
                .get_mut(value)
                .is_some_and(|entry| entry.take().is_some()),
            Key::Recurrence(value) => self.recurrences.erase(&value),
            Key::Folded(expression) => self
                .folded
                .get_mut(expression)
                .is_some_and(|folded| std::mem::take(folded).is_some()),
            Key::Range(expression) => self
                .ranges
                .get_mut(expression)
                .is_some_and(|ranges| ranges.take().is_some()),
            Key::Exit(header, from) => self.exit_counts.erase(&(header, from)),
            Key::Count(block) => self.backedge_taken.erase(&block),
            Key::Predicated(block) => self.predicated.erase(&block),
            Key::EdgeFacts(block) => self
                .edge_facts
                .get_mut(block)
                .is_some_and(|facts| facts.take().is_some()),
            Key::Facts(block) => self
                .facts
                .get_mut(block)
                .is_some_and(|facts| facts.take().is_some()),
            Key::Decision(value) => self.decisions.erase(&value),
            _ => false,
        }
    }

    /// Forgets entries, and what was computed from these and from sources, to a depth.
    pub fn forget(&mut self, keys: impl IntoIterator<Item = Key>, depth: Depth) {
        let mut stack: Vec<(Key, u32)> = keys
            .into_iter()
            .map(|key| {
                (
                    key,
                    depth.levels().saturating_add(u32::from(key.is_source())),
                )
            })
            .collect();
        while let Some((key, levels)) = stack.pop() {
            if !key.is_source() {
                if !self.erase(key) {
                    continue;
                }
                self.entries -= 1;
                self.forgotten += 1;
            }
            if levels == 0 {
                continue;
            }
            let mut next = self.readers.take(key);
            while next != END {
                let (reader, after) = self.links[next as usize];
                stack.push((reader, levels - 1));
                next = after;
            }
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        let Tables {
            value_expressions,
            ranges,
            backedge_taken,
            exit_counts,
            recurrences,
            folded,
            predicated,
            edge_facts,
            facts,
            decisions,
            results,
            readers,
            links,
            entries,
            computed: _,
            forgotten,
        } = self;
        value_expressions.clear();
        ranges.clear();
        backedge_taken.clear();
        exit_counts.clear();
        recurrences.clear();
        folded.clear();
        predicated.clear();
        edge_facts.clear();
        facts.clear();
        decisions.clear();
        results.clear();
        readers.clear();
        links.clear();
        *forgotten += std::mem::take(entries);
    }

    /// Drops links to entries that are gone, if there are many.
    pub fn prune(&mut self) {
        if (self.links.len() as u64) < 1024 + 16 * self.entries {
            return;
        }
        let Readers { mut dense, exits } = std::mem::take(&mut self.readers);
        let links = std::mem::take(&mut self.links);
        for head in dense.iter_mut().flatten() {
            *head = self.link_again(*head, &links);
        }
        let exits = exits.into_sorted_vec().into_iter();
        let exits = exits.map(|(number, head)| (number, self.link_again(head, &links)));
        let exits = exits.filter(|&(_, head)| head != END).collect();
        self.readers = Readers { dense, exits };
    }

    /// Links the readers of a list again that are still there; the first of them.
    fn link_again(&mut self, first: u32, links: &[(Key, u32)]) -> u32 {
        let mut kept: Vec<Key> = Vec::new();
        let mut next = first;
        while next != END {
            let (reader, after) = links[next as usize];
            if self.has(reader) {
                kept.push(reader);
            }
            next = after;
        }
        kept.sort_unstable_by_key(|key| key.place());
        kept.dedup();
        let mut head = END;
        for reader in kept {
            self.links.push((reader, head));
            head = self.links.len() as u32 - 1;
        }
        head
    }

    /// What is wrong with the tables: a count of entries that is not theirs.
    pub fn inconsistencies(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let values = self.value_expressions.values().flatten().count();
        let count = values
            + self.ranges.values().flatten().count()
            + self.backedge_taken.len()
            + self.exit_counts.len()
            + self.recurrences.len()
            + self.folded.values().filter(|it| it.is_some()).count()
            + self.predicated.len()
            + self.edge_facts.values().flatten().count()
            + self.facts.values().flatten().count()
            + self.decisions.len();
        if count as u64 != self.entries {
            wrong.push(format!("{count} entries, counted as {}", self.entries));
        }
        wrong
    }
}
