//! Runs all phases before it again where they have something new to see.
//!
//! Branches made straight bring code together that phases before saw apart, and the arm of an outer branch gets short enough
//! to be made straight too; once stores to a local variable are gone, loads can have what was stored before; what was
//! simplified last may be what another instruction computes. Passes that have nothing new to see are not run, so a second
//! time costs little.

use crate::manager::{Action, Pass};
use crate::{algebra, dead_stores, gvn_cse, predication};

/// How often the phases start over at most.
const MOST: u32 = 4;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "start-over",
    summary: "Run all phases before it again if branches were made straight, stores removed or values simplified since gvn-cse",
    action: Action::StartOver(
        &[&predication::PASS, &dead_stores::PASS, &algebra::PASS],
        &gvn_cse::PASS,
        MOST,
    ),
};
