//! Any text: as `parse`, and what parses goes into SSA form.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(failure) = oriole_fuzz::examine(text, true) {
        panic!("{failure}");
    }
});
