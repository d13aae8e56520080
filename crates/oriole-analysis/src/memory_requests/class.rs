//! What kind of access a request is, in a word.

use super::Request;
use super::cost::WarpCost;
use crate::lane_patterns::{Cause, CauseKind};
use oriole_isa::Space;

/// What kind of access a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing is wasted.
    Coalesced,
    /// All lanes access the same address.
    Broadcast,
    /// No bank is asked for two words.
    ConflictFree,
    /// Lanes are this many bytes apart.
    Strided(u64),
    /// Lanes access what is adjacent, but not from the start of a sector.
    Misaligned,
    /// Lanes are apart by something that is not known: a row of an array whose size is no constant.
    Transposed,
    /// Banks are asked for up to so many words.
    Conflict(u64),
    /// None of these.
    Scattered,
    /// Addresses depend on data.
    DataDependent,
    /// Nothing can be said.
    Unknown,
    /// No lane of the block executes it.
    Inactive,
}

impl Class {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Coalesced => "coalesced",
            Class::Broadcast => "broadcast",
            Class::ConflictFree => "conflict-free",
            Class::Strided(_) => "strided",
            Class::Misaligned => "misaligned",
            Class::Transposed => "transposed",
            Class::Conflict(_) => "conflict",
            Class::Scattered => "scattered",
            Class::DataDependent => "data-dependent",
            Class::Unknown => "unknown",
            Class::Inactive => "inactive",
        }
    }

    /// Its name, with how far or how often, for accesses of so many bytes.
    pub fn text(self, bytes: u32) -> String {
        let bytes = u64::from(bytes.max(1));
        match self {
            Class::Strided(stride) if stride.is_multiple_of(bytes) => {
                format!("strided {}", stride / bytes)
            }
            Class::Strided(stride) => format!("strided {stride} bytes"),
            Class::Conflict(ways) => format!("conflict {ways}-way"),
            other => other.name().to_owned(),
        }
    }
}

/// The class of a request by the warp that it costs most.
pub(super) fn of(request: &Request, dearest: Option<&WarpCost>, cause: Option<Cause>) -> Class {
    let Some(warp) = dearest else {
        return Class::Inactive;
    };
    match cause {
        Some(cause) if cause.kind == CauseKind::Data => return Class::DataDependent,
        Some(_) => return Class::Unknown,
        None => {}
    }
    if request.is_free() {
        return Class::ConflictFree;
    }
    let is_shared = matches!(request.space, Space::Shared | Space::SharedCluster);
    let wastes = warp.most as f64 > warp.ideal;
    let Some(offsets) = &warp.offsets else {
        let lanes = warp.lanes.count_ones() as usize;
        return match (is_shared, wastes) {
            (true, false) => Class::ConflictFree,
            (false, false) => Class::Coalesced,
            _ if warp.groups.len() == lanes => Class::Transposed,
            (true, true) => Class::Conflict(ways(warp)),
            (false, true) if warp.least_apart as f64 <= warp.ideal => Class::Misaligned,
            (false, true) => Class::Scattered,
        };
    };
    if request.space == Space::Local {
        return match wastes {
            true => Class::Scattered,
            false => Class::Coalesced,
        };
    }
    // Atomics on one word wait for each other.
    let waits = is_shared && wastes;
    if warp.lanes.count_ones() > 1 && offsets.is_uniform() && !waits {
        return Class::Broadcast;
    }
    if is_shared {
        return match wastes {
            true => Class::Conflict(ways(warp)),
            false => Class::ConflictFree,
        };
    }
    if !wastes {
        return Class::Coalesced;
    }
    let mut sorted: Vec<i64> = offsets.iter().flatten().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let steps: Vec<u64> = sorted
        .windows(2)
        .map(|pair| pair[0].abs_diff(pair[1]))
        .collect();
    let bytes = u64::from(request.bytes);
    if steps.iter().all(|&step| step <= bytes) {
        return Class::Misaligned;
    }
    match steps.first() {
        Some(&step) if steps.iter().all(|&own| own == step) => Class::Strided(step),
        _ => Class::Scattered,
    }
}

/// How many words of one bank are asked for.
fn ways(warp: &WarpCost) -> u64 {
    (warp.most as f64 / warp.ideal.max(1.0)).ceil() as u64
}
