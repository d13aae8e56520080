//! Which arrays accesses go to, with their subscripts, and what iterations of loops have to do with each other.

use crate::access_analysis::is_told;
use oriole_analysis::delinearization::{
    Delinearizer, Dependence, Factor, Interchange, NestAccess, Polynomial, Subscripts, dependence,
    interchange,
};
use oriole_analysis::lane_patterns::Setting;
use oriole_analysis::memory_requests::{Nest, Request, RequestCost, Status};
use oriole_analysis::scalar_evolution::{Expression, Kind, Leaf, Names, Query, ScalarEvolution};
use oriole_analysis::{Analyses, ControlFlow, Loop, Loops};
use oriole_ir::{AccessKind, Function, Instruction, Symbol, VariableKind};
use oriole_isa::Space;
use std::collections::BTreeMap;
use std::rc::Rc;

/// An access to an array with subscripts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArrayAccess {
    /// The array: `arg 2`, or a variable.
    pub name: String,
    /// Bytes of an element.
    pub element: u32,
    /// The subscripts, outermost first.
    pub subscripts: Vec<String>,
    /// The sizes of the dimensions; nothing for the outermost one.
    pub sizes: Vec<Option<String>>,
    /// The dimensions, by number from 0, whose subscripts contain the number of a thread along x.
    pub varies_with_thread: Vec<usize>,
    /// Bytes of a row of the last dimension, if it is one of several and they are a number.
    pub row_bytes: Option<u64>,
    /// Whether the subscripts assume that sums do not wrap.
    pub is_assumed: bool,
}

impl std::fmt::Display for ArrayAccess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.name)?;
        for subscript in &self.subscripts {
            write!(formatter, "[{subscript}]")?;
        }
        let sizes: Vec<&str> = self.sizes.iter().flatten().map(String::as_str).collect();
        match sizes.split_last() {
            None => Ok(()),
            Some((row, [])) => write!(formatter, " of rows of {row}"),
            Some((row, counts)) => {
                let counts = counts.join(" by ");
                write!(formatter, " of {counts} rows of {row}")
            }
        }
    }
}

impl ArrayAccess {
    /// Which dimension threads along x go through, in words, if it is one that makes them skip rows.
    pub fn advice(&self) -> Option<String> {
        let last = self.subscripts.len() - 1;
        match self.varies_with_thread[..] {
            [dimension] if dimension < last => Some(format!(
                "threadIdx.x is in subscript {} of {}, not in the last one, which is contiguous",
                dimension + 1,
                self.subscripts.len()
            )),
            _ => None,
        }
    }
}

/// How two accesses of a loop's iterations are related, in one thread.
#[derive(Clone, Copy, Debug)]
pub struct DependenceReport {
    /// The first instruction of the loop's header.
    pub header: Instruction,
    /// The accesses.
    pub between: [Instruction; 2],
    /// How.
    pub dependence: Dependence,
}

/// So many pairs of accesses are looked at in a kernel.
const MOST_PAIRS: usize = 400;

/// Whether a request is known to cost more than would do.
fn is_wasteful(cost: &RequestCost) -> bool {
    cost.status != Status::Unknown && cost.waste() > 1e-9
}

/// Requests whose arrays are looked for if only findings are wanted: those that these tell of, all that are in the innermost loops of nests
/// with them, and all that waste something in shared memory if one of those does, since rows of arrays are taken from the first.
fn needed_for_findings(function: &Function, loops: &Loops, costs: &[RequestCost]) -> Vec<bool> {
    let is_told = |cost: &RequestCost| is_told(cost);
    let is_shared =
        |cost: &RequestCost| matches!(cost.request.space, Space::Shared | Space::SharedCluster);
    let needs_shared = costs.iter().any(|cost| is_shared(cost) && is_told(cost));
    let is_needed =
        |cost: &RequestCost| is_told(cost) || needs_shared && is_shared(cost) && is_wasteful(cost);
    let mut needed: Vec<bool> = costs.iter().map(is_needed).collect();
    for (_, members) in of_nests(function, loops, costs).into_values() {
        if members.iter().any(|&index| is_told(&costs[index])) {
            for member in members {
                needed[member] = true;
            }
        }
    }
    needed
}

/// The arrays of requests, in order, and how iterations are related; if only findings are wanted, what these tell of them.
pub(crate) fn arrays(
    function: &Function,
    analyses: &mut Analyses,
    setting: &Setting,
    evolution: &ScalarEvolution,
    costs: &[RequestCost],
    text: &str,
    findings_only: bool,
) -> Arrays {
    let loops = analyses.get::<Loops>(function);
    if findings_only && !costs.iter().any(is_told) {
        return Arrays {
            arrays: vec![None; costs.len()],
            trips: vec![None; costs.len()],
            dependences: Vec::new(),
            nests: Vec::new(),
        };
    }
    let is_needed = match findings_only {
        true => needed_for_findings(function, &loops, costs),
        false => vec![true; costs.len()],
    };
    let mut query = evolution.on(function);
    let arguments = arguments(function, setting);
    let mut delinearizer = Delinearizer::new(function, analyses.environment(), setting, arguments);
    let mut found: Vec<Option<Rc<Subscripts>>> = Vec::new();
    for (cost, is_needed) in costs.iter().zip(is_needed) {
        if !is_needed {
            found.push(None);
            continue;
        }
        let element = element(function, &cost.request);
        let address = cost.request.address;
        let subscripts = address
            .filter(|_| cost.request.space != Space::Local)
            .and_then(|address| delinearizer.subscripts(&mut query, address, element));
        found.push(subscripts);
    }
    let depth = |header| format!("i{}", loops.depth(header));
    let names = Names {
        text,
        header: &|header| depth(header),
    };
    let is_printed = |cost: &RequestCost| !findings_only || is_wasteful(cost) || is_told(cost);
    let printed = found
        .iter()
        .zip(costs)
        .map(|(subscripts, cost)| {
            let subscripts = subscripts.as_ref().filter(|_| is_printed(cost))?;
            array(function, &query, &names, &loops, subscripts)
        })
        .collect();
    let trips = costs
        .iter()
        .map(|cost| match !findings_only || is_told(cost) {
            true => trips(function, &mut query, &names, &loops, cost),
            false => None,
        });
    let trips = trips.collect();
    let dependences = match findings_only {
        true => Vec::new(),
        false => dependences(function, &mut query, &loops, costs, &found),
    };
    let flow = analyses.get::<ControlFlow>(function);
    let nests = nests(function, &flow, &loops, &mut query, costs, &found);
    let nests = nests.into_iter().map(|(nest, interchange)| {
        let name = |base| source_text(function, &query, &names, base);
        let apart = interchange.apart.iter();
        let apart = apart.map(|[one, two]| format!("{} and {}", name(*one), name(*two)));
        ArrayNest {
            nest,
            apart: apart.collect(),
        }
    });
    let nests = nests.collect();
    Arrays {
        arrays: printed,
        trips,
        dependences,
        nests,
    }
}

/// A nest of loops that can be exchanged.
pub(crate) struct ArrayNest {
    pub nest: Nest,
    /// Pairs of pointers that must not overlap.
    pub apart: Vec<String>,
}

/// So many nests of a kernel are looked at.
const MOST_NESTS: usize = 16;

/// The requests of innermost loops that are in others, by loop.
fn of_nests(
    function: &Function,
    loops: &Loops,
    costs: &[RequestCost],
) -> BTreeMap<usize, (Loop, Vec<usize>)> {
    let mut of_loops: BTreeMap<usize, (Loop, Vec<usize>)> = BTreeMap::new();
    for (index, cost) in costs.iter().enumerate() {
        let block = function.block_of(cost.request.instruction);
        let inner = block.and_then(|block| loops.innermost(block));
        if let Some(inner) = inner.filter(|&inner| loops.parent(inner).is_some()) {
            let group = of_loops.entry(inner.index()).or_insert((inner, Vec::new()));
            group.1.push(index);
        }
    }
    of_loops
}

/// Nests of two loops that can be exchanged, in which something is wasted.
fn nests(
    function: &Function,
    flow: &ControlFlow,
    loops: &Loops,
    query: &mut Query<'_>,
    costs: &[RequestCost],
    found: &[Option<Rc<Subscripts>>],
) -> Vec<(Nest, Interchange)> {
    let of_loops = of_nests(function, loops, costs);
    let wastes = |&&index: &&usize| {
        let cost: &RequestCost = &costs[index];
        matches!(cost.request.space, Space::Global | Space::Generic) && is_wasteful(cost)
    };
    let mut nests = Vec::new();
    let wasteful = of_loops.into_values();
    let wasteful = wasteful.filter(|own| own.1.iter().any(|index| wastes(&index)));
    for (inner, members) in wasteful.take(MOST_NESTS) {
        let mut costs_of = members.iter().map(|&index| &costs[index]);
        if !costs_of.any(is_told) {
            continue;
        }
        let access = |&index: &usize| {
            let request = &costs[index].request;
            NestAccess {
                instruction: request.instruction,
                kind: request.kind,
                space: request.space,
                bytes: request.bytes,
                subscripts: found[index].as_deref(),
            }
        };
        let accesses: Vec<NestAccess<'_>> = members.iter().map(access).collect();
        let exchanged = interchange(function, flow, loops, query, inner, &accesses);
        if let Some(exchanged) = exchanged {
            let nest = Nest {
                headers: exchanged.headers,
                trips: exchanged.trips,
                members: members
                    .into_iter()
                    .zip(exchanged.steps.iter().copied())
                    .collect(),
            };
            nests.push((nest, exchanged));
        }
    }
    nests
}

/// What is known of requests besides their cost, in their order.
pub(crate) struct Arrays {
    pub arrays: Vec<Option<ArrayAccess>>,
    /// How often they are made, where that is no number.
    pub trips: Vec<Option<String>>,
    pub dependences: Vec<DependenceReport>,
    /// Nests of loops that can be exchanged.
    pub nests: Vec<ArrayNest>,
}

/// How often the loops around a request go round, as a product, if one of these counts is no number.
fn trips(
    function: &Function,
    query: &mut Query<'_>,
    names: &Names<'_>,
    loops: &Loops,
    cost: &RequestCost,
) -> Option<String> {
    let block = function.block_of(cost.request.instruction)?;
    let mut around = loops.innermost(block);
    let mut parts = Vec::new();
    let mut is_number = true;
    while let Some(this) = around {
        let taken = query.backedge_taken(loops.header(this));
        let exact = taken.map(|taken| taken.exact);
        let exact = exact.filter(|&exact| !query.expressions().is_unknown(exact));
        let number = exact.and_then(|exact| query.expressions().as_constant(exact));
        parts.push(match (number, exact) {
            (Some(number), _) => number.saturating_add(1).to_string(),
            (None, Some(exact)) => format!("(1 + {})", query.print(names, exact)),
            (None, None) => "an unknown number".to_owned(),
        });
        is_number &= number.is_some();
        around = loops.parent(this);
    }
    parts.reverse();
    (!is_number).then(|| parts.join(" * "))
}

/// What parameters are, by symbol.
fn arguments(function: &Function, setting: &Setting) -> BTreeMap<Symbol, i128> {
    let symbols = function.symbols().iter();
    let known = symbols.filter_map(|(symbol, _)| {
        let number = parameter_number(function, symbol)?;
        let argument = setting.arguments.get(&(number as u32))?;
        Some((symbol, i128::from(*argument as i64)))
    });
    known.collect()
}

/// The number of a kernel's parameter.
pub(crate) fn parameter_number(function: &Function, symbol: Symbol) -> Option<usize> {
    let variable = function.symbols()[symbol].variable()?;
    let variables = function.variables().iter();
    let mut parameters = variables.filter(|(_, data)| data.kind == VariableKind::Parameter);
    parameters.position(|(own, _)| own == variable)
}

/// Bytes of an element that is accessed.
fn element(function: &Function, request: &Request) -> u32 {
    let access = function.access(request.instruction);
    let own = access.map_or(0, |access| access.element.bits() / 8);
    match own {
        0 => request.bytes,
        own => own,
    }
}

fn array(
    function: &Function,
    query: &Query<'_>,
    names: &Names<'_>,
    loops: &Loops,
    subscripts: &Subscripts,
) -> Option<ArrayAccess> {
    let leaf = |expression| source_text(function, query, names, expression);
    let factor = |factor: &Factor| match *factor {
        Factor::Counter(header) => format!("i{}", loops.depth(header)),
        Factor::Leaf(expression) => leaf(expression),
    };
    let dimensions = &subscripts.dimensions;
    let text = |polynomial: &Polynomial| bare(&printed(polynomial, &factor)).to_owned();
    Some(ArrayAccess {
        name: leaf(subscripts.base),
        element: subscripts.element,
        subscripts: dimensions.iter().map(|it| text(&it.subscript)).collect(),
        sizes: dimensions
            .iter()
            .map(|it| it.size.as_ref().map(text))
            .collect(),
        varies_with_thread: subscripts.varying_with_thread(query),
        row_bytes: row_bytes(subscripts),
        is_assumed: subscripts.is_assumed,
    })
}

/// Expressions with more parts are printed as ScalarEvolution does.
const MOST_PARTS: u32 = 24;

/// An expression as people write it: `arg 2` for a parameter, `x % 32` for its low bits, `x / 8` for the others.
fn source_text(
    function: &Function,
    query: &Query<'_>,
    names: &Names<'_>,
    expression: Expression,
) -> String {
    let expressions = query.expressions();
    let plain = || query.print(names, expression);
    if expressions.size(expression) > MOST_PARTS {
        return plain();
    }
    let operands = expressions.operands(expression);
    let own = |operand: &Expression| source_text(function, query, names, *operand);
    match expressions.kind(expression) {
        Kind::Parameter => match expressions.as_leaf(expression) {
            Some(Leaf::Parameter(symbol, 0)) => match parameter_number(function, symbol) {
                Some(number) => format!("arg {number}"),
                None => plain(),
            },
            _ => plain(),
        },
        Kind::ZeroExtend => {
            let inner = operands[0];
            let bits = expressions.bits(inner);
            match expressions.kind(inner) {
                Kind::Add | Kind::Multiply | Kind::Recurrence if bits < 32 => {
                    format!("({} % {})", own(&inner), 1u64 << bits)
                }
                _ => own(&inner),
            }
        }
        Kind::Constant if expressions.bits(expression) < 32 => {
            let number = expressions.as_constant(expression);
            number.map_or_else(plain, |number| number.to_string())
        }
        Kind::Recurrence if expressions.bits(expression) < 32 => {
            match expressions.as_affine(expression) {
                None => plain(),
                Some((header, start, step)) => {
                    let counter = (names.header)(header);
                    let product = match expressions.as_constant(step) {
                        Some(1) => counter,
                        _ => format!("{} * {counter}", own(&step)),
                    };
                    match expressions.as_constant(start) {
                        Some(0) => product,
                        _ => format!("({product} + {})", own(&start)),
                    }
                }
            }
        }
        Kind::Truncate if expressions.bits(expression) < 32 => {
            let modulus = 1u64 << expressions.bits(expression);
            format!("({} % {modulus})", own(&operands[0]))
        }
        Kind::UnsignedDivide => format!("({} / {})", own(&operands[0]), own(&operands[1])),
        kind @ (Kind::Add | Kind::Multiply) => {
            let parts: Vec<String> = operands.iter().map(own).collect();
            let sign = if kind == Kind::Add { " + " } else { " * " };
            format!("({})", parts.join(sign))
        }
        _ => plain(),
    }
}

/// Text without parentheses around all of it.
fn bare(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|own| own.strip_suffix(')'));
    let mut depth = 0i32;
    let is_one = inner.is_some_and(|inner| {
        inner.chars().all(|own| {
            depth += i32::from(own == '(') - i32::from(own == ')');
            depth >= 0
        })
    });
    inner.filter(|_| is_one).unwrap_or(text)
}

/// Bytes of a row, if its size is a number.
fn row_bytes(subscripts: &Subscripts) -> Option<u64> {
    let last = subscripts.dimensions.last()?.size.as_ref()?;
    let size = u64::try_from(last.as_constant()?).ok()?;
    size.checked_mul(subscripts.element.into())
}

/// A polynomial as text.
fn printed(polynomial: &Polynomial, factor: &dyn Fn(&Factor) -> String) -> String {
    let mut text = String::new();
    // What varies comes first, the constant last.
    let terms: Vec<_> = polynomial.terms().collect();
    for (product, coefficient) in terms.into_iter().rev() {
        let sign = match (text.is_empty(), coefficient < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        text.push_str(sign);
        let mut parts: Vec<String> = product.iter().map(factor).collect();
        let number = coefficient.unsigned_abs();
        if number != 1 || parts.is_empty() {
            parts.insert(0, number.to_string());
        }
        text.push_str(&parts.join(" * "));
    }
    match text.is_empty() {
        true => "0".to_owned(),
        false => text,
    }
}

/// How iterations of the innermost loops are related by accesses, one of which writes.
fn dependences(
    function: &Function,
    query: &mut Query<'_>,
    loops: &Loops,
    costs: &[RequestCost],
    found: &[Option<Rc<Subscripts>>],
) -> Vec<DependenceReport> {
    let mut of_loops: BTreeMap<usize, (Loop, Vec<usize>)> = BTreeMap::new();
    for (index, cost) in costs.iter().enumerate() {
        let block = function.block_of(cost.request.instruction);
        if let Some(this) = block.and_then(|block| loops.innermost(block)) {
            let group = of_loops.entry(this.index()).or_insert((this, Vec::new()));
            group.1.push(index);
        }
    }
    let mut reports = Vec::new();
    for (this, members) in of_loops.into_values() {
        let header = loops.header(this);
        let Some(first) = function.instructions_of(header).next() else {
            continue;
        };
        for (place, &one) in members.iter().enumerate() {
            for &other in &members[place..] {
                let (left, right) = (&costs[one].request, &costs[other].request);
                let writes = |request: &Request| request.kind != AccessKind::Load;
                let memory = |request: &Request| request.space;
                if !(writes(left) || writes(right)) || memory(left) != memory(right) {
                    continue;
                }
                let (Some(a), Some(b)) = (&found[one], &found[other]) else {
                    continue;
                };
                if reports.len() == MOST_PAIRS {
                    return reports;
                }
                reports.push(DependenceReport {
                    header: first,
                    between: [left.instruction, right.instruction],
                    dependence: dependence(query, header, (a, left.bytes), (b, right.bytes)),
                });
            }
        }
    }
    reports
}
