/* What a TLS stack must provide to be measured, and what the core offers it: the one interface of the project.
 *
 * The core makes contexts and sessions, steps them in lockstep and reads the meters; a driver only translates.
 * A driver never counts, prints, loops over sessions, or knows how many there are. Any failure ends the run: die(). */
#ifndef MEMTEST_DRIVER_H
#define MEMTEST_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

enum role { ROLE_CLIENT, ROLE_SERVER };

enum { TICKETS_LIBRARY = -1 }; /* of a suite: whatever the library does unless it is told otherwise */

/* One protocol configuration, as named in suites.toml. Names are OpenSSL's for ciphers and groups. */
struct suite {
    const char *protocol;      /* "TLSv1.2", "TLSv1.3", or "none" for the null stack */
    const char *cipher;        /* "ECDHE-RSA-AES256-GCM-SHA384", "TLS_AES_256_GCM_SHA384", ... */
    const char *group;         /* "X25519", "X25519MLKEM768", ...: just this one is a server's */
    const char *client_groups; /* a client's in order of preference, with colons between, of which one is `group`. It
                                * sends a key share of the first alone. GROUPS_LIBRARY: what the library offers */
    const char *certs;         /* directory with root.pem, chain.pem (leaf first), key.pem; the leaf is for SERVER_NAME.
                                * Of clients, for auth "mutual": client-root.pem, client-chain.pem, client-key.pem */
    const char *auth;          /* "server", "mutual", or "none" for the null stack */
    int tickets; /* a server issues per connection, or TICKETS_LIBRARY; in TLS 1.2 there is one, or with 0 none */
    bool store;  /* a server keeps its sessions: what it issues are their ids, in TLS 1.3 by `tickets`. With
                  * TICKETS_LIBRARY its store is as large as the library has it */
    bool resume; /* clients offer what an earlier session got: ids with `store`, else tickets */
    const char *options; /* "default"; or what the library documents: "low-memory" to hold less at rest,
                          * "drop-peer-chain" for a server not to keep its clients' certificates */
};

#define GROUPS_LIBRARY "library" /* of a suite's client_groups: whatever a client does unless it is told otherwise */

#define SERVER_NAME "localhost" /* wire_server_name(), but where a server has several */

/* What one session agreed on. Strings are static; compared without regard to case. */
struct negotiated {
    const char *protocol;
    const char *cipher;
    const char *group; /* NULL when the library cannot tell: the server then had exactly one */
    bool resumed;
    bool peer_verified; /* chain verified up to the root in the store and, on a client, the host name matched */
    /* Of the peer's own certificate something that no other has (its encoding, signature or key), until the session's
     * next call; NULL when the library keeps nothing of it. */
    struct {
        const void *bytes;
        size_t size;
    } peer;
};

struct wire; /* one end of a pair's in-memory connection; only its address means anything */

/* Takes all of `size` bytes as one datagram, or none: returns size, or 0 when the wire is full (would block). */
size_t wire_write(struct wire *wire, const void *bytes, size_t size);

/* Gives up to `size` bytes of what arrived, as a stream; 0 when nothing is there (would block). */
size_t wire_read(struct wire *wire, void *bytes, size_t size);

/* The name that a client at this end asks its server for, and verifies; it stays as long as the wire. */
const char *wire_server_name(struct wire *wire);

/* Which context of a server serves a name, where the library leaves that to its caller; NULL: none of that name. What
 * is remembered takes no memory of this process. */
void name_put(const char *server_name, void *context);
void *name_get(const char *server_name);

/* What `seal` is asked for, alike of every stack: so equal are what they make of equal bytes. */
enum { SEAL_NONCE_BYTES = 12, SEAL_AAD_BYTES = 13, SEAL_TAG_BYTES = 16 };

/* Ends the run with exit 1 and the sentence "memtest: STACK: ..." on stderr. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A file of the suite's `certs`, by name: its path, in `path`. */
enum { PATH_BYTES = 4096 };
const char *suite_path(char path[PATH_BYTES], const struct suite *suite, const char *name);

struct driver {
    const char *name;

    /* The library's own version string. */
    const char *(*version)(void);

    /* NULL when this stack can do the suite, else what it lacks in a few words; the run then exits 77, with a sentence
     * that has the version before them and the suite behind. */
    const char *(*supports)(const struct suite *suite);

    /* What all sessions of a role share: keys, chain, store, settings. May be called any number of times. Several
     * threads may make and step sessions of one server's context at once; a session is one thread's at a time. */
    void *(*context_new)(enum role role, const struct suite *suite);
    void *(*session_new)(void *context, struct wire *wire);

    /* Optional (NULL: serves one name). A server's context, before its first session, serves `server_name` too, with
     * chain.pem and key.pem of suite->certs: in the way in which servers have the library do that. */
    void (*name_add)(void *context, const char *server_name, const struct suite *suite);

    /* Optional (NULL: resumes nothing). A client session, before its first step, offers what the complete session
     * `from`, which may have been resumed itself, got of its server. Both are of the same context: where a library
     * keeps what it got there, nothing is left to do. `from` is freed next. */
    void (*resume)(void *session, void *from);

    /* Optional (NULL: has no tickets, or cannot tell). How many tickets the clients of this process have received. */
    size_t (*tickets)(void);

    /* ONE step: reads what arrived, processes it, writes the answer. True when the handshake is complete.
     * A complete session reads what is there (tickets), writes nothing, and stays complete. */
    bool (*handshake)(void *session);

    /* Application data: bytes taken, bytes given; 0 is would block. */
    size_t (*write)(void *session, const void *bytes, size_t size);
    size_t (*read)(void *session, void *bytes, size_t size);

    void (*negotiated)(void *session, struct negotiated *result);

    /* Optional (NULL): gives back what an idle session may. */
    void (*release)(void *session);

    /* As after an orderly close: a server that keeps its sessions keeps this one. Writes nothing. */
    void (*session_free)(void *session);
    void (*context_free)(void *context);

    /* Optional (NULL): the library's own AEAD of the suite's cipher, called directly. Its key is the bytes 0, 1, 2,
     * ...; the nonce is a big-endian counter, which is 0 for the first record; the additional data are zeros. `seal`
     * encrypts `size` bytes in place and writes the tag behind them. */
    void *(*sealer_new)(const struct suite *suite);
    void (*seal)(void *sealer, unsigned char *bytes, size_t size);
    void (*sealer_free)(void *sealer);

    /* Optional (NULL): the control function of a jemalloc that the stack brings along, as mallctl(3) has it. */
    int (*mallctl)(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
};

/* The program: argv to exit status (0 measured, 1 failed, 2 usage, 77 unsupported). See docs/reference/records.md. */
int memtest_main(int argc, char **argv, const struct driver *driver);

/* The size of each struct above that has fields, as "suite", and where each field is in it, as "suite.cipher"; the last
 * has no name. Other languages mirror the structs, and compare all of it before they call memtest_main. */
struct memtest_place {
    const char *name;
    size_t bytes;
};
extern const struct memtest_place memtest_layout[];

#endif
