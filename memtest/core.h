/* What the rooms of the core offer each other. Drivers see driver.h only. */
#ifndef MEMTEST_CORE_H
#define MEMTEST_CORE_H

#include "driver.h"
#include <stdint.h>

#define SHORT_BYTES 1024         /* what a session sends and receives at least once */
#define RECORD_BYTES (16 * 1024) /* the most that a record holds: its plaintext */
#define MAX_STEPS 10
#define MAX_THREADS 256

/* Of memory, then of time. */
enum scenario {
    SCENARIO_MEMORY,
    SCENARIO_STALL,
    SCENARIO_CHURN,
    SCENARIO_CONTEXTS,
    SCENARIO_HANDSHAKE,
    SCENARIO_THROUGHPUT
};

/* Of the scenario churn: which sessions end with a wave. */
enum pattern { PATTERN_NONE = -1, PATTERN_WAVES, PATTERN_SAWTOOTH, PATTERN_LIFETIMES };

struct stall_point;

/* argv, understood: what every scenario has, then what belongs to one. A part of another scenario has its defaults. */
struct run {
    const char *scenario;
    enum scenario kind;
    const struct driver *driver;
    struct suite suite;
    size_t sessions;
    size_t threads;    /* timed, they run at once; else they take turns, each with its own share of the pairs */
    bool aslr;         /* as asked for; as it is once environment_apply is done */
    const char *thp;   /* "off" or "host" as asked for, then "off", "always", "madvise" or "never" */
    int cpu;           /* of a run that is not timed; -1: not pinned */
    const char *until; /* the last phase, or NULL */
    bool marks;
    bool holds[2];            /* by role: the sessions that this process makes; with both there is no other process */
    int wires_fd, barrier_fd; /* shared with the other process; -1 without one */
    struct {
        size_t window;     /* of churn, too: pairs in the handshake at a time */
        bool full_records; /* of churn, too: each end sends and receives a full record, then waits in a read */
        bool each_client;  /* client_certs=each: every client has a certificate of its own */
        bool keeps[2];     /* by role: false for the peers that are freed when their window is done */
    } memory;
    struct {
        const struct stall_point *point; /* where peers stop */
    } stall;
    struct {
        enum pattern pattern;
        size_t waves;
        size_t seed; /* of lifetimes: what is random begins with it */
        bool trim;   /* the allocator gives back what it can when a wave has ended */
    } churn;
    struct {
        size_t cas, names;   /* roots that a client trusts, certificates that a server has */
        const char *sharing; /* as in argv: */
        bool shares[2];      /* by role: all sessions have one context, and not one each */
    } contexts;
    struct {
        size_t rounds, warmup;
        size_t seconds;        /* 0: rounds end by their number alone */
        int cpus[MAX_THREADS]; /* of the threads in turn; none: not pinned */
        size_t cpu_count;
        size_t size; /* of the scenario throughput: bytes of a write */
    } timing;
};
extern struct run run;

static inline bool run_is_timed(void)
{
    return run.kind >= SCENARIO_HANDSHAKE;
}

bool arguments_read(int argc, char **argv); /* false: usage, already said on stderr */
bool arguments_consistent(void);            /* the same, of all together */
void environment_apply(char **argv);        /* may replace the process to switch address randomisation off */

/* Pairs [first, first + count), and which of their sessions are here: in another process, or freed, they are not. */
struct pairs {
    size_t first, count;
    bool has[2];                   /* by role */
    bool (*has_pair)(size_t pair); /* or NULL: all of them */
};

static inline bool pairs_have(const struct pairs *pairs, size_t pair)
{
    return !pairs->has_pair || pairs->has_pair(pair);
}

/* With the sessions that this process holds. */
static inline struct pairs pairs_held(size_t first, size_t count)
{
    return (struct pairs){.first = first, .count = count, .has = {run.holds[ROLE_CLIENT], run.holds[ROLE_SERVER]}};
}

/* wire.c: a session is known by its end of a pair's wire. */
void wires_open(size_t sessions);
struct wire *wire_end(size_t pair, enum role role);
void wire_session_set(struct wire *end, void *session);
void *wire_session(struct wire *end);
void wire_context_set(struct wire *end, void *context); /* where sessions have contexts of their own */
void *wire_context(struct wire *end);
size_t wire_pair(struct wire *end);
bool wire_unread(struct wire *end);  /* something arrived that was not read */
bool wire_retried(struct wire *end); /* its session's handshake began with a HelloRetryRequest, of either wire */
void wires_reset(struct pairs);      /* as new: nothing in flight, no sessions */
uint64_t wires_sent(enum role);      /* bytes that sessions of a role have written here since the start */
uint64_t wires_bytes(void);          /* memory that bytes in flight take, outside of this process's RSS */

/* wire_mapped.c: the same in memory of this process, for timed scenarios; each end is one thread's. */
extern bool wires_mapped;
void wire_mapped_open(struct wire *ends[2], size_t room); /* by role; `room` bytes each way */
bool wire_mapped_unread(const struct wire *end);          /* something arrived that was not read */
void wire_mapped_begin(struct wire *end);                 /* another session has it now */
struct traffic {
    uint64_t writes, reads, written, read;     /* calls that moved something, and the bytes */
} wire_mapped_traffic(const struct wire *end); /* of this end since it was opened */
size_t wire_mapped_write(struct wire *, const void *, size_t);
size_t wire_mapped_read(struct wire *, void *, size_t);
bool wire_mapped_retried(const struct wire *end);

/* hello_retry.c: of a complete session's handshake. Dies where a HelloRetryRequest is missing, or is not asked for. */
void retry_agrees(size_t pair, enum role role, struct wire *end);
bool handshakes_retried(void); /* all that agreed */

/* frames.c: every call of a driver goes through a function that names its role, so that a call stack alone tells it. */
struct frames {
    void *(*context_new)(const struct suite *, size_t pair);
    void *(*session_new)(void *context, struct wire *, size_t pair);
    bool (*handshake)(void *session, size_t pair);
    size_t (*write)(void *session, size_t pair, const void *, size_t);
    size_t (*read)(void *session, size_t pair, void *, size_t);
    void (*release)(void *session, size_t pair);
    void (*session_free)(void *session, size_t pair);
    void (*context_free)(void *context);
};
extern const struct frames frames[2]; /* by role */
void harness_negotiated(void *session, struct negotiated *result);
void client_resume(void *session, void *from, size_t pair);
void server_name_add(void *context, const char *server_name, const struct suite *, size_t pair);
void frames_are_earlier(bool); /* from now on what the driver allocates is the contexts': see resumed.c */
void harness_seal(void *sealer, unsigned char *bytes, size_t size);

/* barrier.c: the other process, where there is one. When it ends, this one ends with a sentence. */
bool meet(enum role role, bool value); /* waits until it is here too; the value of the process that holds `role` */
void peer_must_live(void);             /* does not wait */
void peer_must_agree(void);            /* before all other meetings: it was started with the same sessions and so on */

/* threads.c: sessions are visited pair by pair, by the thread whose pair it is, one thread after the other. */
typedef void visit(size_t pair, enum role role, void *with);
void threads_open(void); /* before the first visit; of one thread, which is the main one, none is made */
void each(struct pairs, visit *, void *with);
void each_elsewhere(struct pairs, visit *, void *with); /* by the thread after it */
void on_every_thread(void (*call)(void));               /* the main one last */

/* lockstep.c: what is done to the sessions of `pairs` that are here. */
void sessions_new(void *contexts[2], struct pairs); /* with resume=on each of them is about to be resumed */
visit pair_session_new;
void handshake(struct pairs, void (*begin)(const char *phase), void (*end)(void));
void established(struct pairs);
void payload(enum role from, struct pairs, size_t size); /* at most RECORD_BYTES, from each */
void wait_in_read(struct pairs);
void sessions_release(struct pairs);
void sessions_free(struct pairs);
void sessions_verify(struct pairs, struct negotiated result[2]); /* dies at the first difference from the suite */
/* The same of one session, but for whether it was resumed, which result says. */
void session_agrees(size_t pair, enum role role, void *session, struct negotiated *result);

/* resumed.c */
void sessions_new_resumed(void *contexts[2], struct pairs);

/* tickets.c: those that clients received, where the driver tells. */
uint64_t tickets_received(void); /* since tickets_begin, but for those left out */
void tickets_begin(void);
void tickets_leave_out(uint64_t before); /* what came since there were so many */
void tickets_verify(size_t clients);     /* dies unless so many received as many as the suite asks for */

/* meter.c */
struct reading {
    uint64_t rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
    uint64_t peak_rss_bytes;             /* since meter_reset; no less than what is resident now */
    uint64_t minor_faults, major_faults; /* since the start */
    uint64_t phase_minor_faults, phase_major_faults;
    uint64_t vm_data_bytes;
    bool rollup; /* smaps_rollup could be read: */
    uint64_t rollup_rss_bytes, rollup_anon_bytes, huge_bytes;
};
void meter_open(void);
void meter_reset(const char *phase); /* a phase begins: peaks start again, in the heap meter too */
void meter_read(struct reading *);
void meter_trim(void);              /* the allocator gives back what it can */
void meter_mark(const char *phase); /* a call that profilers see, at its end */

/* meter.c's view of libheapmeter.so; functions are NULL when it is not preloaded. */
struct heapmeter_page;
struct heapmeter {
    void (*role)(int role, uint32_t pair);
    void (*phase)(const char *name);
    const struct heapmeter_page *(*page)(void);
};
extern struct heapmeter heapmeter;

/* books.c: what the allocators say of themselves, in RSS runs. */
void books_open(void);  /* dies when the books of the one that malloc is do not see malloc */
void books_print(void); /* their part of a phase line; to be called when the RSS has been read */

/* allocations.c: those that got no memory, of the harness or, under the heap meter, of the process. */
uint64_t allocations_failed(void);
void allocations_must_succeed(void); /* before anything is said to be measured, or to be lacking */

/* record.c: NDJSON on stdout, as docs/reference/records.md has it. */
void note(const char *sentence); /* goes into the run line */
void record_open(void);
void record_run(void);
void record_phase(const char *phase, const struct reading *);
void record_unsupported(const char *reason);
_Noreturn void unsupported(const char *reason); /* says so, and ends the run with exit 77 */
/* Between these two calls what a driver dies of is a refusal: the stack cannot do this. `what` names it. */
void refusals_begin(const char *what);
void refusals_end(void);
void record_end(const struct negotiated result[2]); /* NULL: ended before the sessions were complete */

/* phases.c: of the scenarios of memory. With until= the run ends at the end of that phase; what the sessions negotiated
 * is then asked of `verified`, which may answer NULL: they are not complete. */
void phases_open(const struct negotiated *(*verified)(void));
void phase_begin(const char *name);
void phase_end(void);
void phases_close(const struct negotiated result[2]); /* the last phase has ended */

/* names.c: the names that a server serves, from 0 to run.contexts.names. */
void names_open(void);
const char *name_of(size_t name); /* until the next call */

/* contexts.c: by role, of those that are here, once a pair of each thread was used and verified and is gone. */
void contexts_open(void *contexts[2], struct negotiated result[2]);
void contexts_free(void *contexts[2]);
/* Each end sends and receives, as much as data= has it, and then waits in a read. */
void sessions_use(struct pairs, void (*begin_phase)(const char *), void (*end_phase)(void));
void unheard(const char *phase); /* of what is no phase */
void unseen(void);

/* clients.c: with client_certs=each, a context for each pair's client. */
void clients_open(void);
void *client_context(size_t pair);
void clients_free(void);
/* Of a server that has verified its client: dies where that is not the certificate of the suite's client_certs. */
void client_verified(size_t pair, const struct negotiated *result);

/* The scenarios. */
void memory(void);
void stall(void);
void churn(void);
void many_contexts(void);
void time_handshakes(void);
void time_transfers(void);

#endif
