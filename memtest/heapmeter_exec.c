/* Which programs a process becomes and starts, so that tls-memtest heap can say which of them ran without the meter: a
 * list in shared memory that it names in HEAPMETER_PROGRAMS. Every exec is noted in it before it happens, and every
 * program that the loader gave the meter notes that it started. Nothing here allocates, and a child of vfork may call
 * it. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PATH_BYTES 512
#define OWN_LIST_BYTES (256 << 10) /* some 3,000 programs */

/* The list: docs/reference/records.md has the layout. */
struct list {
    uint64_t magic, used; /* used: bytes, these 16 among them; more than there are when it was full */
};

struct note {
    uint32_t size; /* bytes, the path and what fills it up to 16 among them; written first */
    uint32_t kind;
    uint32_t pid, flags;
    char path[];
};

static struct list *list;
static uint64_t list_bytes, list_inode;

static struct {
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
                 char *const *);
    int (*spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
                  char *const *);
} real;

static void real_find(void)
{
    if (real.execve)
        return;
    real.execvpe = dlsym(RTLD_NEXT, "execvpe");
    real.fexecve = dlsym(RTLD_NEXT, "fexecve");
    real.execveat = dlsym(RTLD_NEXT, "execveat");
    real.spawn = dlsym(RTLD_NEXT, "posix_spawn");
    real.spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
    real.execve = dlsym(RTLD_NEXT, "execve"); /* last: says that all are there */
}

uint64_t programs_list(void)
{
    return list_inode;
}

bool programs_listed(void)
{
    return list;
}

void programs_note(uint32_t kind, uint32_t pid, uint32_t flags, const char *path)
{
    if (!list)
        return;
    size_t length = strnlen(path, PATH_BYTES - 1);
    uint64_t size = (sizeof(struct note) + length + 1 + 15) & ~(uint64_t)15;
    uint64_t at = __atomic_fetch_add(&list->used, size, __ATOMIC_RELAXED);
    if (at + size > list_bytes)
        return;
    struct note *note = (struct note *)((char *)list + at);
    __atomic_store_n(&note->size, size, __ATOMIC_RELEASE);
    note->pid = pid;
    note->flags = flags;
    memcpy(note->path, path, length);
    __atomic_store_n(&note->kind, kind, __ATOMIC_RELEASE);
}

static void path_of_link(const char *link, char path[PATH_BYTES])
{
    ssize_t length = readlink(link, path, PATH_BYTES - 1);
    path[length < 0 ? 0 : length] = '\0';
}

/* A list of this user's own beside the one at `path`, which is another user's. Whichever program comes first makes it.
 */
static int own_list_open(const char *path)
{
    char own[PATH_BYTES];
    struct stat about;
    snprintf(own, sizeof own, "%s-%u", path, geteuid());
    int fd = open(own, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &about) || !S_ISREG(about.st_mode) || about.st_uid != geteuid() ||
        posix_fallocate(fd, 0, OWN_LIST_BYTES)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Of a new list the head: the same from all that write it at once. */
static void list_begin(struct list *new)
{
    uint64_t unused = 0;
    __atomic_compare_exchange_n(&new->used, &unused, sizeof *new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    __atomic_store_n(&new->magic, HEAPMETER_PROGRAMS_MAGIC, __ATOMIC_RELEASE);
}

void programs_open(void)
{
    const char *path = getenv("HEAPMETER_PROGRAMS");
    struct stat about;
    int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
    bool is_own = fd < 0 && path && errno == EACCES;
    if (is_own)
        fd = own_list_open(path);
    if (fd < 0)
        return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > (off_t)sizeof(struct list)) {
        struct list *shared = mmap(NULL, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (shared != MAP_FAILED && is_own)
            list_begin(shared);
        if (shared != MAP_FAILED && shared->magic == HEAPMETER_PROGRAMS_MAGIC) {
            list_bytes = about.st_size;
            list_inode = about.st_ino;
            list = shared;
        }
    }
    close(fd);
}

void programs_note_start(void)
{
    char path[PATH_BYTES];
    if (!list)
        return;
    path_of_link("/proc/self/exe", path);
    programs_note(HEAPMETER_STARTED, getpid(), 0, path);
}

/* Whether what `name` stands for in the program is another's than the meter's: the program brings its own. A program
 * that is not position-independent and takes the address of malloc, as Debian's Python, has a stub at that address: it
 * leads to the meter, and no symbol of the program is defined there. */
static bool is_foreign(const char *name)
{
    Dl_info meter, found;
    const ElfW(Sym) *symbol = NULL;
    void *address = dlsym(RTLD_DEFAULT, name);
    return address && dladdr((void *)is_foreign, &meter) &&
           dladdr1(address, &found, (void **)&symbol, RTLD_DL_SYMENT) && meter.dli_fbase != found.dli_fbase &&
           found.dli_saddr == address && symbol->st_shndx != SHN_UNDEF;
}

bool malloc_is_foreign(void)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "free"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_foreign(names[i]))
            return true;
    return false;
}

static uint32_t preload_flag(char *const *variables)
{
    for (; variables && *variables; variables++)
        if (!strncmp(*variables, "LD_PRELOAD=", 11) && strstr(*variables, "libheapmeter.so"))
            return HEAPMETER_PRELOADED;
    return 0;
}

/* With its folder, where the path is relative: the reader's is another. A name to search for stays as it is. */
static void exec_note(uint32_t kind, uint32_t pid, const char *path, char *const *variables)
{
    char whole[PATH_BYTES];
    if (!list)
        return;
    if (path[0] != '/' && strchr(path, '/') && getcwd(whole, sizeof whole / 2)) {
        size_t length = strlen(whole);
        snprintf(whole + length, sizeof whole - length, "/%s", path);
        path = whole;
    }
    programs_note(kind, pid, preload_flag(variables), path);
}

/* An exec that came back has failed. */
static int failed(int result)
{
    programs_note(HEAPMETER_EXEC_FAILED, getpid(), 0, "");
    return result;
}

static int exec_noted(const char *path, char *const *words, char *const *variables)
{
    const int before = errno;
    real_find();
    exec_note(HEAPMETER_EXEC, getpid(), path, variables);
    errno = before;
    return failed(real.execve(path, words, variables));
}

static int search_noted(const char *file, char *const *words, char *const *variables)
{
    const int before = errno;
    real_find();
    exec_note(HEAPMETER_EXEC, getpid(), file, variables);
    errno = before;
    return failed(real.execvpe(file, words, variables));
}

EXPORT int execve(const char *path, char *const words[], char *const variables[])
{
    return exec_noted(path, words, variables);
}

EXPORT int execv(const char *path, char *const words[])
{
    return exec_noted(path, words, environ);
}

EXPORT int execvpe(const char *file, char *const words[], char *const variables[])
{
    return search_noted(file, words, variables);
}

EXPORT int execvp(const char *file, char *const words[])
{
    return search_noted(file, words, environ);
}

static void path_of_descriptor(int fd, char path[PATH_BYTES])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    path_of_link(link, path);
}

EXPORT int fexecve(int fd, char *const words[], char *const variables[])
{
    const int before = errno;
    char path[PATH_BYTES];
    real_find();
    path_of_descriptor(fd, path);
    exec_note(HEAPMETER_EXEC, getpid(), path, variables);
    errno = before;
    return failed(real.fexecve(fd, words, variables));
}

EXPORT int execveat(int fd, const char *path, char *const words[], char *const variables[], int flags)
{
    const int before = errno;
    char of_descriptor[PATH_BYTES];
    real_find();
    if (!path[0])
        path_of_descriptor(fd, of_descriptor);
    exec_note(HEAPMETER_EXEC, getpid(), path[0] ? path : of_descriptor, variables);
    errno = before;
    if (!real.execveat) /* before glibc 2.34 */
        return failed(syscall(SYS_execveat, fd, path, words, variables, flags));
    return failed(real.execveat(fd, path, words, variables, flags));
}

/* The words after `first` as an array, in `words`; `variables` are what stands after them, for execle. */
#define GATHER_WORDS(first, words, variables)                                                                          \
    size_t count = 1;                                                                                                  \
    va_list list_of_words;                                                                                             \
    va_start(list_of_words, first);                                                                                    \
    while (va_arg(list_of_words, char *))                                                                              \
        count++;                                                                                                       \
    va_end(list_of_words);                                                                                             \
    char *words[count + 1];                                                                                            \
    words[0] = (char *)first;                                                                                          \
    va_start(list_of_words, first);                                                                                    \
    for (size_t i = 1; i <= count; i++)                                                                                \
        words[i] = va_arg(list_of_words, char *);                                                                      \
    char *const *variables = environ

EXPORT int execl(const char *path, const char *first, ...)
{
    GATHER_WORDS(first, words, variables);
    va_end(list_of_words);
    return exec_noted(path, words, variables);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    GATHER_WORDS(first, words, variables);
    va_end(list_of_words);
    return search_noted(file, words, variables);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    GATHER_WORDS(first, words, variables);
    variables = va_arg(list_of_words, char *const *);
    va_end(list_of_words);
    return exec_noted(path, words, variables);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const words[], char *const variables[])
{
    pid_t child = 0;
    real_find();
    int error = real.spawn(&child, path, actions, attributes, words, variables);
    if (!error)
        exec_note(HEAPMETER_SPAWNED, child, path, variables);
    if (!error && pid)
        *pid = child;
    return error;
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const words[], char *const variables[])
{
    pid_t child = 0;
    real_find();
    int error = real.spawnp(&child, file, actions, attributes, words, variables);
    if (!error)
        exec_note(HEAPMETER_SPAWNED, child, file, variables);
    if (!error && pid)
        *pid = child;
    return error;
}
