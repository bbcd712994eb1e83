//! Environments: which functions, variables and object types expressions can use.

use crate::{
    Error, Program,
    check::check,
    cost::{Cost, Meter},
    library,
    program::compile,
    syntax::{expand, parse},
    types::{Decl, Signature, Type},
    value::Val,
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};
use tenure_value::Text;

/// The result of a function.
pub type Outcome<'v> = Result<Val<'v>, Error>;

/// The code of a function. Its cost is charged before it runs; what it allocates it counts with
/// [`Meter::allocate`].
pub type Function = dyn for<'v> Fn(&mut Meter, &[Val<'v>]) -> Outcome<'v> + Send + Sync;

/// One form of a function: the types that it takes and gives, its cost and its code.
pub(crate) struct Overload {
    pub name: Text,
    pub method: bool,
    pub params: Box<[Type]>,
    pub result: Type,
    pub cost: Cost,
    pub code: Box<Function>,
}

impl fmt::Debug for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}: {}", self.name, self.params, self.result)
    }
}

/// Object types that expressions can make, such as `Object{spec: Object.spec{replicas: 1}}`.
pub trait ObjectTypes: Send + Sync {
    /// Whether there is a type of that name.
    fn contains(&self, name: &str) -> bool;

    /// Returns the type of a field, if the type has one of that name.
    fn field(&self, name: &str, field: &str) -> Option<Type>;
}

/// What expressions can use. It is cheap to clone and to extend.
///
/// ```
/// use tenure_cel::{Cost, Decl, Env, Limits, Val};
///
/// let env = Env::kubernetes()
///     .with_variable("n", Decl::int())
///     .with_function("int.double(): int", Cost::Fixed(1), |_, args| match args {
///         [Val::Int(n)] => Ok(Val::Int(n * 2)),
///         _ => Err(tenure_cel::Error::evaluate("no such overload")),
///     })
///     .unwrap();
/// let program = env.compile("n.double() == 4")?;
/// assert!(matches!(program.eval(&[Val::Int(2)], Limits::new()).result, Ok(Val::Bool(true))));
/// # Ok::<(), tenure_cel::Error>(())
/// ```
#[derive(Clone)]
pub struct Env {
    functions: Arc<HashMap<Text, Vec<Arc<Overload>>>>,
    variables: Arc<Vec<(Text, Decl)>>,
    objects: Option<Arc<dyn ObjectTypes>>,
}

impl Env {
    /// Returns the environment of the standard library alone.
    pub fn standard() -> Env {
        static STANDARD: OnceLock<Env> = OnceLock::new();
        STANDARD.get_or_init(|| Env::of(library::standard())).clone()
    }

    /// Returns the environment that Kubernetes 1.36 offers: the standard library, texts, lists, regular expressions,
    /// URLs, quantities, IP addresses and networks, formats, semantic versions, sets, optional values and
    /// comprehensions of two variables.
    pub fn kubernetes() -> Env {
        static KUBERNETES: OnceLock<Env> = OnceLock::new();
        KUBERNETES.get_or_init(|| Env::of(library::kubernetes())).clone()
    }

    fn of(overloads: Vec<Overload>) -> Env {
        let mut functions: HashMap<Text, Vec<Arc<Overload>>> = HashMap::new();
        for overload in overloads {
            functions.entry(overload.name.clone()).or_default().push(Arc::new(overload));
        }
        Env { functions: Arc::new(functions), variables: Arc::default(), objects: None }
    }

    /// Adds a variable. Values are given to [`Program::eval`] in the order in which variables were added. A name with
    /// dots is read as a whole: `variables.total` is one variable.
    pub fn with_variable(mut self, name: impl Into<Text>, decl: Decl) -> Env {
        Arc::make_mut(&mut self.variables).push((name.into(), decl));
        self
    }

    /// Adds a function by its signature, such as `string.shout(int): string` for a method of texts or
    /// `sets.contains(list(T), list(T)): bool` for a function. Types of your own are written with a dot, `acme.Thing`.
    pub fn with_function(
        mut self,
        signature: &str,
        cost: Cost,
        code: impl for<'v> Fn(&mut Meter, &[Val<'v>]) -> Outcome<'v> + Send + Sync + 'static,
    ) -> Result<Env, Error> {
        let overload = Overload::new(signature, cost, Box::new(code)).map_err(Error::Instantiate)?;
        let functions = Arc::make_mut(&mut self.functions);
        functions.entry(overload.name.clone()).or_default().push(Arc::new(overload));
        Ok(self)
    }

    /// Sets which objects expressions can make.
    pub fn with_objects(mut self, objects: Arc<dyn ObjectTypes>) -> Env {
        self.objects = Some(objects);
        self
    }

    pub(crate) fn function(&self, name: &str) -> Option<&[Arc<Overload>]> {
        self.functions.get(name).map(Vec::as_slice)
    }

    /// Returns the index and the declaration of a variable; of two with one name the later counts.
    pub(crate) fn variable(&self, name: &str) -> Option<(usize, &Decl)> {
        let at = self.variables.iter().rposition(|(of, _)| of == name)?;
        self.variables.get(at).map(|(_, decl)| (at, decl))
    }

    /// Returns the declaration that sizes are looked up from where an expression does not read a variable.
    pub(crate) fn first_variable(&self) -> Option<&Decl> {
        self.variables.first().map(|(_, decl)| decl)
    }

    pub(crate) fn variable_count(&self) -> usize {
        self.variables.len()
    }

    pub(crate) fn objects(&self) -> Option<&dyn ObjectTypes> {
        self.objects.as_deref()
    }

    /// Compiles an expression: reads it, checks its types and prepares it to run.
    pub fn compile(&self, text: &str) -> Result<Program, Error> {
        let parsed = parse(text)?;
        let checked = check(self, expand(&parsed)?)?;
        compile(self, checked)
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field("variables", &self.variables)
            .field("functions", &self.functions.len())
            .finish()
    }
}

impl Overload {
    pub fn new(signature: &str, cost: Cost, code: Box<Function>) -> Result<Overload, String> {
        let Signature { name, method, params, result } = Signature::parse(signature)?;
        Ok(Overload { name, method, params: params.into(), result, cost, code })
    }

    /// Whether values of these types can be arguments.
    pub fn takes(&self, args: &[Val<'_>]) -> bool {
        self.params.len() == args.len() && self.params.iter().zip(args).all(|(param, arg)| fits(param, arg))
    }
}

/// Whether a value can be of a type. Items are not looked at beyond the first.
fn fits(ty: &Type, value: &Val<'_>) -> bool {
    match (ty, value) {
        (Type::Dyn | Type::Error | Type::Param(_) | Type::Var(_), _) => true,
        (Type::Null, Val::Null)
        | (Type::Bool, Val::Bool(_))
        | (Type::Int, Val::Int(_))
        | (Type::UInt, Val::UInt(_))
        | (Type::Double, Val::Double(_))
        | (Type::String, Val::String(_))
        | (Type::Bytes, Val::Bytes(_))
        | (Type::Timestamp, Val::Timestamp(_))
        | (Type::Duration, Val::Duration(_))
        | (Type::Type, Val::Type(_))
        | (Type::Object(_), Val::Map(_))
        | (Type::Map(..), Val::Map(_))
        | (Type::Optional(_), Val::Optional(_)) => true,
        (Type::List(item), Val::List(list)) => match list.get(0) {
            Some(Ok(first)) => fits(item, &first),
            _ => true,
        },
        (Type::Named(name), Val::Opaque(value)) => value.type_name() == name,
        _ => false,
    }
}
