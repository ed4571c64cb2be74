/* The RSS meter: what the kernel says of this process, read at a phase's end. Descriptors are kept and buffers static;
 * each is used once before the first phase begins, so that no phase grows by its own reading. */
#define _GNU_SOURCE
#include "core.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct heapmeter heapmeter;
static int status_fd = -1, rollup_fd = -1, clear_refs_fd = -1;
static struct rusage phase_began;
static void (*marked)(const char *phase); /* libmarks.so; NULL without it */

/* What this kernel or container refuses is noted, and the rest is measured. */
static void probe(void)
{
    static struct reading first;
    status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (status_fd < 0)
        die("cannot read /proc/self/status: %s", strerror(errno));
    rollup_fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    meter_read(&first);
    if (!first.rollup)
        note("smaps_rollup cannot be read: there are no rollup_... and no huge_bytes");
    clear_refs_fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (clear_refs_fd < 0 || pwrite(clear_refs_fd, "5", 1, 0) != 1) {
        note("clear_refs cannot be written: peak_rss_bytes is the peak since the start, not of the phase");
        clear_refs_fd = -1;
    }
}

void meter_open(void)
{
    heapmeter.role = dlsym(RTLD_DEFAULT, "heapmeter_role");
    heapmeter.phase = dlsym(RTLD_DEFAULT, "heapmeter_phase");
    heapmeter.page = dlsym(RTLD_DEFAULT, "heapmeter_page");
    if (run.marks)
        marked = dlsym(RTLD_DEFAULT, "memtest_marked");
    probe();
    books_open();
}

void meter_reset(const char *phase)
{
    if (heapmeter.phase)
        heapmeter.phase(phase);
    if (clear_refs_fd >= 0 && pwrite(clear_refs_fd, "5", 1, 0) != 1)
        die("cannot write /proc/self/clear_refs: %s", strerror(errno));
    getrusage(RUSAGE_SELF, &phase_began);
}

/* The value of a line "Name:   123 kB", in bytes. */
static uint64_t field(const char *lines, const char *name)
{
    const char *line = strstr(lines, name);
    if (!line)
        die("/proc/self/status or smaps_rollup has no %s", name + 1);
    return strtoull(line + strlen(name), NULL, 10) * 1024;
}

static void read_status(struct reading *reading)
{
    static char status[8192];
    struct rusage usage;
    ssize_t size = pread(status_fd, status, sizeof status - 1, 0);
    if (size <= 0 || getrusage(RUSAGE_SELF, &usage) != 0)
        die("cannot read /proc/self/status: %s", strerror(errno));
    status[size] = 0;
    reading->rss_bytes = field(status, "\nVmRSS:");
    reading->rss_anon_bytes = field(status, "\nRssAnon:");
    reading->rss_file_bytes = field(status, "\nRssFile:");
    reading->rss_shmem_bytes = field(status, "\nRssShmem:");
    reading->vm_data_bytes = field(status, "\nVmData:");
    reading->peak_rss_bytes = field(status, "\nVmHWM:");
    reading->minor_faults = usage.ru_minflt;
    reading->major_faults = usage.ru_majflt;
    reading->phase_minor_faults = usage.ru_minflt - phase_began.ru_minflt;
    reading->phase_major_faults = usage.ru_majflt - phase_began.ru_majflt;
}

/* The same by a walk of the page tables, so exact on any kernel; linear in RSS, about 10 ms per GiB. */
static void read_rollup(struct reading *reading)
{
    static char rollup[4096];
    ssize_t size = rollup_fd < 0 ? -1 : pread(rollup_fd, rollup, sizeof rollup - 1, 0);
    reading->rollup = size > 0;
    if (!reading->rollup)
        return;
    rollup[size] = 0;
    reading->rollup_rss_bytes = field(rollup, "\nRss:");
    reading->rollup_anon_bytes = field(rollup, "\nAnonymous:");
    reading->huge_bytes = field(rollup, "\nAnonHugePages:");
}

/* The high-water mark may lag (per-CPU counters, kernel 6.2), and what is resident now was reached. It counts for more
 * than VmRSS, which lags alike: the kernel never prints a VmHWM below it. */
void meter_read(struct reading *reading)
{
    read_status(reading);
    read_rollup(reading);
    uint64_t now = reading->rollup ? reading->rollup_rss_bytes : reading->rss_bytes;
    if (reading->peak_rss_bytes < now)
        reading->peak_rss_bytes = now;
}

typedef int mallctl(const char *, void *, size_t *, void *, size_t);

static void mallctl_call(mallctl *of_jemalloc, const char *what)
{
    if (of_jemalloc)
        of_jemalloc(what, NULL, NULL, NULL, 0);
}

/* What this thread holds free. Of glibc no call empties a thread's cache. */
static void thread_trim(void)
{
    void (*mi_collect)(bool) = dlsym(RTLD_DEFAULT, "mi_collect");
    void (*tcmalloc_idle)(void) = dlsym(RTLD_DEFAULT, "MallocExtension_MarkThreadIdle");
    mallctl_call(dlsym(RTLD_DEFAULT, "mallctl"), "thread.tcache.flush");
    mallctl_call(run.driver->mallctl, "thread.tcache.flush");
    if (mi_collect)
        mi_collect(true);
    if (tcmalloc_idle)
        tcmalloc_idle();
}

/* Every allocator that is here gives back what it holds free; each is known by its own entry point. */
void meter_trim(void)
{
    void (*tcmalloc_release)(void) = dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory");
    on_every_thread(thread_trim);
    mallctl_call(dlsym(RTLD_DEFAULT, "mallctl"), "arena.4096.purge"); /* 4096: MALLCTL_ARENAS_ALL */
    mallctl_call(run.driver->mallctl, "arena.4096.purge");
    if (tcmalloc_release)
        tcmalloc_release();
    malloc_trim(0);
}

/* Known to profilers by its name and order, never by its size; libmarks.so, when preloaded, hears of it too. */
__attribute__((noinline)) void meter_mark(const char *phase)
{
    void *volatile block = malloc(1);
    free(block);
    if (marked)
        marked(phase);
}
