/* Libraries that a program loads in a way in which their malloc would not be the meter's. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
    void *(*open)(const char *, int);
    void *(*open_in)(Lmid_t, const char *, int);
} real;

void loader_find(void)
{
    real.open_in = dlsym(RTLD_NEXT, "dlmopen");
    real.open = dlsym(RTLD_NEXT, "dlopen"); /* last: says that both are there */
}

/* RTLD_DEEPBIND has a library look into itself and its libc first, and would have two allocators in one process: what
 * the meter gave, the library would give back to the other one. */
static int without_deepbind(int mode)
{
    if (mode & RTLD_DEEPBIND && !(mode & RTLD_NOLOAD))
        page_note_library(LIBRARY_DEEPBIND);
    return mode & ~RTLD_DEEPBIND;
}

/* Both must end in a jump, as the Makefile's flags have it: the real ones search where their caller says, whom they
 * know by the address that they return to. */
EXPORT void *dlopen(const char *file, int mode)
{
    if (!real.open)
        loader_find();
    return real.open(file, without_deepbind(mode));
}

/* Another namespace has a libc of its own, and its allocator with it. */
EXPORT void *dlmopen(Lmid_t namespace, const char *file, int mode)
{
    if (!real.open)
        loader_find();
    if (namespace == LM_ID_BASE)
        mode = without_deepbind(mode);
    else if (!(mode & RTLD_NOLOAD))
        page_note_library(LIBRARY_NAMESPACE);
    return real.open_in(namespace, file, mode);
}
