//! A minimal hand-written loop around rustls' own interface, without core and driver: what a harness may cost is told by
//! comparing the two. The same work as the timed scenarios of docs/reference/records.md, on one thread, with `Vec<u8>` as wires.
//!
//!     rustls_loop handshake rounds=512 protocol=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 group=X25519
//!         certs=memtest/certs/rsa-2048 resume=on tickets=1 store=off cpus=0
//!     rustls_loop throughput rounds=64 size=1048576 protocol=... cipher=... group=... certs=... cpus=0
//!
//! It prints `{"client_ns":..,"server_ns":..,"count":..}`, of the construction, all steps and the freeing of both ends, or
//! `{"send_ns":..,"receive_ns":..,"bytes":..}`; an eighth of the rounds before are not in it. The clock is the core's,
//! CLOCK_MONOTONIC_RAW. For the benchmark only, beside the harness of rustls+aws-lc@0.23.46 and with its flags:
//!
//!     CARGO_TARGET_DIR=build/cargo cargo build --release --locked --bin rustls_loop \
//!         --manifest-path harness-rust/rustls-0.23.46/Cargo.toml --features aws-lc,loop
//!
//! With that harness's own directory in place of build/cargo, build/stacks/rustls+aws-lc@0.23.46, and the environment of
//! tools/tlsmem/build/rust_stack.py, both link the very same rustls and aws-lc.

#[allow(dead_code)]
mod names;
#[path = "loop/settings.rs"]
mod settings;

use rustix::{thread, time};
use rustls::{CipherSuite, ClientConnection, HandshakeKind, NamedGroup, ProtocolVersion, ServerConnection};
use settings::{configs, Arguments};
use std::io::{Read, Write};
use std::num::{NonZeroU64, NonZeroUsize};
use std::{env, panic, process};

fn fail(sentence: &str) -> ! {
    eprintln!("rustls_loop: {sentence}");
    process::exit(1)
}

fn number(group: NamedGroup) -> u16 {
    group.into()
}

fn now() -> u64 {
    let it = time::clock_gettime(time::ClockId::MonotonicRaw);
    it.tv_sec as u64 * 1_000_000_000 + it.tv_nsec as u64
}

/// All that arrived, and the answer.
macro_rules! step {
    ($end:expr, $in:expr, $out:expr) => {
        let mut rest = &$in[..];
        while !rest.is_empty() {
            $end.read_tls(&mut rest).unwrap();
            $end.process_new_packets().unwrap();
        }
        $in.clear();
        while $end.wants_write() {
            $end.write_tls(&mut $out).unwrap();
        }
    };
}

/// What the clock says of the client and of the server, or of sending and of receiving.
struct Laps {
    at: u64,
    ns: [u64; 2],
}

impl Laps {
    fn start() -> Self {
        Self { at: now(), ns: [0; 2] }
    }

    fn end(&mut self, of: usize) {
        let now = now();
        self.ns[of] += now - self.at;
        self.at = now;
    }
}

/// One after the other; a client that is resumed goes when the next is made.
fn handshakes(given: &Arguments, rounds: u64) -> String {
    let (client_config, server_config) = configs(given);
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let mut total = [0; 2];
    for round in 0..=rounds / 8 + rounds {
        let mut laps = Laps::start();
        let mut client = ClientConnection::new(client_config.clone(), "localhost".try_into().unwrap()).unwrap();
        laps.end(0);
        let mut server = ServerConnection::new(server_config.clone()).unwrap();
        laps.end(1);
        while client.is_handshaking() || server.is_handshaking() || !to_client.is_empty() || !to_server.is_empty() {
            step!(client, to_client, to_server);
            laps.end(0);
            step!(server, to_server, to_client);
            laps.end(1);
        }
        let resumed = given.get("resume", "off") == "on" && round > 0;
        let kind = if resumed { HandshakeKind::Resumed } else { HandshakeKind::Full };
        assert_eq!([client.handshake_kind(), server.handshake_kind()], [Some(kind); 2], "round {round}");
        laps.at = now();
        drop(server);
        laps.end(1);
        drop(client);
        laps.end(0);
        if round > rounds / 8 {
            total = [total[0] + laps.ns[0], total[1] + laps.ns[1]];
        }
    }
    format!("{{\"client_ns\":{},\"server_ns\":{},\"count\":{rounds}}}", total[0], total[1])
}

fn transfers(given: &Arguments, rounds: u64) -> String {
    let (client_config, server_config) = configs(given);
    let mut client = ClientConnection::new(client_config, "localhost".try_into().unwrap()).unwrap();
    let mut server = ServerConnection::new(server_config).unwrap();
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    while client.is_handshaking() || server.is_handshaking() || !to_client.is_empty() || !to_server.is_empty() {
        step!(client, to_client, to_server);
        step!(server, to_server, to_client);
    }
    let size = given.number::<NonZeroUsize>("size", "1048576").get();
    let writes = if size < 65_536 { 65_536 / size } else { 1 };
    let mut source: Vec<u8> = (0..size).map(|i| i as u8).collect();
    let mut target = vec![0; writes * size];
    let mut total = [0; 2];
    for round in 0..rounds.div_ceil(8) + rounds {
        source[0] = round as u8;
        let mut laps = Laps::start();
        for _ in 0..writes {
            let mut sent = 0;
            while sent < size {
                sent += server.writer().write(&source[sent..]).unwrap();
                while server.wants_write() {
                    server.write_tls(&mut to_client).unwrap();
                }
            }
        }
        laps.end(0);
        let (mut rest, mut received) = (&to_client[..], 0);
        while received < target.len() {
            client.read_tls(&mut rest).unwrap();
            let there = client.process_new_packets().unwrap().plaintext_bytes_to_read();
            client.reader().read_exact(&mut target[received..received + there]).unwrap();
            received += there;
        }
        laps.end(1);
        to_client.clear();
        assert!(target.chunks(size).all(|it| it == source), "round {round}: other bytes than were sent");
        if round >= rounds.div_ceil(8) {
            total = [total[0] + laps.ns[0], total[1] + laps.ns[1]];
        }
    }
    let bytes = rounds * target.len() as u64;
    format!("{{\"send_ns\":{},\"receive_ns\":{},\"bytes\":{bytes}}}", total[0], total[1])
}

fn main() {
    panic::set_hook(Box::new(|panic| fail(&panic.to_string().replace('\n', " "))));
    let mut words = env::args().skip(1);
    let scenario = words.next().unwrap_or_default();
    let given = words.map(|it| it.split_once('=').map(|(key, value)| (key.into(), value.into())));
    let given = Arguments(given.collect::<Option<_>>().unwrap_or_else(|| fail("arguments are KEY=VALUE")));
    if let Some(cpu) = given.0.get("cpus") {
        let mut set = thread::CpuSet::new();
        let first = cpu.split(',').next().and_then(|it| it.parse().ok()).filter(|&it| it < thread::CpuSet::MAX_CPU);
        set.set(first.unwrap_or_else(|| fail(&format!("cpus={cpu}: no number of a CPU"))));
        thread::sched_setaffinity(None, &set).unwrap_or_else(|error| fail(&format!("cpus={cpu}: {error}")));
    }
    let rounds = given.number::<NonZeroU64>("rounds", "64").get();
    match &*scenario {
        "handshake" => println!("{}", handshakes(&given, rounds)),
        "throughput" => println!("{}", transfers(&given, rounds)),
        _ => fail("usage: rustls_loop handshake|throughput KEY=VALUE ..."),
    }
}
