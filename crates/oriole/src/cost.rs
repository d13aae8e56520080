//! What a function costs, to tell whether optimizing it was worth it.

use oriole_syntax::tree::{Body, Module, Statement};

/// How many instructions there are, and then what they weigh together. Ordered: fewer instructions win, and of as many the
/// lighter ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    /// Instructions.
    pub instructions: u64,
    weight: u64,
}

impl Cost {
    /// The cost of a body of a module.
    pub fn of(module: &Module, body: &Body) -> Cost {
        let mut cost = Cost::default();
        for statement in &body.statements {
            if let Statement::Instruction(instruction) = statement {
                cost.instructions += 1;
                cost.weight += weight(module.text(instruction.mnemonic));
            }
        }
        cost
    }
}

/// About how many issue slots an instruction takes.
fn weight(mnemonic: &str) -> u64 {
    let opcode = mnemonic.split('.').next().unwrap_or(mnemonic);
    match opcode {
        "mov" => 1,
        "div" | "rem" | "sqrt" | "rcp" => 40,
        "ld" | "ldu" | "st" | "atom" | "red" | "tex" | "call" => 16,
        "mul" | "mad" | "cvt" | "selp" => 4,
        "bra" | "not" => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(instructions: &str) -> Cost {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.func f()\n{{\n.reg .b32 %r<4>;\n{instructions}\n}}\n"
        );
        let module = crate::parse("f.ptx", text).unwrap();
        Cost::of(&module, module.functions[0].body.as_ref().unwrap())
    }

    #[test]
    fn fewer_instructions_win_and_then_lighter_ones() {
        let one = cost("mul.lo.s32 %r1, %r2, 4;");
        assert!(cost("shl.b32 %r1, %r2, 2;") < one);
        assert!(one < cost("shl.b32 %r1, %r2, 2; mov.u32 %r3, 1;"));
    }
}
