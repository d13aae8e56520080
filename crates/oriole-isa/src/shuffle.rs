//! Which lane `shfl` reads from.

use crate::ShuffleMode;

/// The lane that a lane reads from, given its second and third source (offset, and clamp with segment mask), and whether that is
/// inside the segment; else it reads its own value.
///
/// ```
/// use oriole_isa::{ShuffleMode, shuffle_source};
///
/// assert_eq!(shuffle_source(ShuffleMode::Butterfly, 5, 1, 31), (4, true));
/// assert_eq!(shuffle_source(ShuffleMode::Down, 31, 1, 31), (31, false));
/// ```
pub fn shuffle_source(mode: ShuffleMode, lane: usize, offset: u64, control: u64) -> (usize, bool) {
    let offset = (offset & 31) as i32;
    let clamp = (control & 31) as i32;
    let segment = (control >> 8 & 31) as i32;
    let here = lane as i32;
    let last = here & segment | clamp & !segment;
    let first = here & segment;
    let from = match mode {
        ShuffleMode::Up => here - offset,
        ShuffleMode::Down => here + offset,
        ShuffleMode::Butterfly => here ^ offset,
        ShuffleMode::Index => first | offset & !segment,
    };
    let inside = if mode == ShuffleMode::Up {
        from >= last
    } else {
        from <= last
    };
    (if inside { from as usize & 31 } else { lane }, inside)
}
