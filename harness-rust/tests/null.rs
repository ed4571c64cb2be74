//! What memtest/tests/test_core.py, which knows the null harnesses from outside, does not look at.

use std::fs;
use std::process::{Command, Stdio};

/// How many blocks a run of the null harness has ever allocated for a role at the end of a phase.
fn allocated(sessions: u32, phase: &str, role: &str) -> u64 {
    let child = Command::new(env!("CARGO_BIN_EXE_null"))
        .args(["memory", &format!("sessions={sessions}")])
        .args(["protocol", "cipher", "group", "certs", "auth"].map(|key| format!("{key}=none")))
        .env("LD_PRELOAD", concat!(env!("CORE"), "/libheapmeter.so"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let page = format!("/dev/shm/heapmeter.{}", child.id());
    let output = child.wait_with_output().unwrap();
    let _ = fs::remove_file(page); // the meter leaves it for its reader
    let said = String::from_utf8(output.stdout).unwrap();
    let line = said.lines().find(|line| line.contains(&format!("\"phase\":\"{phase}\"")));
    let (_, heap) = line.unwrap().split_once(&format!("\"{role}\":{{")).unwrap();
    let (_, number) = heap.split_once("\"cumulative_blocks\":").unwrap();
    number.split([',', '}']).next().unwrap().parse().unwrap()
}

#[test]
fn a_session_is_three_blocks_and_no_step_allocates() {
    for phase in ["sessions", "client 1", "server 1", "client 2", "server 2", "established", "payload", "reply"] {
        for role in ["client", "server"] {
            let added = allocated(24, phase, role) - allocated(4, phase, role);
            assert_eq!(added, 10 * 3, "{role} in {phase}");
        }
    }
}
