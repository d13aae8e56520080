//! ScalarEvolution: what integers are as functions of the iterations of loops, how often loops run, and between which bounds values lie.
//!
//! ## Example
//! ```text
//! $L1: ld.global.f32 %f1, [%rd1];           %rd1 = {%rd0,+,4}
//!      add.s64 %rd1, %rd1, 4;               %r1  = {0,+,1}
//!      add.s32 %r1, %r1, 1;                 back edge taken n - 1 times, given that n > 0
//!      setp.lt.s32 %p1, %r1, %r2;
//!      @%p1 bra $L1;
//! ```
//!
//! ## Soundness
//! PTX has no promises that arithmetic does not wrap. Every identity holds modulo two to the width; where a count needs that something
//! does not wrap, that is proved from ranges and from conditions that dominate the loop, or stated as an assumption. A count is how often
//! the back edges are taken if the loop is left by one of its exits: threads that trap, or end inside a call, never leave it.
//! When in doubt the answer is "unknown".
//!
//! ## Method
//! Answers are computed when they are asked for and kept in ten tables (`tables`). Four layers, each of which asks only those before
//! it, so that no answer depends on the order of questions:
//!
//! 1. `values`: the expression of a value with parameters of loop headers as leaves, and its known bits;
//! 2. `recurrences`: what parameters of headers are, and expressions with these in place of the leaves;
//! 3. `exits`, `trip_counts`: counts, from the expressions of exit conditions, loops in reverse postorder;
//! 4. `ranges`: ranges of expressions; of a recurrence from the count of its loop.
//!
//! Layer 3 asks for ranges of what is invariant in a loop only, which is computed before the loop starts. Nothing recurses on the
//! input: chains of values and expressions are walked with explicit stacks.
//!
//! Tables know what each entry was computed from; `update` forgets what a journal touches. No pass has to.
//!
//! ## Not done
//! Values of inner loops after their last iteration inside outer recurrences; recurrences through memory (promote local variables first);
//! closed forms of geometric recurrences.

mod arithmetic;
mod conditions;
mod distribution;
mod exhaustive;
mod exit_values;
mod exits;
mod expression;
mod extensions;
mod guards;
mod knobs;
mod narrowing;
mod open_comparisons;
mod places;
mod printer;
mod ranges;
mod recurrences;
mod shape;
mod tables;
mod trip_counts;
mod update;
mod values;
mod verify;

pub use conditions::Relation;
pub use exits::{Assumption, ExitCount};
pub use expression::{Expression, Expressions, Kind, Leaf};
pub use knobs::{Knobs, UnknownKnob};
pub use narrowing::LowHalves;
pub use printer::Names;
pub use ranges::Range;
pub use tables::{Depth, SignedRange, Statistics, UnsignedRange};
pub use trip_counts::{BackedgeTaken, CountKind, PredicatedCount};

use crate::control_flow::ControlFlow;
use crate::dominators::Dominators;
use crate::launch::LaunchShape;
use crate::loops::Loops;
use crate::manager::{Analyses, Analysis, Others, Reads, Update};
use oriole_ir::{Block, Function, Journal, Value};
use places::Places;
use shape::Shape;
use std::cell::{RefCell, RefMut};
use tables::{Key, Tables};

/// What is computed and kept.
#[derive(Debug)]
struct State {
    expressions: Expressions,
    shape: Shape,
    tables: Tables,
    knobs: Knobs,
    bounds: LaunchShape,
    /// Headers whose counts are being computed.
    counting: Vec<Block>,
    /// Where parameters of blocks were when somebody last asked.
    places: Places,
}

/// The analysis of one function: see the documentation of the module.
#[derive(Debug)]
pub struct ScalarEvolution {
    state: RefCell<State>,
}

/// Questions about the function that the analysis belongs to.
pub struct Query<'query> {
    function: &'query Function,
    state: RefMut<'query, State>,
}

impl ScalarEvolution {
    /// The analysis of a function that is launched within these bounds. Nothing is computed yet.
    pub fn new(function: &Function, bounds: LaunchShape, knobs: Knobs) -> ScalarEvolution {
        ScalarEvolution::with_shape(function, Shape::compute(function), bounds, knobs)
    }

    fn with_shape(
        function: &Function,
        shape: Shape,
        bounds: LaunchShape,
        knobs: Knobs,
    ) -> ScalarEvolution {
        ScalarEvolution {
            state: RefCell::new(State {
                expressions: Expressions::new(knobs),
                shape,
                tables: Tables::of(function.values().len()),
                knobs,
                bounds,
                counting: Vec::new(),
                places: Places::default(),
            }),
        }
    }

    /// Questions about the function, which must be the one that the analysis was made for, as it is now.
    ///
    /// # Panics
    /// If another query is still there.
    pub fn on<'query>(&'query self, function: &'query Function) -> Query<'query> {
        Query {
            function,
            state: self.state.borrow_mut(),
        }
    }

    /// How much was computed and forgotten.
    pub fn statistics(&self) -> Statistics {
        let state = self.state.borrow();
        Statistics {
            too_large: state.expressions.failures,
            ..state.tables.statistics()
        }
    }

    /// Forgets what is known of a value, and what was computed from it.
    pub fn forget_value(&self, value: Value) {
        let keys = [Key::definition(value), Key::value(value)];
        self.state.borrow_mut().tables.forget(keys, Depth::All);
    }

    /// Forgets the counts of the loop with this header and what its parameters are, and what was computed from these to a depth.
    pub fn forget_loop(&self, function: &Function, header: Block, depth: Depth) {
        let state = &mut *self.state.borrow_mut();
        let exits = state.shape.exits(header).iter();
        let mut keys: Vec<Key> = exits.map(|exit| Key::exit(header, exit.from)).collect();
        keys.extend([Key::count(header), Key::predicated(header)]);
        if let Some(block) = function.blocks().get(header) {
            let parameters = block.parameters.iter();
            keys.extend(parameters.map(|&parameter| Key::recurrence(parameter)));
        }
        if depth != Depth::Shallow {
            keys.push(Key::in_loop(header));
        }
        state.tables.forget(keys, depth);
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        self.state.borrow_mut().tables.clear();
    }

    /// Forgets all loops and what was computed from them.
    pub fn forget_all_loops(&self, function: &Function) {
        let headers: Vec<Block> = self.state.borrow().shape.headers().collect();
        for header in headers {
            self.forget_loop(function, header, Depth::All);
        }
    }
}

impl Query<'_> {
    /// The arena of the expressions that answers name.
    pub fn expressions(&self) -> &Expressions {
        &self.state.expressions
    }

    /// The arena, to make expressions of one's own.
    pub fn expressions_mut(&mut self) -> &mut Expressions {
        &mut self.state.expressions
    }

    /// The headers of all loops, in reverse postorder.
    pub fn headers(&self) -> Vec<Block> {
        self.state.shape.headers().collect()
    }

    /// How many loops are around a block, its own included.
    pub fn depth(&self, block: Block) -> u32 {
        self.state.shape.loops.depth(block)
    }

    /// The block that a value is defined in.
    pub fn defining_block(&self, value: Value) -> Option<Block> {
        self.function.defining_block(value)
    }

    /// Whether a block is in the loop with this header.
    pub fn contains(&self, header: Block, block: Block) -> bool {
        self.state.shape.contains(header, block)
    }
}

impl PartialEq for ScalarEvolution {
    /// Whether the same is asked about, not whether the same was already answered.
    fn eq(&self, other: &ScalarEvolution) -> bool {
        let (own, others) = (self.state.borrow(), other.state.borrow());
        own.knobs == others.knobs && own.bounds == others.bounds
    }
}

impl Analysis for ScalarEvolution {
    const NAME: &'static str = "scalar-evolution";
    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: true,
        variables: false,
    };
    const IS_UPDATED_LATE: bool = true;

    fn compute(function: &Function, analyses: &mut Analyses) -> ScalarEvolution {
        let flow = ControlFlow::clone(&analyses.get::<ControlFlow>(function));
        let dominators = Dominators::clone(&analyses.get::<Dominators>(function));
        let loops = Loops::clone(&analyses.get::<Loops>(function));
        let shape = Shape::of(function, flow, dominators, loops);
        let launch = LaunchShape::of(analyses.environment(), function.kind());
        ScalarEvolution::with_shape(function, shape, launch, Knobs::default())
    }

    fn update(
        &mut self,
        function: &Function,
        journal: &Journal,
        others: &mut Others<'_>,
    ) -> Update {
        update::update(self.state.get_mut(), function, journal, others);
        let wrong = self.verify_by_knobs(function);
        assert!(wrong.is_empty(), "{}", wrong.join("; "));
        Update::Kept
    }

    fn is_current(&self, function: &Function, _: &mut Analyses) -> bool {
        self.verify(function, true).is_empty()
    }
}
