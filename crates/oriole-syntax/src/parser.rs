//! Reads PTX text into a tree, and says what is wrong with text that is not PTX.
//!
//! ## Method
//! One token of lookahead over the regular grammar that all instructions and directives share; opcodes are not known
//! here. Statements go straight into the flat arrays of the tree, so parsing neither recurses on nesting (operand groups
//! nest at most [`DEEPEST_OPERAND`] deep) nor backtracks: time is linear in the text. Long files are read in several parts at
//! once ([`parallel`]).
//!
//! ## Errors
//! After an error the parser resumes behind the next `;`, before the next `}`, or at a token that starts a line where a
//! statement may start, so that one run reports several errors. It stops after [`MOST_ERRORS`].

mod declarations;
mod directives;
mod functions;
mod operands;
mod parallel;

use crate::lexer::{Lexer, Token, TokenKind};
use crate::tree::{
    Body, Directive, Function, Guard, Instruction, Module, Operand, OperandKind, Statement, Text,
};
use oriole_diagnostics::{Diagnostic, Span};

/// Operand groups may nest this deep; real PTX needs three.
const DEEPEST_OPERAND: usize = 16;

/// Errors reported before parsing stops.
const MOST_ERRORS: usize = 100;

/// Parses a whole file.
///
/// The module is complete if there are no diagnostics; otherwise it holds the statements that could be read.
pub fn parse(name: impl Into<String>, text: impl Into<String>) -> (Module, Vec<Diagnostic>) {
    let (name, text) = (name.into(), text.into());
    // Offsets are 32 bits, and the optimizer appends text of its own.
    if text.len() > u32::MAX as usize / 2 {
        let error = Diagnostic::error(
            "file-too-large",
            Span::at(0),
            "the file is larger than 2 GiB",
        );
        return (Module::new(name, String::new()), vec![error]);
    }
    let ParsedText {
        top,
        functions,
        header_directives,
        inner_prototypes,
        joined,
        errors,
    } = parallel::parse(&text, crate::threads).unwrap_or_else(|| Parser::new(&text, 0).parse_all());
    let mut module = Module::new(name, text);
    module.top = top;
    module.functions = functions;
    module.header_directives = header_directives;
    module.inner_prototypes = inner_prototypes;
    if !joined.is_empty() {
        module.add_text(&joined);
    }
    (module, errors)
}

/// Parses a file as it was read; text that is not UTF-8 is an error.
///
/// The module's text then has replacement characters where the bytes made no sense.
pub fn parse_bytes(name: impl Into<String>, bytes: Vec<u8>) -> (Module, Vec<Diagnostic>) {
    match String::from_utf8(bytes) {
        Ok(text) => parse(name, text),
        Err(error) => {
            let place = error.utf8_error().valid_up_to();
            let byte = error.as_bytes()[place];
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let start = u32::try_from(place).unwrap_or(0);
            let diagnostic = Diagnostic::error(
                "invalid-utf8",
                Span::new(start, start + '\u{fffd}'.len_utf8() as u32),
                format!("the file is not text: byte 0x{byte:02X} is not valid UTF-8"),
            )
            .label("PTX is written in ASCII");
            (Module::new(name.into(), text), vec![diagnostic])
        }
    }
}

/// What was read of a text: what a [`Module`] has, and what is wrong.
#[derive(Default)]
struct ParsedText {
    top: Body,
    functions: Vec<Function>,
    header_directives: Vec<Directive>,
    inner_prototypes: Vec<Text>,
    /// Words written with blanks before their dots (`mov .u32`), joined; this text goes behind the source.
    joined: String,
    errors: Vec<Diagnostic>,
}

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Module,
    Function,
}

/// The error was reported already: resynchronise.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'text> {
    text: &'text str,
    lexer: Lexer<'text>,
    /// The current token, field by field: as one value it would be stored in parts and loaded whole, which processors do
    /// slowly.
    kind: TokenKind,
    start: u32,
    end: u32,
    /// End of the token before the current one.
    previous_end: u32,
    /// The arrays being filled: the top level's, or those of the function being read.
    body: Body,
    /// Empty arrays for the next function to fill.
    scratch: Body,
    functions: Vec<Function>,
    header_directives: Vec<Directive>,
    inner_prototypes: Vec<Text>,
    /// See [`ParsedText::joined`].
    joined: String,
    errors: Vec<Diagnostic>,
    /// After an error: a statement starts at the current token, nothing is to be skipped.
    resume_here: bool,
    /// Whether something that belongs into a function was reported at the top level since the last good statement: a
    /// misplaced `}` makes hundreds of them.
    outside_reported: bool,
    /// Vectors (`{ … }`) that the current statement has opened and not closed.
    open_vectors: u32,
}

impl<'text> Parser<'text> {
    /// A parser of the text from `start` on, which no token and no comment reaches across.
    fn new(text: &'text str, start: usize) -> Parser<'text> {
        let mut lexer = Lexer::new(text);
        if start > 0 {
            lexer.seek(start as u32);
        }
        let Token { kind, start, end } = lexer.next();
        Parser {
            text,
            lexer,
            kind,
            start,
            end,
            previous_end: 0,
            body: Body::default(),
            scratch: Body::default(),
            functions: Vec::new(),
            header_directives: Vec::new(),
            inner_prototypes: Vec::new(),
            joined: String::new(),
            errors: Vec::new(),
            resume_here: false,
            outside_reported: false,
            open_vectors: 0,
        }
    }

    /// Reads to the end of the text.
    fn parse_all(mut self) -> ParsedText {
        self.module();
        ParsedText {
            top: self.body,
            functions: self.functions,
            header_directives: self.header_directives,
            inner_prototypes: self.inner_prototypes,
            joined: self.joined,
            errors: self.errors,
        }
    }

    /// The current token.
    #[inline(always)]
    fn current(&self) -> Token {
        Token {
            kind: self.kind,
            start: self.start,
            end: self.end,
        }
    }

    /// Goes on to the next token and gives the one before.
    #[inline(always)]
    fn advance(&mut self) -> Token {
        let token = self.current();
        self.previous_end = token.end;
        self.read();
        token
    }

    /// Goes on to the next token. What is uncommon is read by a function of its own that this one ends with, so that no registers
    /// are saved for it on the common way.
    #[inline(never)]
    fn read(&mut self) {
        match self.lexer.next_common() {
            Ok(token) => self.set_current(token),
            Err(start) => self.read_uncommon(start),
        }
    }

    #[inline(never)]
    fn read_uncommon(&mut self, start: usize) {
        let token = self.lexer.next_uncommon(start);
        self.set_current(token);
    }

    #[inline(always)]
    fn set_current(&mut self, token: Token) {
        let Token { kind, start, end } = token;
        self.kind = kind;
        self.start = start;
        self.end = end;
    }

    #[inline(always)]
    fn at(&self, kind: TokenKind) -> bool {
        self.kind == kind
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.advance();
        }
        found
    }

    fn source(&self, token: Token) -> &'text str {
        &self.text[token.span().range()]
    }

    fn current_text(&self) -> &'text str {
        self.source(self.current())
    }

    // ---- errors ----

    fn error(&mut self, diagnostic: Diagnostic) -> Reported {
        self.errors.push(diagnostic);
        Reported
    }

    /// The current token in words, for "found …".
    fn found(&self) -> String {
        match self.kind {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::BadCharacter => match self.current_text().chars().next() {
                Some(character) if character.is_control() => {
                    format!("the character U+{:04X}", u32::from(character))
                }
                _ => format!("the character `{}`", self.current_text()),
            },
            TokenKind::UnclosedString => "a string without its closing quote".to_owned(),
            _ => format!("`{}`", shortened(self.current_text())),
        }
    }

    /// Reports that the statement cannot go on with the current token.
    ///
    /// What is missing at the end of a line is reported there, not at the first token of the next.
    fn unexpected(&mut self, id: &'static str, expected: &str) -> Reported {
        if self.previous_end > 0
            && !self.is_bad_token()
            && self
                .lexer
                .line_breaks_between(self.previous_end, self.start)
        {
            let found = self.found();
            let error = Diagnostic::error(
                id,
                Span::new(self.previous_end - 1, self.previous_end),
                format!("expected {expected}, found {found}"),
            )
            .label(format!("expected {expected} after this"));
            return self.error(error);
        }
        self.unexpected_here(id, expected)
    }

    fn is_bad_token(&self) -> bool {
        matches!(
            self.kind,
            TokenKind::BadNumber | TokenKind::UnclosedString | TokenKind::BadCharacter
        )
    }

    /// Reports that the current token is not what should stand here.
    fn unexpected_here(&mut self, id: &'static str, expected: &str) -> Reported {
        let found = self.found();
        let span = self.current().span();
        let diagnostic = match self.kind {
            TokenKind::BadNumber => {
                Diagnostic::error("invalid-number", span, format!("{found} is not a number"))
                    .label(number_rule(self.current_text()))
            }
            TokenKind::UnclosedString => {
                Diagnostic::error("unclosed-string", span, "the string is never closed")
                    .label("expected `\"` before the end of the file")
            }
            TokenKind::BadCharacter => Diagnostic::error(
                "unexpected-character",
                span,
                format!("expected {expected}, found {found}"),
            )
            .label(match self.current_text() {
                "#" => "only `#line 1 \"file\"` may start like this",
                "$" => "a name needs more than a `$`",
                "." => "a word must follow the dot directly",
                text if !text.is_ascii() => "PTX is written in ASCII",
                _ => "no word, number or sign starts like this",
            }),
            _ => Diagnostic::error(id, span, format!("expected {expected}, found {found}"))
                .label(format!("expected {expected}")),
        };
        self.error(diagnostic)
    }

    fn expect(&mut self, kind: TokenKind, id: &'static str, expected: &str) -> Parsed<Token> {
        if self.at(kind) {
            Ok(self.advance())
        } else {
            Err(self.unexpected(id, expected))
        }
    }

    /// Skips to a place where a statement can start, behind the failed one's first token at `start`.
    fn resynchronize(&mut self, start: u32) {
        let resume_here = std::mem::take(&mut self.resume_here);
        if self.start == start {
            if self.advance().kind == TokenKind::Semicolon {
                return;
            }
        } else if resume_here {
            return;
        }
        let mut braces = std::mem::take(&mut self.open_vectors);
        loop {
            match self.kind {
                TokenKind::OpenBrace => {
                    braces += 1;
                    self.advance();
                }
                TokenKind::CloseBrace if braces > 0 => {
                    braces -= 1;
                    self.advance();
                }
                TokenKind::Semicolon => {
                    self.advance();
                    return;
                }
                TokenKind::End | TokenKind::CloseBrace => return,
                TokenKind::Word | TokenKind::At | TokenKind::DotWord
                    if self
                        .lexer
                        .line_breaks_between(self.previous_end, self.start) =>
                {
                    return;
                }
                _ => {
                    self.advance();
                }
            }
        }
    }

    // ---- statements ----

    fn take_comments(&mut self) {
        for comment in self.lexer.comments.drain(..) {
            self.body.statements.push(Statement::Comment {
                text: comment.text,
                trailing: comment.trailing,
            });
        }
    }

    fn too_many_errors(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    fn module(&mut self) {
        while !self.too_many_errors() {
            if !self.lexer.comments.is_empty() {
                self.take_comments();
            }
            if self.at(TokenKind::End) {
                break;
            }
            let start = self.start;
            match self.statement(Level::Module) {
                Ok(()) => self.outside_reported = false,
                Err(Reported) => {
                    // A brace that nothing opened goes, with a semicolon behind it.
                    if self.at(TokenKind::CloseBrace) && self.open_vectors == 0 {
                        self.advance();
                        self.eat(TokenKind::Semicolon);
                        self.resume_here = true;
                    }
                    self.resynchronize(start);
                }
            }
        }
        if let Some(span) = self.lexer.unclosed_comment {
            let error = Diagnostic::error("unclosed-comment", span, "the comment is never closed")
                .label("expected `*/` before the end of the file");
            self.error(error);
        }
    }

    #[inline(always)]
    fn statement(&mut self, level: Level) -> Parsed<()> {
        match self.kind {
            TokenKind::Word if level == Level::Function => {
                let word = self.advance();
                if self.at(TokenKind::Colon) {
                    self.check_name(word, "a label")?;
                    self.advance();
                    self.body.statements.push(Statement::Label(word.text()));
                    return Ok(());
                }
                let start = self.body.operands.len();
                self.instruction(word, Guard::None, start)
            }
            TokenKind::At => self.guarded(level),
            TokenKind::DotWord => self.directive(level),
            _ if level == Level::Module => Err(self.outside_function()),
            _ => Err(self.unexpected_here(
                "expected-statement",
                "an instruction, a label or a directive",
            )),
        }
    }

    /// Reports what cannot stand at the top level, once for all that follows.
    fn outside_function(&mut self) -> Reported {
        if std::mem::replace(&mut self.outside_reported, true) && !self.is_bad_token() {
            return Reported;
        }
        let (id, label) = match self.kind {
            TokenKind::Word | TokenKind::At => (
                "instruction-outside-function",
                "instructions and labels stand inside functions",
            ),
            TokenKind::CloseBrace => ("unmatched-brace", "no `{` is open here"),
            TokenKind::Semicolon => ("expected-directive", "no `;` may stand here"),
            _ => return self.unexpected_here("expected-directive", "a directive"),
        };
        let message = format!("expected a directive, found {}", self.found());
        let error = Diagnostic::error(id, self.current().span(), message).label(label);
        self.error(error)
    }

    #[inline(never)]
    fn guarded(&mut self, level: Level) -> Parsed<()> {
        if level == Level::Module {
            // `@@DWARF …`: debug information as old compilers wrote it, one line each.
            let at = self.current();
            if self.text[at.end as usize..].starts_with('@') {
                self.advance();
                return self.line_words(at.text());
            }
            return Err(self.outside_function());
        }
        let at = self.advance();
        if self.at(TokenKind::At) && self.start == at.end {
            return self.line_words(at.text());
        }
        let guard = if self.eat(TokenKind::Bang) {
            Guard::IfNot
        } else {
            Guard::If
        };
        let predicate = self.expect(
            TokenKind::Word,
            "expected-predicate",
            "a predicate register",
        )?;
        let start = self.body.operands.len();
        self.body
            .operands
            .push(Operand::leaf(OperandKind::Name, predicate.text()));
        let word = match self.expect(
            TokenKind::Word,
            "expected-instruction",
            "an instruction after the guard",
        ) {
            Ok(word) => word,
            Err(reported) => {
                self.body.operands.truncate(start);
                // A guard before a scope: the scope itself may be well.
                self.resume_here = self.at(TokenKind::OpenBrace);
                return Err(reported);
            }
        };
        self.instruction(word, guard, start)
    }

    /// The rest of an instruction behind its mnemonic. Nodes from `start` on are its own. Nearly all statements are instructions, so that
    /// no calls stand between them and the loop over statements.
    #[inline(always)]
    fn instruction(&mut self, mnemonic: Token, guard: Guard, start: usize) -> Parsed<()> {
        let mnemonic_text = if self.at(TokenKind::DotWord) {
            self.join_mnemonic(mnemonic)
        } else {
            mnemonic.text()
        };
        let result = self.instruction_operands(mnemonic);
        let count = self.body.operands.len() - start;
        match result {
            Ok(()) if count <= u16::MAX as usize => {
                self.body
                    .statements
                    .push(Statement::Instruction(Instruction {
                        mnemonic: mnemonic_text,
                        start: start as u32,
                        count: count as u16,
                        guard,
                    }));
                Ok(())
            }
            Ok(()) => {
                self.body.operands.truncate(start);
                let error = Diagnostic::error(
                    "too-many-operands",
                    mnemonic.span(),
                    format!("the instruction has {count} operands; at most 65535 are supported"),
                );
                Err(self.error(error))
            }
            Err(reported) => {
                self.body.operands.truncate(start);
                Err(reported)
            }
        }
    }

    /// `ld .global .u32`: an opcode whose modifiers stand apart, as one word.
    fn join_mnemonic(&mut self, first: Token) -> Text {
        let mut text = first.text();
        while self.at(TokenKind::DotWord)
            // What starts a directive and is no modifier: the instruction before it lacks its semicolon.
            && !matches!(
                self.current_text(),
                ".loc" | ".reg" | ".pragma" | ".branchtargets" | ".calltargets" | ".callprototype"
            )
        {
            let next = self.advance();
            text = self.join(text, first, next);
        }
        text
    }

    /// Appends `next` to `text`, which is the token `first` or was joined last.
    fn join(&mut self, text: Text, first: Token, next: Token) -> Text {
        let base = self.text.len();
        if text == first.text() {
            let start = base + self.joined.len();
            self.joined.push_str(self.source(first));
            self.joined.push_str(self.source(next));
            Text::new(start as u32, (base + self.joined.len() - start) as u32)
        } else {
            self.joined.push_str(self.source(next));
            let length = text.span().range().len() + self.source(next).len();
            Text::new(text.span().start, length as u32)
        }
    }

    /// Names have no dots, and `_` and `WARP_SZ` mean something else.
    #[inline]
    fn check_name(&mut self, name: Token, what: &str) -> Parsed<()> {
        let bytes = self.lexer.bytes(name);
        let is_name = !matches!(bytes, b"_" | b"WARP_SZ") && bytes.iter().all(|&byte| byte != b'.');
        match is_name {
            true => Ok(()),
            false => Err(self.not_a_name(name, what)),
        }
    }

    #[cold]
    fn not_a_name(&mut self, name: Token, what: &str) -> Reported {
        let text = self.source(name);
        let error = if let Some(dot) = text.find('.') {
            Diagnostic::error(
                "invalid-name",
                name.span(),
                format!("`{}` is not a name for {what}", shortened(text)),
            )
            .label(format!(
                "a name ends before a dot: `{}`",
                shortened(&text[..dot])
            ))
        } else {
            Diagnostic::error(
                "invalid-name",
                name.span(),
                format!("`{text}` is not a name for {what}"),
            )
            .label(if text == "_" {
                "`_` stands for a result that nobody wants"
            } else {
                "`WARP_SZ` is a constant"
            })
        };
        self.error(error)
    }
}

/// The text, cut if it is long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// What is wrong with a word that starts like a number.
fn number_rule(text: &str) -> &'static str {
    let bytes = text.as_bytes();
    let is_decimal = |byte: &u8| byte.is_ascii_digit();
    match bytes {
        [b'0', b'x' | b'X', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit) => {
            if digits.is_empty() {
                "expected hexadecimal digits after `0x`"
            } else {
                "the value needs more than 64 bits"
            }
        }
        [b'0', b'x' | b'X', ..] => "expected hexadecimal digits only after `0x`",
        [b'0', b'b' | b'B', digits @ ..] => {
            if !digits.is_empty() && digits.iter().all(|byte| matches!(byte, b'0' | b'1')) {
                "the value needs more than 64 bits"
            } else {
                "expected binary digits after `0b`"
            }
        }
        [b'0', b'f' | b'F', ..] => "expected 8 hexadecimal digits after `0f`",
        [b'0', b'd' | b'D', ..] => "expected 16 hexadecimal digits after `0d`",
        [digits @ .., b'u'] if digits.iter().all(is_decimal) => {
            "an unsigned number ends in a capital `U`"
        }
        [b'0', digits @ ..] if digits.iter().all(is_decimal) && text.contains(['8', '9']) => {
            "a number that starts with `0` is octal and has digits up to 7"
        }
        digits if digits.iter().all(is_decimal) => "the value needs more than 64 bits",
        _ if crate::literal::is_decimal_float(text) => "the value is too large for 64 bits",
        _ => "a number may only end in `U`",
    }
}
