//! The JSON schema of a report, made from the declarations of its types.
//!
//! ## Method
//! `documented` and `named` declare a type once: for Rust, for serde, and for the schema, doc comments included. So the schema is
//! always that of the documents.

use std::collections::BTreeMap;

/// The definitions that a schema refers to, by the name of the type.
#[derive(Default)]
pub struct Definitions(BTreeMap<&'static str, String>);

/// A type of a report.
pub trait Describe {
    /// The JSON schema of the type, as JSON. Structures are added to the definitions.
    fn describe(all: &mut Definitions) -> String;
}

/// A structure's field: its name, its documentation and the schema of its type.
pub type Field = (&'static str, &'static str, String);

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for own in text.trim().chars() {
        match own {
            '"' | '\\' => quoted.extend(['\\', own]),
            '\n' => quoted.push(' '),
            own => quoted.push(own),
        }
    }
    quoted + "\""
}

impl Definitions {
    /// A reference to a structure, which is described if it was not before.
    pub fn structure(
        &mut self,
        name: &'static str,
        text: &str,
        fields: impl FnOnce(&mut Definitions) -> Vec<Field>,
    ) -> String {
        if !self.0.contains_key(name) {
            self.0.insert(name, String::new());
            let fields = fields(self);
            let names: Vec<String> = fields.iter().map(|own| quoted(own.0)).collect();
            let own = |(name, text, schema): &Field| {
                let (name, text) = (quoted(name), quoted(text));
                format!(
                    "        {name}: {{\"description\": {text}, {}",
                    &schema[1..]
                )
            };
            let properties: Vec<String> = fields.iter().map(own).collect();
            let described = format!(
                "{{\n      \"description\": {},\n      \"type\": \"object\",\n      \"properties\": {{\n{}\n      }},\n      \
                 \"required\": [{}],\n      \"additionalProperties\": false\n    }}",
                quoted(text),
                properties.join(",\n"),
                names.join(", ")
            );
            self.0.insert(name, described);
        }
        format!("{{\"$ref\": \"#/$defs/{name}\"}}")
    }
}

/// The schema of documents of a type.
pub fn schema<T: Describe>() -> String {
    let mut all = Definitions::default();
    let root = T::describe(&mut all);
    let definitions = all.0.iter();
    let definitions: Vec<String> = definitions
        .map(|(name, text)| format!("    \"{name}\": {text}"))
        .collect();
    format!(
        "{{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": \"Report of oriole analyze\",\n  {},\n  \
         \"$defs\": {{\n{}\n  }}\n}}\n",
        &root[1..root.len() - 1],
        definitions.join(",\n")
    )
}

macro_rules! plain {
    ($($type:ty => $name:literal),+ $(,)?) => {
        $(impl Describe for $type {
            fn describe(_: &mut Definitions) -> String {
                format!("{{\"type\": \"{}\"}}", $name)
            }
        })+
    };
}

plain! {
    bool => "boolean", u32 => "integer", u64 => "integer", i64 => "integer", usize => "integer", f64 => "number", String => "string",
}

impl<T: Describe> Describe for Vec<T> {
    fn describe(all: &mut Definitions) -> String {
        format!("{{\"type\": \"array\", \"items\": {}}}", T::describe(all))
    }
}

impl<T: Describe, const N: usize> Describe for [T; N] {
    fn describe(all: &mut Definitions) -> String {
        let items = T::describe(all);
        format!("{{\"type\": \"array\", \"items\": {items}, \"minItems\": {N}, \"maxItems\": {N}}}")
    }
}

impl<T: Describe> Describe for Option<T> {
    fn describe(all: &mut Definitions) -> String {
        format!(
            "{{\"anyOf\": [{}, {{\"type\": \"null\"}}]}}",
            T::describe(all)
        )
    }
}

/// Declares a structure of a report. Fields that a document lacks have their default.
macro_rules! documented {
    ($(#[doc = $doc:literal])+ pub struct $name:ident {
        $( $(#[doc = $text:literal])+ pub $field:ident: $type:ty, )+
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $( $(#[doc = $text])+ pub $field: $type, )+
        }

        impl $crate::report::schema::Describe for $name {
            fn describe(all: &mut $crate::report::schema::Definitions) -> String {
                all.structure(stringify!($name), concat!($($doc),+), |all| vec![
                    $((
                        stringify!($field).trim_start_matches("r#"),
                        concat!($($text),+),
                        <$type as $crate::report::schema::Describe>::describe(all),
                    ),)+
                ])
            }
        }
    };
}

/// Declares an enumeration of a report, with the names of its variants. The first is the default.
macro_rules! named {
    ($(#[doc = $doc:literal])+ pub enum $name:ident {
        $(#[doc = $first_doc:literal])+ $first:ident = $first_text:literal,
        $( $(#[doc = $text_doc:literal])+ $variant:ident = $text:literal, )*
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(#[doc = $first_doc])+
            #[default]
            #[serde(rename = $first_text)]
            $first,
            $(
                $(#[doc = $text_doc])+
                #[serde(rename = $text)]
                $variant,
            )*
        }

        impl $name {
            /// The name.
            pub const fn text(self) -> &'static str {
                match self {
                    $name::$first => $first_text,
                    $( $name::$variant => $text, )*
                }
            }
        }

        impl $crate::report::schema::Describe for $name {
            fn describe(_: &mut $crate::report::schema::Definitions) -> String {
                let names = [concat!("\"", $first_text, "\""), $( concat!("\"", $text, "\"") ),*];
                format!("{{\"enum\": [{}]}}", names.join(", "))
            }
        }
    };
}

pub(crate) use documented;
pub(crate) use named;
