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
        let text = module.whole_text().as_bytes();
        for statement in &body.statements {
            if let Statement::Instruction(instruction) = statement {
                cost.instructions += 1;
                cost.weight += weight(&text[instruction.mnemonic.span().range()]);
            }
        }
        cost
    }
}

/// About how many issue slots an instruction takes.
fn weight(mnemonic: &[u8]) -> u64 {
    let is_modifier = |&byte: &u8| byte == b'.';
    // No opcode that weighs anything special is longer than four bytes.
    let opcode = match mnemonic.iter().take(5).position(is_modifier) {
        Some(dot) => &mnemonic[..dot],
        None => mnemonic,
    };
    match opcode {
        b"mov" => 1,
        b"div" | b"rem" | b"sqrt" | b"rcp" => 40,
        b"ld" | b"ldu" | b"st" | b"atom" | b"red" | b"tex" | b"call" => 16,
        b"mul" | b"mad" | b"cvt" | b"selp" => 4,
        b"bra" | b"not" => 2,
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
