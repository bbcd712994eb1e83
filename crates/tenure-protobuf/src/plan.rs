//! How an object of a certain shape is written: objects of one message that have the same fields differ only in their
//! values, so which field comes when, and what stands between, is worked out once per shape and remembered. A plan
//! means one set of names without nulls; an object with nulls gets a plan of its own that nobody remembers.

use super::{
    table::{Field, Form, Layout, Message, MessageId, Place, Shape, Zeros},
    wire::{BLOCK, LENGTH, Writer},
};
use std::{cell::RefCell, rc::Rc};
use tenure_value::{Text, Value};

/// How many shapes of one message are remembered.
const REMEMBERED: usize = 4;

/// What is done for one field of the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Write the text of the object's field at a position; its key is among the constants.
    Text { at: usize },
    /// Write the value of the object's field at a position; its key is among the constants.
    Content { at: usize, form: Form },
    /// Write the items of the object's field at a position.
    Repeat { at: usize, number: u32, field: Field },
    /// Begin an embedded message.
    Enter,
    /// End the embedded message begun last.
    Leave,
    /// Nothing more.
    Nothing,
}

/// An action, and which bytes come before it whatever the values are: fields without a value, and keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub constants: [u8; BLOCK],
    pub length: u8,
    pub action: Action,
}

/// How objects of one shape are written.
#[derive(Debug)]
pub(super) struct Plan {
    /// The names of the object's fields.
    names: Box<[Text]>,
    pub steps: Box<[Step]>,
}

impl Plan {
    #[inline]
    fn fits(&self, fields: &[(Text, Value)]) -> bool {
        self.names.len() == fields.len()
            && self.names.iter().zip(fields).all(|(of, (name, value))| of == name && !value.is_null())
    }

    fn make(message: &Message, zeros: &Zeros, fields: &[(Text, Value)]) -> Plan {
        let mut maker = Maker {
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

struct Maker<'a> {
    message: &'a Message,
    zeros: &'a Zeros,
    /// The bits of the fields that have a value.
    present: u64,
    /// Where those fields are in the object, by their bits.
    positions: [usize; 64],
    steps: Vec<Step>,
    /// The constants of the next step.
    constants: Writer,
}

impl Maker<'_> {
    /// Adds the steps for a message or one embedded in it.
    fn layout(&mut self, layout: &Layout) {
        for bit in (0..64).filter(|bit| layout.bits >> bit & 1 == 1) {
            let Some((number, place)) = self.message.places.get(bit) else { continue };
            let at = self.positions.get(bit).copied().unwrap_or_default();
            match place {
                Place::Field(field) if self.present >> bit & 1 == 1 => match field.shape {
                    Shape::One => {
                        self.constants.key(*number, field.form.wire_type());
                        self.step(match field.form {
                            Form::Text => Action::Text { at },
                            form => Action::Content { at, form },
                        });
                    }
                    Shape::List | Shape::Map => {
                        self.step(Action::Repeat { at, number: *number, field: *field });
                    }
                },
                Place::Embedded(which) => match self.message.layouts.get(usize::from(*which)) {
                    Some(inner) if inner.within & self.present != 0 => {
                        self.constants.key(*number, LENGTH);
                        self.step(Action::Enter);
                        self.layout(inner);
                        self.step(Action::Leave);
                    }
                    _ => self.constants.bytes(self.zeros.of(bit)),
                },
                Place::Field(_) => self.constants.bytes(self.zeros.of(bit)),
            }
        }
    }

    /// Adds a step that comes after the constants since the last one; more than a block of them are steps of their own.
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

/// The plans that a thread remembers, by message.
#[derive(Default)]
pub(super) struct Plans(Vec<Vec<Rc<Plan>>>);

thread_local! {
    static KNOWN: RefCell<Plans> = RefCell::default();
}

impl Plans {
    /// Lends the plans of this thread; they come back by [`Plans::remember`].
    pub fn recall() -> Plans {
        KNOWN.take()
    }

    /// Keeps the plans for the next document.
    pub fn remember(self) {
        KNOWN.set(self);
    }

    /// Finds or makes the plan for an object of a message.
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
                known.truncate(REMEMBERED - 1);
                known.insert(0, plan.clone());
            }
        }
        plan
    }
}
