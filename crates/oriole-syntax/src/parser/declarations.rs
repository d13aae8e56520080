//! Declarations of registers, variables and parameters.

use super::{Level, Parsed, Parser};
use crate::lexer::TokenKind;
use crate::literal;
use crate::tree::{Declaration, Declarator, Linkage, Statement, Storage, Text, Words};
use oriole_diagnostics::Diagnostic;
use std::ops::Range;

/// The type and place part of a declaration, before its names.
struct Specifiers {
    linkage: Linkage,
    storage: Option<Storage>,
    element: Text,
    vector: u8,
    alignment: u32,
}

fn storage(word: &str) -> Option<Storage> {
    Some(match word {
        ".reg" => Storage::Register,
        ".sreg" => Storage::SpecialRegister,
        ".const" => Storage::Constant,
        ".global" => Storage::Global,
        ".local" => Storage::Local,
        ".shared" => Storage::Shared,
        ".param" => Storage::Parameter,
        ".tex" => Storage::Texture,
        _ if word.starts_with(".shared::") => Storage::Shared,
        _ if word.starts_with(".param::") => Storage::Parameter,
        _ => return None,
    })
}

impl Parser<'_> {
    /// A declaration statement with its `;`.
    pub(super) fn declaration(&mut self, level: Level) -> Parsed<()> {
        let first = self.body.words.len();
        let first_declarator = self.body.declarators.len();
        let result = self.declaration_parts(level, first, first_declarator);
        if result.is_err() {
            self.body.words.truncate(first);
            self.body.declarators.truncate(first_declarator);
        }
        result
    }

    fn declaration_parts(
        &mut self,
        level: Level,
        first: usize,
        first_declarator: usize,
    ) -> Parsed<()> {
        let start = self.current;
        let specifiers = self.specifiers()?;
        let Some(storage) = specifiers.storage else {
            let error = Diagnostic::error(
                "expected-state-space",
                start.span(),
                "expected a state space such as `.global` or `.shared` in the declaration",
            );
            return Err(self.error(error));
        };
        loop {
            let declarator = self.declarator()?;
            if level == Level::Module && storage == Storage::Register {
                let error = Diagnostic::error(
                    "register-outside-function",
                    start.span(),
                    "registers are declared inside functions",
                );
                return Err(self.error(error));
            }
            self.body.declarators.push(declarator);
            if !self.at(TokenKind::Comma) {
                break;
            }
            let comma = self.advance();
            self.body.words.push(comma.text());
        }
        self.expect_semicolon()?;
        self.push_declaration(first, first_declarator, specifiers, storage);
        let index = self.body.declarations.len() as u32 - 1;
        self.body.statements.push(Statement::Declaration(index));
        Ok(())
    }

    fn push_declaration(
        &mut self,
        first: usize,
        first_declarator: usize,
        specifiers: Specifiers,
        storage: Storage,
    ) {
        self.body.declarations.push(Declaration {
            words: Words {
                start: first as u32,
                count: (self.body.words.len() - first) as u32,
            },
            linkage: specifiers.linkage,
            storage,
            element: specifiers.element,
            vector: specifiers.vector,
            alignment: specifiers.alignment,
            declarators: first_declarator..self.body.declarators.len(),
        });
    }

    /// Dotted words before the first name, in whatever order they were written.
    fn specifiers(&mut self) -> Parsed<Specifiers> {
        let mut specifiers = Specifiers {
            linkage: Linkage::Internal,
            storage: None,
            element: Text::default(),
            vector: 1,
            alignment: 0,
        };
        let mut after_pointer = false;
        while self.at(TokenKind::DotWord) {
            let token = self.advance();
            self.body.words.push(token.text());
            match self.source(token) {
                ".visible" | ".extern" | ".weak" | ".common" => {
                    specifiers.linkage = self.linkage_of(token)
                }
                ".v2" => specifiers.vector = 2,
                ".v4" => specifiers.vector = 4,
                ".v8" => specifiers.vector = 8,
                ".ptr" => after_pointer = true,
                ".align" => {
                    let number = self.expect(
                        TokenKind::Number,
                        "expected-number",
                        "an alignment after `.align`",
                    )?;
                    self.body.words.push(number.text());
                    let value =
                        literal::parse(self.source(number)).and_then(literal::Literal::integer);
                    let Some(value) =
                        value.filter(|value| value.is_power_of_two() && *value <= 1 << 30)
                    else {
                        let error = Diagnostic::error(
                            "invalid-alignment",
                            number.span(),
                            format!(
                                "the alignment `{}` is not a power of two",
                                self.source(number)
                            ),
                        );
                        return Err(self.error(error));
                    };
                    // Behind `.ptr` it is the alignment of what is pointed to.
                    if !after_pointer {
                        specifiers.alignment = value as u32;
                    }
                }
                ".attribute" => {
                    if self.at(TokenKind::OpenParen) {
                        self.balanced_words()?;
                    }
                }
                word => match storage(word) {
                    // `.param .u64 .ptr .global x`: the second space is that of the pointer.
                    Some(storage) if specifiers.storage.is_none() => {
                        specifiers.storage = Some(storage)
                    }
                    Some(_) => {}
                    None if specifiers.element.is_empty() => specifiers.element = token.text(),
                    None => {}
                },
            }
        }
        Ok(specifiers)
    }

    /// `name`, `%r<100>`, `name[4][]`, `name = …`
    fn declarator(&mut self) -> Parsed<Declarator> {
        let name = self.expect(TokenKind::Word, "expected-name", "a name to declare")?;
        self.body.words.push(name.text());
        let mut range = None;
        if self.at(TokenKind::Less) {
            let less = self.advance();
            self.body.words.push(less.text());
            let count = self.expect(
                TokenKind::Number,
                "expected-number",
                "a number of registers after `<`",
            )?;
            self.body.words.push(count.text());
            let value = literal::parse(self.source(count)).and_then(literal::Literal::integer);
            let Some(value) = value.and_then(|value| u32::try_from(value).ok()) else {
                let error = Diagnostic::error(
                    "invalid-register-range",
                    count.span(),
                    format!("`{}` is not a number of registers", self.source(count)),
                );
                return Err(self.error(error));
            };
            range = Some(value);
            let greater = self.expect(
                TokenKind::Greater,
                "expected-angle",
                "`>` after the number of registers",
            )?;
            self.body.words.push(greater.text());
        }
        let dimensions_start = self.body.words.len();
        while self.at(TokenKind::OpenBracket) {
            loop {
                match self.current.kind {
                    TokenKind::CloseBracket => break,
                    TokenKind::Semicolon
                    | TokenKind::End
                    | TokenKind::OpenBrace
                    | TokenKind::CloseBrace
                    | TokenKind::BadNumber
                    | TokenKind::BadCharacter
                    | TokenKind::Comma
                    | TokenKind::Equal => {
                        return Err(
                            self.unexpected("expected-bracket", "`]` after the array dimension")
                        );
                    }
                    _ => {
                        let token = self.advance();
                        self.body.words.push(token.text());
                    }
                }
            }
            let close = self.advance();
            self.body.words.push(close.text());
        }
        let dimensions = Words {
            start: dimensions_start as u32,
            count: (self.body.words.len() - dimensions_start) as u32,
        };
        let mut initializer = None;
        if self.at(TokenKind::Equal) {
            let equal = self.advance();
            self.body.words.push(equal.text());
            initializer = Some(self.initializer()?);
        }
        Ok(Declarator {
            name: name.text(),
            range,
            dimensions,
            initializer,
        })
    }

    /// The words of an initialiser: a value, or values in braces.
    fn initializer(&mut self) -> Parsed<Words> {
        let start = self.body.words.len();
        let first = self.current;
        let (mut braces, mut parentheses) = (0usize, 0usize);
        loop {
            match self.current.kind {
                TokenKind::OpenBrace => braces += 1,
                TokenKind::CloseBrace if braces > 0 => braces -= 1,
                TokenKind::OpenParen => parentheses += 1,
                TokenKind::CloseParen if parentheses > 0 => parentheses -= 1,
                TokenKind::Comma | TokenKind::Semicolon if braces == 0 && parentheses == 0 => break,
                TokenKind::Semicolon
                | TokenKind::End
                | TokenKind::CloseBrace
                | TokenKind::CloseParen
                | TokenKind::BadNumber
                | TokenKind::BadCharacter
                | TokenKind::UnclosedString => {
                    let expected = match (braces, parentheses) {
                        (0, 0) => "`;` after the initialiser",
                        (_, 0) => "`}` after the initialiser",
                        _ => "`)` in the initialiser",
                    };
                    return Err(self.unexpected("unclosed-initializer", expected));
                }
                _ => {}
            }
            let token = self.advance();
            self.body.words.push(token.text());
        }
        if self.body.words.len() == start {
            let error = Diagnostic::error(
                "expected-value",
                first.span(),
                format!("expected a value after `=`, found {}", self.found()),
            );
            return Err(self.error(error));
        }
        Ok(Words {
            start: start as u32,
            count: (self.body.words.len() - start) as u32,
        })
    }

    /// `( .param .u64 a, .reg .b32 b )`: the indices of the declarations made.
    pub(super) fn parameter_list(&mut self) -> Parsed<Range<usize>> {
        let open = self.advance();
        let first_declaration = self.body.declarations.len();
        if self.eat(TokenKind::CloseParen) {
            return Ok(first_declaration..first_declaration);
        }
        loop {
            let (first, first_declarator) = (self.body.words.len(), self.body.declarators.len());
            let start = self.current;
            if !self.at(TokenKind::DotWord) {
                return Err(self.unexpected(
                    "expected-parameter",
                    "a parameter such as `.param .u64 name`",
                ));
            }
            let specifiers = self.specifiers()?;
            let Some(storage) = specifiers.storage else {
                let error = Diagnostic::error(
                    "expected-state-space",
                    start.span(),
                    "expected `.param` or `.reg` before a parameter",
                );
                return Err(self.error(error));
            };
            let declarator = self.declarator()?;
            self.body.declarators.push(declarator);
            self.push_declaration(first, first_declarator, specifiers, storage);
            match self.current.kind {
                TokenKind::Comma => {
                    self.advance();
                }
                TokenKind::CloseParen => {
                    self.advance();
                    return Ok(first_declaration..self.body.declarations.len());
                }
                _ => {
                    let found = self.found();
                    let error = Diagnostic::error(
                        "expected-comma-or-close",
                        self.current.span(),
                        format!("expected `,` or `)` in the parameter list, found {found}"),
                    )
                    .context(open.span(), "the list opens here");
                    return Err(self.error(error));
                }
            }
        }
    }
}
