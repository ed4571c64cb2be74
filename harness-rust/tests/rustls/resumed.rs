//! A hundred handshakes in a row over two threads, each of which resumes the one before it: by id and by ticket, with and
//! without mutual authentication, as the library is and as it holds less. The core ends a run that does not; what it counted
//! is compared all the same.

use std::process::Command;

const TLS12: [&str; 2] = ["protocol=TLSv1.2", "cipher=ECDHE-ECDSA-AES128-GCM-SHA256"];
const TLS13: [&str; 2] = ["protocol=TLSv1.3", "cipher=TLS_AES_128_GCM_SHA256"];

/// What the harness said; its words on stderr where it failed.
fn run(offered: [&str; 2], settings: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_rustls"))
        .args(["handshake", "rounds=100", "threads=2", "group=X25519"])
        .arg(concat!("certs=", env!("CARGO_MANIFEST_DIR"), "/../../memtest/certs/ecdsa-p256"))
        .args(offered)
        .args(settings)
        .output()
        .unwrap();
    match output.status.code() {
        Some(0) => Ok(String::from_utf8(output.stdout).unwrap()),
        _ => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

/// 0.22 cannot hold less, and says so.
const REFUSED: &str = "has no unbuffered API";

fn numbers(said: &str, field: &str) -> Vec<u64> {
    let lines = said.lines().filter(|line| line.contains("\"record\":\"thread\""));
    let (name, number) = (format!("\"{field}\":"), |text: &str| text.split(',').next().unwrap().parse().unwrap());
    lines.map(|line| number(line.split_once(&name).unwrap().1)).collect()
}

fn all_resumed(offered: [&str; 2], settings: &[&str]) {
    for auth in ["auth=mutual", "auth=server"] {
        for options in ["options=default", "options=low-memory"] {
            let said = match run(offered, &[settings, &["resume=on", auth, options]].concat()) {
                Err(said) if env!("CARGO_MANIFEST_DIR").contains("0.22.") && said.contains(REFUSED) => continue,
                said => said.unwrap(),
            };
            assert_eq!(*numbers(&said, "rounds").iter().max().unwrap(), 100, "{settings:?}, {auth}, {options}");
            assert_eq!(numbers(&said, "resumed"), numbers(&said, "rounds"), "{settings:?}, {auth}, {options}");
        }
    }
}

#[test]
fn by_id() {
    all_resumed(TLS12, &["store=on", "tickets=0"]);
    all_resumed(TLS13, &["store=on", "tickets=1"]);
}

#[test]
fn by_ticket() {
    all_resumed(TLS12, &["store=off", "tickets=1"]);
    all_resumed(TLS13, &["store=off", "tickets=1"]);
}

/// A client that kept something would resume unasked.
#[test]
fn none_unless_asked() {
    for offered in [TLS12, TLS13] {
        for settings in [["store=on", "tickets=1"], ["store=off", "tickets=1"]] {
            let said = run(offered, &settings).unwrap();
            assert_eq!(numbers(&said, "resumed"), [0, 0], "{settings:?}");
        }
    }
}
