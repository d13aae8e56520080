//! The variables that set the program up: it takes the arguments of `ptxas`, and no others.

use oriole::Level;
use std::path::PathBuf;

/// Bytes of the cache, unless a variable says otherwise.
const CACHE_BYTES: u64 = 1 << 30;

/// Where what was done is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reports {
    /// Nowhere.
    Nowhere,
    /// As a line of text for each function, on the standard error.
    StandardError,
    /// As a line of JSON for each file, at the end of this file.
    File(PathBuf),
}

/// What the variables say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether nothing is optimized.
    pub is_off: bool,
    /// Whether functions whose machine code got worse stay as they were.
    pub is_compared: bool,
    /// The optimization level.
    pub level: Level,
    /// Its number, for the key of the cache.
    pub level_number: u8,
    /// Where what was done is reported.
    pub reports: Reports,
    /// The folder of the cache, if there is one.
    pub cache: Option<PathBuf>,
    /// The most bytes that are kept in it.
    pub cache_bytes: u64,
}

impl Settings {
    /// Reads the variables.
    pub fn from_environment() -> Result<Settings, String> {
        Settings::read(&|name| {
            let value = std::env::var_os(name)?;
            (!value.is_empty()).then_some(value)
        })
    }

    fn read(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Result<Settings, String> {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let is_set = |name: &str| match text(name).as_deref() {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => Err(format!("{name} is `{other}`, not 0 or 1")),
        };
        let is_off = is_set("ORIOLE_PTXAS_OFF")?;
        let is_compared = is_set("ORIOLE_PTXAS_COMPARE")?;
        let (level, level_number) = match text("ORIOLE_PTXAS_LEVEL").as_deref() {
            Some("0") => (Level::None, 0),
            Some("1") => (Level::Less, 1),
            None | Some("2") => (Level::Default, 2),
            Some("3") => (Level::Aggressive, 3),
            Some(other) => return Err(format!("ORIOLE_PTXAS_LEVEL is `{other}`, not 0 to 3")),
        };
        let reports = match variable("ORIOLE_PTXAS_REPORT") {
            None => Reports::Nowhere,
            Some(value) if value == "0" => Reports::Nowhere,
            Some(value) if value == "1" => Reports::StandardError,
            Some(value) => Reports::File(value.into()),
        };
        let cache = match variable("ORIOLE_PTXAS_CACHE") {
            Some(value) if value == "off" => None,
            Some(value) => Some(PathBuf::from(value)),
            None => default_cache(variable),
        };
        let cache_bytes = match text("ORIOLE_PTXAS_CACHE_SIZE") {
            None => CACHE_BYTES,
            Some(size) => bytes(&size).ok_or_else(|| {
                format!("ORIOLE_PTXAS_CACHE_SIZE is `{size}`, not a size such as 500M or 4G")
            })?,
        };
        Ok(Settings {
            is_off,
            is_compared,
            level,
            level_number,
            reports,
            cache,
            cache_bytes,
        })
    }
}

/// The folder where programs of the user keep what they can make again.
fn default_cache(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
    let base = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .and_then(absolute)
        .or_else(home)?;
    Some(base.join("oriole").join("ptxas"))
}

/// `64K`, `500M` or `4G` as a number of bytes.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(&|name| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn variables_are_read() {
        let plain = read(&[("HOME", "/home/u")]).unwrap();
        assert_eq!((plain.is_off, plain.level_number), (false, 2));
        assert!(!plain.is_compared);
        assert_eq!(plain.reports, Reports::Nowhere);
        assert_eq!(plain.cache, Some("/home/u/.cache/oriole/ptxas".into()));
        let set = read(&[
            ("ORIOLE_PTXAS_OFF", "1"),
            ("ORIOLE_PTXAS_COMPARE", "1"),
            ("ORIOLE_PTXAS_LEVEL", "3"),
            ("ORIOLE_PTXAS_REPORT", "report.jsonl"),
            ("ORIOLE_PTXAS_CACHE", "/c"),
            ("ORIOLE_PTXAS_CACHE_SIZE", "64K"),
        ])
        .unwrap();
        assert_eq!((set.is_off, set.level_number), (true, 3));
        assert!(set.is_compared);
        assert_eq!(set.reports, Reports::File("report.jsonl".into()));
        assert_eq!((set.cache, set.cache_bytes), (Some("/c".into()), 64 << 10));
        assert_eq!(read(&[("ORIOLE_PTXAS_CACHE", "off")]).unwrap().cache, None);
        assert_eq!(read(&[]).unwrap().cache, None);
        let xdg = read(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]).unwrap();
        assert_eq!(xdg.cache, Some("/x/oriole/ptxas".into()));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (name, value) in [
            ("ORIOLE_PTXAS_OFF", "maybe"),
            ("ORIOLE_PTXAS_COMPARE", "yes"),
            ("ORIOLE_PTXAS_LEVEL", "9"),
            ("ORIOLE_PTXAS_CACHE_SIZE", "much"),
        ] {
            let message = read(&[(name, value)]).unwrap_err();
            assert!(
                message.contains(name) && message.contains(value),
                "{message}"
            );
        }
    }
}
