//! The cost budget of the expressions of an object.

use tenure_cel::{EvalResult, Limits, Program, Variables};

/// The total cost limit of all expressions of an object.
const PER_OBJECT: u64 = 10_000_000;

/// The total cost limit of the match conditions of a webhook or a policy.
const PER_CONDITIONS: u64 = PER_OBJECT / 4;

/// The remaining budget.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
    /// The bytes that may still be scanned at a cost that does not depend on their number.
    scanned: usize,
}

impl Budget {
    /// Returns the budget of an object.
    pub fn of_object() -> Budget {
        Budget { left: PER_OBJECT, scanned: Limits::new().scanned }
    }

    /// Returns the budget of the match conditions of a webhook or a policy.
    pub fn of_match_conditions() -> Budget {
        Budget { left: PER_CONDITIONS, scanned: Limits::new().scanned }
    }

    /// Whether the budget is used up.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Evaluates an expression within the budget and the limit of a single evaluation.
    pub fn run<'v>(&mut self, program: &Program, variables: &dyn Variables<'v>) -> EvalResult<'v> {
        let limits = Limits { scanned: self.scanned, ..Limits::new().within(self.left) };
        let evaluation = program.eval(variables, limits);
        self.left = self.left.saturating_sub(evaluation.cost);
        self.scanned = self.scanned.saturating_sub(evaluation.scanned);
        evaluation.result
    }
}
