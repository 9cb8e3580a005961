// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//! Zenoh for the benchmark, as C functions: one session a handle, one topic,
//! one service. Pointers that come in are valid during the call only.

use std::ffi::{c_char, c_void, CStr};

use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

const TOPIC: &str = "bench/topic";
const SERVICE: &str = "bench/service";

/// Called with a context and a body.
type Each = extern "C" fn(usize, *const u8, usize);
/// Called with a context, a body and room for a reply of the same size; returns its size.
type Handle = extern "C" fn(usize, *const u8, usize, *mut u8) -> usize;

/// Opens a peer that listens at `listen`, or nowhere if that is empty, and
/// connects to each of the endpoints in `connect`, which spaces separate.
/// Returns null if it can't.
///
/// # Safety
/// Both are strings that end with a zero byte.
#[no_mangle]
pub unsafe extern "C" fn ab_open(listen: *const c_char, connect: *const c_char) -> *mut c_void {
    let list = |text: *const c_char| {
        let words = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        let quoted: Vec<String> = words.split_whitespace().map(|w| format!("\"{w}\"")).collect();
        format!("[{}]", quoted.join(","))
    };
    let mut config = Config::default();
    let set = config.insert_json5("mode", "\"peer\"").is_ok()
        && config.insert_json5("listen/endpoints", &list(listen)).is_ok()
        && config.insert_json5("connect/endpoints", &list(connect)).is_ok()
        && config.insert_json5("scouting/multicast/enabled", "false").is_ok();
    if !set {
        return std::ptr::null_mut();
    }
    match zenoh::open(config).wait() {
        Ok(session) => Box::into_raw(Box::new(session)) as *mut c_void,
        Err(e) => {
            eprintln!("zenoh: {e}");
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// `session` is what ab_open returned, and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn ab_close(session: *mut c_void) {
    let session = Box::from_raw(session as *mut Session);
    let _ = session.close().wait();
}

/// Returns a publisher that waits where the network is slower; null if there is none.
///
/// # Safety
/// `session` is what ab_open returned.
#[no_mangle]
pub unsafe extern "C" fn ab_publisher(session: *mut c_void) -> *mut c_void {
    let session = &*(session as *mut Session);
    match session.declare_publisher(TOPIC).congestion_control(CongestionControl::Block).wait() {
        Ok(publisher) => Box::into_raw(Box::new(publisher)) as *mut c_void,
        Err(_) => std::ptr::null_mut(),
    }
}

/// Returns 0 if the body was published.
///
/// # Safety
/// `publisher` is what ab_publisher returned, and `body` has `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn ab_put(publisher: *mut c_void, body: *const u8, size: usize) -> i32 {
    let publisher = &*(publisher as *mut Publisher<'static>);
    match publisher.put(std::slice::from_raw_parts(body, size)).wait() {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// Returns 0 if `each` will be called with every message.
///
/// # Safety
/// `session` is what ab_open returned.
#[no_mangle]
pub unsafe extern "C" fn ab_subscribe(session: *mut c_void, each: Each, context: usize) -> i32 {
    let session = &*(session as *mut Session);
    let declared = session
        .declare_subscriber(TOPIC)
        .callback(move |sample| {
            let body = sample.payload().to_bytes();
            each(context, body.as_ptr(), body.len());
        })
        .background()
        .wait();
    i32::from(declared.is_err())
}

/// Asks, and copies the first reply to `reply`, which has room for `size` bytes.
/// Returns its size, or -1 if there was none.
///
/// # Safety
/// `session` is what ab_open returned; `body` and `reply` have `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn ab_get(session: *mut c_void, body: *const u8, size: usize, reply: *mut u8) -> isize {
    let session = &*(session as *mut Session);
    let Ok(replies) = session.get(SERVICE).payload(std::slice::from_raw_parts(body, size)).wait() else {
        return -1;
    };
    while let Ok(answer) = replies.recv() {
        if let Ok(sample) = answer.result() {
            let bytes = sample.payload().to_bytes();
            if bytes.len() > size {
                return -1;
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), reply, bytes.len());
            return bytes.len() as isize;
        }
    }
    -1
}

/// Returns 0 if `handle` will be called with every request.
///
/// # Safety
/// `session` is what ab_open returned.
#[no_mangle]
pub unsafe extern "C" fn ab_respond(session: *mut c_void, handle: Handle, context: usize) -> i32 {
    let session = &*(session as *mut Session);
    let declared = session
        .declare_queryable(SERVICE)
        .callback(move |query| {
            let body = query.payload().map(|p| p.to_bytes()).unwrap_or_default();
            let mut reply = vec![0u8; body.len()];
            let size = handle(context, body.as_ptr(), body.len(), reply.as_mut_ptr());
            reply.truncate(size);
            let _ = query.reply(SERVICE, reply).wait();
        })
        .background()
        .wait();
    i32::from(declared.is_err())
}
