//! Declarations of registers, variables and parameters.

use super::{Level, Parsed, Parser, shortened};
use crate::lexer::{Token, TokenKind};
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

/// Where a declared name stands: a parameter has no range and no initialiser, but may be `_`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Statement,
    ParameterList,
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
        let start = self.current();
        let specifiers = self.specifiers()?;
        let Some(storage) = specifiers.storage else {
            let error = Diagnostic::error(
                "expected-state-space",
                start.span(),
                "expected a state space such as `.global` in the declaration",
            )
            .label("this starts a declaration");
            return Err(self.error(error));
        };
        if level == Level::Module && storage == Storage::Register {
            let error = Diagnostic::error(
                "register-outside-function",
                start.span(),
                "a register cannot be declared outside a function",
            )
            .label("registers belong to functions");
            return Err(self.error(error));
        }
        self.expect_type(&specifiers)?;
        // `.reg .u32;` declares nothing and is allowed.
        if !self.at(TokenKind::Semicolon) {
            loop {
                let declarator = self.declarator(Place::Statement)?;
                self.body.declarators.push(declarator);
                if !self.at(TokenKind::Comma) {
                    break;
                }
                let comma = self.advance();
                self.body.words.push(comma.text());
            }
        }
        self.expect(
            TokenKind::Semicolon,
            "expected-comma-or-semicolon",
            "`,` or `;` after the declaration",
        )?;
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
            declarators: first_declarator as u32..self.body.declarators.len() as u32,
        });
    }

    fn expect_type(&mut self, specifiers: &Specifiers) -> Parsed<()> {
        if specifiers.element.is_empty() {
            return Err(self.unexpected("expected-type", "a type such as `.u32`"));
        }
        Ok(())
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
                        value.filter(|value| value.is_power_of_two() && *value <= 1 << 31)
                    else {
                        let error = Diagnostic::error(
                            "invalid-alignment",
                            number.span(),
                            format!("`{}` is not an alignment", shortened(self.source(number))),
                        )
                        .label("expected a power of two below 2^32");
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

    /// `name`, `%r<100>`, `name[][4]`, `name = …`
    fn declarator(&mut self, place: Place) -> Parsed<Declarator> {
        let name = self.expect(TokenKind::Word, "expected-name", "a name to declare")?;
        if place == Place::Statement || self.source(name) != "_" {
            self.check_name(name, "a declaration")?;
        }
        self.body.words.push(name.text());
        let mut declarator = Declarator {
            name: name.text(),
            range: None,
            dimensions: self.words_from(self.body.words.len()),
            initializer: None,
        };
        if self.at(TokenKind::Less) && place == Place::Statement {
            declarator.range = Some(self.range()?);
            return Ok(declarator);
        }
        let first = self.body.words.len();
        while self.at(TokenKind::OpenBracket) {
            self.dimension(first)?;
        }
        declarator.dimensions = self.words_from(first);
        if self.at(TokenKind::Equal) && place == Place::Statement {
            let equal = self.advance();
            self.body.words.push(equal.text());
            declarator.initializer = Some(self.initializer()?);
        }
        Ok(declarator)
    }

    /// `<N>` behind a name.
    fn range(&mut self) -> Parsed<u32> {
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
                format!(
                    "`{}` is not a number of registers",
                    shortened(self.source(count))
                ),
            )
            .label("expected an integer below 2^32");
            return Err(self.error(error));
        };
        self.take(
            TokenKind::Greater,
            "expected-angle",
            "`>` after the number of registers",
        )?;
        Ok(value)
    }

    /// `[N]`, or `[]` as the first; the words of all dimensions start at `first`.
    fn dimension(&mut self, first: usize) -> Parsed<()> {
        let is_first = self.body.words.len() == first;
        let open = self.advance();
        self.body.words.push(open.text());
        if !(is_first && self.at(TokenKind::CloseBracket)) {
            let number = self.expect(
                TokenKind::Number,
                "expected-number",
                if is_first {
                    "an array size or `]`"
                } else {
                    "an array size"
                },
            )?;
            if literal::parse(self.source(number))
                .and_then(literal::Literal::integer)
                .is_none()
            {
                let error = Diagnostic::error(
                    "invalid-array-size",
                    number.span(),
                    format!("`{}` is not an array size", shortened(self.source(number))),
                )
                .label("expected an integer");
                return Err(self.error(error));
            }
            self.body.words.push(number.text());
        }
        self.take(
            TokenKind::CloseBracket,
            "expected-bracket",
            "`]` after the array size",
        )
    }

    /// The words of an initialiser: a value, or values in braces.
    fn initializer(&mut self) -> Parsed<Words> {
        let start = self.body.words.len();
        let mut depth = 0u32;
        let result = self.initializer_words(&mut depth);
        if result.is_err() {
            self.open_vectors = depth;
        }
        result.map(|()| self.words_from(start))
    }

    fn initializer_words(&mut self, depth: &mut u32) -> Parsed<()> {
        let mut expects_value = true;
        loop {
            match self.kind {
                TokenKind::OpenBrace if expects_value => {
                    self.take_word();
                    *depth += 1;
                    if self.at(TokenKind::CloseBrace) {
                        self.take_word();
                        *depth -= 1;
                        expects_value = false;
                    }
                }
                _ if expects_value => {
                    self.initial_value(*depth > 0)?;
                    expects_value = false;
                }
                TokenKind::Comma if *depth > 0 => {
                    self.take_word();
                    expects_value = true;
                }
                TokenKind::CloseBrace if *depth > 0 => {
                    self.take_word();
                    *depth -= 1;
                }
                _ if *depth > 0 => {
                    return Err(self.unexpected("expected-comma-or-close", "`,` or `}`"));
                }
                _ => return Ok(()),
            }
        }
    }

    fn take_word(&mut self) {
        let token = self.advance();
        self.body.words.push(token.text());
    }

    /// One value: a constant expression, `symbol+4`, `generic(symbol)+4`, `0xff(symbol)`, or `property = value` of a
    /// sampler.
    fn initial_value(&mut self, in_braces: bool) -> Parsed<()> {
        match self.kind {
            TokenKind::Word if self.current_text() != "WARP_SZ" => {
                let word = self.current();
                self.take_word();
                if self.at(TokenKind::Equal) && in_braces {
                    self.take_word();
                    if self.at(TokenKind::Number) {
                        self.take_word();
                        return Ok(());
                    }
                    return self.take(TokenKind::Word, "expected-value", "a value after `=`");
                }
                self.symbol_rest(word)
            }
            // By far the most common: one number.
            TokenKind::Number => {
                self.take_word();
                match self.kind {
                    TokenKind::Comma | TokenKind::CloseBrace | TokenKind::Semicolon => Ok(()),
                    TokenKind::OpenParen => {
                        self.take_word();
                        let word = self.current();
                        if word.kind == TokenKind::Word && self.source(word) != "WARP_SZ" {
                            self.take_word();
                            self.symbol_rest(word)?;
                        } else {
                            self.scan_expression(true, true)?;
                        }
                        self.take(TokenKind::CloseParen, "unclosed-parenthesis", "`)`")
                    }
                    _ => self.scan_expression(false, true),
                }
            }
            TokenKind::OpenParen
            | TokenKind::Minus
            | TokenKind::Plus
            | TokenKind::Tilde
            | TokenKind::Bang
            | TokenKind::Word => self.scan_expression(true, true),
            _ => Err(self.unexpected("expected-value", "a value")),
        }
    }

    /// What follows the name `word` in an initialiser.
    fn symbol_rest(&mut self, word: Token) -> Parsed<()> {
        if self.at(TokenKind::OpenParen) && self.source(word) == "generic" {
            self.take_word();
            self.take(TokenKind::Word, "expected-name", "a name after `generic(`")?;
            self.take(TokenKind::CloseParen, "unclosed-parenthesis", "`)`")?;
        }
        match self.kind {
            TokenKind::Plus => {
                self.take_word();
                self.scan_expression(true, true)
            }
            TokenKind::Minus => {
                let error = Diagnostic::error(
                    "subtracted-offset",
                    self.current().span(),
                    "an offset cannot be subtracted",
                )
                .label("write `+-` and the number");
                Err(self.error(error))
            }
            _ => Ok(()),
        }
    }

    /// `( .param .u64 a, .reg .b32 b )`: the indices of the declarations made.
    pub(super) fn parameter_list(&mut self) -> Parsed<Range<u32>> {
        let open = self.advance();
        let first_declaration = self.body.declarations.len() as u32;
        if self.eat(TokenKind::CloseParen) {
            return Ok(first_declaration..first_declaration);
        }
        loop {
            let (first, first_declarator) = (self.body.words.len(), self.body.declarators.len());
            let start = self.current();
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
                )
                .label("this parameter has no state space");
                return Err(self.error(error));
            };
            self.expect_type(&specifiers)?;
            let declarator = self.declarator(Place::ParameterList)?;
            self.body.declarators.push(declarator);
            self.push_declaration(first, first_declarator, specifiers, storage);
            match self.kind {
                TokenKind::Comma => {
                    self.advance();
                }
                TokenKind::CloseParen => {
                    self.advance();
                    return Ok(first_declaration..self.body.declarations.len() as u32);
                }
                _ => {
                    let found = self.found();
                    let error = Diagnostic::error(
                        "expected-comma-or-close",
                        self.current().span(),
                        format!("expected `,` or `)` in the parameter list, found {found}"),
                    )
                    .label("expected `,` or `)`")
                    .context(open.span(), "the list opens here");
                    return Err(self.error(error));
                }
            }
        }
    }
}
