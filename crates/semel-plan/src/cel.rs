//! Expressions: CEL, without side effects and bounded.
//!
//! Invariant: an expression that compiles is small, shallow and calls only what exists; one that runs was estimated
//! first and never does more than the limits allow. A missing field is an error, never `false`. The same inputs give
//! the same result, down to the order of lists. This module must not know what an expression is for.
//!
//! Numbers: a whole JSON number is a CEL `int` at every depth, so `args.amount + 1` works and `5 / 2` is `2`; any other
//! number is a `double`.

mod check;
mod cost;
mod value;

use cel::{Context, Env, ExecutionError, IdedExpr, ParseErrors, Value, common::ast::SourceInfo};
use check::Check;
pub(crate) use check::Habits;
use semel_kernel::{json::Json, limit};
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, LazyLock},
};

/// Operator characters in one source; what the parser stacks up for each of them must fit a small thread's stack.
const OPERATORS: usize = 256;

/// Characters of an error that are passed on.
const MESSAGE_CHARS: usize = 240;

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CelError {
    /// What is wrong.
    pub message: String,
    /// The byte of the source at which it is wrong.
    pub offset: usize,
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    source: String,
    expr: Arc<IdedExpr>,
    names: BTreeSet<String>,
    habits: Habits,
}

impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        self.source == other.source
    }
}

impl Eq for Program {}

impl Program {
    /// Compiles and checks an expression.
    ///
    /// # Errors
    /// [`CelError`] when it is longer than 4 KiB, nested deeper than 32 (comprehensions: 2), no CEL, or calls a
    /// function that does not exist.
    pub fn compile(source: &str) -> Result<Program, CelError> {
        check_source(source)?;
        let (mut expr, info) = parse(source)?;
        let mut check = Check::default();
        check.node(&mut expr, 1).map_err(|fault| {
            let at = info.offset_for(fault.node).map_or(0, |(start, _)| start as usize);
            CelError { message: fault.message, offset: byte_of(source, at) }
        })?;
        Ok(Program {
            source: source.to_owned(),
            expr: Arc::new(expr),
            names: check.names,
            habits: check.habits,
        })
    }

    /// The text it was compiled from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The free names that it reads, as dotted paths: `steps.charge.output.paid`, `args.amount`, `status`.
    #[must_use]
    pub fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// What it does with names, for the linter.
    pub(crate) fn habits(&self) -> &Habits {
        &self.habits
    }

    /// Evaluates it under the given names.
    ///
    /// # Errors
    /// A sentence: a missing field or name, operands that do not fit, a result that JSON cannot hold exactly, or an
    /// evaluation that could take too long.
    pub fn eval(&self, vars: &[(&str, &Json)]) -> Result<Json, String> {
        self.check_cost(vars)?;
        let run = || {
            let mut context = Context::with_env(Arc::clone(&ENV));
            for (name, json) in vars.iter().filter(|(name, _)| self.reads(name)) {
                context.add_variable_as_val(*name, value::to_cel(json));
            }
            Value::resolve(&self.expr, &context).map_err(|e| explain(&e)).and_then(|v| value::from_cel(&v))
        };
        // The crate has a few `unreachable!`; one expression must not take the process with it.
        catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err("the expression cannot be evaluated".to_owned()))
    }

    /// Evaluates an expression that must be `true` or `false`.
    ///
    /// # Errors
    /// As [`Program::eval`]; also any other result, which is never taken for `false`.
    pub fn holds(&self, vars: &[(&str, &Json)]) -> Result<bool, String> {
        let result = self.eval(vars)?;
        result
            .as_bool()
            .ok_or_else(|| format!("`{}` gives {}, not true or false", self.source, result.kind_name()))
    }

    fn reads(&self, var: &str) -> bool {
        self.names.iter().any(|name| name.split('.').next() == Some(var))
    }

    fn check_cost(&self, vars: &[(&str, &Json)]) -> Result<(), String> {
        let cost = cost::Scope::new(vars).cost(&self.expr);
        if cost.loops > cost::LOOPS {
            let (loops, most) = (cost.loops, cost::LOOPS);
            return Err(format!("it could take {loops} rounds over lists, more than {most}; it was not run"));
        }
        if cost.work > cost::WORK {
            let (work, most) = (cost.work >> 20, cost::WORK >> 20);
            return Err(format!("it could handle {work} MiB, more than {most}; it was not run"));
        }
        Ok(())
    }
}

/// The standard functions, and the one that `map` and `filter` read their list through.
static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib().with_optional_support(false);
    let list = vec![cel::common::types::LIST_TYPE];
    // It cannot fail: no other function has this name, and no source can call it.
    drop(env.add_overload(check::ORDERED, "ordered_list", list, |mut args| Ok(args.remove(0))));
    Arc::new(env)
});

fn check_source(source: &str) -> Result<(), CelError> {
    let refuse = |message: String, offset| Err(CelError { message, offset });
    if source.len() > limit::CEL_BYTES {
        let (len, most) = (source.len(), limit::CEL_BYTES);
        return refuse(format!("the expression has {len} bytes, more than {most}"), most);
    }
    if source.trim().is_empty() {
        return refuse("the expression is empty".to_owned(), 0);
    }
    let mut operators = 0;
    let mut open = 0_usize;
    for (offset, c) in outside_texts(source) {
        operators += usize::from("+-*/%<>=!&|?.[".contains(c));
        open = match c {
            '(' | '[' | '{' => open + 1,
            ')' | ']' | '}' => open.saturating_sub(1),
            _ => open,
        };
        if open > limit::CEL_DEPTH {
            return refuse(format!("nested deeper than {}", limit::CEL_DEPTH), offset);
        }
        if operators > OPERATORS {
            return refuse(format!("more than {OPERATORS} operators and selections"), offset);
        }
    }
    Ok(())
}

/// The characters that stand outside of quoted texts. Raw and triple quotes are read as plain ones, which can only
/// count too much.
fn outside_texts(source: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut quote = None;
    let mut escaped = false;
    source.char_indices().filter(move |(_, c)| match quote {
        Some(_) if escaped => {
            escaped = false;
            false
        }
        Some(q) => {
            escaped = *c == '\\';
            quote = if *c == q { None } else { Some(q) };
            false
        }
        None => {
            quote = matches!(c, '"' | '\'').then_some(*c);
            quote.is_none()
        }
    })
}

fn parse(source: &str) -> Result<(IdedExpr, SourceInfo), CelError> {
    let parser =
        || ENV.parser().max_recursion_depth(2 * limit::CEL_DEPTH as u16).parse_with_source_info(source);
    match catch_unwind(AssertUnwindSafe(parser)) {
        Ok(parsed) => parsed.map_err(|errors| first_error(source, &errors)),
        Err(_) => Err(CelError { message: "this is not an expression".to_owned(), offset: 0 }),
    }
}

fn first_error(source: &str, errors: &ParseErrors) -> CelError {
    let Some(first) = errors.errors.first() else {
        return CelError { message: "this is not an expression".to_owned(), offset: 0 };
    };
    let line = usize::try_from(first.pos.0).unwrap_or(1).max(1);
    let column = usize::try_from(first.pos.1).unwrap_or(1).max(1);
    let before: usize = source.split_inclusive('\n').take(line - 1).map(|l| l.chars().count()).sum();
    let message = plain(&first.msg);
    CelError { message: cut(&message), offset: byte_of(source, before + column - 1) }
}

/// The parser's message in plain words, without the list of all it would have taken.
fn plain(message: &str) -> String {
    let mut said = message.split(" expecting ").next().unwrap_or_default().replace("'<EOF>'", "end");
    for jargon in [
        "Syntax error: ",
        "mismatched input ",
        "extraneous input ",
        "no viable alternative at input ",
        "token recognition error at: ",
    ] {
        said = said.replace(jargon, if jargon.starts_with("Syntax") { "" } else { "unexpected " });
    }
    said
}

/// The byte at which the n-th character begins, from 0.
fn byte_of(source: &str, character: usize) -> usize {
    source.char_indices().nth(character).map_or(source.len(), |(byte, _)| byte)
}

fn cut(message: &str) -> String {
    let short: String = message.chars().take(MESSAGE_CHARS).collect();
    if short.len() < message.len() { format!("{short}…") } else { short }
}

/// The error in our words. Values are left out: they may be large, and they may be secret.
fn explain(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => format!("there is no field `{}`", cut(name)),
        ExecutionError::UndeclaredReference(name) => format!("there is no name `{}`", cut(name)),
        ExecutionError::NoSuchOverload(overload) if overload.function() == check::ORDERED => {
            "map and filter take a list; a map has no order".to_owned()
        }
        ExecutionError::NoSuchOverload(overload) => cut(&overload.to_string()),
        ExecutionError::UnexpectedType { want, .. } => format!("a value is not {want}"),
        ExecutionError::UnsupportedBinaryOperator(operator, left, right)
        | ExecutionError::Overflow(operator, left, right) => {
            format!("`{operator}` cannot be applied to {} and {}", left.type_of(), right.type_of())
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!("{} and {} cannot be compared", left.type_of(), right.type_of())
        }
        ExecutionError::UnsupportedIndex(index, value) => {
            format!("{} cannot be indexed by {}", value.type_of(), index.type_of())
        }
        ExecutionError::IndexOutOfBounds(_) => "an index lies outside of its list".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::DuplicateKey(_) => "a map literal has a key twice".to_owned(),
        ExecutionError::FunctionError { function, .. } => format!("`{function}` failed on its argument"),
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            format!("{actual} arguments where {expected} are taken")
        }
        // The enum is not ours and not closed.
        _ => "the expression cannot be evaluated".to_owned(),
    }
}
