//! Which requests start, wait or are refused. The caller gives each request a number, starts those that the scheduler returns, and
//! reports their end.
//!
//! One rule holds at any time: the seats in use or reserved, summed over all levels, never exceed the total. So a level
//! always gets the seats that it does not lend, and the others are shared by the levels that need them.

use crate::{
    Config, Flow, Level,
    queue::{Queues, Waiting},
    seats::{Seats, distribute},
    work_estimate::widest,
};
use std::time::Duration;
use tenure_value::Text;

/// The seats of the requests that run, and those that wait for one.
#[derive(Clone, Debug)]
pub struct Scheduler {
    total: u32,
    /// The indexes of the levels of the configuration.
    places: Vec<usize>,
    /// All levels, including those that are no longer configured and still have requests.
    levels: Vec<LevelState>,
    next_id: u64,
}

#[derive(Clone, Debug)]
struct LevelState {
    name: Text,
    /// `None` if the level is exempt, or no longer configured.
    seats: Option<Seats>,
    queues: Option<Queues>,
    /// The most seats of one request.
    widest: u32,
    used: u32,
}

/// A request that runs or waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The number of the request.
    pub id: u64,
    level: usize,
    queue: Option<usize>,
    seats: u32,
}

/// What happens to a request that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It starts at once.
    Started(Ticket),
    /// It waits until [`Scheduler::finish`] or another call returns its number.
    Queued(Ticket),
    /// It is refused.
    Rejected(Rejection),
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The level has no queues and no free seat.
    ConcurrencyLimit,
    /// The queue of the flow is full.
    QueueFull,
}

impl Scheduler {
    /// Creates the scheduler of a server with this many seats.
    pub fn new(config: &Config, total: u32) -> Scheduler {
        let mut scheduler = Scheduler { total, places: Vec::new(), levels: Vec::new(), next_id: 0 };
        scheduler.reconfigure(config);
        scheduler
    }

    /// Follows a change of the configuration. Returns the numbers of the requests that start now.
    pub fn reconfigure(&mut self, config: &Config) -> Vec<u64> {
        let mut started = Vec::new();
        let seats = distribute(config.levels(), self.total);
        let is_gone = |level: &LevelState| !config.levels().iter().any(|listed| listed.name == level.name);
        for level in self.levels.iter_mut().filter(|level| is_gone(level)) {
            // Its requests start: there is no level that they could wait for.
            level.seats = None;
            for request in level.queues.as_mut().map(Queues::drain).unwrap_or_default() {
                level.used += request.seats;
                started.push(request.id);
            }
        }
        self.places.clear();
        for (configured, seats) in config.levels().iter().zip(seats) {
            let found = self.levels.iter().position(|level| level.name == configured.name);
            let place = found.unwrap_or_else(|| {
                // The slot of a removed level can be reused once it has no running requests.
                let free = self.levels.iter().position(|level| is_gone(level) && level.used == 0);
                let new = LevelState {
                    name: configured.name.clone(),
                    seats: None,
                    queues: None,
                    widest: 1,
                    used: 0,
                };
                match free {
                    Some(place) => self.levels[place] = new,
                    None => self.levels.push(new),
                }
                free.unwrap_or(self.levels.len() - 1)
            });
            let level = &mut self.levels[place];
            level.seats = seats;
            level.widest = widest(&configured.level, seats);
            let queuing = match &configured.level {
                Level::Limited { queuing, .. } => *queuing,
                Level::Exempt => None,
            };
            match (&mut level.queues, queuing) {
                (Some(queues), Some(options)) => queues.reconfigure(options),
                (queues @ None, Some(options)) => *queues = Some(Queues::new(options)),
                (queues, None) => {
                    for request in queues.as_mut().map(Queues::drain).unwrap_or_default() {
                        level.used += request.seats;
                        started.push(request.id);
                    }
                    *queues = None;
                }
            }
            self.places.push(place);
        }
        started.extend(self.dispatch());
        started
    }

    /// Adds a request that needs this many seats.
    pub fn arrive(&mut self, flow: &Flow, seats: u32) -> Arrival {
        let place = self.places[flow.level];
        let id = self.next_id;
        self.next_id += 1;
        let level = &mut self.levels[place];
        if level.seats.is_none() {
            // Exempt requests take no seats from others.
            return Arrival::Started(Ticket { id, level: place, queue: None, seats: 0 });
        }
        let seats = seats.clamp(1, level.widest);
        let queue = level.queues.as_ref().map(|queues| queues.choose(flow.hash));
        let ticket = Ticket { id, level: place, queue, seats };
        let is_waiting = level.queues.as_ref().is_some_and(Queues::is_waiting);
        if !is_waiting && self.has_room(place, seats) {
            let level = &mut self.levels[place];
            level.used += seats;
            if let (Some(queues), Some(queue)) = (&mut level.queues, queue) {
                queues.start(queue, seats);
            }
            return Arrival::Started(ticket);
        }
        match (&mut self.levels[place].queues, queue) {
            (Some(queues), Some(queue)) => match queues.enqueue(queue, Waiting { id, seats }) {
                true => Arrival::Queued(ticket),
                false => Arrival::Rejected(Rejection::QueueFull),
            },
            _ => Arrival::Rejected(Rejection::ConcurrencyLimit),
        }
    }

    /// Frees the seats of a request that ran for this long. Returns the numbers of the requests that start now.
    pub fn finish(&mut self, ticket: &Ticket, duration: Duration) -> Vec<u64> {
        if ticket.seats == 0 {
            return Vec::new();
        }
        let level = &mut self.levels[ticket.level];
        level.used = level.used.saturating_sub(ticket.seats);
        if let (Some(queues), Some(queue)) = (&mut level.queues, ticket.queue) {
            queues.finish(queue, ticket.seats, duration);
        }
        self.dispatch()
    }

    /// Removes a request that waits. Returns false if it has been started, so that its end must be reported.
    pub fn abandon(&mut self, ticket: &Ticket) -> bool {
        self.levels[ticket.level].queues.as_mut().is_some_and(|queues| queues.remove(ticket.id))
    }

    /// Returns the seats in use.
    pub fn used(&self) -> u32 {
        self.levels.iter().map(|level| level.used).sum()
    }

    /// Whether a level can use more seats.
    fn has_room(&self, place: usize, seats: u32) -> bool {
        let Some(limits) = self.levels[place].seats else { return true };
        let wanted = self.levels[place].used + seats;
        // A level without any share would otherwise never run a request.
        let is_first = self.levels[place].used == 0;
        let claimed = self.levels.iter().enumerate().map(|(at, level)| {
            let used = if at == place { wanted } else { level.used };
            u64::from(used.max(level.seats.map_or(0, |limits| limits.reserved)))
        });
        let available: u64 =
            self.levels.iter().filter_map(|level| level.seats).map(|seats| u64::from(seats.nominal)).sum();
        is_first || wanted <= limits.most && claimed.sum::<u64>() <= available
    }

    /// Starts requests that wait while there is room, for the level first that uses the least of its share.
    fn dispatch(&mut self) -> Vec<u64> {
        let mut started = Vec::new();
        loop {
            let ready = self.levels.iter().enumerate().filter_map(|(place, level)| {
                let (queue, request) = level.queues.as_ref().filter(|queues| queues.is_waiting())?.next()?;
                let share = level.seats.map_or(1, |seats| seats.nominal.max(1));
                let load = u64::from(level.used) * 1000 / u64::from(share);
                self.has_room(place, request.seats).then_some((load, place, queue))
            });
            let Some((_, place, queue)) = ready.min() else { return started };
            let level = &mut self.levels[place];
            let Some(request) = level.queues.as_mut().and_then(|queues| queues.start_first(queue)) else {
                return started;
            };
            level.used += request.seats;
            started.push(request.id);
        }
    }
}
