//! The queues of a level. The queue that has received the least work is next. Work is seats
//! times seconds; it is estimated when a request starts and corrected when it ends.

use crate::{Queuing, dealer::deal};
use std::{collections::VecDeque, time::Duration};

/// The estimated work of a request, in seconds, until it has ended.
const EXPECTED_SECONDS: f64 = 0.005;

/// A request that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub id: u64,
    pub seats: u32,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// The seats of its running requests.
    running: u32,
    /// The work that the queue has received, on the clock of its level.
    served: f64,
}

/// The queues of one level.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    options: Queuing,
    queues: Vec<Queue>,
    waiting: usize,
    /// The clock of the level: the `served` of the queue that was last served. A queue that was idle starts from here, so
    /// that it cannot save up turns.
    clock: f64,
}

impl Queues {
    pub fn new(options: Queuing) -> Queues {
        Queues { options, queues: Vec::new(), waiting: 0, clock: 0.0 }
    }

    /// Changes the number of queues and their length. Requests in queues that no longer exist move to others.
    pub fn reconfigure(&mut self, options: Queuing) {
        self.options = options;
        let removed = self.queues.split_off(options.queues.min(self.queues.len()));
        for (place, request) in removed.into_iter().flat_map(|queue| queue.waiting).enumerate() {
            self.queue(place % options.queues).waiting.push_back(request);
        }
    }

    /// Returns a queue. Queues are made when they are first used: a level may have many.
    fn queue(&mut self, place: usize) -> &mut Queue {
        if self.queues.len() <= place {
            self.queues.resize_with(place + 1, Queue::default);
        }
        &mut self.queues[place]
    }

    /// Whether requests wait.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Returns the queue that a flow uses: of its hand the one with the least work.
    pub fn choose(&self, flow: u64) -> usize {
        let load = |place: &usize| {
            self.queues.get(*place).map_or(0, |queue| {
                let waiting: u64 = queue.waiting.iter().map(|request| u64::from(request.seats)).sum();
                waiting + u64::from(queue.running)
            })
        };
        let mut least = None;
        for place in deal(flow, self.options.queues, self.options.hand_size) {
            let load = load(&place);
            // An empty queue is the shortest: the rest of the hand need not be dealt.
            if load == 0 {
                return place;
            }
            if least.is_none_or(|(known, _)| load < known) {
                least = Some((load, place));
            }
        }
        least.map_or(0, |(_, place)| place)
    }

    /// Puts a request into a queue. Returns false if the queue is full.
    pub fn enqueue(&mut self, place: usize, request: Waiting) -> bool {
        let (length, clock) = (self.options.queue_length, self.clock);
        let queue = self.queue(place);
        if queue.waiting.len() >= length {
            return false;
        }
        if queue.waiting.is_empty() && queue.running == 0 {
            queue.served = queue.served.max(clock);
        }
        queue.waiting.push_back(request);
        self.waiting += 1;
        true
    }

    /// Records that a request of a queue starts without waiting.
    pub fn start(&mut self, place: usize, seats: u32) {
        let clock = self.clock;
        let queue = self.queue(place);
        if queue.waiting.is_empty() && queue.running == 0 {
            queue.served = queue.served.max(clock);
        }
        queue.running += seats;
        queue.served += f64::from(seats) * EXPECTED_SECONDS;
    }

    /// Returns the request whose turn it is, with its queue.
    pub fn next(&self) -> Option<(usize, &Waiting)> {
        let heads = self
            .queues
            .iter()
            .enumerate()
            .filter_map(|(place, queue)| Some((place, queue, queue.waiting.front()?)));
        let next = heads.min_by(|(_, a, _), (_, b, _)| a.served.total_cmp(&b.served));
        next.map(|(place, _, request)| (place, request))
    }

    /// Starts the first request of a queue.
    pub fn start_first(&mut self, place: usize) -> Option<Waiting> {
        let request = self.queues.get_mut(place)?.waiting.pop_front()?;
        self.waiting -= 1;
        self.clock = self.clock.max(self.queues[place].served);
        let queue = &mut self.queues[place];
        queue.running += request.seats;
        queue.served += f64::from(request.seats) * EXPECTED_SECONDS;
        Some(request)
    }

    /// Records that a request has ended.
    pub fn finish(&mut self, place: usize, seats: u32, duration: Duration) {
        // The queue may have been removed meanwhile.
        let Some(queue) = self.queues.get_mut(place) else { return };
        queue.running = queue.running.saturating_sub(seats);
        queue.served += f64::from(seats) * (duration.as_secs_f64() - EXPECTED_SECONDS);
    }

    /// Removes a request that waits. Returns whether it did.
    pub fn remove(&mut self, id: u64) -> bool {
        for queue in &mut self.queues {
            if let Some(place) = queue.waiting.iter().position(|request| request.id == id) {
                queue.waiting.remove(place);
                self.waiting -= 1;
                return true;
            }
        }
        false
    }

    /// Removes and returns all requests that wait.
    pub fn drain(&mut self) -> Vec<Waiting> {
        self.waiting = 0;
        self.queues.iter_mut().flat_map(|queue| queue.waiting.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_shortest_queues_of_the_hand_is_chosen() {
        let options = Queuing { queues: 16, hand_size: 4, queue_length: 50 };
        let mut queues = Queues::new(options);
        for turn in 0..200_u64 {
            let flow = turn % 7;
            let running = |place: usize| queues.queues.get(place).map_or(0, |queue| queue.running);
            let shortest = deal(flow, 16, 4).min_by_key(|place| running(*place));
            let chosen = queues.choose(flow);
            assert_eq!(Some(chosen), shortest, "turn {turn}");
            queues.start(chosen, 1);
        }
    }
}
