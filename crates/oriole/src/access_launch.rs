//! The kernels that an analysis is asked for, and the launches it takes them to have.

use crate::Module;
use crate::report::{BlockOrigin, Demangled, Launch, Parameter};
use oriole_analysis::lane_patterns::Setting;
use oriole_ir::{Function, LaunchBounds, SymbolKind};
use oriole_isa::{Component, SpecialRegisterKind};

/// The functions that are asked for.
pub(crate) struct Selection<'a> {
    /// A name or a part of one; nothing for all.
    asked: Option<&'a str>,
    /// Whether a function has the whole name.
    is_exact: bool,
}

impl<'a> Selection<'a> {
    /// All functions, or those of a name: the whole one if a function has it, else a part.
    pub fn of(module: &Module, asked: Option<&'a str>) -> Selection<'a> {
        let defined = module.functions.iter().filter(|own| own.body.is_some());
        let mut names = defined.map(|own| module.text(own.name));
        let is_exact = asked.is_some_and(|asked| {
            names.any(|name| name == asked || Demangled::of(name).plain == asked)
        });
        Selection { asked, is_exact }
    }

    pub fn has(&self, name: &str) -> bool {
        let Some(asked) = self.asked else {
            return true;
        };
        let demangled = Demangled::of(name);
        match self.is_exact {
            true => name == asked || demangled.plain == asked,
            false => name.contains(asked) || demangled.full.contains(asked),
        }
    }
}

/// Whether a function reads a component of the thread's number.
pub(crate) fn reads_thread(function: &Function, component: Component) -> bool {
    let mut symbols = function.symbols().iter();
    symbols.any(|(_, symbol)| match symbol.kind {
        SymbolKind::Special(special) => {
            special.kind() == SpecialRegisterKind::Tid && special.component() == Some(component)
        }
        _ => false,
    })
}

/// The parameters of a function, as the PTX declares them.
pub(crate) fn parameters(
    module: &Module,
    function: &oriole_syntax::tree::Function,
) -> Vec<Parameter> {
    let declarations = function.parameters.clone().unwrap_or(0..0);
    let mut found = Vec::new();
    for at in declarations {
        let declaration = &module.top.declarations[at as usize];
        let words = module.top.words(declaration.words);
        let is_pointer = words.iter().any(|&word| module.text(word) == ".ptr");
        for declarator in module.top.declarators(declaration) {
            let words = module.top.words(declarator.dimensions).iter();
            let dimensions: String = words.map(|&word| module.text(word)).collect();
            found.push(Parameter {
                index: found.len() as u32,
                name: module.text(declarator.name).to_owned(),
                r#type: format!("{}{dimensions}", module.text(declaration.element)),
                is_pointer,
            });
        }
    }
    found
}

/// The launch of a kernel in a setting, if blocks of a shape were given or are required.
pub(crate) fn launch_of(
    function: &Function,
    bounds: &LaunchBounds,
    given: Option<[u32; 3]>,
    setting: &Setting,
) -> Launch {
    let arguments = setting.arguments.iter();
    Launch {
        block_origin: match (given, bounds.required_block) {
            (Some(given), Some(required)) if given == required => BlockOrigin::Required,
            (Some(_), _) => BlockOrigin::Given,
            (None, _) if bounds.maximum_threads.is_some() => BlockOrigin::Bounded,
            (None, _) => BlockOrigin::Assumed,
        },
        required_block: bounds.required_block,
        maximum_threads: bounds.maximum_threads,
        reads_y: reads_thread(function, Component::Y),
        reads_z: reads_thread(function, Component::Z),
        arguments: arguments
            .map(|(&place, &value)| [i64::from(place), value as i64])
            .collect(),
    }
}
