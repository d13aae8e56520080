//! Names of kernels and variables as the source has them.
//!
//! ## Method
//! A reader of the part of the Itanium C++ ABI's mangling that device code uses: nested, local and template names, abi tags, types with
//! substitutions. A name of another form stays as it is. Rust's older names are of the same form with a hash at the end.
//!
//! ## Not done
//! Operators, lambdas, expressions in template arguments, Rust's newer names.

/// A name in three lengths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demangled {
    /// The last part: `matmul`.
    pub plain: String,
    /// With what it is in, and template arguments: `linear::matmul<float>`.
    pub qualified: String,
    /// With types of parameters: `linear::matmul<float>(float const*, int)`.
    pub full: String,
}

impl Demangled {
    /// The name that a mangled one stands for; the same name if it is not mangled.
    pub fn of(mangled: &str) -> Demangled {
        let mut reader = Reader {
            rest: mangled,
            substitutions: Vec::new(),
            depth: 0,
        };
        let read = reader.take("_Z").then(|| reader.encoding()).flatten();
        read.unwrap_or_else(|| Demangled {
            plain: mangled.to_owned(),
            qualified: mangled.to_owned(),
            full: mangled.to_owned(),
        })
    }
}

/// Types and names nested deeper are left as they are.
const MAX_DEPTH: u32 = 48;

/// Longer results are left out: substitutions may double them again and again.
const MAX_LENGTH: usize = 4096;

struct Reader<'text> {
    rest: &'text str,
    substitutions: Vec<String>,
    depth: u32,
}

/// A name that was read.
#[derive(Clone, Default)]
struct Name {
    plain: String,
    qualified: String,
    /// True if it ends in template arguments: the type of the result comes first then.
    is_template: bool,
}

const BUILTIN: [(&str, &str); 24] = [
    ("v", "void"),
    ("w", "wchar_t"),
    ("b", "bool"),
    ("c", "char"),
    ("a", "signed char"),
    ("h", "unsigned char"),
    ("s", "short"),
    ("t", "unsigned short"),
    ("i", "int"),
    ("j", "unsigned int"),
    ("l", "long"),
    ("m", "unsigned long"),
    ("x", "long long"),
    ("y", "unsigned long long"),
    ("n", "__int128"),
    ("o", "unsigned __int128"),
    ("f", "float"),
    ("d", "double"),
    ("e", "long double"),
    ("z", "..."),
    ("Dh", "half"),
    ("DF16_", "_Float16"),
    ("DF16b", "bfloat16"),
    ("Dn", "nullptr_t"),
];

impl Reader<'_> {
    fn take(&mut self, start: &str) -> bool {
        match self.rest.strip_prefix(start) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn number(&mut self) -> Option<usize> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest[..digits].parse().ok()?;
        self.rest = &self.rest[digits..];
        Some(number)
    }

    fn encoding(&mut self) -> Option<Demangled> {
        let name = self.name()?;
        let mut full = name.qualified.clone();
        let mut parameters = Vec::new();
        let mut is_read = true;
        if name.is_template && !self.rest.is_empty() && !self.rest.starts_with('E') {
            is_read = self.parsed_type().is_some();
        }
        while is_read && !self.rest.is_empty() && !self.rest.starts_with(['E', '.', '$']) {
            match self.parsed_type() {
                Some(own) => parameters.push(own),
                None => is_read = false,
            }
        }
        if is_read && !parameters.is_empty() {
            let parameters = match parameters[..] {
                [ref own] if own == "void" => String::new(),
                _ => parameters.join(", "),
            };
            full = format!("{full}({parameters})");
        }
        Some(Demangled {
            plain: name.plain,
            qualified: name.qualified,
            full,
        })
    }

    /// A name; nothing if it is of a form that is not known.
    fn name(&mut self) -> Option<Name> {
        self.depth += 1;
        let found = match self.depth <= MAX_DEPTH {
            true => self.name_of_any_form(),
            false => None,
        };
        self.depth -= 1;
        found.filter(|name| name.qualified.len() <= MAX_LENGTH)
    }

    fn name_of_any_form(&mut self) -> Option<Name> {
        if self.take("Z") {
            let outer = self.encoding()?;
            if !self.take("E") {
                return None;
            }
            let inner = self.name()?;
            // A discriminator tells equal names of one function apart.
            if self.take("_") {
                self.number();
            }
            return Some(Name {
                qualified: format!("{}::{}", outer.qualified, inner.qualified),
                ..inner
            });
        }
        if self.take("N") {
            return self.nested();
        }
        let is_std = self.take("St");
        let plain = self.source_name()?;
        let mut name = Name {
            qualified: match is_std {
                true => format!("std::{plain}"),
                false => plain.clone(),
            },
            plain,
            is_template: false,
        };
        if self.rest.starts_with('I') {
            self.substitutions.push(name.qualified.clone());
            name.qualified += &self.template_arguments()?;
            name.is_template = true;
        }
        Some(name)
    }

    fn nested(&mut self) -> Option<Name> {
        while self.take("K") || self.take("V") || self.take("r") {}
        let mut name = Name::default();
        loop {
            if self.take("E") {
                break;
            }
            name.is_template = false;
            if self.rest.starts_with('I') && !name.qualified.is_empty() {
                name.qualified += &self.template_arguments()?;
                name.is_template = true;
            } else if self.rest.starts_with('S') {
                name.qualified = self.substitution()?;
                continue;
            } else {
                let own = self.source_name()?;
                if is_hash(&own) && !name.plain.is_empty() {
                    continue;
                }
                if !name.qualified.is_empty() {
                    name.qualified += "::";
                }
                name.qualified += &own;
                name.plain = own;
            }
            if name.qualified.len() > MAX_LENGTH {
                return None;
            }
            if !self.rest.starts_with('E') {
                self.substitutions.push(name.qualified.clone());
            }
        }
        (!name.plain.is_empty()).then_some(name)
    }

    /// A name of one part, without its tags.
    fn source_name(&mut self) -> Option<String> {
        self.take("L");
        let length = self.number()?;
        let name = self.rest.get(..length)?;
        self.rest = &self.rest[length..];
        while self.take("B") {
            let tag = self.number()?;
            self.rest = self.rest.get(tag..)?;
        }
        let is_unnamed = name.starts_with("_GLOBAL__N");
        Some(match is_unnamed {
            true => "(anonymous namespace)".to_owned(),
            false => name.to_owned(),
        })
    }

    fn template_arguments(&mut self) -> Option<String> {
        let mut arguments = Vec::new();
        if !self.take("I") {
            return None;
        }
        while !self.take("E") {
            if self.take("J") {
                while !self.take("E") {
                    arguments.push(self.template_argument()?);
                }
            } else {
                arguments.push(self.template_argument()?);
            }
        }
        Some(format!("<{}>", arguments.join(", ")))
    }

    fn template_argument(&mut self) -> Option<String> {
        if !self.take("L") {
            return self.parsed_type();
        }
        let own = self.parsed_type()?;
        let end = self.rest.find('E')?;
        let value = self.rest[..end].replacen('n', "-", 1);
        self.rest = &self.rest[end + 1..];
        Some(match (own.as_str(), value.as_str()) {
            ("bool", "0") => "false".to_owned(),
            ("bool", "1") => "true".to_owned(),
            _ => value,
        })
    }

    fn substitution(&mut self) -> Option<String> {
        for (code, text) in [
            ("St", "std"),
            ("Sa", "std::allocator"),
            ("Ss", "std::string"),
        ] {
            if self.take(code) {
                return Some(text.to_owned());
            }
        }
        let index = self.sequence("S")?;
        self.substitutions.get(index).cloned()
    }

    /// The number in `S_`, `S0_`, `T_`, `T0_` and so on.
    fn sequence(&mut self, start: &str) -> Option<usize> {
        let rest = self.rest.strip_prefix(start)?;
        let (digits, rest) = rest.split_once('_')?;
        self.rest = rest;
        match digits {
            "" => Some(0),
            _ => Some(usize::from_str_radix(digits, 36).ok()?.checked_add(1)?),
        }
    }

    fn parsed_type(&mut self) -> Option<String> {
        self.depth += 1;
        let found = match self.depth <= MAX_DEPTH {
            true => self.type_of_any_form(),
            false => None,
        };
        self.depth -= 1;
        found.filter(|text| text.len() <= MAX_LENGTH)
    }

    fn type_of_any_form(&mut self) -> Option<String> {
        for (code, text) in [
            ("P", "*"),
            ("R", "&"),
            ("O", "&&"),
            ("K", " const"),
            ("V", " volatile"),
        ] {
            if self.take(code) {
                let own = format!("{}{text}", self.parsed_type()?);
                self.substitutions.push(own.clone());
                return Some(own);
            }
        }
        // `restrict` is not part of how types are named.
        if self.take("r") || self.take("Dp") {
            return self.parsed_type();
        }
        for (code, text) in BUILTIN {
            if self.take(code) {
                return Some(text.to_owned());
            }
        }
        if self.rest.starts_with('T') {
            let own = format!("T{}", self.sequence("T")?);
            self.substitutions.push(own.clone());
            return Some(own);
        }
        if self.take("A") {
            let length = self.number()?;
            let own = self.take("_").then(|| self.parsed_type()).flatten()?;
            let own = format!("{own} [{length}]");
            self.substitutions.push(own.clone());
            return Some(own);
        }
        if self.rest.starts_with('S') && !self.rest.starts_with("St") {
            let own = self.substitution()?;
            if !self.rest.starts_with('I') {
                return Some(own);
            }
            let own = own + &self.template_arguments()?;
            self.substitutions.push(own.clone());
            return Some(own);
        }
        let own = self.name()?.qualified;
        self.substitutions.push(own.clone());
        Some(own)
    }
}

/// The hash at the end of Rust's names.
fn is_hash(name: &str) -> bool {
    let digits = name.strip_prefix('h');
    digits.is_some_and(|own| own.len() == 16 && own.bytes().all(|own| own.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_in_the_source() {
        for (mangled, plain, full) in [
            ("saxpy", "saxpy", "saxpy"),
            (
                "_Z9transposePfPKfi",
                "transpose",
                "transpose(float*, float const*, int)",
            ),
            ("_ZZ9transposePfPKfiE4tile", "tile", "transpose::tile"),
            ("_ZZ4bankE2sm_0", "sm", "bank::sm"),
            (
                "_ZN6linear6matmulIfLi32EEEvPT_S2_i",
                "matmul",
                "linear::matmul<float, 32>(T0*, T0*, int)",
            ),
            (
                "_ZN8__main__11matmul_smemB2v1B4abcdE5ArrayIfLi2E1CES1_",
                "matmul_smem",
                "__main__::matmul_smem",
            ),
            ("_ZN4core3ptr17h0123456789abcdefE", "ptr", "core::ptr"),
            ("_ZL5table", "table", "table"),
            ("_Z1fv", "f", "f()"),
            ("_Z1fILb1EEvv", "f", "f<true>()"),
            ("_Zwrong", "_Zwrong", "_Zwrong"),
            ("_ZN1a", "_ZN1a", "_ZN1a"),
            (
                "_Z99999999999999999999999a",
                "_Z99999999999999999999999a",
                "_Z99999999999999999999999a",
            ),
            ("_Z3ä", "_Z3ä", "_Z3ä"),
        ] {
            let found = Demangled::of(mangled);
            assert_eq!(found.plain, plain, "{mangled}");
            assert!(found.full.starts_with(full), "{mangled}: {}", found.full);
        }
    }

    #[test]
    fn deep_and_growing_names_are_left() {
        for deep in [
            format!("_Z1f{}i", "P".repeat(100_000)),
            format!("_Z{}1aE", "Z".repeat(100_000)),
            format!("_Z1fI{}", "1aI".repeat(100_000)),
        ] {
            let found = Demangled::of(&deep);
            assert!(
                found.full.len() <= deep.len() + MAX_LENGTH,
                "{}",
                found.plain.len()
            );
        }
        let doubling = (0..64).map(|_| "1aIS_S_E").collect::<String>();
        assert!(Demangled::of(&format!("_Z1f{doubling}")).full.len() <= 70 * MAX_LENGTH);
    }
}
