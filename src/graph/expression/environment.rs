//! kro's CEL environment: the standard functions, the extension libraries that kro registers, and no others.

use super::functions;
use super::macros;
use super::types::{Signature, StaticType};
use crate::graph::diagnostic;
use cel::common::functions::Function;
use cel::common::types::DYN_TYPE;
use cel::parser::{Macro, Parser};
use cel::{Context, Env, extensions};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The environment, made on first use.
pub(super) struct Environment {
    env: Arc<Env>,
    pub(super) signatures: Signatures,
}

static ENVIRONMENT: OnceLock<Result<Environment, String>> = OnceLock::new();

/// The environment. An error would be a mistake in the tables of functions, which every test sees.
pub(super) fn environment() -> Result<&'static Environment, String> {
    ENVIRONMENT.get_or_init(build).as_ref().map_err(Clone::clone)
}

/// A context without variables.
pub(super) fn context<'p, 'v>() -> Result<Context<'p, 'v>, String> {
    Ok(Context::with_env(Arc::clone(&environment()?.env)))
}

impl Environment {
    pub(super) fn parser(&self) -> Parser {
        self.env.parser().enable_ident_escape_syntax(true)
    }
}

fn build() -> Result<Environment, String> {
    let mut library = Library { env: Env::default().with_stdlib(), signatures: Signatures::default() };
    // As in cel-go, the last of several entries with one key wins.
    library.env.set_error_on_duplicate_map_keys(false);
    for extension in [extensions::strings, extensions::lists, extensions::encoders] {
        library.env.add_extension(extension).map_err(|error| error.to_string())?;
    }
    macros::register(&mut library.env).map_err(|error| error.to_string())?;
    functions::register(&mut library)?;
    Ok(Environment { env: Arc::new(library.env), signatures: library.signatures })
}

/// An environment that is being put together.
pub(super) struct Library {
    env: Env,
    signatures: Signatures,
}

impl Library {
    /// Adds a function by its signature: `json.marshal(dyn) -> string`.
    pub(super) fn function(&mut self, signature: &'static str, function: Function) -> Result<(), String> {
        let signature = self.known_function(signature)?;
        let parameters = signature.parameters.iter().map(StaticType::to_cel).collect();
        self.env.add_overload(signature.name, &id(&signature), parameters, function).map_err(|error| error.to_string())
    }

    /// Adds a method by its signature: `string.find(string) -> string`.
    pub(super) fn method(&mut self, signature: &'static str, function: Function) -> Result<(), String> {
        let signature = self.known_method(signature)?;
        let mut parameters = signature.parameters.iter().map(StaticType::to_cel);
        let receiver = parameters.next().ok_or_else(|| malformed(signature.name))?;
        let result = self.env.add_member_overload(signature.name, &id(&signature), receiver, parameters.collect(), function);
        result.map_err(|error| error.to_string())
    }

    /// Adds a function of one parameter that only macros call, and that has no signature.
    pub(super) fn internal(&mut self, name: &str, function: Function) -> Result<(), String> {
        self.env.add_overload(name, name, vec![DYN_TYPE], function).map_err(|error| error.to_string())
    }

    /// Adds a macro.
    pub(super) fn add_macro(&mut self, expansion: Macro) -> Result<(), String> {
        self.env.add_macro(expansion).map_err(|error| error.to_string())
    }

    /// Declares a function that the evaluator brings along.
    pub(super) fn known_function(&mut self, signature: &'static str) -> Result<Signature, String> {
        let parsed = Signature::function(signature).ok_or_else(|| malformed(signature))?;
        self.signatures.functions.entry(parsed.name).or_default().push(parsed.clone());
        Ok(parsed)
    }

    /// Declares a method that the evaluator brings along.
    pub(super) fn known_method(&mut self, signature: &'static str) -> Result<Signature, String> {
        let parsed = Signature::method(signature).ok_or_else(|| malformed(signature))?;
        self.signatures.methods.entry(parsed.name).or_default().push(parsed.clone());
        Ok(parsed)
    }
}

fn malformed(signature: &str) -> String {
    format!("malformed signature `{signature}`")
}

/// What tells overloads apart.
fn id(signature: &Signature) -> String {
    let parameters: Vec<String> = signature.parameters.iter().map(ToString::to_string).collect();
    format!("{}({})", signature.name, parameters.join(","))
}

/// Every function and method that an expression may call.
#[derive(Default)]
pub(super) struct Signatures {
    functions: BTreeMap<&'static str, Vec<Signature>>,
    methods: BTreeMap<&'static str, Vec<Signature>>,
}

impl Signatures {
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    pub(super) fn functions(&self, name: &str) -> Option<&[Signature]> {
        self.functions.get(name).map(Vec::as_slice)
    }

    pub(super) fn methods(&self, name: &str) -> Option<&[Signature]> {
        self.methods.get(name).map(Vec::as_slice)
    }

    /// For a name that was called as a method but is a function, or the other way round, or a macro: how to call it.
    pub(super) fn other_way(&self, name: &str, is_method: bool) -> Option<String> {
        let macro_call = MACRO_CALLS.iter().find(|(macro_name, _)| *macro_name == name).map(|(_, call)| (*call).to_owned());
        let others = if is_method { &self.functions } else { &self.methods };
        macro_call.or_else(|| {
            let signature = others.get(name)?.first()?;
            let parameters: Vec<String> = signature.parameters.iter().map(ToString::to_string).collect();
            Some(match parameters.split_first() {
                Some((receiver, rest)) if !is_method => format!("{receiver}.{name}({})", rest.join(", ")),
                _ => format!("{name}({})", parameters.join(", ")),
            })
        })
    }

    /// A name that is like one that does not exist.
    pub(super) fn closest(&self, name: &str, is_method: bool) -> Option<String> {
        let known = if is_method { &self.methods } else { &self.functions };
        let macros = MACRO_CALLS.iter().map(|(name, _)| *name);
        diagnostic::closest(name, known.keys().copied().chain(macros)).map(str::to_owned)
    }
}

/// Macros are gone after parsing, except where they were called in a way that they do not have.
const MACRO_CALLS: [(&str, &str); 14] = [
    ("has", "has(a.b)"),
    ("all", "list.all(x, condition)"),
    ("exists", "list.exists(x, condition)"),
    ("exists_one", "list.exists_one(x, condition)"),
    ("existsOne", "list.existsOne(index, x, condition); with one variable it is exists_one"),
    ("map", "list.map(x, value)"),
    ("filter", "list.filter(x, condition)"),
    ("transformList", "map.transformList(key, value, item)"),
    ("transformMap", "map.transformMap(key, value, new)"),
    ("transformMapEntry", "map.transformMapEntry(key, value, {newKey: newValue})"),
    ("bind", "cel.bind(x, value, result)"),
    ("sortBy", "list.sortBy(x, key)"),
    ("optMap", "optional.optMap(x, value)"),
    ("optFlatMap", "optional.optFlatMap(x, optional)"),
];
