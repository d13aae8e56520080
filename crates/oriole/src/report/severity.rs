//! The severity of a finding: the one place that has its thresholds.
//!
//! | severity | rule |
//! |---|---|
//! | high | a quarter of the kernel's cost is wasted for certain; what cannot work |
//! | medium | a twentieth is wasted for certain; local arrays, low occupancy, divergence, spills, contended atomics |
//! | undecided | the cost depends on an argument, bounds or data, and a hundredth may be wasted |
//! | low | all else |

use super::{Finding, Severity};
use crate::findings::{FindingKind, Impact};

/// Whole percent of the kernel's cost from which a certain waste is high.
const HIGH: f64 = 25.0;
/// Whole percent from which it is medium.
const MEDIUM: f64 = 5.0;
/// Whole percent that an open waste may come to.
const UNDECIDED: f64 = 1.0;

fn percent(share: f64) -> f64 {
    (share * 100.0).round()
}

/// The severity of a finding about what accesses cost.
pub(super) fn of_cost(finding: &Finding, is_certain: bool) -> Severity {
    match (is_certain, percent(finding.share)) {
        (true, share) if share >= HIGH => Severity::High,
        (true, share) if share >= MEDIUM => Severity::Medium,
        (false, _) if percent(finding.share_at_worst) >= UNDECIDED => Severity::Undecided,
        _ => Severity::Low,
    }
}

/// The severity of a finding about something else.
pub(super) fn of_kind(kind: FindingKind, impact: Impact) -> Severity {
    match (kind, impact) {
        (_, Impact::Wrong) => Severity::High,
        (_, Impact::Minor) => Severity::Low,
        (
            FindingKind::LocalArray
            | FindingKind::LowOccupancy
            | FindingKind::LaneDependentLoop
            | FindingKind::DivergentBranch
            | FindingKind::PredictedSpill
            | FindingKind::ContendedAtomic,
            Impact::Usual,
        ) => Severity::Medium,
        _ => Severity::Low,
    }
}
