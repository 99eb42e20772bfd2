//! @name@: stays on a queue for a run of messages, then goes on to the next. Batches get fuller, and in the long run every
//! queue gets the same.
//!
//! A whole selector to start from. CHANGE marks what to make your own.

mod abi;
mod plugin;

use plugin::{param, Message, Selector, Settings, Strategy, View};

/// There is an instance for each topic and sending thread, and one call at a time, so plain members may remember things.
struct Sticky {
    run: u32,   // the setting
    next: u32,  // where the rotation goes on
    queue: u32, // where the run is,
    left: u32,  // and how many messages it has left
    route: u64, // the route in which `queue` means something
}

const MAX_RUN: i64 = 1_000_000;

impl Strategy for Sticky {
    const NAME: &'static str = "@name@"; // what users write: use = "@name@"
    const SUMMARY: &'static str = "@summary@"; // CHANGE: one line for users

    // CHANGE: what may be set. The host checks files against it and fills in defaults before `new` runs.
    const PARAMS: &'static [abi::Param] = &[param(
        "run",
        "messages to one queue before it is the next one's turn",
        "100",
        "messages",
        abi::T_I64,
        1,
        MAX_RUN,
    )];

    fn new(settings: &Settings, start: u32) -> Result<Self, String> {
        let run = settings.integer("run")?;
        if !(1..=MAX_RUN).contains(&run) {
            return Err(format!("run is {run}; it must be from 1 to {MAX_RUN}"));
        }
        Ok(Sticky { run: run as u32, next: start, queue: 0, left: 0, route: 0 })
    }
}

impl Selector for Sticky {
    // CHANGE: the decision. It must not wait and had better not allocate: it is called for each attempt of each message.
    fn select(&mut self, view: &View, message: &Message) -> Option<abi::Pick> {
        if self.left > 0 && self.route == view.route_gen() && Tier::UntriedAvailable.takes(view, message, self.queue) {
            self.left -= 1;
            return Some(abi::Pick { queue_index: self.queue, why: abi::WHY_PLUGIN });
        }
        let n = view.size();
        let first = self.next % n;
        for tier in Tier::ALL {
            for i in 0..n {
                let queue = (first + i) % n;
                if tier.takes(view, message, queue) {
                    self.queue = queue;
                    self.next = queue + 1;
                    self.left = self.run - 1;
                    self.route = view.route_gen();
                    return Some(abi::Pick { queue_index: queue, why: tier.reason(view, message, i > 0) });
                }
            }
        }
        None // there are no candidates at all
    }
}

/// From best to last resort: a broker that this message has tried is taken only if all have been.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Tier {
    UntriedAvailable,
    UntriedReachable,
    Untried,
    Available,
    Reachable,
    Any,
}

impl Tier {
    const ALL: [Tier; 6] =
        [Tier::UntriedAvailable, Tier::UntriedReachable, Tier::Untried, Tier::Available, Tier::Reachable, Tier::Any];

    fn takes(self, view: &View, message: &Message, queue: u32) -> bool {
        let well = match self {
            Tier::UntriedAvailable | Tier::Available => view.available(queue),
            Tier::UntriedReachable | Tier::Reachable => view.reachable(queue),
            Tier::Untried | Tier::Any => true,
        };
        well && view.candidate(queue) && (self > Tier::Untried || !message.tried().contains(&view.broker_of(queue)))
    }

    /// What receipts and decision logs show.
    fn reason(self, view: &View, message: &Message, stepped_over: bool) -> u32 {
        match self {
            Tier::UntriedAvailable if stepped_over && !message.tried().is_empty() => abi::WHY_AVOID_TRIED,
            Tier::UntriedAvailable if stepped_over && view.all_candidates() => abi::WHY_AVOID_ISOLATED,
            Tier::UntriedAvailable => abi::WHY_ROTATION,
            Tier::UntriedReachable => abi::WHY_REACHABLE_ONLY,
            Tier::Untried => abi::WHY_LAST_RESORT,
            _ => abi::WHY_ALL_TRIED,
        }
    }
}

// ---- what the host is told ----

static SELECTOR: abi::SelectorClass = plugin::selector::<Sticky>();

// CHANGE: an id of your own, the version, your licence.
static PLUGIN: abi::Plugin = plugin::describe("example.@name@", "0.1.0", "Apache-2.0", &[&SELECTOR], &[]);

const NAMES: &str = "selector:@name@\n";
#[used]
#[link_section = ".note.shunt"]
static NOTE: plugin::ElfNote<{ NAMES.len() }> = plugin::ElfNote::of(NAMES);

#[no_mangle]
pub unsafe extern "C" fn shunt_plugin_entry_v1(host: *const abi::Handshake) -> *const abi::Plugin {
    plugin::for_host(host, &PLUGIN)
}
