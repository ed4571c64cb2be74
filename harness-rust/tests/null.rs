//! The null harness as a whole: what its runs say is known beforehand.

use std::fs;
use std::process::{Command, Stdio};

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs `null memory` under the heap meter, and removes the page that the meter leaves for its reader.
fn null(arguments: &str) -> Run {
    let child = Command::new(env!("CARGO_BIN_EXE_null"))
        .arg("memory")
        .args(arguments.split_whitespace())
        .env("LD_PRELOAD", concat!(env!("CORE"), "/libheapmeter.so"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let page = format!("/dev/shm/heapmeter.{}", child.id());
    let output = child.wait_with_output().unwrap();
    let _ = fs::remove_file(page);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

const SUITE: &str = "protocol=none cipher=none group=none certs=none auth=none";

impl Run {
    /// A number of a role's heap at the end of a phase.
    fn heap(&self, phase: &str, role: &str, field: &str) -> u64 {
        let line = self.stdout.lines().find(|line| line.contains(&format!("\"phase\":\"{phase}\"")));
        let (_, role) = line.unwrap().split_once(&format!("\"{role}\":{{")).unwrap();
        let (_, number) = role.split_once(&format!("\"{field}\":")).unwrap();
        number.split([',', '}']).next().unwrap().parse().unwrap()
    }
}

#[test]
fn every_session_adds_three_blocks_of_4072_bytes_and_no_step_allocates() {
    let (few, many) = (null(&format!("sessions=4 {SUITE}")), null(&format!("sessions=24 {SUITE}")));
    assert_eq!((few.code, many.code), (Some(0), Some(0)), "{}{}", few.stderr, many.stderr);
    for phase in ["sessions", "client 1", "server 1", "client 2", "server 2", "established", "payload", "reply"] {
        for role in ["client", "server"] {
            let per_session = |field| (many.heap(phase, role, field) - few.heap(phase, role, field)) as f64 / 10.0;
            assert_eq!(per_session("live_bytes"), 4072.0, "{role} in {phase}");
            assert_eq!(per_session("live_blocks"), 3.0, "{role} in {phase}");
            assert_eq!(per_session("peak_bytes"), 4072.0, "{role} in {phase}");
            assert_eq!(per_session("cumulative_blocks"), 3.0, "{role} in {phase}");
        }
    }
}

#[test]
fn closed_sessions_leave_nothing() {
    let run = null(&format!("sessions=24 {SUITE}"));
    for role in ["client", "server", "client_context", "server_context"] {
        let left = |field| run.heap("closed", role, field) as i64 - run.heap("contexts", role, field) as i64;
        assert_eq!((left("live_bytes"), left("live_blocks")), (0, 0), "{role}");
    }
}

#[test]
fn a_suite_it_cannot_do_is_exit_77_with_the_reason() {
    let run = null("sessions=2 protocol=TLSv1.3 cipher=none group=none certs=none auth=none");
    assert_eq!(run.code, Some(77));
    assert_eq!(run.stderr, "memtest: null: the null stack has no TLS; its suite is \"none\"\n");
}
