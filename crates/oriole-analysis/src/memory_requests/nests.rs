//! What accesses of a nest of two loops cost in the one and in the other order.
//!
//! ## Example
//! `for (i…) for (j…) sum += x[(threadIdx.x * 64 + j) * 64 + i]`: each request touches a sector for each lane, and each iteration touches others.
//! With `i` as the inner loop eight iterations in a row touch the same.
//!
//! ## Method
//! A request costs the same in any order. So the sectors that [`WINDOW`] iterations of the inner loop touch together are counted, from the first on,
//! over all iterations of both loops, or as many as are looked at: what a cache that holds the last few has to fetch for each of them.

use super::fixes::{Fix, FixKind, Sample, wastes};
use super::group_cost::MIDDLE;
use super::{Request, RequestCost};
use crate::known_bits::sign_extend;
use crate::lane_patterns::LANES;
use oriole_ir::Block;
use oriole_isa::Space;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 32;

/// Iterations in a row whose sectors are counted once.
pub const WINDOW: u64 = 8;

/// So many iterations of each loop are looked at.
const MOST_ROUNDS: u64 = 32;

/// A nest of two loops that can be exchanged.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The headers, the outer one first.
    pub headers: [Block; 2],
    /// How often the loops run.
    pub trips: [u64; 2],
    /// The requests to global memory, by number, and what they are apart from one iteration to the next, in bytes: of both loops.
    pub members: Vec<(usize, [i64; 2])>,
}

impl Nest {
    /// What exchanging the loops saves for each request, if all of them cost less together.
    pub(super) fn fixes(&self, costs: &[RequestCost], samples: &[Vec<Sample>]) -> Vec<Fix> {
        let is_global =
            |index: usize| matches!(costs[index].request.space, Space::Global | Space::Generic);
        let mut found = Vec::new();
        let (mut before, mut after) = (0.0, 0.0);
        for &(index, [outer, inner]) in self.members.iter().filter(|own| is_global(own.0)) {
            let request = &costs[index].request;
            let own = |steps, trips| in_order(request, &samples[index], steps, trips);
            let [out, within] = self.trips;
            let as_is = own([outer, inner], [out, within]);
            let exchanged = own([inner, outer], [within, out]);
            let (Some(as_is), Some(exchanged)) = (as_is, exchanged) else {
                return Vec::new();
            };
            (before, after) = (before + as_is, after + exchanged);
            found.push(Fix {
                kind: FixKind::ExchangeLoops(self.headers),
                request: Some(index),
                before: as_is,
                after: exchanged,
                saved: (1.0 - exchanged / as_is.max(1.0)) * costs[index].mean * costs[index].trips,
            });
        }
        found.retain(|fix| {
            let is_wasteful = fix.request.is_some_and(|index| wastes(&costs[index]));
            is_wasteful && fix.after < fix.before
        });
        match after < before * 0.75 {
            true => found,
            false => Vec::new(),
        }
    }
}

/// The sectors of a request that an iteration adds to those of the ones before it in its window, on average over iterations and warps, if
/// it is known where in a sector they start.
fn in_order(
    request: &Request,
    samples: &[Sample],
    steps: [i64; 2],
    trips: [u64; 2],
) -> Option<f64> {
    let [outer, inner] = trips.map(|count| count.min(MOST_ROUNDS));
    let mut sectors: Vec<u64> = Vec::new();
    let (mut sum, mut count) = (0, 0u64);
    for sample in samples.iter().filter(|sample| sample.lanes != 0) {
        let pattern = sample.pattern.as_ref().filter(|own| own.has_one_group())?;
        let known = (sample.first.zeros | sample.first.ones) & (SECTOR - 1);
        if known != SECTOR - 1 {
            return None;
        }
        let start = MIDDLE + (sample.first.ones & (SECTOR - 1));
        for out in 0..outer as i64 {
            for window in (0..inner).step_by(WINDOW as usize) {
                sectors.clear();
                for own in window..(window + WINDOW).min(inner) {
                    let moved = steps[0] * out + steps[1] * own as i64;
                    for lane in (0..LANES).filter(|lane| sample.lanes >> lane & 1 != 0) {
                        let offset = sign_extend(pattern.lanes.get(lane), pattern.bits);
                        let address = start.wrapping_add_signed(offset + moved);
                        let last = address + u64::from(request.bytes.max(1)) - 1;
                        sectors.extend(address / SECTOR..=last / SECTOR);
                    }
                }
                sectors.sort_unstable();
                sectors.dedup();
                sum += sectors.len() as u64;
            }
        }
        count += outer * inner;
    }
    (count > 0).then(|| sum as f64 / count as f64)
}
