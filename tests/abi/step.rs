//! The same strategy as step.cpp, in Rust without a crate, over what `shunt plugin new --lang rust` writes. See builds_test.py.

#[path = "../../core/cli/templates/rust/src/abi.rs"]
mod abi;
#[path = "../../core/cli/templates/rust/src/plugin.rs"]
mod plugin;

use plugin::{text, Message, Selector, Settings, Strategy, View};

struct Step {
    next: u32,
    step: u32,
}

impl Strategy for Step {
    const NAME: &'static str = "step";
    const SUMMARY: &'static str = "goes on by so many queues, and further by the key's bytes";
    const PARAMS: &'static [abi::Param] = &[abi::Param {
        name: text("step"),
        help: text("from one to the next"),
        default_text: text("1"),
        unit: text("queues"),
        choices: text(""),
        type_: abi::T_I64,
        element_type: 0,
        flags: 0,
        min_count: 0,
        min: 1.0,
        max: 100.0,
    }];

    fn new(settings: &Settings, start: u32) -> Result<Self, String> {
        let step = settings.integer("step")?;
        if step % 7 == 0 {
            return Err(format!("step is {step}; it must be no multiple of 7"));
        }
        Ok(Step { next: start, step: step as u32 })
    }
}

impl Selector for Step {
    fn select(&mut self, view: &View, message: &Message) -> Option<abi::Pick> {
        if message.key() == Some(b"poison") {
            panic!("the key is 'poison'; no queue is right for it");
        }
        let mut first = self.next;
        self.next = self.next.wrapping_add(self.step);
        for byte in message.key().unwrap_or_default() {
            first = first.wrapping_add(u32::from(*byte));
        }
        let n = view.size();
        let first = first % n;
        (0..n).map(|i| (i, (first + i) % n)).find_map(|(i, q)| {
            let fits = view.candidate(q) && view.available(q) && !message.tried().contains(&view.broker_of(q));
            fits.then_some(abi::Pick { queue_index: q, why: if i == 0 { abi::WHY_ROTATION } else { abi::WHY_AVOID_ISOLATED } })
        })
    }
}

static SELECTOR: abi::SelectorClass = plugin::selector::<Step>();
static PLUGIN: abi::Plugin = plugin::describe("shunt.tests.step", "1.0.0", "Apache-2.0", &[&SELECTOR], &[]);

const NAMES: &str = "selector:step\n";
#[used]
#[link_section = ".note.shunt"]
static NOTE: plugin::ElfNote<{ NAMES.len() }> = plugin::ElfNote::of(NAMES);

#[no_mangle]
pub extern "C" fn shunt_plugin_entry_v1(_host: *const abi::Handshake) -> *const abi::Plugin {
    &PLUGIN
}
