//! Layer 3: how often the back edges of a loop are taken, over all its exits.
//!
//! ## Soundness
//! A loop is left by the exit whose condition holds first, so that the smallest of the counts of all exits is the count of the loop, if all
//! have one. A count that one exit has bounds that of the loop: no iteration passes by it.

use super::Query;
use super::exits::{Assumption, ExitCount};
use super::expression::{Expression, Expressions, Kind};
use super::tables::Key;
use oriole_collections::SmallVec;
use oriole_ir::Block;

/// How often the back edges of a loop are taken if it is left by one of its exits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackedgeTaken {
    /// The count, or no expression.
    pub exact: Expression,
    /// The largest it may be.
    pub maximum: Option<u64>,
    /// What it is at most: the smallest of the counts of those exits that have one, or no expression. It is the count if all have one.
    pub symbolic_maximum: Expression,
    /// The blocks with an exit, in reverse postorder.
    pub exits: Vec<Block>,
}

/// A count under assumptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicatedCount {
    /// The count, or no expression.
    pub count: Expression,
    /// What it takes for granted; nothing if it is what is known without.
    pub assumptions: Vec<Assumption>,
}

/// How much is known of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountKind {
    /// Nothing.
    Unknown,
    /// A bound.
    Maximum,
    /// An expression.
    Symbolic,
    /// A number.
    Exact,
}

impl CountKind {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            CountKind::Unknown => "unknown",
            CountKind::Maximum => "maximum",
            CountKind::Symbolic => "symbolic",
            CountKind::Exact => "exact",
        }
    }
}

impl Query<'_> {
    /// How often the back edges of the loop with this header are taken.
    pub fn backedge_taken(&mut self, header: Block) -> Option<BackedgeTaken> {
        self.state.shape.headed(header)?;
        self.count_loops(header);
        self.state.tables.backedge_taken.get(&header).cloned()
    }

    /// The count of an exit of a loop, by header and exiting block.
    pub fn exit_count_of(&mut self, header: Block, from: Block) -> Option<ExitCount> {
        self.state.shape.headed(header)?;
        self.count_loops(header);
        self.state.tables.exit_counts.get(&(header, from)).cloned()
    }

    /// How much is known of the count of a loop, without assumptions.
    pub fn count_kind(&mut self, header: Block) -> CountKind {
        let Some(count) = self.backedge_taken(header) else {
            return CountKind::Unknown;
        };
        let expressions = &self.state.expressions;
        match expressions.kind(count.exact) {
            Kind::Constant => CountKind::Exact,
            Kind::CouldNotCompute if count.maximum.is_some() => CountKind::Maximum,
            Kind::CouldNotCompute => CountKind::Unknown,
            _ => CountKind::Symbolic,
        }
    }

    /// The largest count of a loop; nothing while it is being computed.
    pub(super) fn maximum_count(&mut self, header: Block) -> Option<u64> {
        self.state.shape.headed(header)?;
        if self.state.counting.contains(&header) {
            debug_assert!(false, "a count was asked for to compute itself");
            return None;
        }
        self.count_loops(header);
        self.state.tables.backedge_taken.get(&header)?.maximum
    }

    /// Computes the counts of a loop and, before, of those that come before it: what it is computed from may need them, and asking
    /// in this order nests no questions.
    fn count_loops(&mut self, header: Block) {
        if self.state.tables.backedge_taken.contains_key(&header) {
            return;
        }
        let position = self.state.shape.flow.position(header);
        for place in self.state.tables.counted..=position {
            let other = self.state.shape.flow.reverse_postorder()[place];
            let is_known = self.state.shape.headed(other).is_none()
                || self.state.tables.backedge_taken.contains_key(&other);
            if !is_known && !self.state.counting.contains(&other) {
                self.state.counting.push(other);
                let count = self.count(other);
                self.state.counting.pop();
                self.state.tables.backedge_taken.insert(other, count);
                self.state.tables.filled();
            }
        }
        // All of them are, unless this was asked for to count one of them.
        if self.state.counting.is_empty() {
            let counted = &mut self.state.tables.counted;
            *counted = (position + 1).max(*counted);
        }
    }

    fn count(&mut self, header: Block) -> BackedgeTaken {
        let key = Key::count(header);
        self.state.tables.read(key, Key::in_loop(header));
        let edges = self.state.shape.exits(header).to_vec();
        let mut exits: Vec<Block> = edges.iter().map(|exit| exit.from).collect();
        exits.dedup();
        let mut counts: Vec<ExitCount> = Vec::new();
        for edge in edges {
            let exit = Key::exit(header, edge.from);
            self.state.tables.read(key, exit);
            let found = self
                .state
                .tables
                .exit_counts
                .get(&(header, edge.from))
                .cloned();
            counts.push(match found {
                Some(count) => count,
                None => {
                    let facts = self.entry_facts(exit, header);
                    let count = self.exit_count(header, edge, &facts);
                    let exits = &mut self.state.tables.exit_counts;
                    exits.insert((header, edge.from), count.clone());
                    self.state.tables.filled();
                    count
                }
            });
        }
        let maximum = counts.iter().filter_map(|count| count.maximum).min();
        let exact: SmallVec<[Expression; 4]> = counts.iter().map(|count| count.exact).collect();
        let known: SmallVec<[Expression; 4]> = exact
            .iter()
            .copied()
            .filter(|&count| !self.state.expressions.is_unknown(count))
            .collect();
        BackedgeTaken {
            exact: self.smallest(&exact),
            maximum,
            symbolic_maximum: self.smallest(&known),
            exits,
        }
    }

    /// The smallest of counts, in the width of the widest; none if there are none, or one of them is none.
    fn smallest(&mut self, counts: &[Expression]) -> Expression {
        let expressions = &mut self.state.expressions;
        if counts.iter().any(|&count| expressions.is_unknown(count)) {
            return Expressions::could_not_compute();
        }
        let bits = counts.iter().map(|&count| expressions.bits(count)).max();
        let Some(bits) = bits else {
            return Expressions::could_not_compute();
        };
        let counts: SmallVec<[Expression; 4]> = counts
            .iter()
            .map(|&count| expressions.zero_extend(count, bits))
            .collect();
        // Numbers in one width are told apart by value.
        expressions.extreme(Kind::SequentialUnsignedMin, &counts)
    }

    /// The count of a loop under assumptions that are as few as are known to do.
    pub fn predicated_backedge_taken(&mut self, header: Block) -> Option<PredicatedCount> {
        let count = self.backedge_taken(header)?;
        if let Some(found) = self.state.tables.predicated.get(&header) {
            return Some(found.clone());
        }
        let key = Key::predicated(header);
        self.state.tables.read(key, Key::count(header));
        let mut predicated = PredicatedCount {
            count: count.exact,
            assumptions: Vec::new(),
        };
        if self.state.expressions.is_unknown(count.exact) && !count.exits.is_empty() {
            let mut counts: SmallVec<[Expression; 4]> = SmallVec::new();
            for &from in &count.exits {
                self.state.tables.read(key, Key::exit(header, from));
                let exit = self.state.tables.exit_counts.get(&(header, from));
                let exit = exit.expect("counted with the loop");
                match &exit.predicated {
                    Some((assumed, assumptions)) => {
                        counts.push(*assumed);
                        for assumption in assumptions {
                            if !predicated.assumptions.contains(assumption) {
                                predicated.assumptions.push(*assumption);
                            }
                        }
                    }
                    None => counts.push(exit.exact),
                }
            }
            predicated.count = self.smallest(&counts);
            if self.state.expressions.is_unknown(predicated.count) {
                predicated.assumptions.clear();
            }
        }
        self.state
            .tables
            .predicated
            .insert(header, predicated.clone());
        self.state.tables.filled();
        Some(predicated)
    }
}
