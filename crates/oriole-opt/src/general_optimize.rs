//! The cleaning that runs between the other phases: copies, constants, algebra, branches and dead code, again and again,
//! as each makes work for the others.
//!
//! The early phases (13 and 29) go on until nothing changes, up to a number of rounds; the later ones (37, 46, 58, 65) stop
//! after a round that changed little. Dead code goes before branches are simplified, as it is what hides empty blocks, and
//! both before algebra, which looks at who else reads a value in the same block; what algebra leaves dead goes at the end.

use crate::knobs::Number;
use crate::manager::{Action, Limit, Pass};
use crate::{
    address_spaces, algebra, branch_simplification, constant_folding, copy_propagation, dead_code,
    dead_stores,
};

const PARTS: &[&Pass] = &[
    &address_spaces::PASS,
    &copy_propagation::PASS,
    &constant_folding::PASS,
    &dead_stores::PASS,
    &dead_code::PASS,
    &branch_simplification::PASS,
    &algebra::PASS,
];

/// The pass as the early phases run it.
pub(crate) const PASS: Pass = Pass {
    name: "general-optimize",
    summary: "Propagate copies, fold constants, simplify and remove dead code until nothing changes",
    action: Action::Repeat(
        PARTS,
        Limit::Rounds(Number::named("GeneralOptimizeRounds")),
        &dead_code::PASS,
    ),
};

/// The pass as the later phases run it.
pub(crate) const LATE: Pass = Pass {
    name: "general-optimize-late",
    summary: "The same, until a round changes little",
    action: Action::Repeat(
        PARTS,
        Limit::Threshold(Number::named("GeneralOptimizeThreshold")),
        &dead_code::PASS,
    ),
};

/// What is done to a function that the other phases did not make better: dead code goes, and so do the branches that it leaves
/// with nothing to decide. Neither makes a value live longer.
pub(crate) const DEAD_ONLY: Pass = Pass {
    name: "remove-dead",
    summary: "Remove dead code and the branches it leaves deciding nothing, until nothing changes",
    action: Action::Repeat(
        &[&dead_code::PASS, &branch_simplification::PASS],
        Limit::Rounds(Number::named("GeneralOptimizeRounds")),
        &dead_code::PASS,
    ),
};
