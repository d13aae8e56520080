//! What a pass did to one instruction, and why, in words for users.

use oriole_ir::{Function, Instruction};

/// A rewrite a pass is about to make.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite {
    /// The counter it adds to, `pass.what`.
    pub counter: &'static str,
    /// The instruction that goes or changes.
    pub instruction: Instruction,
    /// Why that is right, in words that follow "because".
    pub why: &'static str,
    /// The instruction whose result is used instead, if there is one.
    pub equal: Option<Instruction>,
}

/// A rewrite that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The counter it was added to, `pass.what`.
    pub counter: &'static str,
    /// The mnemonic of the instruction before the rewrite; empty if something else was rewritten, such as a block.
    pub mnemonic: String,
    /// The statement of the body before optimization that the instruction came from.
    pub statement: Option<u32>,
    /// Why, in words that follow "because".
    pub why: &'static str,
    /// The statement of the equal instruction, if there is one.
    pub equal: Option<u32>,
}

impl Remark {
    pub(crate) fn new(function: &Function, rewrite: &Rewrite) -> Remark {
        Remark {
            counter: rewrite.counter,
            mnemonic: function
                .format(rewrite.instruction)
                .mnemonic
                .text()
                .to_owned(),
            statement: function.location(rewrite.instruction),
            why: rewrite.why,
            equal: rewrite
                .equal
                .and_then(|instruction| function.location(instruction)),
        }
    }
}
