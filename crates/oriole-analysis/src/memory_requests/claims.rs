//! What is claimed of each warp, and of each lane of one, in little memory: warps are mostly alike, and lanes mostly equally far apart.

use super::group_cost::step_of;
use crate::known_bits::sign_extend;
use crate::lane_patterns::{LANES, Pattern};
use oriole_collections::SmallVec;
use std::sync::Arc;

/// What is claimed of a warp.
#[derive(Clone, Debug)]
pub struct WarpClaim {
    /// It costs this at least.
    pub least: u64,
    /// And this at most.
    pub most: u64,
    /// The lanes that take part.
    pub lanes: u32,
    /// The lanes that take part in one or the other round of the loops around it, where these were followed.
    pub masks: SmallVec<[u32; 2]>,
    /// The groups of lanes that differ by known numbers, in the dearest round of the loops around it.
    pub groups: SmallVec<[u32; 2]>,
    /// Those of other rounds, where these differ.
    pub other_groups: Vec<SmallVec<[u32; 2]>>,
}

/// What is claimed of the warps of a block.
#[derive(Clone, Debug)]
pub struct WarpClaims {
    /// By warp; only one where all are alike.
    claims: Vec<WarpClaim>,
    warps: usize,
}

impl WarpClaims {
    /// Of so many warps: one for each, or one for all.
    pub(super) fn new(claims: Vec<WarpClaim>, warps: usize) -> WarpClaims {
        debug_assert!(matches!(claims.len(), 0 | 1) || claims.len() == warps);
        WarpClaims { claims, warps }
    }

    /// How many warps there are.
    pub fn len(&self) -> usize {
        match self.claims.is_empty() {
            true => 0,
            false => self.warps,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is claimed of a warp.
    pub fn get(&self, warp: usize) -> Option<&WarpClaim> {
        match self.claims.len() {
            1 => self.claims.first().filter(|_| warp < self.warps),
            _ => self.claims.get(warp),
        }
    }

    /// What is claimed of all warps, in order.
    pub fn iter(&self) -> impl Iterator<Item = &WarpClaim> {
        (0..self.len()).filter_map(|warp| self.get(warp))
    }
}

/// How far each lane's address is from that of the first one that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// The lanes that take part.
    lanes: u32,
    numbers: Numbers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Numbers {
    /// So much more from lane to lane.
    Step(i64),
    Each(Arc<[i64; LANES]>),
}

impl Offsets {
    /// Of the lanes of a pattern that differ by known numbers.
    pub(super) fn of(pattern: &Pattern, lanes: u32) -> Offsets {
        let bits = pattern.bits;
        let numbers = match step_of(pattern) {
            Some(step) => Numbers::Step(step),
            None => {
                let first = pattern.lanes.get(lanes.trailing_zeros() as usize % LANES);
                let apart = |lane| sign_extend(pattern.lanes.get(lane).wrapping_sub(first), bits);
                Numbers::Each(Arc::new(std::array::from_fn(apart)))
            }
        };
        Offsets { lanes, numbers }
    }

    /// That of a lane; nothing if it does not take part.
    pub fn get(&self, lane: usize) -> Option<i64> {
        let takes_part = lane < LANES && self.lanes >> lane & 1 != 0;
        takes_part.then(|| match &self.numbers {
            Numbers::Step(step) => (lane as i64 - i64::from(self.lanes.trailing_zeros())) * step,
            Numbers::Each(numbers) => numbers[lane],
        })
    }

    /// Those of all lanes, in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<i64>> + Clone {
        (0..LANES).map(|lane| self.get(lane))
    }

    /// Whether all lanes that take part have one address.
    pub fn is_uniform(&self) -> bool {
        match &self.numbers {
            Numbers::Step(0) => true,
            _ => self.iter().flatten().all(|offset| offset == 0),
        }
    }
}
