//! Optimizes a file, or the embedded example, and prints it.

// A program prints.
#![allow(clippy::print_stdout)]

/// The text of a module after optimization.
pub fn optimized(name: &str, text: &str) -> Result<String, oriole::Error> {
    let mut module = oriole::parse(name, text)?;
    let report = oriole::optimize(&mut module, &oriole::Options::default())?;
    assert!(report.functions.iter().all(|own| own.after <= own.before));
    Ok(oriole::print(&module))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = match std::env::args().nth(1) {
        Some(file) => optimized(&file, &std::fs::read_to_string(&file)?)?,
        None => optimized("example.ptx", oriole::EXAMPLE)?,
    };
    print!("{text}");
    Ok(())
}
