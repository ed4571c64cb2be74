/* Wires in memory, for timed scenarios: a write is one memcpy into the peer's buffer, a read one out of it. A buffer
 * that was read to its end begins again at its start, so it stays as small in the caches as what is in flight. */
#include "core.h"
#include "hello_retry.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct flow {
    unsigned char *bytes;
    size_t room, written, read; /* written and read: since it was empty */
    struct retry_watch first;   /* bytes of the session */
};

struct mapped {
    struct flow *in, *out;
    struct traffic traffic;
};

bool wires_mapped;

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        die("wire: %zu bytes: %s", size, strerror(errno));
    return memory;
}

void wire_mapped_open(struct wire *ends[2], size_t room)
{
    struct {
        struct mapped end;
        struct flow out;
    } __attribute__((aligned(64))) *pair = map(2 * sizeof *pair); /* no cache line is two threads' */
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++) {
        pair[role].out = (struct flow){.bytes = map(room), .room = room};
        pair[role].end = (struct mapped){.in = &pair[!role].out, .out = &pair[role].out};
        ends[role] = (struct wire *)&pair[role].end;
    }
}

size_t wire_mapped_write(struct wire *wire, const void *bytes, size_t size)
{
    struct mapped *end = (struct mapped *)wire;
    struct flow *out = end->out;
    if (size == 0 || size > out->room - out->written)
        return 0;
    memcpy(out->bytes + out->written, bytes, size);
    out->written += size;
    retry_watch(&out->first, bytes, size);
    end->traffic.writes++;
    end->traffic.written += size;
    return size;
}

size_t wire_mapped_read(struct wire *wire, void *bytes, size_t size)
{
    struct mapped *end = (struct mapped *)wire;
    struct flow *in = end->in;
    if (size > in->written - in->read)
        size = in->written - in->read;
    if (size == 0)
        return 0;
    memcpy(bytes, in->bytes + in->read, size);
    in->read += size;
    if (in->read == in->written)
        in->read = in->written = 0;
    end->traffic.reads++;
    end->traffic.read += size;
    return size;
}

bool wire_mapped_unread(const struct wire *wire)
{
    return ((const struct mapped *)wire)->in->written > 0;
}

void wire_mapped_begin(struct wire *wire)
{
    ((struct mapped *)wire)->out->first = (struct retry_watch){0};
}

/* Of the two flows one is a server's; what a client sends first is no ServerHello. */
bool wire_mapped_retried(const struct wire *wire)
{
    const struct mapped *end = (const struct mapped *)wire;
    return retry_is_seen(&end->in->first) || retry_is_seen(&end->out->first);
}

struct traffic wire_mapped_traffic(const struct wire *wire)
{
    return ((const struct mapped *)wire)->traffic;
}
