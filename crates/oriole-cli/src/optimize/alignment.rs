//! Which lines of two texts differ, in time that does not grow faster than the texts.
//!
//! The shortest difference takes time by its own length, too: of two texts that share little that is quadratic. So only short texts
//! are compared in that way. Long ones are cut first, at lines that both texts have equally often.
//! The cuts are the longest row of such lines whose order is the same in both. Without such lines a text is cut in halves.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// Lines of both texts together that are short enough to be compared without cuts.
const SHORT: usize = 1024;
/// Lines of both texts together that are compared at once, of longer texts.
const PIECE: usize = 128;
/// The most cuts of a part at lines that both texts have.
const MOST_CUTS: u32 = 8;

/// Two parts that are compared with each other.
struct Part {
    old: Range<usize>,
    new: Range<usize>,
    cuts: u32,
}

/// The ranges that differ, in order: of the old text, and of the new one. Lines are numbers, equal ones the same.
pub fn differences(old: &[u32], new: &[u32]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    // The next part is the last one.
    let mut parts = vec![Part {
        old: 0..old.len(),
        new: 0..new.len(),
        cuts: 0,
    }];
    let most = if old.len() + new.len() > SHORT {
        PIECE
    } else {
        SHORT
    };
    while let Some(part) = parts.pop() {
        let (left, right) = (&old[part.old.clone()], &new[part.new.clone()]);
        if left.len() + right.len() > most {
            let start = parts.len();
            cut(&part, left, right, &mut parts);
            parts[start..].reverse();
            continue;
        }
        // Only the lengths are reliable: an insertion after a deletion may have the place before the latter.
        let (mut at, mut to) = (part.old.start, part.new.start);
        for op in capture_diff_slices(Algorithm::Myers, left, right) {
            let gone = at..at + op.old_range().len();
            let made = to..to + op.new_range().len();
            (at, to) = (gone.end, made.end);
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            match found.last_mut() {
                Some((before, behind)) if before.end == gone.start && behind.end == made.start => {
                    before.end = gone.end;
                    behind.end = made.end;
                }
                _ => found.push((gone, made)),
            }
        }
    }
    found
}

/// Cuts a part into smaller ones, in order. Equal lines between these are left out.
fn cut(part: &Part, left: &[u32], right: &[u32], parts: &mut Vec<Part>) {
    let mut push = |old: Range<usize>, new: Range<usize>, cuts: u32| {
        if !old.is_empty() || !new.is_empty() {
            parts.push(Part { old, new, cuts });
        }
    };
    let same = if part.cuts < MOST_CUTS {
        row(&pairs(left, right))
    } else {
        Vec::new()
    };
    let (mut old, mut new) = (part.old.start, part.new.start);
    if same.is_empty() {
        let (old_half, new_half) = (old + left.len() / 2, new + right.len() / 2);
        push(old..old_half, new..new_half, part.cuts);
        push(old_half..part.old.end, new_half..part.new.end, part.cuts);
        return;
    }
    for (at, to) in same {
        push(
            old..part.old.start + at,
            new..part.new.start + to,
            part.cuts + 1,
        );
        (old, new) = (part.old.start + at + 1, part.new.start + to + 1);
    }
    push(old..part.old.end, new..part.new.end, part.cuts + 1);
}

/// Where lines are that both texts have equally often, the first with the first, in the order of the old text.
fn pairs(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let sorted = |lines: &[u32]| {
        let mut places: Vec<(u32, usize)> = lines.iter().copied().zip(0..).collect();
        places.sort_unstable();
        places
    };
    let (old, new) = (sorted(old), sorted(new));
    let mut others = new.chunk_by(|one, next| one.0 == next.0).peekable();
    let mut pairs = Vec::new();
    for places in old.chunk_by(|one, next| one.0 == next.0) {
        while others.next_if(|other| other[0].0 < places[0].0).is_some() {}
        let is_equal = |other: &&[(u32, usize)]| other[0].0 == places[0].0;
        let other = others
            .next_if(is_equal)
            .filter(|other| other.len() == places.len());
        if let Some(other) = other {
            pairs.extend(places.iter().zip(other).map(|(at, to)| (at.1, to.1)));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The longest row of pairs that is in order on both sides, found by patience sorting.
fn row(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pairs that end the best row of each length, and the pair before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, &(_, to)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < to);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        row.push(pairs[index]);
        next = before[index];
    }
    row.reverse();
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The old text with the differences applied.
    fn patched(old: &[u32], new: &[u32], found: &[(Range<usize>, Range<usize>)]) -> Vec<u32> {
        let mut text = Vec::new();
        let mut at = 0;
        for (gone, made) in found {
            text.extend(&old[at..gone.start]);
            text.extend(&new[made.clone()]);
            at = gone.end;
        }
        text.extend(&old[at..]);
        text
    }

    #[test]
    fn differences_lead_from_one_text_to_the_other() {
        let mut state = 1u64;
        let mut random = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % bound) as u32
        };
        for (length, kinds, change) in [
            (0, 1, 2),
            (900, 5, 3),
            (5_000, 3, 2),
            (5_000, 4_000, 7),
            (20_000, 2, 9),
            (20_000, 1_000_000, 2),
        ] {
            let old: Vec<u32> = (0..length).map(|_| random(kinds)).collect();
            let mut new = Vec::new();
            for &line in &old {
                match random(change) {
                    0 => {}
                    1 => new.extend([line, random(kinds)]),
                    _ => new.push(line),
                }
            }
            let found = differences(&old, &new);
            assert_eq!(patched(&old, &new, &found), new, "{length} of {kinds}");
            assert_eq!(differences(&old, &old), []);
            let other: Vec<u32> = (0..length).map(|_| 7_000_000 + random(kinds)).collect();
            assert_eq!(patched(&old, &other, &differences(&old, &other)), other);
        }
    }

    #[test]
    fn long_texts_differ_where_short_ones_would() {
        // Every third line is gone, among lines that are never the same and lines that always are.
        let old: Vec<u32> = (0..30_000)
            .map(|at| if at % 3 == 2 { 0 } else { at })
            .collect();
        let new: Vec<u32> = (0..30_000)
            .filter(|at| at % 3 != 1)
            .map(|at| old[at])
            .collect();
        let found = differences(&old, &new);
        let gone: usize = found.iter().map(|(gone, _)| gone.len()).sum();
        assert_eq!((gone, found.len()), (10_000, 10_000));
    }
}
