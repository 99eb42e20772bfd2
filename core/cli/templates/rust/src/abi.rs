//! The border between shunt and a plugin: shunt/sdk/abi.h of version 1.0, member by member in the same order. What each
//! means is told there. `plugin.rs` makes use of it; a strategy need not.

#![allow(dead_code)]

use std::ffi::c_void;
use std::mem::size_of;

pub const ABI_MAJOR: u16 = 1;
pub const ABI_MINOR: u16 = 0;
pub const MAGIC: u64 = 0x5348_4e54_5047_5631; // "SHNTPGV1"
pub const NONE: u32 = u32::MAX;
pub const MAX_QUEUES: u32 = 65536;

pub type Status = i32;
pub const OK: Status = 0;
pub const ABSTAIN: Status = 1;
pub const NO_QUEUE: Status = 2;
pub const UNSUPPORTED: Status = 3;
pub const E_INVALID: Status = -1;
pub const E_NOMEM: Status = -2;
pub const E_EXCEPTION: Status = -3;
pub const E_CONFIG: Status = -4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    pub ptr: *const u8,
    pub len: u64,
}

#[repr(C)]
pub struct Kv {
    pub key: Str,
    pub value: Str,
}

// ---- what a selector looks at ----

#[repr(C)]
pub struct Queue {
    pub broker: u32,
    pub queue_id: u32,
}

pub const BROKER_WRITABLE: u32 = 1;

#[repr(C)]
pub struct Load {
    pub inflight: u32,
    pub reserved0: u32,
    pub ewma_latency_ns: i64,
}

#[repr(C)]
pub struct Broker {
    pub name: Str,
    pub room: Str,
    pub id: u32,
    pub flags: u32,
    pub weight: u32,
    pub first_queue: u32,
    pub n_queues: u32,
    pub reserved0: u32,
    pub load: *const Load,
}

#[repr(C)]
pub struct View {
    pub struct_size: u32,
    pub flags: u32,
    pub topic: Str,
    pub n_queues: u32,
    pub n_brokers: u32,
    pub broker_stride: u32,
    pub reserved0: u32,
    pub queues: *const Queue,
    pub brokers: *const Broker,
    pub available: *const u64,
    pub reachable: *const u64,
    pub candidates: *const u64,
    pub route_gen: u64,
    pub verdict_gen: u64,
}

pub const MSG_HAS_KEY: u32 = 1;
pub const MSG_ORDERED: u32 = 2;

#[repr(C)]
pub struct Msg {
    pub struct_size: u32,
    pub flags: u32,
    pub key: Str,
    pub hash64: u64,
    pub java_hash: i32,
    pub attempt: u32,
    pub random: u64,
    pub now_ns: i64,
    pub tried: *const u32,
    pub n_tried: u32,
    pub body_len: u32,
    pub props: *const Kv,
    pub n_props: u32,
    pub reserved0: u32,
}

pub const WHY_PLUGIN: u32 = 0;
pub const WHY_ROTATION: u32 = 1;
pub const WHY_AVOID_TRIED: u32 = 2;
pub const WHY_AVOID_ISOLATED: u32 = 3;
pub const WHY_REACHABLE_ONLY: u32 = 4;
pub const WHY_LAST_RESORT: u32 = 5;
pub const WHY_ALL_TRIED: u32 = 6;
pub const WHY_KEY: u32 = 7;
pub const WHY_ROOM: u32 = 8;
pub const WHY_SPILL: u32 = 9;
pub const WHY_WEIGHT: u32 = 10;
pub const WHY_LOAD: u32 = 11;
pub const WHY_RANDOM: u32 = 12;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pick {
    pub queue_index: u32,
    pub why: u32,
}

// ---- what the host gives ----

pub const T_BOOL: i32 = 1;
pub const T_I64: i32 = 2;
pub const T_F64: i32 = 3;
pub const T_STR: i32 = 4;
pub const T_DURATION_NS: i32 = 5;
pub const T_ARRAY: i32 = 6;
pub const T_SIZE: i32 = 7;

#[repr(C)]
pub struct Value {
    pub type_: i32,
    pub count: u32,
    pub i64: i64,
    pub f64: f64,
    pub str: Str,
    pub node: *const c_void,
}

#[repr(C)]
pub struct Config {
    pub struct_size: u32,
    pub reserved0: u32,
    pub root: *const c_void,
    pub get: unsafe extern "C" fn(root: *const c_void, name: Str, out: *mut Value) -> Status,
    pub at: unsafe extern "C" fn(array_node: *const c_void, index: u32, out: *mut Value) -> Status,
}

#[repr(C)]
pub struct Instance {
    pub struct_size: u32,
    pub start: u32,
}

pub const LOG_DEBUG: i32 = 1;
pub const LOG_INFO: i32 = 2;
pub const LOG_WARN: i32 = 3;
pub const LOG_ERROR: i32 = 4;

#[repr(C)]
pub struct Host {
    pub struct_size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub ctx: *mut c_void,
    pub log: unsafe extern "C" fn(ctx: *mut c_void, level: i32, text: Str),
    pub set_error: unsafe extern "C" fn(ctx: *mut c_void, text: Str),
    pub now_ns: unsafe extern "C" fn(ctx: *mut c_void) -> i64,
    pub random: unsafe extern "C" fn(ctx: *mut c_void) -> u64,
    pub metric: unsafe extern "C" fn(ctx: *mut c_void, name: Str, help: Str) -> u32,
    pub metric_add: unsafe extern "C" fn(ctx: *mut c_void, metric: u32, value: f64),
    pub request_probe: unsafe extern "C" fn(ctx: *mut c_void, broker_id: u32, at_ns: i64) -> Status,
    pub extension: unsafe extern "C" fn(ctx: *mut c_void, id: Str) -> *const c_void,
}

#[repr(C)]
pub struct Writer {
    pub ctx: *mut c_void,
    pub write: unsafe extern "C" fn(ctx: *mut c_void, bytes: *const c_void, count: u64) -> Status,
}

// ---- what a plugin declares ----

pub const P_REQUIRED: u32 = 1;

#[repr(C)]
pub struct Param {
    pub name: Str,
    pub help: Str,
    pub default_text: Str,
    pub unit: Str,
    pub choices: Str,
    pub type_: i32,
    pub element_type: i32,
    pub flags: u32,
    pub min_count: u32,
    pub min: f64,
    pub max: f64,
}

pub const F_CONCURRENT: u32 = 1;
pub const F_DETERMINISTIC: u32 = 2;
pub const F_WANTS_HASH64: u32 = 4;
pub const F_WANTS_JAVA_HASH: u32 = 8;
pub const F_WANTS_PROPS: u32 = 16;
pub const F_FILTER: u32 = 32;

/// The plugin's own: only pointers to one cross the border.
pub type Selector = c_void;
pub type Fault = c_void;

#[repr(C)]
pub struct SelectorClass {
    pub struct_size: u32,
    pub flags: u32,
    pub name: Str,
    pub summary: Str,
    pub params: *const Param,
    pub n_params: u32,
    pub param_stride: u32,
    pub state_schema: u32,
    pub reserved0: u32,
    pub create: unsafe extern "C" fn(*const Host, *const Config, *const Instance, out: *mut *mut Selector) -> Status,
    pub destroy: unsafe extern "C" fn(*mut Selector),
    pub select: unsafe extern "C" fn(*mut Selector, *const View, *const Msg, out: *mut Pick) -> Status,
    pub wants: Option<unsafe extern "C" fn(*const Selector) -> u32>,
    pub filter: Option<unsafe extern "C" fn(*mut Selector, *const View, *const Msg, level: u32, mask: *mut u64) -> Status>,
    pub export_state: Option<unsafe extern "C" fn(*mut Selector, *const Writer) -> Status>,
    pub import_state: Option<unsafe extern "C" fn(*mut Selector, schema: u32, *const c_void, u64) -> Status>,
    pub extension: Option<unsafe extern "C" fn(*mut Selector, id: Str) -> *const c_void>,
}

// ---- fault strategies ----

pub const FB_SEND: i32 = 1;
pub const FB_PROBE: i32 = 2;
pub const FB_LEFT: i32 = 3;

pub const FB_GOOD: i32 = 0;
pub const FB_FAILED: i32 = 1;
pub const FB_UNREACHABLE: i32 = 2;
pub const FB_EXPIRED: i32 = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Feedback {
    pub struct_size: u32,
    pub kind: i32,
    pub result: i32,
    pub broker_id: u32,
    pub queue_id: u32,
    pub attempt: u32,
    pub broker_code: i32,
    pub reserved0: u32,
    pub at_ns: i64,
    pub start_ns: i64,
    pub latency_ns: i64,
    pub share_ns: i64,
    pub generation: u64,
    pub route_gen: u64,
}

#[repr(C)]
pub struct FaultClass {
    pub struct_size: u32,
    pub flags: u32,
    pub name: Str,
    pub summary: Str,
    pub params: *const Param,
    pub n_params: u32,
    pub param_stride: u32,
    pub state_schema: u32,
    pub reserved0: u32,
    pub create: unsafe extern "C" fn(*const Host, *const Config, *const Instance, out: *mut *mut Fault) -> Status,
    pub destroy: unsafe extern "C" fn(*mut Fault),
    pub evaluate: unsafe extern "C" fn(
        *mut Fault,
        brokers: *const Broker,
        stride: u32,
        n: u32,
        now_ns: i64,
        available: *mut u64,
        reachable: *mut u64,
        valid_until_ns: *mut i64,
    ) -> Status,
    pub on_feedback: unsafe extern "C" fn(*mut Fault, *const Feedback, stride: u32, n: u32) -> Status,
    pub export_state: Option<unsafe extern "C" fn(*mut Fault, *const Writer) -> Status>,
    pub import_state: Option<unsafe extern "C" fn(*mut Fault, schema: u32, *const c_void, u64) -> Status>,
    pub extension: Option<unsafe extern "C" fn(*mut Fault, id: Str) -> *const c_void>,
}

// ---- the entry ----

#[repr(C)]
pub struct Plugin {
    pub magic: u64,
    pub struct_size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub id: Str,
    pub version: Str,
    pub license: Str,
    pub vendor: Str,
    pub build_info: Str,
    pub n_selectors: u32,
    pub n_faults: u32,
    pub selectors: *const *const SelectorClass,
    pub faults: *const *const FaultClass,
}

#[repr(C)]
pub struct Handshake {
    pub struct_size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub host_version: Str,
}

pub const NOTE_OWNER: &[u8; 6] = b"SHUNT\0";
pub const NOTE_TYPE: u32 = 1;

#[repr(C)]
pub struct Note {
    pub abi_major: u16,
    pub abi_minor: u16,
    pub min_host_minor: u16,
    pub reserved0: u16,
    pub names_len: u32,
}

// What is described is never written to.
unsafe impl Sync for SelectorClass {}
unsafe impl Sync for FaultClass {}
unsafe impl Sync for Plugin {}
unsafe impl Sync for Param {}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<Str>() == 16);
    assert!(size_of::<Queue>() == 8);
    assert!(size_of::<Broker>() == 64);
    assert!(size_of::<Load>() == 16);
    assert!(size_of::<View>() == 96);
    assert!(size_of::<Msg>() == 88);
    assert!(size_of::<Pick>() == 8);
    assert!(size_of::<Value>() == 48);
    assert!(size_of::<Config>() == 32);
    assert!(size_of::<Host>() == 80);
    assert!(size_of::<Param>() == 112);
    assert!(size_of::<Feedback>() == 80);
    assert!(size_of::<SelectorClass>() == 128);
    assert!(size_of::<FaultClass>() == 120);
    assert!(size_of::<Plugin>() == 120);
    assert!(size_of::<Note>() == 12);
};
