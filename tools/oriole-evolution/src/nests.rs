//! Kernels at random of two loops around each other that read and write arrays, in both orders of the loops.
//!
//! No thread accesses what another one does, so only the order of a thread's own iterations can make a difference.

use oriole_emulator::SplitMix64;
use std::fmt::Write;

/// A kernel `nest(.u64 data, .u64 other)`, and the same with its loops exchanged: lines of accesses are the same.
#[derive(Clone, Debug)]
pub struct NestKernel {
    /// The module.
    pub text: String,
    /// The module with the loops exchanged.
    pub exchanged: String,
    /// The shape of blocks.
    pub block: [u32; 3],
    /// How often the loops run: the outer one first.
    pub trips: [u64; 2],
}

/// Bytes of each of the two buffers.
pub const BYTES: usize = 1 << 20;

/// Bytes between the tiles of threads.
const TILE: usize = 1 << 14;

/// The kernel of a seed.
pub fn generate(seed: u64) -> NestKernel {
    let mut random = SplitMix64::new(seed ^ 0x4E57);
    let mut below = |bound: u64| random.next_number() % bound;
    let threads = [32, 64][below(2) as usize];
    // Tiles of threads, or words of threads side by side.
    let is_tiled = below(4) != 0;
    let trips = [
        [8, 16, 16][below(3) as usize],
        [8, 8, 16][below(3) as usize],
    ];
    let unit = if is_tiled { 4 } else { 4 * threads as i64 };
    let small = [0, 1, 1, 1, 2, -1];
    let large = [8, 16, 16, 16, 32, 3, 17, -16];
    let mut body = String::from("    mov.u32 %v, 1;\n");
    let steps = |below: &mut dyn FnMut(u64) -> u64| {
        let near = unit * small[below(6) as usize];
        let far = unit * large[below(8) as usize];
        match below(3) {
            0 => [far, near],
            _ => [near, far],
        }
    };
    let shared = steps(&mut below);
    let count = 2 + below(2);
    for access in 0..count {
        // Most accesses go through the array the same way.
        let [i, j] = match below(4) {
            0 => steps(&mut below),
            _ => shared,
        };
        let more = match below(3) {
            0 => 0,
            _ => {
                let near = below(5) as i64 - 2;
                let far = below(3) as i64 - 1;
                shared[0] * near + shared[1] * far
            }
        };
        let base = ["%a", "%a", "%a", "%b"][below(4) as usize];
        let (width, kind) = [(4, "u32"), (4, "u32"), (2, "u16")][below(3) as usize];
        let more = more + if width == 2 { 2 * below(2) as i64 } else { 0 };
        let _ = writeln!(body, "    mul.lo.s64 %t, %i, {i};");
        let _ = writeln!(body, "    mad.lo.s64 %t, %j, {j}, %t;");
        let _ = writeln!(body, "    add.s64 %t, %t, {base};");
        let is_store = access + 1 == count || below(4) == 0;
        match is_store {
            true => {
                let _ = writeln!(body, "    st.global.{kind} [%t+{more}], %v;");
            }
            false => {
                let _ = writeln!(body, "    ld.global.{kind} %x, [%t+{more}];");
                let _ = writeln!(body, "    mad.lo.u32 %v, %v, 3, %x;");
            }
        }
    }
    // Far from the ends of what a thread may access.
    let (between, center) = match is_tiled {
        true => (TILE, TILE / 2),
        false => (4, BYTES / 2),
    };
    let text = |outer: &str, inner: &str, [out, within]: [u64; 2]| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\n\
             .visible .entry nest(.param .u64 data, .param .u64 other)\n{{\n    \
             .reg .b32 %v, %x, %r<2>;\n    .reg .b64 %a, %b, %i, %j, %t, %w;\n    .reg .pred %p, %q;\n    \
             ld.param.u64 %a, [data];\n    ld.param.u64 %b, [other];\n    mov.u32 %r1, %tid.x;\n    \
             mul.wide.u32 %w, %r1, {between};\n    add.s64 %w, %w, {center};\n    add.s64 %a, %a, %w;\n    \
             add.s64 %b, %b, %w;\n    mov.u64 %{outer}, 0;\n$outer:\n    mov.u64 %{inner}, 0;\n$inner:\n\
             {body}    add.s64 %{inner}, %{inner}, 1;\n    setp.lt.s64 %p, %{inner}, {within};\n    \
             @%p bra $inner;\n    add.s64 %{outer}, %{outer}, 1;\n    setp.lt.s64 %q, %{outer}, {out};\n    \
             @%q bra $outer;\n    ret;\n}}\n"
        )
    };
    NestKernel {
        text: text("i", "j", trips),
        exchanged: text("j", "i", [trips[1], trips[0]]),
        block: [threads, 1, 1],
        trips,
    }
}
