/* A process that runs, from /proc/PID: its mappings, which of their pages are resident, and what lies on those. */
#define _GNU_SOURCE
#include "heapwalk.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static FILE *proc_file(pid_t pid, const char *name)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return fopen(path, "re");
}

static bool has_prefix(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static bool status_read(struct process *process)
{
    FILE *file = proc_file(process->pid, "status");
    char line[256];
    bool found = false;
    while (file && fgets(line, sizeof line, file)) {
        uint64_t kib;
        if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1) {
            process->rss_anon_bytes = kib * 1024;
            found = true; /* a process that has ended has no such line */
        } else if (sscanf(line, "VmSwap: %" SCNu64, &kib) == 1) {
            process->swap_bytes = kib * 1024;
        }
    }
    if (file)
        fclose(file);
    return found;
}

static enum mapping_kind kind_of(const char *name, uint64_t inode)
{
    if (!strcmp(name, "[heap]"))
        return MAPPING_HEAP;
    if (has_prefix(name, "[stack"))
        return MAPPING_STACK;
    return inode ? MAPPING_FILE : MAPPING_OTHER;
}

static bool mappings_read(struct process *process)
{
    FILE *file = proc_file(process->pid, "smaps");
    char *line = NULL;
    size_t room = 0;
    if (!file)
        return false;
    while (getline(&line, &room, file) > 0) {
        uint64_t begin, end, inode, kib;
        char rights[5];
        int name_at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64 " %n", &begin, &end, rights, &inode,
                   &name_at) == 4) {
            line[strcspn(line, "\n")] = 0;
            const char *name = name_at ? line + name_at : "";
            process_add(process, (struct mapping){.at = {begin, end},
                                                  .kind = kind_of(name, inode),
                                                  .writable = rights[1] == 'w',
                                                  .name = name,
                                                  .inode = inode});
        } else if (process->count && sscanf(line, "Anonymous: %" SCNu64, &kib) == 1) {
            process->mappings[process->count - 1].anonymous_bytes = kib * 1024;
        }
    }
    free(line);
    bool complete = !ferror(file) && process->count;
    fclose(file);
    return complete;
}

/* Marks the mapping in which a thread's stack pointer is: /proc/PID/task/TID/syscall ends with that and the next
 * instruction while the thread waits. False while it runs. */
static bool stack_mark(struct process *process, const char *thread)
{
    char name[280], line[256] = "";
    snprintf(name, sizeof name, "task/%s/syscall", thread);
    FILE *file = proc_file(process->pid, name);
    if (!file)
        return true;
    char *got = fgets(line, sizeof line, file);
    fclose(file);
    char *last = got ? strrchr(line, ' ') : NULL;
    if (!last)
        return false;
    *last = 0;
    char *before = strrchr(line, ' ');
    uint64_t pointer = before ? strtoull(before + 1, NULL, 16) : 0;
    for (size_t i = 0; i < process->count; i++) {
        struct mapping *mapping = &process->mappings[i];
        if (mapping->at.begin <= pointer && pointer < mapping->at.end && mapping->kind == MAPPING_OTHER)
            mapping->kind = MAPPING_STACK;
    }
    return true;
}

enum { STACK_TRIES = 5, STACK_PAUSE_US = 50 }; /* a thread may be about to wait */

static void stacks_mark(struct process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        for (int tries = 0; entry->d_name[0] != '.' && !stack_mark(process, entry->d_name) && ++tries < STACK_TRIES;)
            usleep(STACK_PAUSE_US);
    if (folder)
        closedir(folder);
}

/* Runtimes without a C library, as Go's, have stacks in heaps of their own. */
static bool has_threads(const struct process *process)
{
    for (size_t i = 0; i < process->count; i++)
        if (strstr(process->mappings[i].name, "/libc.so") || strstr(process->mappings[i].name, "/libc-2.") ||
            strstr(process->mappings[i].name, "/ld-musl"))
            return true;
    return false;
}

/* The kernel's page of zeros is present in a mapping that was read before it was written, and is no page of the
 * process's own. Linux 6.7 and later says where: linux/fs.h of those has this request. */
struct scan {
    uint64_t size, flags, start, end, walk_end, found, room, pages_most;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct scanned {
    uint64_t begin, end, categories;
};
#define SCAN_PAGES _IOWR('f', 16, struct scan)
#define IS_ZERO_PAGE (UINT64_C(1) << 5)

/* False where the kernel does not know the request. */
static bool zeros_clear(const struct process *process, struct range at, uint8_t *flags)
{
    static struct scanned found[1024];
    uint64_t start = at.begin;
    while (start < at.end) {
        struct scan scan = {.size = sizeof scan,
                            .start = start,
                            .end = at.end,
                            .found = (uintptr_t)found,
                            .room = sizeof found / sizeof *found,
                            .category_mask = IS_ZERO_PAGE,
                            .return_mask = IS_ZERO_PAGE};
        int count = ioctl(process->pagemap, SCAN_PAGES, &scan);
        if (count < 0)
            return false;
        for (int i = 0; i < count; i++)
            for (uint64_t page = found[i].begin; page < found[i].end; page += PAGE_BYTES)
                flags[(page - at.begin) / PAGE_BYTES] &= ~PAGE_RESIDENT;
        if (scan.walk_end <= start)
            break;
        start = scan.walk_end;
    }
    return true;
}

#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_FILE (UINT64_C(1) << 61) /* or shared */

#define ENTRY_FRAME ((UINT64_C(1) << 55) - 1) /* 0 for all but root */

static uint8_t flags_of(uint64_t entry)
{
    uint8_t flags = entry & (ENTRY_PRESENT | ENTRY_SWAPPED) ? PAGE_WRITTEN : 0;
    return flags | ((entry & (ENTRY_PRESENT | ENTRY_FILE)) == ENTRY_PRESENT ? PAGE_RESIDENT : 0);
}

/* The frame of the kernel's page of zeros, from a page of our own that is read and never written; 0: not told. */
static uint64_t zero_frame(void)
{
    static uint64_t frame = 1;
    if (frame != 1)
        return frame;
    volatile char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry = 0;
    if (page != MAP_FAILED && !*page && pread(pagemap, &entry, 8, (uintptr_t)page / PAGE_BYTES * 8) != 8)
        entry = 0;
    if (pagemap >= 0)
        close(pagemap);
    return frame = entry & ENTRY_FRAME;
}

static bool flags_read(const struct process *process, struct range at, uint8_t *flags)
{
    static uint64_t entries[8192];
    size_t count = (at.end - at.begin) / PAGE_BYTES;
    uint64_t zero = zero_frame();
    for (size_t done = 0; done < count;) {
        size_t wanted = count - done < 8192 ? count - done : 8192;
        ssize_t got = pread(process->pagemap, entries, wanted * 8, (at.begin / PAGE_BYTES + done) * 8);
        if (got <= 0)
            return false;
        for (size_t i = 0; i < (size_t)got / 8; i++)
            flags[done + i] = flags_of(entries[i]) & (zero && (entries[i] & ENTRY_FRAME) == zero ? ~PAGE_RESIDENT : ~0);
        done += got / 8;
    }
    zeros_clear(process, at, flags);
    return true;
}

static bool page_is_there(const struct process *process, uint64_t address)
{
    uint64_t entry;
    return pread(process->pagemap, &entry, 8, address / PAGE_BYTES * 8) == 8 && flags_of(entry) & PAGE_WRITTEN;
}

#define ENTRY_EXCLUSIVE (UINT64_C(1) << 56) /* no other process has it */

enum { COPY_TRIES = 10 };

/* Copies what pages have from `address` on, of which there is an entry each. */
static bool pages_copy(const struct process *process, const uint64_t *entries, uint64_t address, char *to, size_t size)
{
    for (size_t done = 0, part; done < size; done += part) {
        const uint64_t *entry = entries + (address % PAGE_BYTES + done) / PAGE_BYTES;
        const bool is_there = flags_of(*entry) & PAGE_WRITTEN;
        part = PAGE_BYTES - (address + done) % PAGE_BYTES;
        while (part < size - done && (flags_of(*++entry) & PAGE_WRITTEN ? is_there : !is_there))
            part += PAGE_BYTES;
        part = part < size - done ? part : size - done;
        if (!is_there)
            memset(to + done, 0, part);
        else if (pread(process->memory, to + done, part, (off_t)(address + done)) != (ssize_t)part)
            return false;
    }
    return true;
}

/* process_vm_readv takes less time, but gives the process its own copy of each page that it shares since a fork, and
 * goes by a number that may be another process's by now. The open pagemap, which is of this process alone, told both
 * just before. */
static bool copy_once(const struct process *process, uint64_t address, char *to, size_t size, bool *has_ended)
{
    const uint64_t first = address / PAGE_BYTES, wanted = ENTRY_PRESENT | ENTRY_EXCLUSIVE;
    const size_t count = (address + size - 1) / PAGE_BYTES - first + 1;
    uint64_t entries[COPY_PAGES_MOST + 1], all = wanted;
    *has_ended = pread(process->pagemap, entries, count * 8, first * 8) != (ssize_t)count * 8;
    if (*has_ended)
        return false;
    for (size_t i = 0; i < count; i++)
        all &= entries[i];
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};
    return (all == wanted && process_vm_readv(process->pid, &here, 1, &there, 1, 0) == (ssize_t)size) ||
           pages_copy(process, entries, address, to, size);
}

/* Pages may go while they are read. */
static bool memory_copy(const struct process *process, uint64_t address, void *to, size_t size)
{
    bool is_copied = false, has_ended = false;
    for (int tries = 0; tries < COPY_TRIES && !is_copied && !has_ended; tries++)
        is_copied = copy_once(process, address, to, size, &has_ended);
    return is_copied;
}

/* The file that is mapped there, and not another one that has taken its place since. */
static int file_open(const struct process *process, const struct mapping *mapping)
{
    char path[4200];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/root%s", process->pid, mapping->name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && !fstat(file, &status) && status.st_ino == mapping->inode)
        return file;
    if (file >= 0)
        close(file);
    snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", process->pid, (unsigned long)mapping->at.begin,
             (unsigned long)mapping->at.end);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The kernel names it. */
static void heap_keep(struct process *process, uint64_t top)
{
    (void)process, (void)top;
}

static const struct source running = {.read_status = status_read,
                                      .read_flags = flags_read,
                                      .has_page = page_is_there,
                                      .copy = memory_copy,
                                      .open_file = file_open,
                                      .mark_heap = heap_keep};

bool running_open(struct process *process, pid_t pid)
{
    char path[64];
    unsigned char head[EI_NIDENT] = {0};
    *process = (struct process){.source = &running, .pid = pid, .pagemap = -1, .memory = -1, .owns_memory = true};
    process_forget();
    if (sysconf(_SC_PAGESIZE) != PAGE_BYTES) {
        process->refusal = "pages of this machine are not 4,096 bytes";
        return false;
    }
    if (!status_read(process)) {
        process->refusal = "it has ended, or is the kernel's";
        return false;
    }
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    process->pagemap = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    if (process->pagemap >= 0)
        process->memory = open(path, O_RDONLY | O_CLOEXEC);
    if (process->memory < 0 || !mappings_read(process)) {
        bool is_refused = errno == EACCES || errno == EPERM;
        process->refusal = is_refused ? "only its user and root may read its memory" : "it has ended";
        process_close(process);
        return false;
    }
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    int program = open(path, O_RDONLY | O_CLOEXEC);
    process->is_32_bit =
        program >= 0 && read(program, head, sizeof head) == sizeof head && head[EI_CLASS] == ELFCLASS32;
    if (program >= 0)
        close(program);
    if (has_threads(process))
        stacks_mark(process);
    return true;
}
