//! Costs of requests that depend on where an array of shared memory lies.
//!
//! ## Example
//! Of `tile + ((row * 128 + word * 4) ^ ((tile + row * 128) >> 5 & 124))`, with `tile` a multiple of 128, the bank depends on bits 7 to 11
//! of `tile`: each of the 32 cases is counted, and all cost the same.
//!
//! ## Soundness
//! Addresses of arrays are multiples of their alignment. All that is possible modulo [`PERIOD`] is tried, and a request costs at least
//! what it costs in the cheapest case and at most what it costs in the dearest. Where a kernel names several arrays, the cases of one do
//! not tell those of the others, so nothing is tried.

use super::cost::WarpCost;
use super::{OfWarps, Request, RequestCost, Status, of_warp, summary};
use crate::lane_patterns::{CauseKind, LanePatterns, Setting};
use crate::manager::Analyses;
use crate::scalar_evolution::ScalarEvolution;
use oriole_ir::{Function, Symbol, SymbolKind};
use oriole_isa::Space;

/// What addresses are told apart by: bits of a row of banks, and as many that may be exchanged with them.
const PERIOD: u64 = 4096;

/// So many cases are tried, of kernels with no more values than that.
const MOST_CASES: u64 = 32;
const MOST_VALUES: usize = 1 << 13;

/// The only array in shared memory that a kernel names, with its alignment.
fn only_array(function: &Function, analyses: &Analyses) -> Option<(Symbol, u64)> {
    let is_shared = |space| matches!(space, Space::Shared | Space::SharedCluster);
    let mut found = None;
    for (symbol, data) in function.symbols().iter() {
        let declared = match data.kind {
            SymbolKind::Variable(variable) => {
                let own = &function.variables()[variable];
                own.space.map(|space| (space, own.variable_type))
            }
            SymbolKind::Global(global) => {
                let module = analyses.environment().module();
                let own = module.and_then(|module| module.variable(global));
                own.and_then(|own| Some((own.space?, own.variable_type)))
            }
            _ => None,
        };
        let Some((_, own)) = declared.filter(|own| is_shared(own.0)) else {
            continue;
        };
        let alignment = u64::from(own.alignment.max(1));
        if found.replace((symbol, alignment)).is_some() {
            return None;
        }
    }
    found
}

/// Counts again what is not known of shared memory, for each case of where the only array may lie.
pub(super) fn settle(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
    costs: &mut [RequestCost],
) {
    let is_open = |cost: &RequestCost| {
        let is_arithmetic = |kind| kind == CauseKind::Arithmetic;
        cost.status == Status::Unknown
            && cost.request.space == Space::Shared
            && !cost.request.depends_on_both()
            && cost.cause.is_some_and(|cause| is_arithmetic(cause.kind))
    };
    let open: Vec<usize> = (0..costs.len()).filter(|&it| is_open(&costs[it])).collect();
    if open.is_empty() || function.values().len() > MOST_VALUES {
        return;
    }
    let Some((array, alignment)) = only_array(function, analyses) else {
        return;
    };
    if alignment >= PERIOD || PERIOD / alignment > MOST_CASES {
        return;
    }
    let query = evolution.on(function);
    let mut patterns = LanePatterns::new(function, analyses, setting.clone(), query);
    // By request, until something is not known in one case.
    let mut found: Vec<Option<Vec<WarpCost>>> = vec![Some(Vec::new()); open.len()];
    for warp in 0..setting.warps() {
        let mut cases: Vec<Vec<WarpCost>> = vec![Vec::new(); open.len()];
        for residue in (0..PERIOD).step_by(alignment as usize) {
            patterns.place(array, PERIOD, residue);
            let left: Vec<usize> = (0..open.len()).filter(|&it| found[it].is_some()).collect();
            if left.is_empty() {
                return;
            }
            let requests: Vec<Request> = left.iter().map(|&it| costs[open[it]].request).collect();
            let own = patterns.ask(warp, |patterns| {
                let cost = |request: &Request| of_warp(function, patterns, request);
                requests.iter().map(cost).collect::<Vec<WarpCost>>()
            });
            let more = patterns.assumed_of_loops().to_vec();
            for (&place, mut cost) in left.iter().zip(own) {
                if cost.cause.is_some() {
                    found[place] = None;
                    continue;
                }
                cost.assumed.extend_from_slice(&more);
                cases[place].push(cost);
            }
        }
        for (found, cases) in found.iter_mut().zip(cases) {
            if let Some(found) = found {
                found.push(WarpCost::of_rounds(cases));
            }
        }
    }
    for (&index, warps) in open.iter().zip(found) {
        let Some(warps) = warps.map(OfWarps::each) else {
            continue;
        };
        let other = summary(&costs[index].request, &warps, costs[index].trips);
        if other.status < costs[index].status {
            costs[index] = other;
        }
    }
}
