//! What the expressions of one object may cost together.

use tenure_cel::{EvalResult, Limits, Program, Variables};

/// What all expressions of one object may cost together.
const PER_OBJECT: u64 = 10_000_000;

/// What is left to spend.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// Returns what the expressions of one object may spend.
    pub fn of_object() -> Budget {
        Budget { left: PER_OBJECT }
    }

    /// Leaves nothing for further expressions.
    pub fn exhaust(&mut self) {
        self.left = 0;
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Runs an expression within the budget and the limit of one evaluation.
    pub fn run<'v>(&mut self, program: &Program, variables: &dyn Variables<'v>) -> EvalResult<'v> {
        let evaluation = program.eval(variables, Limits::new().within(self.left));
        self.left = self.left.saturating_sub(evaluation.cost);
        evaluation.result
    }
}
