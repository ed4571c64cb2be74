/* The wires: both directions of every pair in a memfd, reached by pread and pwrite. No page of it is ever mapped, so
 * neither RSS nor its peak contains bytes in flight. A write is [length][bytes] from a page boundary on; the reader
 * punches the hole behind what it has read, so a read wire holds no memory however many there are. */
#define _GNU_SOURCE
#include "core.h"
#include "hello_retry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096
#define STRIDE (64 * PAGE) /* of one direction; a ring */
#define HEADER sizeof(uint32_t)

/* One end of a pair's wire. Kept in a memfd too, like all that grows with N: the harness adds nothing to a session. */
struct end {
    void *session, *context;
    uint32_t read_at, taken; /* where the next unread write starts in the peer's ring; bytes of it already given */
    uint32_t write_at;
    struct retry_watch first; /* that the server sent: its own end watches what it writes, its client's what it reads */
};

static int wires_fd = -1, ends_fd = -1;
static uint64_t sent[2]; /* by role */
static char *ends_base;  /* an end's address is its index from here: reserved, never touched */
static struct {
    size_t index;
    struct end end;
} current = {.index = SIZE_MAX};

static void must(bool done, const char *what)
{
    if (!done)
        die("wire: %s: %s", what, strerror(errno));
}

/* With one role here the wires are those that the peer has too. What they hold is offsets from the file's start and no
 * pointers, so two processes share the file and nothing else: sessions and cursors are each one's own. */
static int wires_file(void)
{
    if (run.wires_fd < 0)
        return memfd_create("memtest-wires", MFD_CLOEXEC);
    if (fcntl(run.wires_fd, F_GET_SEALS) < 0) /* else any file that is open here would lose what it holds */
        die("wires=%d: not a memfd", run.wires_fd);
    return run.wires_fd;
}

void wires_open(size_t sessions)
{
    wires_fd = wires_file();
    ends_fd = memfd_create("memtest-ends", MFD_CLOEXEC);
    must(wires_fd >= 0 && ends_fd >= 0, "memfd_create");
    must(ftruncate(wires_fd, (off_t)sessions * STRIDE) == 0, "a memfd for all wires");
    must(ftruncate(ends_fd, sessions * sizeof(struct end)) == 0, "a memfd for all ends");
    ends_base = mmap(NULL, sessions, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(ends_base != MAP_FAILED, "addresses for all ends");
}

/* The end at `index`, loaded into `current` after the one before it was stored. */
static struct end *load(size_t index)
{
    const size_t size = sizeof current.end;
    if (index == current.index)
        return &current.end;
    if (current.index != SIZE_MAX)
        must(pwrite(ends_fd, &current.end, size, current.index * size) == (ssize_t)size, "cannot store an end");
    must(pread(ends_fd, &current.end, size, index * size) == (ssize_t)size, "cannot load an end");
    current.index = index;
    return &current.end;
}

static size_t index_of(struct wire *end)
{
    return (size_t)((char *)end - ends_base);
}

struct wire *wire_end(size_t pair, enum role role)
{
    return (struct wire *)(ends_base + 2 * pair + role);
}

void wire_session_set(struct wire *end, void *session)
{
    load(index_of(end))->session = session;
}

void *wire_session(struct wire *end)
{
    return load(index_of(end))->session;
}

void wire_context_set(struct wire *end, void *context)
{
    load(index_of(end))->context = context;
}

void *wire_context(struct wire *end)
{
    return load(index_of(end))->context;
}

size_t wire_pair(struct wire *end)
{
    return index_of(end) / 2;
}

static bool is_server(size_t index)
{
    return index % 2 == ROLE_SERVER;
}

bool wire_retried(struct wire *end)
{
    return wires_mapped ? wire_mapped_retried(end) : retry_is_seen(&load(index_of(end))->first);
}

static size_t slot(size_t size)
{
    return (HEADER + size + PAGE - 1) / PAGE * PAGE;
}

/* pread, or pwrite, of `size` bytes at `at` of an end's ring, around its edge. */
static void ring_io(bool writing, size_t index, size_t at, void *bytes, size_t size)
{
    while (size > 0) {
        size_t from = at % STRIDE, part = size < STRIDE - from ? size : STRIDE - from;
        off_t offset = (off_t)index * STRIDE + from;
        ssize_t done = writing ? pwrite(wires_fd, bytes, part, offset) : pread(wires_fd, bytes, part, offset);
        must(done > 0, writing ? "cannot write" : "cannot read");
        bytes = (char *)bytes + done;
        at += done;
        size -= done;
    }
}

/* Whether [at, at + size) of a ring holds no unread page: all of it is a hole. */
static bool ring_is_free(size_t index, size_t at, size_t size)
{
    off_t start = (off_t)index * STRIDE, end = start + STRIDE, from = start + at, to = from + size;
    off_t data = lseek(wires_fd, from, SEEK_DATA);
    bool free_to_edge = data < 0 || data >= (to < end ? to : end);
    if (to <= end || !free_to_edge)
        return free_to_edge;
    data = lseek(wires_fd, start, SEEK_DATA);
    return data < 0 || data >= start + (to - end);
}

static void punch(size_t index, size_t at, size_t size)
{
    size_t to_edge = size < STRIDE - at ? size : STRIDE - at;
    off_t start = (off_t)index * STRIDE;
    int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    must(fallocate(wires_fd, mode, start + at, to_edge) == 0, "cannot punch a hole");
    if (size > to_edge)
        must(fallocate(wires_fd, mode, start, size - to_edge) == 0, "cannot punch a hole");
}

size_t wire_write(struct wire *wire, const void *bytes, size_t size)
{
    if (wires_mapped)
        return wire_mapped_write(wire, bytes, size);
    size_t index = index_of(wire);
    uint32_t length = size;
    if (slot(size) > STRIDE)
        die("wire: one write of %zu bytes, the wire holds %zu", size, STRIDE - HEADER);
    struct end *end = load(index);
    if (size == 0 || !ring_is_free(index, end->write_at, slot(size)))
        return 0;
    ring_io(true, index, end->write_at + HEADER, (void *)bytes, size);
    ring_io(true, index, end->write_at, &length, HEADER); /* last: until then nothing is there */
    end->write_at = (end->write_at + slot(size)) % STRIDE;
    if (is_server(index))
        retry_watch(&end->first, bytes, size);
    sent[index % 2] += size;
    return size;
}

uint64_t wires_sent(enum role role)
{
    return sent[role];
}

size_t wire_read(struct wire *wire, void *bytes, size_t size)
{
    if (wires_mapped)
        return wire_mapped_read(wire, bytes, size);
    size_t peer = index_of(wire) ^ 1;
    struct end *end = load(index_of(wire));
    uint32_t length;
    ring_io(false, peer, end->read_at, &length, HEADER);
    if (length == 0)
        return 0;
    if (size > length - end->taken)
        size = length - end->taken;
    ring_io(false, peer, end->read_at + HEADER + end->taken, bytes, size);
    end->taken += size;
    if (is_server(peer))
        retry_watch(&end->first, bytes, size);
    if (end->taken == length) {
        punch(peer, end->read_at, slot(length));
        end->read_at = (end->read_at + slot(length)) % STRIDE;
        end->taken = 0;
    }
    return size;
}

bool wire_unread(struct wire *wire)
{
    uint32_t length;
    ring_io(false, index_of(wire) ^ 1, load(index_of(wire))->read_at, &length, HEADER);
    return length != 0;
}

void wires_reset(struct pairs pairs)
{
    for (size_t index = 2 * pairs.first; index < 2 * (pairs.first + pairs.count); index++) {
        if (!pairs_have(&pairs, index / 2))
            continue;
        punch(index, 0, STRIDE);
        *load(index) = (struct end){0};
    }
}

uint64_t wires_bytes(void)
{
    struct stat stat;
    must(fstat(wires_fd, &stat) == 0, "fstat");
    return (uint64_t)stat.st_blocks * 512;
}
