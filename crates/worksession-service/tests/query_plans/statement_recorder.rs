//! Records the statements that a database receives.

use std::cell::RefCell;
use std::sync::Mutex;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

thread_local! {
    /// The URL of this thread's latest connection: Diesel requests the instrumentation right after connecting.
    static CONNECTED_URL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The URL of the recorded database, and the statements sent to it.
static RECORDING: Mutex<Option<(String, Vec<String>)>> = Mutex::new(None);

struct Recorder {
    url: String,
}

impl Instrumentation for Recorder {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => {
                CONNECTED_URL.set(url.to_owned());
            }
            InstrumentationEvent::StartQuery { query, .. } => {
                if let Some((url, sent)) = RECORDING.lock().unwrap().as_mut()
                    && self.url.starts_with(url.as_str())
                {
                    sent.push(query.to_string());
                }
            }
            _ => {}
        }
    }
}

/// Instruments the connections that are opened from now on.
pub fn install() {
    let recorder = || -> Option<Box<dyn Instrumentation>> {
        let url = CONNECTED_URL.with_borrow(Clone::clone);
        Some(Box::new(Recorder { url }))
    };
    set_default_instrumentation(recorder).unwrap();
}

/// Starts to record what is sent to that database.
pub fn start(url: &str) {
    let url = url.trim_start_matches("sqlite://").to_owned();
    *RECORDING.lock().unwrap() = Some((url, Vec::new()));
}

/// Returns the statements recorded since the last call.
pub fn take() -> Vec<String> {
    let mut recording = RECORDING.lock().unwrap();
    std::mem::take(&mut recording.as_mut().unwrap().1)
}

/// Stops recording.
pub fn stop() {
    *RECORDING.lock().unwrap() = None;
}
