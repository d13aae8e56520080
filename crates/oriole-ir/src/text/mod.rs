//! The SSA form as text, printed and read.
//!
//! The text says everything that a pass can see, so tests of passes are written in it: [`read`] makes a function that passes
//! run on without PTX, and [`Printer`] shows what became of it.
//!
//! ## Form
//! ```text
//! entry sum {
//!     parameter @out: param u64                           variables: their space and type
//!     variable @buffer: local b8[40] align 16
//!     global @table: const                                what else the code names
//!     pinned %r7: b32                                     registers that are no values
//!     undefined v0:b32(%r3)                               values that nothing defines
//! block0():
//!     v1:b64(%rd1) = ld.param.u64 #0, [@out]
//!     v2:pred(%p1) = setp.lt.u32 #0, %tid.x, 7
//!     v3:b32(%r3) = mov.u32 #0, 1 if v2 else v0           a guard, and what the result is if it is false
//!     bra ->0 if not v2 at 12                             a branch along the first edge, from line 12
//!     -> block2(v3), block1() next                        edges with arguments; the last is the fall-through
//! block1():
//!     …
//! }
//! ```
//! A line is a declaration, a block with its parameters, an instruction or the edges of a block; `//` starts a comment.
//!
//! - `block1() nounroll:` is a block with `.pragma "nounroll"` in it.
//! - A value has a type and may be *named* after the register it came from: `v1:b64(%rd1)`, or `v1:b64(%rd1:u64)` if the register has
//!   another type (`?` if nobody knows which).
//! - Operands are written as in PTX, with values for registers and `#n` where the n-th result stands. `->n` is the n-th edge of the
//!   block, `pinned %r7` a pinned register, `%tid.x` a special register, `@name` anything else that has a name.
//! - A variable is a `parameter`, a `result` or a `variable` of the body. Its type is that of its elements, `v4.f32` for
//!   vectors, and `[n]` if there are several (`[]` if nobody knows how many; `?` is a type that nobody knows); `align n` follows
//!   if it is not aligned as its elements are, and `inner` if it cannot be named from everywhere in the function.
//! - Registers of one name, and symbols of one name, are told apart by a number: `%r1#2` is the second one mentioned.
//! - A constant is one number: an expression is written as its value, `?` is one that has none. `- 4` is the negation of the
//!   constant 4, `-4` a constant. `S` and `U` behind an integer say that it is signed or unsigned if that is not plain.
//! - Numbers of values and blocks stay as they are, so that two texts can be compared; what is gone leaves gaps. Results of one
//!   instruction have numbers that follow each other.
//! - `at n` is the location of an instruction. It is printed when asked for, as a line of the source.
//!
//! Numbers by which symbols refer to a module are not in the text: a function that was read belongs to none.

mod lexer;
mod operands;
mod printer;
mod reader;

pub use printer::{LineOf, Printer};
pub use reader::read;

use crate::function::Function;

/// A function as text, without lines: see [`Printer::new`].
pub fn print(names: &str, function: &Function) -> String {
    Printer::new(names, function).function()
}

#[cfg(test)]
mod tests;
