//! Oriole for C and everything that can call C. `include/oriole.h` is made of this file.
//!
//! ```c
//! OrioleResult *result = oriole_optimize("kernel.ptx", ptx, strlen(ptx), 2);
//! if (oriole_status(result) == ORIOLE_STATUS_FINE)
//!     fwrite(oriole_text(result), 1, oriole_text_length(result), stdout);
//! else
//!     fputs(oriole_message(result), stderr);
//! oriole_free(result);
//! ```
//!
//! This and `oriole-collections` are the crates with `unsafe` code: callers hand over pointers.

use oriole::{AccessOptions, Error, Level, Options};
use std::ffi::{CString, c_char};
use std::panic::AssertUnwindSafe;

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrioleStatus {
    /// There is a result.
    Fine = 0,
    /// The text or an argument is bad.
    BadInput = 2,
    /// Oriole itself failed.
    Bug = 3,
}

/// What a call gave. To be freed by `oriole_free`.
pub struct OrioleResult {
    status: OrioleStatus,
    text: CString,
    message: CString,
}

impl OrioleResult {
    fn new(status: OrioleStatus, text: String, message: String) -> OrioleResult {
        // No text that was parsed has zeroes; of another one the rest is of no use to C.
        let terminated = |text: String| {
            let end = text.find('\0').unwrap_or(text.len());
            CString::new(&text[..end]).unwrap_or_default()
        };
        OrioleResult {
            status,
            text: terminated(text),
            message: terminated(message),
        }
    }
}

/// The version of Oriole.
#[unsafe(no_mangle)]
pub extern "C" fn oriole_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Optimizes PTX at a level from 0 to 3; 2 is the usual one. `name` is what messages call it, and may be null. `ptx` has
/// `length` bytes and need not end with a zero. The text of the result is PTX. Safe to call from several threads at once.
///
/// # Safety
/// `name` is null or a string that ends with a zero; `ptx` points to `length` bytes, or is null if that is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriole_optimize(
    name: *const c_char,
    ptx: *const c_char,
    length: usize,
    level: i32,
) -> *mut OrioleResult {
    // SAFETY: as the caller promises.
    let (name, bytes) = unsafe { (name_of(name), bytes_of(ptx, length)) };
    let level = match level {
        0 => Level::None,
        1 => Level::Less,
        2 => Level::Default,
        3 => Level::Aggressive,
        _ => return bad_input(format!("the level is {level}, not 0 to 3")),
    };
    caught(&name, bytes, |name, text| {
        let mut module = oriole::parse(name, text)?;
        oriole::optimize(&mut module, &Options::level(level))?;
        Ok(oriole::print(&module))
    })
}

/// Analyzes PTX. `block` is the shape of blocks, three numbers, or null for what each kernel requires, else 256 threads, or fewer if it allows no more. The text
/// of the result is a JSON document, as that of `oriole analyze --json`. Safe to call from several threads at once.
///
/// # Safety
/// As `oriole_optimize`; `block` is null or points to three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriole_analyze(
    name: *const c_char,
    ptx: *const c_char,
    length: usize,
    block: *const u32,
) -> *mut OrioleResult {
    // SAFETY: as the caller promises.
    let (name, bytes) = unsafe { (name_of(name), bytes_of(ptx, length)) };
    let block = match block.is_null() {
        true => None,
        // SAFETY: it points to three numbers, as the caller promises.
        false => Some(unsafe { block.cast::<[u32; 3]>().read_unaligned() }),
    };
    let options = AccessOptions {
        block,
        ..AccessOptions::default()
    };
    caught(&name, bytes, |name, text| {
        let module = oriole::parse(name, text)?;
        let (kernels, _) = oriole::report::kernels(&module, &options)?;
        Ok(oriole_report::json::write(&oriole::report::Report::new(
            kernels,
        )))
    })
}

/// How the call ended.
///
/// # Safety
/// `result` comes from a function of this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriole_status(result: *const OrioleResult) -> OrioleStatus {
    // SAFETY: as the caller promises.
    unsafe { result.as_ref() }.map_or(OrioleStatus::Bug, |result| result.status)
}

/// The text that a call gave, which ends with a zero; empty if it failed. It lives as long as the result.
///
/// # Safety
/// As `oriole_status`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriole_text(result: *const OrioleResult) -> *const c_char {
    // SAFETY: as the caller promises.
    unsafe { result.as_ref() }.map_or(c"".as_ptr(), |result| result.text.as_ptr())
}

/// The bytes of the text, without the zero.
///
/// # Safety
/// As `oriole_status`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriole_text_length(result: *const OrioleResult) -> usize {
    // SAFETY: as the caller promises.
    unsafe { result.as_ref() }.map_or(0, |result| result.text.as_bytes().len())
}

/// What is wrong, if something is: errors with their places, as the command prints them. It lives as long as the result.
///
/// # Safety
/// As `oriole_status`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriole_message(result: *const OrioleResult) -> *const c_char {
    // SAFETY: as the caller promises.
    unsafe { result.as_ref() }.map_or(c"".as_ptr(), |result| result.message.as_ptr())
}

/// Frees a result. Null is allowed.
///
/// # Safety
/// `result` is null, or comes from a function of this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriole_free(result: *mut OrioleResult) {
    if !result.is_null() {
        // SAFETY: it comes from `Box::into_raw`, and nobody uses it any more.
        drop(unsafe { Box::from_raw(result) });
    }
}

/// A name for messages.
///
/// # Safety
/// As [`oriole_optimize`].
unsafe fn name_of(name: *const c_char) -> String {
    if name.is_null() {
        return "<ptx>".to_owned();
    }
    // SAFETY: it ends with a zero, as the caller promises.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}

/// The bytes that are handed over.
///
/// # Safety
/// As [`oriole_optimize`].
unsafe fn bytes_of<'a>(ptx: *const c_char, length: usize) -> &'a [u8] {
    match ptx.is_null() {
        true => &[],
        // SAFETY: it points to that many bytes, as the caller promises.
        false => unsafe { std::slice::from_raw_parts(ptx.cast(), length) },
    }
}

fn handed_over(result: OrioleResult) -> *mut OrioleResult {
    Box::into_raw(Box::new(result))
}

fn bad_input(message: String) -> *mut OrioleResult {
    handed_over(OrioleResult::new(
        OrioleStatus::BadInput,
        String::new(),
        message,
    ))
}

/// Does something to a text. A panic does not get to the caller.
fn caught(
    name: &str,
    bytes: &[u8],
    act: impl Fn(&str, &str) -> Result<String, Error>,
) -> *mut OrioleResult {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return bad_input(format!("{name} is not UTF-8 text"));
    };
    let result = match std::panic::catch_unwind(AssertUnwindSafe(|| act(name, text))) {
        Ok(Ok(made)) => OrioleResult::new(OrioleStatus::Fine, made, String::new()),
        Ok(Err(error)) => {
            OrioleResult::new(OrioleStatus::BadInput, String::new(), error.excerpts(text))
        }
        Err(_) => OrioleResult::new(
            OrioleStatus::Bug,
            String::new(),
            "this is a bug in Oriole, not in the input; please report it".to_owned(),
        ),
    };
    handed_over(result)
}
