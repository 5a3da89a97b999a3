//! The macros of kro's environment.
//!
//! The evaluator has some of its own. They are not used: `existsOne` with one variable is no macro in kro, its `has`
//! fails on a field of null where cel-go's is false, it has no two-variable comprehensions and no `cel.bind`, and it
//! iterates over maps in an order that changes from run to run.
//!
//! Every comprehension here runs over `@range(x)` or `@pairs(x)`, which put the keys of a map into order. Names with `@`
//! cannot be written in CEL.

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue, operators};
use cel::parser::{Macro, MacroExprHelper};
use cel::{DeclarationError, Env, ParseError};

/// The elements of a list, or the sorted keys of a map.
pub(super) const RANGE: &str = "@range";
/// Pairs of index and element, or of key and value, in the order of the keys.
pub(super) const PAIRS: &str = "@pairs";
/// A map of a list of pairs.
pub(super) const MAP_OF_PAIRS: &str = "@mapOfPairs";
/// A map of a list of maps, which may share no key.
pub(super) const MAP_OF_ENTRIES: &str = "@mapOfEntries";
/// Text of a double as Go writes it, anything else as it is.
pub(super) const TEXT: &str = "@text";
/// The variable that a `cel.bind` iterates with, over nothing.
pub(super) const UNUSED: &str = "#unused";

const RESULT: &str = "@result";
const PAIR: &str = "@pair";

type Expansion = Result<Option<IdedExpr>, ParseError>;

/// Adds all macros to an environment that has none.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_macro(Macro::global("has", 1, |helper, _, arguments| has(&mut Builder(helper), arguments)))?;
    env.add_macro(Macro::global("string", 1, |helper, _, arguments| text(&mut Builder(helper), arguments)))?;
    env.add_macro(Macro::receiver("bind", 3, |helper, target, arguments| {
        bind(&mut Builder(helper), target.as_ref(), arguments)
    }))?;
    for (name, fold) in [("all", Fold::All), ("exists", Fold::Exists), ("exists_one", Fold::ExistsOne)] {
        env.add_macro(one_variable(name, 2, fold))?;
        env.add_macro(two_variables(name, 3, fold))?;
    }
    env.add_macro(two_variables("existsOne", 3, Fold::ExistsOne))?;
    env.add_macro(one_variable("map", 2, Fold::List))?;
    env.add_macro(one_variable("map", 3, Fold::List))?;
    env.add_macro(Macro::receiver("filter", 2, |helper, target, arguments| filter(&mut Builder(helper), target, arguments)))?;
    for (name, fold) in [("transformList", Fold::List), ("transformMap", Fold::Map), ("transformMapEntry", Fold::MapEntry)] {
        env.add_macro(two_variables(name, 3, fold))?;
        env.add_macro(two_variables(name, 4, fold))?;
    }
    Ok(())
}

/// What a comprehension makes of the values of its body.
#[derive(Clone, Copy)]
enum Fold {
    All,
    Exists,
    ExistsOne,
    List,
    Map,
    MapEntry,
}

/// `has(a.b)`: `a.?b.hasValue()`, which unlike a field test is false where `a` has no fields at all.
fn has(builder: &mut Builder<'_, '_>, arguments: &mut Vec<IdedExpr>) -> Expansion {
    let Some(IdedExpr { id, expr: Expr::Select(select) }) = arguments.pop() else {
        return Err(builder.error(0, "has() takes a field: has(a.b)"));
    };
    let _ = id;
    let field = builder.string(select.field);
    let optional = builder.call(operators::OPT_SELECT, vec![*select.operand, field]);
    Ok(Some(builder.method(optional, "hasValue", Vec::new())))
}

/// `string(x)`: `string(@text(x))`.
#[expect(clippy::unnecessary_wraps, reason = "it is what macros answer")]
fn text(builder: &mut Builder<'_, '_>, arguments: &mut Vec<IdedExpr>) -> Expansion {
    let Some(argument) = arguments.pop() else { return Ok(None) };
    let argument = builder.call(TEXT, vec![argument]);
    Ok(Some(builder.call("string", vec![argument])))
}

/// `cel.bind(name, value, body)`; any other `bind` stays as it is.
fn bind(builder: &mut Builder<'_, '_>, target: Option<&IdedExpr>, arguments: &mut Vec<IdedExpr>) -> Expansion {
    if !target.is_some_and(|target| matches!(&target.expr, Expr::Ident(name) if name == "cel")) {
        return Ok(None);
    }
    let Ok([name, value, body]) = take::<3>(arguments) else { return Ok(None) };
    let name = builder.variable(&name)?;
    Ok(Some(builder.bind(&name, value, body)))
}

fn filter(builder: &mut Builder<'_, '_>, target: &mut Option<IdedExpr>, arguments: &mut Vec<IdedExpr>) -> Expansion {
    let (Some(target), Ok([variable, condition])) = (target.take(), take::<2>(arguments)) else { return Ok(None) };
    let name = builder.variable(&variable)?;
    let range = builder.call(RANGE, vec![target]);
    Ok(Some(builder.fold(Fold::List, range, &name, Some(condition), variable)))
}

fn one_variable(function: &'static str, count: usize, fold: Fold) -> Macro {
    Macro::receiver(function, count, move |helper, target, arguments| {
        let mut builder = Builder(helper);
        let (Some(target), Some(body)) = (target.take(), arguments.pop()) else { return Ok(None) };
        let condition = if count == 3 { arguments.pop() } else { None };
        let Ok([variable]) = take::<1>(arguments) else { return Ok(None) };
        let name = builder.variable(&variable)?;
        let range = builder.call(RANGE, vec![target]);
        Ok(Some(builder.fold(fold, range, &name, condition, body)))
    })
}

fn two_variables(function: &'static str, count: usize, fold: Fold) -> Macro {
    Macro::receiver(function, count, move |helper, target, arguments| {
        let mut builder = Builder(helper);
        let (Some(target), Some(body)) = (target.take(), arguments.pop()) else { return Ok(None) };
        let condition = if count == 4 { arguments.pop() } else { None };
        let Ok([key, value]) = take::<2>(arguments) else { return Ok(None) };
        let (key_name, value_name) = (builder.variable(&key)?, builder.variable(&value)?);
        if key_name == value_name {
            return Err(builder.error(value.id, "the two variables have to differ"));
        }
        let condition = condition.map(|condition| builder.bind_pair(&key_name, &value_name, condition));
        let body = match fold {
            Fold::Map => builder.list(vec![key, body]),
            _ => body,
        };
        let body = builder.bind_pair(&key_name, &value_name, body);
        let range = builder.call(PAIRS, vec![target]);
        let folded = builder.fold(fold, range, PAIR, condition, body);
        Ok(Some(match fold {
            Fold::Map => builder.call(MAP_OF_PAIRS, vec![folded]),
            Fold::MapEntry => builder.call(MAP_OF_ENTRIES, vec![folded]),
            _ => folded,
        }))
    })
}

fn take<const N: usize>(arguments: &mut Vec<IdedExpr>) -> Result<[IdedExpr; N], Vec<IdedExpr>> {
    std::mem::take(arguments).try_into()
}

/// Builds the expressions that macros expand to.
struct Builder<'h, 'p>(&'h mut MacroExprHelper<'p>);

impl Builder<'_, '_> {
    fn error(&self, id: u64, message: &str) -> ParseError {
        self.0.new_error(id, message)
    }

    fn variable(&self, expression: &IdedExpr) -> Result<String, ParseError> {
        match &expression.expr {
            Expr::Ident(name) if !name.starts_with('.') => Ok(name.clone()),
            _ => Err(self.error(expression.id, "a variable has to be a simple name")),
        }
    }

    fn ident(&mut self, name: &str) -> IdedExpr {
        self.0.next_expr(Expr::Ident(name.to_owned()))
    }

    fn int(&mut self, value: i64) -> IdedExpr {
        self.0.next_expr(Expr::Literal(LiteralValue::Int(value.into())))
    }

    fn bool(&mut self, value: bool) -> IdedExpr {
        self.0.next_expr(Expr::Literal(LiteralValue::Boolean(value.into())))
    }

    fn string(&mut self, value: String) -> IdedExpr {
        self.0.next_expr(Expr::Literal(LiteralValue::String(value.into())))
    }

    fn list(&mut self, items: Vec<IdedExpr>) -> IdedExpr {
        self.0.next_expr(Expr::List(ListExpr::new(items)))
    }

    fn call(&mut self, function: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.0.next_expr(Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args }))
    }

    fn method(&mut self, target: IdedExpr, function: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.0.next_expr(Expr::Call(CallExpr { func_name: function.to_owned(), target: Some(Box::new(target)), args }))
    }

    /// A name for a value: a comprehension over nothing, whose result sees the accumulator.
    fn bind(&mut self, name: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
        let comprehension = ComprehensionExpr {
            iter_range: self.list(Vec::new()),
            iter_var: UNUSED.to_owned(),
            iter_var2: None,
            accu_var: name.to_owned(),
            accu_init: value,
            loop_cond: self.bool(false),
            loop_step: self.ident(name),
            result: body,
        };
        self.0.next_expr(Expr::Comprehension(Box::new(comprehension)))
    }

    /// Names for both parts of the current pair.
    fn bind_pair(&mut self, key: &str, value: &str, body: IdedExpr) -> IdedExpr {
        let (first, second) = (self.part_of_pair(0), self.part_of_pair(1));
        let inner = self.bind(value, second, body);
        self.bind(key, first, inner)
    }

    fn part_of_pair(&mut self, index: i64) -> IdedExpr {
        let (pair, index) = (self.ident(PAIR), self.int(index));
        self.call(operators::INDEX, vec![pair, index])
    }

    /// The comprehension itself. The evaluator knows the shape `@result + [x]` and appends in place; errors in `all` and
    /// `exists` are absorbed by its operators.
    fn fold(&mut self, fold: Fold, range: IdedExpr, variable: &str, condition: Option<IdedExpr>, body: IdedExpr) -> IdedExpr {
        let accumulator = self.ident(RESULT);
        let (initial, step) = match fold {
            Fold::All => (self.bool(true), self.call(operators::LOGICAL_AND, vec![accumulator, body])),
            Fold::Exists => (self.bool(false), self.call(operators::LOGICAL_OR, vec![accumulator, body])),
            Fold::ExistsOne => (self.int(0), self.count_if(accumulator, body)),
            Fold::List | Fold::Map | Fold::MapEntry => {
                let item = self.list(vec![body]);
                (self.list(Vec::new()), self.call(operators::ADD, vec![accumulator, item]))
            }
        };
        let step = match condition {
            Some(condition) => {
                let otherwise = self.ident(RESULT);
                self.call(operators::CONDITIONAL, vec![condition, step, otherwise])
            }
            None => step,
        };
        let comprehension = ComprehensionExpr {
            iter_range: range,
            iter_var: variable.to_owned(),
            iter_var2: None,
            accu_var: RESULT.to_owned(),
            accu_init: initial,
            loop_cond: self.loop_condition(fold),
            loop_step: step,
            result: self.result(fold),
        };
        self.0.next_expr(Expr::Comprehension(Box::new(comprehension)))
    }

    fn count_if(&mut self, accumulator: IdedExpr, condition: IdedExpr) -> IdedExpr {
        let (one, otherwise) = (self.int(1), self.ident(RESULT));
        let more = self.call(operators::ADD, vec![accumulator, one]);
        self.call(operators::CONDITIONAL, vec![condition, more, otherwise])
    }

    fn loop_condition(&mut self, fold: Fold) -> IdedExpr {
        let accumulator = self.ident(RESULT);
        match fold {
            Fold::All => self.call(operators::NOT_STRICTLY_FALSE, vec![accumulator]),
            Fold::Exists => {
                let not = self.call(operators::LOGICAL_NOT, vec![accumulator]);
                self.call(operators::NOT_STRICTLY_FALSE, vec![not])
            }
            _ => self.bool(true),
        }
    }

    fn result(&mut self, fold: Fold) -> IdedExpr {
        let accumulator = self.ident(RESULT);
        match fold {
            Fold::ExistsOne => {
                let one = self.int(1);
                self.call(operators::EQUALS, vec![accumulator, one])
            }
            _ => accumulator,
        }
    }
}
