//! Encoding plans: objects of a message with the same fields differ only in their values, so the order of
//! fields and the constant bytes between them are computed once per set of fields and cached. A plan applies
//! to one set of names without nulls; an object with nulls gets a plan of its own that is not cached.

use super::{
    table::{Cardinality, Field, FieldType, Layout, Message, MessageId, WireField, Zeros},
    wire::{BLOCK, LENGTH, Writer},
};
use std::{cell::RefCell, rc::Rc};
use tenure_value::{Text, Value};

/// The number of cached plans per message.
const MAX_CACHED: usize = 4;

/// The action for one field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Writes the string of the object's field at a position; its key is part of the constants.
    Text { at: usize },
    /// Writes the value of the object's field at a position; its key is part of the constants.
    Content { at: usize, field_type: FieldType },
    /// Writes the items of the object's field at a position.
    Repeat { at: usize, number: u32, field: Field },
    /// Starts an embedded message.
    Enter,
    /// Ends the innermost embedded message.
    Leave,
    /// No action.
    Nothing,
}

/// An action, with the constant bytes before it: fields without a value, and keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub constants: [u8; BLOCK],
    pub length: u8,
    pub action: Action,
}

/// How objects with a set of fields are encoded.
#[derive(Debug)]
pub(super) struct Plan {
    /// The field names.
    names: Box<[Text]>,
    pub steps: Box<[Step]>,
}

impl Plan {
    #[inline]
    fn fits(&self, fields: &[(Text, Value)]) -> bool {
        self.names.len() == fields.len()
            && self.names.iter().zip(fields).all(|(own, (name, value))| own == name && !value.is_null())
    }

    fn make(message: &Message, zeros: &Zeros, fields: &[(Text, Value)]) -> Plan {
        let mut maker = PlanBuilder {
            message,
            zeros,
            present: 0,
            positions: [0; 64],
            steps: Vec::with_capacity(fields.len() + 1),
            constants: Writer::default(),
        };
        for (at, (name, value)) in fields.iter().enumerate() {
            if let Some(bit) = message.find(name).filter(|_| !value.is_null()) {
                maker.positions[bit & 63] = at;
                maker.present |= 1 << bit;
            }
        }
        if let Some(layout) = message.layouts.first() {
            maker.layout(layout);
        }
        maker.step(Action::Nothing);
        let names = fields.iter().map(|(name, _)| name.clone()).collect();
        Plan { names, steps: maker.steps.into() }
    }
}

struct PlanBuilder<'a> {
    message: &'a Message,
    zeros: &'a Zeros,
    /// The bits of the fields with a value.
    present: u64,
    /// The positions of those fields in the object, by their bits.
    positions: [usize; 64],
    steps: Vec<Step>,
    /// The constants of the next step.
    constants: Writer,
}

impl PlanBuilder<'_> {
    /// Adds the steps for a message or one embedded in it.
    fn layout(&mut self, layout: &Layout) {
        for bit in (0..64).filter(|bit| layout.bits >> bit & 1 == 1) {
            let Some((number, place)) = self.message.places.get(bit) else { continue };
            let at = self.positions.get(bit).copied().unwrap_or_default();
            match place {
                WireField::Field(field) if self.present >> bit & 1 == 1 => match field.shape {
                    Cardinality::One => {
                        self.constants.key(*number, field.field_type.wire_type());
                        self.step(match field.field_type {
                            FieldType::Text => Action::Text { at },
                            field_type => Action::Content { at, field_type },
                        });
                    }
                    Cardinality::List | Cardinality::Map => {
                        self.step(Action::Repeat { at, number: *number, field: *field });
                    }
                },
                WireField::Embedded(which) => match self.message.layouts.get(usize::from(*which)) {
                    Some(inner) if inner.within & self.present != 0 => {
                        self.constants.key(*number, LENGTH);
                        self.step(Action::Enter);
                        self.layout(inner);
                        self.step(Action::Leave);
                    }
                    _ => self.constants.bytes(self.zeros.of(bit)),
                },
                WireField::Field(_) => self.constants.bytes(self.zeros.of(bit)),
            }
        }
    }

    /// Adds a step after the constants since the last one; constants beyond one block become steps of their
    /// own.
    fn step(&mut self, action: Action) {
        let constants = std::mem::take(&mut self.constants).finish();
        let (blocks, rest) = constants.as_chunks::<BLOCK>();
        for block in blocks {
            self.steps.push(Step { constants: *block, length: BLOCK as u8, action: Action::Nothing });
        }
        let mut last = [0; BLOCK];
        last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        self.steps.push(Step { constants: last, length: rest.len() as u8, action });
    }
}

/// The plans that a thread has cached, by message.
#[derive(Default)]
pub(super) struct Plans(Vec<Vec<Rc<Plan>>>);

thread_local! {
    static KNOWN: RefCell<Plans> = RefCell::default();
}

impl Plans {
    /// Takes the plans of this thread; [`Plans::remember`] returns them.
    pub fn recall() -> Plans {
        KNOWN.take()
    }

    /// Returns the plans for the next document.
    pub fn remember(self) {
        KNOWN.set(self);
    }

    /// Finds or creates the plan for an object of a message.
    pub fn plan(
        &mut self,
        id: MessageId,
        message: &Message,
        zeros: &Zeros,
        fields: &[(Text, Value)],
    ) -> Rc<Plan> {
        let known = self.0.get(id.index()).map(Vec::as_slice).unwrap_or_default();
        match known.iter().position(|plan| plan.fits(fields)) {
            Some(at) => known.get(at).cloned(),
            None => None,
        }
        .unwrap_or_else(|| self.make(id, message, zeros, fields))
    }

    #[cold]
    fn make(
        &mut self,
        id: MessageId,
        message: &Message,
        zeros: &Zeros,
        fields: &[(Text, Value)],
    ) -> Rc<Plan> {
        let plan = Rc::new(Plan::make(message, zeros, fields));
        if fields.iter().all(|(_, value)| !value.is_null()) {
            if self.0.len() <= id.index() {
                self.0.resize_with(id.index() + 1, Vec::new);
            }
            if let Some(known) = self.0.get_mut(id.index()) {
                known.truncate(MAX_CACHED - 1);
                known.insert(0, plan.clone());
            }
        }
        plan
    }
}
