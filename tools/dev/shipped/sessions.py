"""N pairs of TLS 1.3 sessions of the OpenSSL inside `cryptography`, over memory: `sessions.py N CERTIFICATES`.

It ends at once with all of them held, so that what is live at its end is theirs and the start's."""

import gc
import os
import sys

from OpenSSL import SSL

CHUNK = 1 << 16


def context(folder: str, server: bool) -> SSL.Context:
    made = SSL.Context(SSL.TLS_METHOD)
    made.set_min_proto_version(SSL.TLS1_3_VERSION)
    if server:
        made.use_certificate_chain_file(f"{folder}/chain.pem")
        made.use_privatekey_file(f"{folder}/key.pem")
    else:
        made.load_verify_locations(f"{folder}/root.pem")
        made.set_verify(SSL.VERIFY_PEER)
    return made


def move(source: SSL.Connection, target: SSL.Connection) -> None:
    try:
        while sent := source.bio_read(CHUNK):
            target.bio_write(sent)
    except SSL.WantReadError:
        pass


def step(end: SSL.Connection) -> bool:
    try:
        end.do_handshake()
    except SSL.WantReadError:
        return False
    return True


def pair(server: SSL.Context, client: SSL.Context) -> tuple[SSL.Connection, SSL.Connection]:
    ends = SSL.Connection(client), SSL.Connection(server)
    ends[0].set_connect_state()
    ends[1].set_accept_state()
    done = [False, False]
    while not all(done):
        for one, other in ((0, 1), (1, 0)):
            done[one] = step(ends[one])
            move(ends[one], ends[other])
    for one, other in ((0, 1), (1, 0)):
        ends[one].send(bytes(1024))
        move(ends[one], ends[other])
        ends[other].recv(1024)
    return ends


count, folder = int(sys.argv[1]), sys.argv[2]
contexts = context(folder, True), context(folder, False)
held = [pair(*contexts) for _ in range(count)]
gc.collect()
print(SSL.OpenSSL_version(SSL.OPENSSL_VERSION).split()[1].decode(), flush=True)
os._exit(0)
