//! Turns a type into the tables of `abi.rs`: one with `select` into a selector, one with `evaluate` into a fault strategy.
//! No panic leaves the plugin: it becomes an error with its text, and the host falls back.

#![allow(dead_code)]

use crate::abi;
use std::alloc::{alloc, Layout};
use std::ffi::c_void;
use std::mem::size_of;
use std::panic::{self, AssertUnwindSafe};
use std::slice;
use std::sync::Once;

// ---- what a strategy sees ----

/// The settings of one instance, checked against its params, defaults filled in.
pub struct Settings<'a>(&'a abi::Config);

impl Settings<'_> {
    pub fn integer(&self, name: &'static str) -> Result<i64, String> {
        Ok(self.value(name, abi::T_I64)?.i64)
    }

    /// In nanoseconds.
    pub fn duration(&self, name: &'static str) -> Result<i64, String> {
        Ok(self.value(name, abi::T_DURATION_NS)?.i64)
    }

    fn value(&self, name: &'static str, of_type: i32) -> Result<abi::Value, String> {
        let mut value = abi::Value { type_: 0, count: 0, i64: 0, f64: 0.0, str: text(""), node: std::ptr::null() };
        if unsafe { (self.0.get)(self.0.root, text(name), &mut value) } != abi::OK {
            return Err(format!("{name} is missing"));
        }
        if value.type_ != of_type {
            return Err(format!("{name} has another type than the strategy reads"));
        }
        Ok(value)
    }
}

/// The queues of a topic, and whose brokers are well. There is at least one queue.
pub struct View<'a>(&'a abi::View);

impl View<'_> {
    pub fn size(&self) -> u32 {
        self.0.n_queues
    }

    /// The broker of a queue: an index that `Message::tried` speaks of too.
    pub fn broker_of(&self, queue: u32) -> u32 {
        slice_of(self.0.queues, self.0.n_queues)[queue as usize].broker
    }

    pub fn available(&self, queue: u32) -> bool {
        self.bit(self.0.available, queue)
    }

    pub fn reachable(&self, queue: u32) -> bool {
        self.bit(self.0.reachable, queue)
    }

    /// Only these may be picked.
    pub fn candidate(&self, queue: u32) -> bool {
        self.all_candidates() || self.bit(self.0.candidates, queue)
    }

    pub fn all_candidates(&self) -> bool {
        self.0.candidates.is_null()
    }

    /// While it is the same, an index means the same queue.
    pub fn route_gen(&self) -> u64 {
        self.0.route_gen
    }

    fn bit(&self, mask: *const u64, i: u32) -> bool {
        slice_of(mask, (self.0.n_queues + 63) / 64)[i as usize / 64] >> (i % 64) & 1 != 0
    }
}

/// What a selector may know of the message.
pub struct Message<'a>(&'a abi::Msg);

impl Message<'_> {
    /// None: it has none, which is not the same as an empty one.
    pub fn key(&self) -> Option<&[u8]> {
        if self.0.flags & abi::MSG_HAS_KEY == 0 {
            return None;
        }
        Some(slice_of(self.0.key.ptr, self.0.key.len as u32))
    }

    /// Fresh for each decision, uniform.
    pub fn random(&self) -> u64 {
        self.0.random
    }

    /// Brokers that this message was sent to already, without success.
    pub fn tried(&self) -> &[u32] {
        slice_of(self.0.tried, self.0.n_tried)
    }
}

/// Brokers in order of name. They may be longer than this file knows, hence the stride.
pub struct Brokers {
    first: *const abi::Broker,
    stride: u32,
    n: u32,
}

impl Brokers {
    pub fn size(&self) -> u32 {
        self.n
    }

    /// The only thing about a broker to remember.
    pub fn id(&self, index: u32) -> u32 {
        assert!(index < self.n);
        unsafe { (*self.first.cast::<u8>().add(self.stride as usize * index as usize).cast::<abi::Broker>()).id }
    }
}

/// Where `evaluate` writes: by index, each broker starts as neither available nor reachable.
pub struct Verdicts<'a> {
    available: &'a mut [u64],
    reachable: &'a mut [u64],
    valid_until_ns: i64,
}

impl Verdicts<'_> {
    pub fn available(&mut self, broker: u32) {
        self.available[broker as usize / 64] |= 1 << (broker % 64);
    }

    pub fn reachable(&mut self, broker: u32) {
        self.reachable[broker as usize / 64] |= 1 << (broker % 64);
    }

    /// An answer may change at this time by its mere passing; the earliest counts.
    pub fn changes_at(&mut self, ns: i64) {
        self.valid_until_ns = self.valid_until_ns.min(ns);
    }
}

// ---- what a strategy is ----

pub trait Strategy: Sized {
    /// What users write: a-z, 0-9 and '-'.
    const NAME: &'static str;
    const SUMMARY: &'static str;
    const PARAMS: &'static [abi::Param];

    /// `start`: where a rotation begins. Err: what was found and what would be right.
    fn new(settings: &Settings, start: u32) -> Result<Self, String>;
}

pub trait Selector: Strategy {
    /// The queue, as an index into the view, and why. None: there is no queue on purpose.
    fn select(&mut self, view: &View, message: &Message) -> Option<abi::Pick>;
}

pub trait Fault: Strategy {
    /// True: evaluate again.
    fn on_feedback(&mut self, feedback: &abi::Feedback) -> bool;
    fn evaluate(&self, brokers: &Brokers, now_ns: i64, verdicts: &mut Verdicts);
}

// ---- its tables ----

pub const fn text(text: &'static str) -> abi::Str {
    abi::Str { ptr: text.as_ptr(), len: text.len() as u64 }
}

/// A setting. `default_text`: as a user would write it in TOML. Both bounds are allowed values; of a duration they count
/// in nanoseconds.
pub const fn param(
    name: &'static str,
    help: &'static str,
    default_text: &'static str,
    unit: &'static str,
    type_: i32,
    min: i64,
    max: i64,
) -> abi::Param {
    abi::Param {
        name: text(name),
        help: text(help),
        default_text: text(default_text),
        unit: text(unit),
        choices: text(""),
        type_,
        element_type: 0,
        flags: 0,
        min_count: 0,
        min: min as f64,
        max: max as f64,
    }
}

pub const fn selector<T: Selector>() -> abi::SelectorClass {
    abi::SelectorClass {
        struct_size: size_of::<abi::SelectorClass>() as u32,
        flags: 0,
        name: text(T::NAME),
        summary: text(T::SUMMARY),
        params: T::PARAMS.as_ptr(),
        n_params: T::PARAMS.len() as u32,
        param_stride: size_of::<abi::Param>() as u32,
        state_schema: 0,
        reserved0: 0,
        create: create::<T>,
        destroy: destroy::<T>,
        select: select::<T>,
        wants: None,
        filter: None,
        export_state: None,
        import_state: None,
        extension: None,
    }
}

pub const fn fault<T: Fault>() -> abi::FaultClass {
    abi::FaultClass {
        struct_size: size_of::<abi::FaultClass>() as u32,
        flags: 0,
        name: text(T::NAME),
        summary: text(T::SUMMARY),
        params: T::PARAMS.as_ptr(),
        n_params: T::PARAMS.len() as u32,
        param_stride: size_of::<abi::Param>() as u32,
        state_schema: 0,
        reserved0: 0,
        create: create::<T>,
        destroy: destroy::<T>,
        evaluate: evaluate::<T>,
        on_feedback: on_feedback::<T>,
        export_state: None,
        import_state: None,
        extension: None,
    }
}

pub const fn describe(
    id: &'static str,
    version: &'static str,
    license: &'static str,
    selectors: &'static [&'static abi::SelectorClass],
    faults: &'static [&'static abi::FaultClass],
) -> abi::Plugin {
    abi::Plugin {
        magic: abi::MAGIC,
        struct_size: size_of::<abi::Plugin>() as u32,
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        id: text(id),
        version: text(version),
        license: text(license),
        vendor: text(""),
        build_info: text("rust"),
        n_selectors: selectors.len() as u32,
        n_faults: faults.len() as u32,
        selectors: selectors.as_ptr().cast(),
        faults: faults.as_ptr().cast(),
    }
}

/// The entry's answer: null to a host that speaks another major version of the border.
pub unsafe fn for_host(host: *const abi::Handshake, plugin: &'static abi::Plugin) -> *const abi::Plugin {
    if (*host).abi_major == abi::ABI_MAJOR {
        plugin
    } else {
        std::ptr::null()
    }
}

/// The note that lets a host see what the file offers before any of its code runs: a `static` of this type, with #[used] and
/// #[link_section = ".note.shunt"].
#[repr(C)]
pub struct ElfNote<const N: usize> {
    owner_len: u32,
    description_len: u32,
    type_: u32,
    owner: [u8; 8],
    head: abi::Note,
    names: [u8; N],
}

impl<const N: usize> ElfNote<N> {
    /// `names`: "selector:NAME\n" or "fault:NAME\n" for each strategy; N: its length.
    pub const fn of(names: &str) -> Self {
        let mut note = ElfNote {
            owner_len: abi::NOTE_OWNER.len() as u32,
            description_len: (size_of::<abi::Note>() + N) as u32,
            type_: abi::NOTE_TYPE,
            owner: [0; 8],
            head: abi::Note {
                abi_major: abi::ABI_MAJOR,
                abi_minor: abi::ABI_MINOR,
                min_host_minor: 0,
                reserved0: 0,
                names_len: N as u32,
            },
            names: [0; N],
        };
        let mut i = 0;
        while i < abi::NOTE_OWNER.len() {
            note.owner[i] = abi::NOTE_OWNER[i];
            i += 1;
        }
        i = 0;
        while i < N {
            note.names[i] = names.as_bytes()[i];
            i += 1;
        }
        note
    }
}

// ---- how the host calls it ----

/// An instance as the host holds it.
struct Held<T> {
    host: *const abi::Host,
    strategy: T,
}

fn slice_of<'a, T>(first: *const T, n: u32) -> &'a [T] {
    if n == 0 {
        return &[];
    }
    unsafe { slice::from_raw_parts(first, n as usize) }
}

unsafe fn fail(host: *const abi::Host, status: abi::Status, what: &str) -> abi::Status {
    ((*host).set_error)((*host).ctx, abi::Str { ptr: what.as_ptr(), len: what.len() as u64 });
    status
}

unsafe fn guarded(host: *const abi::Host, body: impl FnOnce() -> abi::Status) -> abi::Status {
    match panic::catch_unwind(AssertUnwindSafe(body)) {
        Ok(status) => status,
        Err(cause) => {
            let what = cause
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| cause.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("a panic without a text");
            fail(host, abi::E_EXCEPTION, what)
        }
    }
}

unsafe extern "C" fn create<T: Strategy>(
    host: *const abi::Host,
    config: *const abi::Config,
    instance: *const abi::Instance,
    out: *mut *mut c_void,
) -> abi::Status {
    // What a panic says goes to the host, not to the program's stderr.
    static QUIET: Once = Once::new();
    guarded(host, || {
        QUIET.call_once(|| panic::set_hook(Box::new(|_| {})));
        let strategy = match T::new(&Settings(&*config), (*instance).start) {
            Ok(strategy) => strategy,
            Err(refused) => return fail(host, abi::E_CONFIG, &refused),
        };
        // Box::new would end the program where there is no memory.
        let memory = alloc(Layout::new::<Held<T>>()).cast::<Held<T>>();
        if memory.is_null() {
            return fail(host, abi::E_NOMEM, "out of memory");
        }
        memory.write(Held { host, strategy });
        *out = memory.cast();
        abi::OK
    })
}

unsafe extern "C" fn destroy<T: Strategy>(held: *mut c_void) {
    let host = (*held.cast::<Held<T>>()).host;
    guarded(host, || {
        drop(Box::from_raw(held.cast::<Held<T>>()));
        abi::OK
    });
}

unsafe extern "C" fn select<T: Selector>(
    held: *mut c_void,
    view: *const abi::View,
    message: *const abi::Msg,
    out: *mut abi::Pick,
) -> abi::Status {
    let held = &mut *held.cast::<Held<T>>();
    guarded(held.host, || match held.strategy.select(&View(&*view), &Message(&*message)) {
        Some(pick) => {
            *out = pick;
            abi::OK
        }
        None => abi::NO_QUEUE,
    })
}

unsafe extern "C" fn evaluate<T: Fault>(
    held: *mut c_void,
    brokers: *const abi::Broker,
    stride: u32,
    n: u32,
    now_ns: i64,
    available: *mut u64,
    reachable: *mut u64,
    valid_until_ns: *mut i64,
) -> abi::Status {
    let held = &*held.cast::<Held<T>>();
    guarded(held.host, || {
        let words = (n as usize + 63) / 64;
        let (available, reachable) = if words == 0 {
            (&mut [][..], &mut [][..])
        } else {
            (slice::from_raw_parts_mut(available, words), slice::from_raw_parts_mut(reachable, words))
        };
        let mut verdicts = Verdicts { available, reachable, valid_until_ns: i64::MAX };
        held.strategy.evaluate(&Brokers { first: brokers, stride, n }, now_ns, &mut verdicts);
        *valid_until_ns = verdicts.valid_until_ns;
        abi::OK
    })
}

unsafe extern "C" fn on_feedback<T: Fault>(
    held: *mut c_void,
    first: *const abi::Feedback,
    stride: u32,
    n: u32,
) -> abi::Status {
    let held = &mut *held.cast::<Held<T>>();
    guarded(held.host, || {
        let mut changed = false;
        for i in 0..n as usize {
            let one = &*first.cast::<u8>().add(stride as usize * i).cast::<abi::Feedback>();
            changed |= held.strategy.on_feedback(one);
        }
        changed as abi::Status
    })
}
