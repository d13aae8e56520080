//! How the addresses of a request come to differ by lane: the instructions from the address back to what tells lanes apart.
//!
//! ## Example
//! `ld.shared.f32 %f2, [%r11]` of `tile[threadIdx.x][threadIdx.y]`: `add.s32 %r11, %r3, %r10`, `add.s32 %r10, %r8, %r9`,
//! `shl.b32 %r8, %r1, 7`, `mov.u32 %r1, %tid.x`.
//!
//! ## Method
//! From each instruction on to the operand whose lanes are furthest apart; data before everything else.

use super::RequestCost;
use crate::lane_patterns::{CauseKind, Entry, LANES, LanePatterns, Setting};
use crate::manager::Analyses;
use crate::scalar_evolution::ScalarEvolution;
use oriole_ir::{Base, Block, Definition, Function, Instruction, Value};

/// The most instructions of a chain.
const LONGEST: usize = 12;

/// The chains of these requests.
pub fn chains(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
    costs: &[&RequestCost],
) -> Vec<Vec<Instruction>> {
    if costs.is_empty() {
        return Vec::new();
    }
    let supposing = Setting {
        supposing: true,
        ..setting.clone()
    };
    let query = evolution.on(function);
    let mut patterns = LanePatterns::new(function, analyses, supposing, query);
    patterns.ask(0, |patterns| {
        let chain = |cost: &&RequestCost| chain(function, patterns, cost);
        costs.iter().map(chain).collect()
    })
}

fn chain(
    function: &Function,
    patterns: &mut LanePatterns<'_>,
    cost: &RequestCost,
) -> Vec<Instruction> {
    let mut chain = Vec::new();
    let base = cost.request.address.map(|address| address.base);
    let Some(Base::Value(mut value)) = base else {
        return chain;
    };
    let mut seen: Vec<Value> = Vec::new();
    while chain.len() < LONGEST && !seen.contains(&value) {
        seen.push(value);
        let candidates: Vec<(Value, Block)> = match function.values()[value].definition {
            Definition::Instruction(instruction) => {
                chain.push(instruction);
                let Some(block) = function.block_of(instruction) else {
                    break;
                };
                let uses = function.uses(instruction);
                uses.map(|used| (used, block)).collect()
            }
            Definition::Parameter(block) => patterns.entering(value, block),
            Definition::Undefined => break,
        };
        let mut best: Option<(u64, Value)> = None;
        for (candidate, block) in candidates {
            let apart = apart(&patterns.entry(candidate, block));
            if apart > best.map_or(0, |best| best.0) {
                best = Some((apart, candidate));
            }
        }
        match best {
            Some((_, next)) => value = next,
            None => break,
        }
    }
    chain
}

/// How far apart the lanes of a value are; zero if they are not.
fn apart(entry: &Entry) -> u64 {
    match entry {
        Entry::Varying(cause) if cause.kind == CauseKind::Data => u64::MAX,
        Entry::Varying(_) => u64::MAX - 1,
        Entry::Known(pattern) if pattern.is_uniform() => 0,
        Entry::Known(pattern) if !pattern.has_one_group() => u64::MAX - 2,
        Entry::Known(pattern) => {
            let spread = pattern.spread();
            let most = (0..LANES).map(|lane| spread(lane).unsigned_abs()).max();
            most.unwrap_or(0).clamp(1, u64::MAX - 3)
        }
    }
}
