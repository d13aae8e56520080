//! Which functions a function reaches by calls, so that sums over them need not be taken anew for each caller.
//!
//! ## Method
//! The closure of a function is itself and all it reaches. Closures together are quadratic, and a function that is reached on
//! two ways must count once, so sums cannot be added up from callee to caller in general. Mostly they can: where a function is
//! in no cycle and everything it calls is in the closure of the first function it calls, its closure is that one's and itself.
//! So chains of calls cost a step each; for other functions the closure is walked.

use oriole_ir::graph::{Adjacency, components, postorder};

/// Steps along the closures of callees that are tried before a closure is walked.
const MOST_STEPS: usize = 16;

/// The calls between functions of a module.
#[derive(Clone, Debug)]
pub(crate) struct CallClosures {
    calls: Adjacency,
    /// The function whose closure, with itself added, is the closure of this one.
    extends: Vec<Option<u32>>,
    /// All functions, those called before those that call them but for cycles.
    order: Vec<u32>,
}

impl CallClosures {
    /// The closures of functions with these calls, in order of the calls of each.
    pub(crate) fn new(calls: Adjacency) -> CallClosures {
        let count = calls.node_count();
        // A root that calls everything makes one walk of it.
        let root = count as u32;
        let edges = (0..root)
            .flat_map(|from| calls.of(from).iter().map(move |&to| (from, to)))
            .chain((0..root).map(|function| (root, function)));
        let whole = Adjacency::new(count + 1, edges);
        let mut order = postorder(&whole, root);
        order.pop();
        let component = components(&calls);
        let mut sizes = vec![0u32; count];
        for &own in &component {
            sizes[own as usize] += 1;
        }
        let mut closures = CallClosures {
            calls,
            extends: vec![None; count],
            order,
        };
        for at in 0..count {
            let function = closures.order[at];
            let callees = closures.calls.of(function);
            let is_in_cycle =
                sizes[component[function as usize] as usize] > 1 || callees.contains(&function);
            let Some((&first, others)) = callees.split_first().filter(|_| !is_in_cycle) else {
                continue;
            };
            if others.iter().all(|&other| closures.reaches(first, other)) {
                closures.extends[function as usize] = Some(first);
            }
        }
        closures
    }

    /// Whether a function is seen, in a few steps, to be in the closure of another.
    fn reaches(&self, from: u32, to: u32) -> bool {
        let mut at = from;
        for _ in 0..MOST_STEPS {
            if at == to
                || self
                    .calls
                    .of(at)
                    .iter()
                    .take(MOST_STEPS)
                    .any(|&own| own == to)
            {
                return true;
            }
            match self.extends[at as usize] {
                Some(next) => at = next,
                None => return false,
            }
        }
        false
    }

    /// The function whose closure, with this one added, is the closure of this one: then sums over that are to be extended.
    pub(crate) fn extends(&self, function: usize) -> Option<usize> {
        self.extends[function].map(|other| other as usize)
    }

    /// All functions, each behind the one it extends.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|&function| function as usize)
    }

    /// A function and everything it calls, callees before callers; recursion is cut where it closes.
    pub(crate) fn walk(&self, function: usize) -> Vec<usize> {
        postorder(&self.calls, function as u32)
            .into_iter()
            .map(|function| function as usize)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_extends_a_closure_adds_itself_behind_it() {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut random = |bound: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as u32 % bound
        };
        let mut extended = 0;
        for round in 0..2000u32 {
            let count = 1 + round % 9;
            let edges: Vec<(u32, u32)> = (0..random(2 * count))
                .map(|_| (random(count), random(count)))
                .collect();
            let closures = CallClosures::new(Adjacency::new(count as usize, edges.iter().copied()));
            let mut seen = vec![false; count as usize];
            for function in closures.order() {
                if let Some(other) = closures.extends(function) {
                    assert!(seen[other]);
                    let mut expected = closures.walk(other);
                    expected.push(function);
                    assert_eq!(closures.walk(function), expected, "{edges:?}");
                    extended += 1;
                }
                seen[function] = true;
            }
            assert!(seen.iter().all(|&seen| seen));
        }
        assert!(extended > 1000, "{extended}");
    }
}
