//! The last step of a compiler that emits PTX: optimize what it wrote, make sure that it still does the same, and refuse
//! kernels that would not fit the machine well.

// A program prints.
#![allow(clippy::print_stdout)]

use oriole::pressure::PressureOptions;
use oriole::{Options, Verdict, VerifyOptions};
use std::error::Error;

/// What a compiler asks of its kernels.
pub struct Limits {
    /// Registers of a thread, at most.
    pub registers: u32,
    /// Warps that are resident, in percent, at least.
    pub occupancy: f64,
}

/// The PTX to hand to `ptxas`, or why there is none.
pub fn finish(name: &str, emitted: &str, limits: &Limits) -> Result<String, Box<dyn Error>> {
    let original = oriole::parse(name, emitted)?;
    let mut module = original.clone();
    oriole::optimize(&mut module, &Options::default())?;
    for kernel in oriole::verify(&original, &module, &VerifyOptions::default())? {
        if let Verdict::Different(how) = kernel.verdict {
            return Err(format!("{} was miscompiled: {how}", kernel.kernel).into());
        }
    }
    // What is measured is what is written.
    let text = oriole::print(&module);
    let written = oriole::parse(name, text.as_str())?;
    for function in oriole::pressure(&written, &PressureOptions::default())?.0 {
        let registers = function.registers();
        if registers > limits.registers {
            let (name, most) = (&function.name, limits.registers);
            return Err(format!("{name} needs about {registers} registers, not {most}").into());
        }
        for shape in &function.shapes {
            let percent = shape.occupancy.percent();
            if percent < limits.occupancy {
                let (name, limiter) = (&function.name, shape.occupancy.limiter().text());
                return Err(format!("{name}: occupancy {percent} %, limited by {limiter}").into());
            }
        }
    }
    Ok(text)
}

fn main() -> Result<(), Box<dyn Error>> {
    let limits = Limits {
        registers: 128,
        occupancy: 25.0,
    };
    print!("{}", finish("example.ptx", oriole::EXAMPLE, &limits)?);
    Ok(())
}
