//! Runs a kernel in the emulator.

use crate::{Error, Module};
use oriole_emulator::{
    Approximations, Argument, ArgumentKind, ElementType, Launch, Machine, MachineOptions, Options,
    Report, Signature, Trap,
};
use std::fmt;
use std::sync::Arc;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The kernel; without a name, the only one.
    pub kernel: Option<String>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// The arguments of the kernel, in order; see [`Argument::parse`].
    pub arguments: Vec<Argument>,
    /// What approximate instructions gave on a GPU.
    pub approximations: Option<Arc<Approximations>>,
    /// Limits and checks.
    pub execution: Options,
}

impl Default for RunOptions {
    /// One block of 32 threads without arguments.
    fn default() -> RunOptions {
        RunOptions {
            kernel: None,
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            arguments: Vec::new(),
            approximations: None,
            execution: Options::default(),
        }
    }
}

/// What a kernel did.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// What was counted and found, and what was printed.
    pub report: Report,
    /// The buffers among the arguments, those of structures as `structure.member`.
    pub buffers: Vec<RunBuffer>,
}

/// A buffer after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunBuffer {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub element: ElementType,
    /// What the kernel left in it.
    pub bytes: Vec<u8>,
}

/// Why a kernel did not run to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The module cannot be decoded.
    Module(Error),
    /// There is no such kernel, or the arguments do not fit it.
    Arguments(String),
    /// The launch was refused, or the kernel did something it must not do.
    Trap(Box<Trap>),
}

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Module(error) => error.fmt(formatter),
            RunError::Arguments(message) => formatter.write_str(message),
            RunError::Trap(trap) => trap.fmt(formatter),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Error> for RunError {
    fn from(error: Error) -> RunError {
        RunError::Module(error)
    }
}

/// The kernel that is asked for, or the only one.
fn choose_kernel<'a>(machine: &'a Machine, wanted: Option<&'a str>) -> Result<&'a str, RunError> {
    let describe = |name: &str| {
        let Some(Signature {
            parameters, types, ..
        }) = machine.signature(name)
        else {
            return name.to_owned();
        };
        let parameters: Vec<String> = parameters
            .iter()
            .zip(&types)
            .map(|((name, bytes), kind)| match kind.as_str() {
                "b8" if *bytes != 1 => format!("{name}: {bytes} bytes"),
                kind => format!("{name}: {kind}"),
            })
            .collect();
        format!("{name}({})", parameters.join(", "))
    };
    let mut kernels = machine.kernels();
    match (wanted, kernels.next(), kernels.next()) {
        (_, None, _) => Err(RunError::Arguments("the file has no kernel".to_owned())),
        (None, Some(only), None) => Ok(only),
        (Some(name), ..) if machine.signature(name).is_some() => Ok(name),
        (wanted, ..) => {
            const SHOWN: usize = 50;
            let mut text = match wanted {
                Some(name) => format!("there is no kernel `{name}`; there are:"),
                None => "the file has several kernels; name one of them:".to_owned(),
            };
            for name in machine.kernels().take(SHOWN) {
                text += &format!("\n  {}", describe(name));
            }
            let more = machine.kernels().count().saturating_sub(SHOWN);
            if more > 0 {
                text += &format!("\n  and {more} more");
            }
            Err(RunError::Arguments(text))
        }
    }
}

/// Says which argument does not fit its parameter.
fn check_arguments(
    signature: &Signature,
    kernel: &str,
    given: &[Argument],
) -> Result<(), RunError> {
    let wrong = |message: String| Err(RunError::Arguments(message));
    if given.len() != signature.parameters.len() {
        let names: Vec<&str> = signature
            .parameters
            .iter()
            .map(|(name, _)| &name[..])
            .collect();
        return wrong(format!(
            "`{kernel}` takes {} arguments ({}), {} are given",
            names.len(),
            names.join(", "),
            given.len()
        ));
    }
    for (index, argument) in given.iter().enumerate() {
        let (name, size) = &signature.parameters[index];
        let declared = &signature.types[index][..];
        let bytes = if argument.is_buffer() {
            8
        } else {
            argument.data.len()
        };
        if bytes != *size {
            return wrong(format!(
                "parameter `{name}` of `{kernel}` has {size} bytes, the argument `{}` {bytes}",
                argument.name
            ));
        }
        // Bits (`.b32`) and bytes of structures may hold anything.
        let declared_float = declared.starts_with('f');
        let declared_integer = declared.starts_with('u') || declared.starts_with('s');
        let scalar = argument.kind == ArgumentKind::Scalar;
        let float = scalar && argument.element.is_float();
        let number = argument.element.text();
        if declared_float && argument.is_buffer() {
            return wrong(format!(
                "parameter `{name}` of `{kernel}` is .{declared}, the argument `{}` the address of a buffer",
                argument.name
            ));
        }
        if scalar && (declared_float && !float || declared_integer && float) {
            return wrong(format!(
                "parameter `{name}` of `{kernel}` is .{declared}, the argument `{}` {number}",
                argument.name
            ));
        }
    }
    Ok(())
}

/// Runs a kernel in the emulator.
///
/// ```
/// use oriole::RunOptions;
/// use oriole::emulator::Argument;
///
/// let text = "
/// .version 8.0
/// .target sm_80
/// .address_size 64
/// .visible .entry double(.param .u64 data) {
///     .reg .b64 %rd<3>; .reg .b32 %r<3>;
///     ld.param.u64 %rd1, [data];
///     mov.u32 %r1, %tid.x;
///     mad.wide.u32 %rd2, %r1, 4, %rd1;
///     ld.global.u32 %r2, [%rd2];
///     add.u32 %r2, %r2, %r2;
///     st.global.u32 [%rd2], %r2;
///     ret;
/// }";
/// let module = oriole::parse("double.ptx", text)?;
/// let options = RunOptions {
///     block: [4, 1, 1],
///     arguments: vec![Argument::parse("data:u32[4]=iota", 0, 0)?],
///     ..RunOptions::default()
/// };
/// let done = oriole::run(&module, &options)?;
/// assert_eq!(done.buffers[0].bytes[12..], [6, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If it cannot run, or traps.
pub fn run(module: &Module, options: &RunOptions) -> Result<RunReport, RunError> {
    let decoding = MachineOptions {
        approximations: options.approximations.clone(),
        memory_limit: options.execution.memory_limit,
        ..MachineOptions::default()
    };
    let given = options.arguments.as_slice();
    let mut machine = Machine::with_options(module, &decoding)?;
    let kernel = choose_kernel(&machine, options.kernel.as_deref())?.to_owned();
    if let Some(signature) = machine.signature(&kernel) {
        check_arguments(&signature, &kernel, given)?;
    }
    let (values, buffers) = machine.arguments_and_buffers(given);
    let launch = Launch {
        kernel: &kernel,
        grid: options.grid,
        block: options.block,
        dynamic_shared: options.dynamic_shared,
        arguments: values,
    };
    let launched = machine.launch(&launch, &options.execution);
    let report = launched.map_err(RunError::Trap)?;
    let elements = |name: &str| {
        let members = given.iter().flat_map(|argument| &argument.members);
        let all = given.iter().chain(members.map(|(_, member)| member));
        let mut named = all.filter(|argument| argument.is_buffer() && argument.name == name);
        named.next().map(|argument| argument.element)
    };
    let buffers = buffers
        .into_iter()
        .filter_map(|(name, buffer)| {
            Some(RunBuffer {
                element: elements(&name)?,
                bytes: machine.read(buffer),
                name,
            })
        })
        .collect();
    Ok(RunReport { report, buffers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_said() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry a(.param .u32 n) { ret; }\n.entry b() { trap; }\n";
        let module = crate::parse("k.ptx", text).unwrap();
        let said = |kernel: Option<&str>| {
            let options = RunOptions {
                kernel: kernel.map(str::to_owned),
                ..RunOptions::default()
            };
            run(&module, &options).unwrap_err().to_string()
        };
        assert_eq!(
            said(None),
            "the file has several kernels; name one of them:\n  a(n: u32)\n  b()"
        );
        assert!(said(Some("c")).starts_with("there is no kernel `c`"));
        assert_eq!(said(Some("a")), "`a` takes 1 arguments (n), 0 are given");
        let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(
            run(
                &module,
                &RunOptions {
                    kernel: Some("b".to_owned()),
                    ..RunOptions::default()
                },
            )
            .unwrap_err(),
        );
        assert!(matches!(
            boxed.downcast_ref(),
            Some(RunError::Trap(trap)) if trap.ptx_line == 5
        ));
    }
}
