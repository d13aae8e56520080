//! Optimizes a file, or the embedded example, and prints it.

// A program prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

fn optimized(name: &str, text: &str) -> Result<String, Vec<oriole::Diagnostic>> {
    let mut module = oriole::parse(name, text)?;
    let report = oriole::optimize(&mut module, &oriole::Options::default())?;
    assert!(report.functions.iter().all(|own| own.after <= own.before));
    Ok(oriole::print(&module))
}

fn main() -> std::io::Result<()> {
    let text = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => oriole::EXAMPLE.to_owned(),
    };
    match optimized("kernel.ptx", &text) {
        Ok(text) => print!("{text}"),
        Err(errors) => {
            for error in errors {
                eprintln!("{}", error.message);
            }
        }
    }
    Ok(())
}
