//! Environments: the functions, variables and object types that expressions can use.

use crate::{
    Error,
    cost::Cost,
    function::{EvalResult, Overload},
    meter::Meter,
    types::{Decl, Type},
    value::Val,
};
use std::{collections::HashMap, fmt, sync::Arc};
use tenure_value::Text;

/// Object types that expressions can construct, such as `Object{spec: Object.spec{replicas: 1}}`.
pub trait ObjectTypes: Send + Sync {
    /// Whether a type of that name exists.
    fn contains(&self, name: &str) -> bool;

    /// Returns the type of a field, or `None` if the type has no such field.
    fn field(&self, name: &str, field: &str) -> Option<Type>;
}

/// The functions, variables and object types of expressions. Cheap to clone and to extend.
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
    /// The last variable of each name.
    by_name: Arc<HashMap<Text, usize>>,
    objects: Option<Arc<dyn ObjectTypes>>,
}

impl Env {
    pub(crate) fn new(overloads: Vec<Overload>) -> Env {
        let mut functions: HashMap<Text, Vec<Arc<Overload>>> = HashMap::new();
        for overload in overloads {
            functions.entry(overload.name.clone()).or_default().push(Arc::new(overload));
        }
        Env {
            functions: Arc::new(functions),
            variables: Arc::default(),
            by_name: Arc::default(),
            objects: None,
        }
    }

    /// Adds a variable. [`Program::eval`](crate::Program::eval) takes the values in the order in which
    /// variables were added. A name may contain dots: `variables.total` is one variable.
    pub fn with_variable(mut self, name: impl Into<Text>, decl: Decl) -> Env {
        let name = name.into();
        Arc::make_mut(&mut self.by_name).insert(name.clone(), self.variables.len());
        Arc::make_mut(&mut self.variables).push((name, decl));
        self
    }

    /// Adds a function by its signature, such as `string.shout(int): string` for a method of strings or
    /// `sets.contains(list(T), list(T)): bool` for a function. Custom types are written with a dot,
    /// `acme.Thing`.
    pub fn with_function(
        mut self,
        signature: &str,
        cost: Cost,
        code: impl for<'v> Fn(&mut Meter, &[Val<'v>]) -> EvalResult<'v> + Send + Sync + 'static,
    ) -> Result<Env, Error> {
        let overload = Overload::new(signature, cost, Box::new(code)).map_err(Error::Instantiate)?;
        let functions = Arc::make_mut(&mut self.functions);
        functions.entry(overload.name.clone()).or_default().push(Arc::new(overload));
        Ok(self)
    }

    /// Sets the object types that expressions can construct.
    pub fn with_objects(mut self, objects: Arc<dyn ObjectTypes>) -> Env {
        self.objects = Some(objects);
        self
    }

    pub(crate) fn function(&self, name: &str) -> Option<&[Arc<Overload>]> {
        self.functions.get(name).map(Vec::as_slice)
    }

    /// Returns the index and the declaration of a variable. The last one of a name wins.
    pub(crate) fn variable(&self, name: &str) -> Option<(usize, &Decl)> {
        let at = *self.by_name.get(name)?;
        self.variables.get(at).map(|(_, decl)| (at, decl))
    }

    /// Returns the declaration that sizes are looked up in if an expression does not start at a variable.
    pub(crate) fn first_variable(&self) -> Option<&Decl> {
        self.variables.first().map(|(_, decl)| decl)
    }

    pub(crate) fn variable_count(&self) -> usize {
        self.variables.len()
    }

    pub(crate) fn objects(&self) -> Option<&dyn ObjectTypes> {
        self.objects.as_deref()
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
