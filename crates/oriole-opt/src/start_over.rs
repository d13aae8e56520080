//! Runs all phases before it again where they have something new to see.
//!
//! Branches made straight bring code together that phases before saw apart, and the arm of an outer branch gets short enough
//! to be made straight too; once stores to a local variable are gone, loads can have what was stored before; what was
//! simplified last may be what another instruction computes, and so may what was moved to before a branch. Passes that have nothing new to see are not run, so a second
//! time costs little.

use crate::manager::{Action, Pass};
use crate::{algebra, dead_stores, gvn_cse, predication, speculative_hoist};

/// How often the phases start over at most.
const MOST: u32 = 4;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "start-over",
    summary: "Run all phases before it again if gvn-cse has something new to see",
    action: Action::StartOver(
        &[
            &predication::PASS,
            &dead_stores::PASS,
            &algebra::PASS,
            &speculative_hoist::PASS,
        ],
        &gvn_cse::PASS,
        MOST,
    ),
};
