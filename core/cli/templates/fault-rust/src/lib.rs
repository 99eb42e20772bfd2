//! @name@: isolates a broker after so many failures in a row, for a while. After that it is on trial: one more failure
//! isolates it again, one good answer makes it as good as new.
//!
//! A whole fault strategy to start from. CHANGE marks what to make your own.

mod abi;
mod plugin;

use plugin::{param, Brokers, Fault, Settings, Strategy, Verdicts};
use std::collections::BTreeMap;

const MS: i64 = 1_000_000; // in nanoseconds
const DAY: i64 = 24 * 3600 * 1000 * MS;
const MAX_FAILURES: i64 = 1_000_000;

struct Broker {
    failures: u32, // in a row
    until_ns: i64, // isolated before this
    answers: bool, // the last failure was an answer
}

/// There is an instance for a policy, and one call at a time, off the way of a send, so it may allocate.
struct InARow {
    failures: u32,
    isolation_ns: i64,
    brokers: BTreeMap<u32, Broker>, // by id; those that failed since their last good answer
}

impl Strategy for InARow {
    const NAME: &'static str = "@name@"; // what users write: use = "@name@"
    const SUMMARY: &'static str = "@summary@"; // CHANGE: one line for users

    // CHANGE: what may be set. The host checks files against it and fills in defaults before `new` runs.
    const PARAMS: &'static [abi::Param] = &[
        param("failures", "so many failures in a row isolate a broker", "3", "attempts", abi::T_I64, 1, MAX_FAILURES),
        param("isolation", "how long, from its last failure on", "\"10s\"", "", abi::T_DURATION_NS, MS, DAY),
    ];

    fn new(settings: &Settings, _start: u32) -> Result<Self, String> {
        let failures = settings.integer("failures")?;
        let isolation_ns = settings.duration("isolation")?;
        if !(1..=MAX_FAILURES).contains(&failures) {
            return Err(format!("failures is {failures}; it must be from 1 to {MAX_FAILURES}"));
        }
        if !(MS..=DAY).contains(&isolation_ns) {
            return Err(format!("isolation is {isolation_ns} ns; it must be from 1ms to 24h"));
        }
        Ok(InARow { failures: failures as u32, isolation_ns, brokers: BTreeMap::new() })
    }
}

impl Fault for InARow {
    // CHANGE: what an attempt's end says about its broker. True: evaluate again. Time comes with the feedback.
    fn on_feedback(&mut self, f: &abi::Feedback) -> bool {
        if f.kind == abi::FB_LEFT {
            return self.brokers.remove(&f.broker_id).is_some();
        }
        // A caller's own small deadline says nothing about the broker.
        if f.kind != abi::FB_SEND || (f.result == abi::FB_EXPIRED && f.share_ns < 500 * MS) {
            return false;
        }
        if f.result == abi::FB_GOOD {
            return self.brokers.remove(&f.broker_id).is_some();
        }
        let b = self.brokers.entry(f.broker_id).or_insert(Broker { failures: 0, until_ns: i64::MIN, answers: false });
        b.failures = (b.failures + 1).min(self.failures);
        if b.failures < self.failures {
            return false;
        }
        b.until_ns = b.until_ns.max(f.at_ns.saturating_add(self.isolation_ns));
        b.answers = f.result == abi::FB_FAILED;
        true
    }

    // CHANGE: which brokers are well now.
    fn evaluate(&self, brokers: &Brokers, now_ns: i64, verdicts: &mut Verdicts) {
        for i in 0..brokers.size() {
            match self.brokers.get(&brokers.id(i)) {
                Some(b) if now_ns < b.until_ns => {
                    if b.answers {
                        verdicts.reachable(i); // taken when nothing is available
                    }
                    verdicts.changes_at(b.until_ns);
                }
                _ => verdicts.available(i),
            }
        }
    }
}

// ---- what the host is told ----

static FAULT: abi::FaultClass = plugin::fault::<InARow>();

// CHANGE: an id of your own, the version, your licence.
static PLUGIN: abi::Plugin = plugin::describe("example.@name@", "0.1.0", "Apache-2.0", &[], &[&FAULT]);

const NAMES: &str = "fault:@name@\n";
#[used]
#[link_section = ".note.shunt"]
static NOTE: plugin::ElfNote<{ NAMES.len() }> = plugin::ElfNote::of(NAMES);

#[no_mangle]
pub unsafe extern "C" fn shunt_plugin_entry_v1(host: *const abi::Handshake) -> *const abi::Plugin {
    plugin::for_host(host, &PLUGIN)
}
