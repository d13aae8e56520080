//! Any bytes: read, printed, read again; what must hold is in `oriole_fuzz::examine`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    oriole_syntax::parse_bytes("input.ptx", bytes.to_vec());
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Err(failure) = oriole_fuzz::examine(text, false)
    {
        panic!("{failure}");
    }
});
