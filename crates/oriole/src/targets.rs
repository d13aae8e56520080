//! The target of a module, and the warning about unknown limits.

use crate::acceptance::span_of;
use crate::{Diagnostic, Module, Span};
use oriole_isa::Target;
use oriole_syntax::tree::Statement;

/// The target of a module; sm_80 if it names none. One whose name says nothing is like the oldest, which has no known limits.
pub(crate) fn target_of(module: &Module) -> Target {
    match module.target() {
        Some(name) => Target::from_text(name).unwrap_or(Target::new(1, 0)),
        None => Target::new(8, 0),
    }
}

/// The place of the name of the target.
pub(crate) fn target_span(module: &Module) -> Span {
    let statements = module.top.statements.iter();
    let mut operands = statements.filter_map(|statement| match statement {
        Statement::Directive(directive) => match *module.top.words(directive.words) {
            [keyword, operand, ..] if module.text(keyword) == ".target" => Some(operand),
            _ => None,
        },
        _ => None,
    });
    operands
        .next()
        .map_or(Span::at(0), |operand| span_of(module, operand))
}

/// A warning if the limits of a target are not known: the one that is named, else that of the module. Nothing is assumed of them.
///
/// ```
/// let text = oriole::EXAMPLE.replace("sm_80", "sm_999");
/// let module = oriole::parse("example.ptx", text)?;
/// assert_eq!(oriole::unlisted_target(&module, None).unwrap().id, "unlisted-target");
/// # Ok::<(), oriole::Error>(())
/// ```
pub fn unlisted_target(module: &Module, named: Option<Target>) -> Option<Diagnostic> {
    let (name, target) = match named {
        Some(target) => (target.to_string(), named),
        None => {
            let name = module.target()?;
            (name.to_owned(), Target::from_text(name))
        }
    };
    if target.and_then(Target::limits).is_some() {
        return None;
    }
    let what = format!("the limits of `{name}` are not known");
    let warning = Diagnostic::warning("unlisted-target", target_span(module), what);
    Some(warning.with_note(
        "nothing is assumed of its launches but what the file says, as with `.maxntid`, and nothing is said of occupancy",
    ))
}
