//! Reads PTX text into a tree, and says what is wrong with text that is not PTX.
//!
//! ## Method
//! One token of lookahead over the regular grammar that all instructions and directives share; opcodes are not known
//! here. Statements go straight into the flat arrays of the tree, so parsing neither recurses on nesting (operand groups
//! nest at most [`DEEPEST_OPERAND`] deep) nor backtracks: time is linear in the text.
//!
//! ## Errors
//! After an error the parser resumes behind the next `;`, before the next `}`, or at a token that starts a line where a
//! statement may start, so that one run reports several errors. It stops after [`MOST_ERRORS`].

mod declarations;
mod operands;

use crate::lexer::{Lexer, Token, TokenKind};
use crate::tree::{
    Body, Directive, Function, FunctionKind, Guard, Instruction, Linkage, Module, Operand,
    OperandKind, Statement, Text, Words,
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
    let mut parser = Parser::new(&text);
    parser.module();
    let Parser {
        body,
        functions,
        errors,
        ..
    } = parser;
    let mut module = Module::new(name, text);
    module.top = body;
    module.functions = functions;
    // Mnemonics written with spaces inside are kept joined, in text added behind the source.
    (module, errors)
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
    current: Token,
    /// End of the token before the current one.
    previous_end: u32,
    /// The arrays being filled: the top level's, or those of the function being read.
    body: Body,
    functions: Vec<Function>,
    errors: Vec<Diagnostic>,
}

impl<'text> Parser<'text> {
    fn new(text: &'text str) -> Parser<'text> {
        let mut lexer = Lexer::new(text);
        let current = lexer.next();
        Parser {
            text,
            lexer,
            current,
            previous_end: 0,
            body: Body::default(),
            functions: Vec::new(),
            errors: Vec::new(),
        }
    }

    #[inline(always)]
    fn advance(&mut self) -> Token {
        let token = self.current;
        self.previous_end = token.end;
        self.current = self.lexer.next();
        token
    }

    #[inline(always)]
    fn at(&self, kind: TokenKind) -> bool {
        self.current.kind == kind
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
        self.source(self.current)
    }

    // ---- errors ----

    fn error(&mut self, diagnostic: Diagnostic) -> Reported {
        self.errors.push(diagnostic);
        Reported
    }

    /// The current token in words, for "found …".
    fn found(&self) -> String {
        match self.current.kind {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::BadCharacter => format!(
                "the character {:?}",
                self.current_text().chars().next().unwrap_or(' ')
            ),
            TokenKind::UnclosedString => "a string without its closing quote".to_owned(),
            _ => {
                let text = self.current_text();
                match text.char_indices().nth(40) {
                    Some((cut, _)) => format!("`{}…`", &text[..cut]),
                    None => format!("`{text}`"),
                }
            }
        }
    }

    fn unexpected(&mut self, id: &'static str, expected: &str) -> Reported {
        let found = self.found();
        let diagnostic = match self.current.kind {
            TokenKind::BadNumber => Diagnostic::error(
                "invalid-number",
                self.current.span(),
                format!("{found} is not a number of PTX"),
            )
            .label(
                if self
                    .current_text()
                    .bytes()
                    .all(|byte| byte.is_ascii_digit())
                {
                    "an octal digit is missing its place or the value needs more than 64 bits"
                } else {
                    "expected digits, `0x…`, `0b…`, `0f` and 8 hexadecimal digits, or `0d` and 16"
                },
            ),
            TokenKind::UnclosedString => Diagnostic::error(
                "unclosed-string",
                self.current.span(),
                "the string is not closed on its line",
            ),
            TokenKind::BadCharacter => Diagnostic::error(
                "unexpected-character",
                self.current.span(),
                format!("expected {expected}, found {found}"),
            ),
            // A token on a new line: what is missing is missing at the end of the line before.
            _ if self.previous_end > 0
                && self
                    .lexer
                    .line_breaks_between(self.previous_end, self.current.start)
                && !self.at(TokenKind::CloseBrace) =>
            {
                Diagnostic::error(
                    id,
                    Span::new(self.previous_end.saturating_sub(1), self.previous_end),
                    format!("expected {expected}, found {found}"),
                )
                .label(format!("expected {expected} after this"))
            }
            _ => Diagnostic::error(
                id,
                self.current.span(),
                format!("expected {expected}, found {found}"),
            )
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

    fn expect_semicolon(&mut self) -> Parsed<()> {
        self.expect(TokenKind::Semicolon, "expected-semicolon", "`;`")
            .map(|_| ())
    }

    /// Skips to a place where a statement can start.
    fn resynchronize(&mut self) {
        loop {
            match self.current.kind {
                TokenKind::Semicolon => {
                    self.advance();
                    return;
                }
                TokenKind::End | TokenKind::CloseBrace => return,
                TokenKind::Word | TokenKind::At | TokenKind::DotWord
                    if self
                        .lexer
                        .line_breaks_between(self.previous_end, self.current.start) =>
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
        // About one statement in 24 bytes of real PTX; a good guess saves copies.
        while !self.too_many_errors() {
            if !self.lexer.comments.is_empty() {
                self.take_comments();
            }
            if self.at(TokenKind::End) {
                break;
            }
            if self.statement(Level::Module).is_err() {
                if self.at(TokenKind::CloseBrace) {
                    self.advance();
                }
                self.resynchronize();
            }
        }
        if let Some(span) = self.lexer.unclosed_comment {
            let error = Diagnostic::error("unclosed-comment", span, "the comment is not closed")
                .label("expected `*/` before the end of the file");
            self.error(error);
        }
    }

    /// The statements of a function, from behind its `{` to its `}`.
    fn function_body(&mut self, open: Token) -> Parsed<Body> {
        let outer = std::mem::take(&mut self.body);
        let mut scopes: Vec<Token> = Vec::new();
        let result = loop {
            if !self.lexer.comments.is_empty() {
                self.take_comments();
            }
            if self.too_many_errors() {
                break Err(Reported);
            }
            match self.current.kind {
                TokenKind::OpenBrace => {
                    let token = self.advance();
                    scopes.push(token);
                    self.body
                        .statements
                        .push(Statement::ScopeOpen(token.text()));
                }
                TokenKind::CloseBrace => {
                    if scopes.pop().is_none() {
                        self.advance();
                        break Ok(());
                    }
                    let token = self.advance();
                    self.body
                        .statements
                        .push(Statement::ScopeClose(token.text()));
                }
                TokenKind::End => {
                    let opened = scopes.last().copied().unwrap_or(open);
                    let error = Diagnostic::error(
                        "unclosed-scope",
                        self.current.span(),
                        "expected `}`, found the end of the file",
                    )
                    .context(opened.span(), "this `{` is not closed");
                    break Err(self.error(error));
                }
                _ => {
                    if self.statement(Level::Function).is_err() {
                        self.resynchronize();
                    }
                }
            }
        };
        let mut inner = std::mem::replace(&mut self.body, outer);
        inner.statements.shrink_to_fit();
        inner.operands.shrink_to_fit();
        inner.words.shrink_to_fit();
        result.map(|()| inner)
    }

    #[inline]
    fn statement(&mut self, level: Level) -> Parsed<()> {
        match self.current.kind {
            TokenKind::Word if level == Level::Function => {
                let word = self.advance();
                if self.at(TokenKind::Colon) {
                    self.advance();
                    self.body.statements.push(Statement::Label(word.text()));
                    return Ok(());
                }
                let start = self.body.operands.len();
                self.instruction(word, Guard::None, start)
            }
            TokenKind::At => self.guarded(level),
            TokenKind::DotWord => self.directive(level),
            TokenKind::Semicolon => {
                self.advance();
                self.body.statements.push(Statement::Directive(Directive {
                    words: Words::default(),
                    semicolon: true,
                }));
                Ok(())
            }
            TokenKind::Word => {
                let error = Diagnostic::error(
                    "instruction-outside-function",
                    self.current.span(),
                    format!("expected a directive, found {}", self.found()),
                )
                .label("only directives may stand outside functions");
                Err(self.error(error))
            }
            TokenKind::CloseBrace => {
                let error = Diagnostic::error(
                    "unmatched-brace",
                    self.current.span(),
                    "expected a directive, found `}`",
                )
                .label("no `{` is open here");
                Err(self.error(error))
            }
            _ if level == Level::Module => {
                Err(self.unexpected("expected-directive", "a directive"))
            }
            _ => Err(self.unexpected(
                "expected-statement",
                "an instruction, a label or a directive",
            )),
        }
    }

    fn guarded(&mut self, level: Level) -> Parsed<()> {
        let at = self.advance();
        // `@@DWARF …`: debug information as old compilers wrote it, one line each.
        if self.at(TokenKind::At) {
            self.line_directive(at.start);
            return Ok(());
        }
        if level == Level::Module {
            let error = Diagnostic::error(
                "instruction-outside-function",
                at.span(),
                "expected a directive, found `@`",
            )
            .label("only directives may stand outside functions");
            return Err(self.error(error));
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
        let word = match self.expect(TokenKind::Word, "expected-instruction", "an instruction") {
            Ok(word) => word,
            Err(reported) => {
                self.body.operands.truncate(start);
                return Err(reported);
            }
        };
        self.instruction(word, guard, start)
    }

    /// The rest of an instruction behind its mnemonic. Nodes from `start` on are its own.
    #[inline]
    fn instruction(&mut self, mnemonic: Token, guard: Guard, start: usize) -> Parsed<()> {
        let result = self.instruction_operands(mnemonic);
        let count = self.body.operands.len() - start;
        match result {
            Ok(()) if count <= u16::MAX as usize => {
                self.body
                    .statements
                    .push(Statement::Instruction(Instruction {
                        mnemonic: mnemonic.text(),
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

    // ---- directives ----

    fn directive(&mut self, level: Level) -> Parsed<()> {
        match self.current_text() {
            ".reg" | ".sreg" | ".local" | ".shared" | ".global" | ".const" | ".param" | ".tex" => {
                self.declaration(level)
            }
            ".visible" | ".extern" | ".weak" | ".common" => self.linkage(level),
            ".entry" | ".func" => {
                let start = self.body.words.len();
                self.function(level, Linkage::Internal, start)
            }
            ".section" => self.section(),
            ".loc" => self.location(),
            ".version" | ".target" | ".address_size" | ".file" => {
                let start = self.current.start;
                self.line_directive(start);
                Ok(())
            }
            ".pragma" | ".alias" | ".branchtargets" | ".calltargets" | ".callprototype" => {
                self.semicolon_directive()
            }
            word if word.starts_with(".shared::") || word.starts_with(".param::") => {
                self.declaration(level)
            }
            _ => {
                let start = self.current.start;
                self.line_directive(start);
                Ok(())
            }
        }
    }

    /// A directive that ends at the end of its line, or at a `;` before it, whichever comes first.
    fn line_directive(&mut self, start: u32) {
        let line_end = self.lexer.line_end(start);
        let first = self.body.words.len() as u32;
        if self.current.start > start {
            self.body
                .words
                .push(Text::new(start, self.previous_end - start));
        }
        let mut semicolon = false;
        while self.current.kind != TokenKind::End && self.current.start < line_end {
            let token = self.advance();
            if token.kind == TokenKind::Semicolon {
                semicolon = true;
                break;
            }
            self.body.words.push(token.text());
        }
        self.push_directive(first, semicolon);
    }

    fn push_directive(&mut self, first: u32, semicolon: bool) {
        let words = Words {
            start: first,
            count: self.body.words.len() as u32 - first,
        };
        self.body
            .statements
            .push(Statement::Directive(Directive { words, semicolon }));
    }

    /// A directive that ends in `;`.
    fn semicolon_directive(&mut self) -> Parsed<()> {
        let first = self.body.words.len();
        let keyword = self.advance();
        self.body.words.push(keyword.text());
        loop {
            match self.current.kind {
                TokenKind::Semicolon => {
                    self.advance();
                    self.push_directive(first as u32, true);
                    return Ok(());
                }
                TokenKind::Word
                | TokenKind::DotWord
                | TokenKind::Number
                | TokenKind::String
                | TokenKind::Comma
                | TokenKind::OpenParen
                | TokenKind::CloseParen
                | TokenKind::OpenBracket
                | TokenKind::CloseBracket => {
                    let token = self.advance();
                    self.body.words.push(token.text());
                }
                _ => {
                    self.body.words.truncate(first);
                    let expected = format!("`;` after `{}`", self.source(keyword));
                    return Err(self.unexpected("expected-semicolon", &expected));
                }
            }
        }
    }

    /// `.loc file line column [, function_name label[+offset], inlined_at file line column]`
    fn location(&mut self) -> Parsed<()> {
        let first = self.body.words.len();
        let keyword = self.advance();
        self.body.words.push(keyword.text());
        let result = self.location_words();
        match result {
            Ok(()) => {
                let semicolon = self.eat(TokenKind::Semicolon);
                self.push_directive(first as u32, semicolon);
            }
            Err(_) => self.body.words.truncate(first),
        }
        result
    }

    fn location_words(&mut self) -> Parsed<()> {
        self.three_numbers("file, line and column numbers after `.loc`")?;
        while self.at(TokenKind::Comma) {
            let comma = self.advance();
            self.body.words.push(comma.text());
            let word = self.expect(
                TokenKind::Word,
                "expected-loc-attribute",
                "`function_name` or `inlined_at`",
            )?;
            self.body.words.push(word.text());
            match self.source(word) {
                "inlined_at" => {
                    self.three_numbers("file, line and column numbers after `inlined_at`")?
                }
                "function_name" => {
                    let label = match self.current.kind {
                        TokenKind::DotWord => self.advance(),
                        _ => self.expect(
                            TokenKind::Word,
                            "expected-label",
                            "a label after `function_name`",
                        )?,
                    };
                    self.body.words.push(label.text());
                    if self.at(TokenKind::Plus) {
                        let plus = self.advance();
                        self.body.words.push(plus.text());
                        let offset = self.expect(
                            TokenKind::Number,
                            "expected-number",
                            "an offset after `+`",
                        )?;
                        self.body.words.push(offset.text());
                    }
                }
                _ => {
                    let error = Diagnostic::error(
                        "expected-loc-attribute",
                        word.span(),
                        format!(
                            "expected `function_name` or `inlined_at`, found `{}`",
                            self.source(word)
                        ),
                    );
                    return Err(self.error(error));
                }
            }
        }
        Ok(())
    }

    fn three_numbers(&mut self, expected: &str) -> Parsed<()> {
        for _ in 0..3 {
            let number = self.expect(TokenKind::Number, "expected-number", expected)?;
            self.body.words.push(number.text());
        }
        Ok(())
    }

    /// `.section name { … }`, the braces verbatim.
    fn section(&mut self) -> Parsed<()> {
        let first = self.body.words.len();
        let keyword = self.advance();
        self.body.words.push(keyword.text());
        while matches!(
            self.current.kind,
            TokenKind::Word
                | TokenKind::DotWord
                | TokenKind::String
                | TokenKind::Comma
                | TokenKind::Number
        ) {
            let token = self.advance();
            self.body.words.push(token.text());
        }
        let words = Words {
            start: first as u32,
            count: (self.body.words.len() - first) as u32,
        };
        self.take_comments();
        let open = match self.expect(
            TokenKind::OpenBrace,
            "expected-brace",
            "`{` after `.section`",
        ) {
            Ok(open) => open,
            Err(reported) => {
                self.body.words.truncate(first);
                return Err(reported);
            }
        };
        let mut depth = 1;
        loop {
            match self.current.kind {
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace => depth -= 1,
                TokenKind::End => {
                    let error = Diagnostic::error(
                        "unclosed-scope",
                        self.current.span(),
                        "expected `}`, found the end of the file",
                    )
                    .context(open.span(), "this `{` is not closed");
                    self.body.words.truncate(first);
                    return Err(self.error(error));
                }
                _ => {}
            }
            // Comments inside are part of the verbatim text.
            self.lexer.comments.clear();
            let token = self.advance();
            if depth == 0 {
                self.body.statements.push(Statement::Section {
                    words,
                    contents: Text::new(open.start, token.end - open.start),
                });
                return Ok(());
            }
        }
    }

    // ---- functions ----

    /// `.visible`, `.extern`, `.weak`, `.common`: the start of a declaration or function.
    fn linkage(&mut self, level: Level) -> Parsed<()> {
        let mut lookahead = Lexer::new(self.text);
        lookahead.seek(self.current.end);
        let next = lookahead.next();
        if !matches!(self.source(next), ".entry" | ".func") {
            return self.declaration(level);
        }
        let linkage = self.linkage_of(self.current);
        let start = self.body.words.len();
        let token = self.advance();
        self.body.words.push(token.text());
        self.function(level, linkage, start)
    }

    fn linkage_of(&self, token: Token) -> Linkage {
        match self.source(token) {
            ".visible" => Linkage::Visible,
            ".extern" => Linkage::Extern,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => Linkage::Internal,
        }
    }

    /// A function from `.entry` or `.func` on; words from `first` on are its prefix.
    fn function(&mut self, level: Level, linkage: Linkage, first: usize) -> Parsed<()> {
        if level == Level::Function {
            let error = Diagnostic::error(
                "nested-function",
                self.current.span(),
                format!("`{}` cannot stand inside a function", self.current_text()),
            )
            .label("is a `}` missing before this?");
            self.advance();
            return Err(self.error(error));
        }
        let kind = if self.current_text() == ".entry" {
            FunctionKind::Entry
        } else {
            FunctionKind::Function
        };
        let keyword = self.advance();
        self.body.words.push(keyword.text());
        // `.attribute(.unified(…))` may stand between keyword and name.
        while self.at(TokenKind::DotWord) {
            let token = self.advance();
            self.body.words.push(token.text());
            if self.at(TokenKind::OpenParen) {
                self.balanced_words()?;
            }
        }
        let prefix = Words {
            start: first as u32,
            count: (self.body.words.len() - first) as u32,
        };
        let returns = if self.at(TokenKind::OpenParen) {
            Some(self.parameter_list()?)
        } else {
            None
        };
        let name = self
            .expect(TokenKind::Word, "expected-name", "a function name")?
            .text();
        let parameters = if self.at(TokenKind::OpenParen) {
            Some(self.parameter_list()?)
        } else {
            None
        };
        let directives = self.function_directives()?;
        let comments = self
            .lexer
            .comments
            .drain(..)
            .map(|comment| comment.text)
            .collect();
        let body = match self.current.kind {
            TokenKind::Semicolon => {
                self.advance();
                None
            }
            TokenKind::OpenBrace => {
                let open = self.advance();
                Some(self.function_body(open)?)
            }
            _ => {
                return Err(
                    self.unexpected("expected-body", "`{` or `;` after the function header")
                );
            }
        };
        let index = self.functions.len() as u32;
        self.functions.push(Function {
            kind,
            linkage,
            prefix,
            returns,
            name,
            parameters,
            directives,
            comments,
            body,
        });
        self.body.statements.push(Statement::Function(index));
        Ok(())
    }

    /// `.maxntid 256, 1, 1` and the like, between a function's header and its body.
    fn function_directives(&mut self) -> Parsed<Vec<Directive>> {
        let mut directives = Vec::new();
        while self.at(TokenKind::DotWord) {
            let first = self.body.words.len();
            let mut semicolon = false;
            let keyword = self.advance();
            self.body.words.push(keyword.text());
            let is_pragma = self.source(keyword) == ".pragma";
            loop {
                match self.current.kind {
                    TokenKind::Number | TokenKind::Comma | TokenKind::String | TokenKind::Word => {
                        let token = self.advance();
                        self.body.words.push(token.text());
                    }
                    TokenKind::OpenParen => self.balanced_words()?,
                    TokenKind::Semicolon if is_pragma => {
                        self.advance();
                        semicolon = true;
                        break;
                    }
                    _ => break,
                }
            }
            let words = Words {
                start: first as u32,
                count: (self.body.words.len() - first) as u32,
            };
            directives.push(Directive { words, semicolon });
        }
        Ok(directives)
    }

    /// Words from `(` to its `)`.
    fn balanced_words(&mut self) -> Parsed<()> {
        let open = self.current;
        let mut depth = 0usize;
        loop {
            match self.current.kind {
                TokenKind::OpenParen => depth += 1,
                TokenKind::CloseParen => depth -= 1,
                TokenKind::End
                | TokenKind::OpenBrace
                | TokenKind::CloseBrace
                | TokenKind::Semicolon => {
                    let found = self.found();
                    let error = Diagnostic::error(
                        "unclosed-parenthesis",
                        self.current.span(),
                        format!("expected `)`, found {found}"),
                    )
                    .context(open.span(), "this `(` is not closed");
                    return Err(self.error(error));
                }
                _ => {}
            }
            let token = self.advance();
            self.body.words.push(token.text());
            if depth == 0 {
                return Ok(());
            }
        }
    }
}
