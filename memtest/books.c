/* What the allocators say of themselves: the books of the one that malloc is, and of one that the stack brings along.
 * Read in RSS runs, after the RSS figures; all that reading may allocate is there before the first phase begins. */
#define _GNU_SOURCE
#include "core.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FIGURES 8
#define COUNT(array) (sizeof(array) / sizeof *(array))

struct figure {
    const char *name; /* the allocator's own; NULL after the last */
    uint64_t bytes;
};

struct allocator {
    const char *name;
    const char *entry; /* its function that tells; where that lies tells whose malloc is */
    void (*read)(void *entry, struct figure *figures);
    const char *live[2]; /* the figures that together are what it has handed out; none when it does not tell */
};

static void glibc(void *entry, struct figure *figures)
{
    struct mallinfo2 (*mallinfo)(void) = entry;
    struct mallinfo2 it = mallinfo();
    *figures++ = (struct figure){"arena", it.arena};
    *figures++ = (struct figure){"hblkhd", it.hblkhd};
    *figures++ = (struct figure){"uordblks", it.uordblks};
    *figures++ = (struct figure){"fordblks", it.fordblks};
    *figures++ = (struct figure){"keepcost", it.keepcost};
}

static void jemalloc(void *entry, struct figure *figures)
{
    static const char *const names[] = {"stats.allocated", "stats.active", "stats.metadata",
                                        "stats.resident",  "stats.mapped", "stats.retained"};
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) = entry;
    uint64_t epoch = 1; /* any write of it brings the figures up to date */
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t bytes, size = sizeof bytes;
        if (mallctl(names[i], &bytes, &size, NULL, 0) == 0)
            *figures++ = (struct figure){names[i] + strlen("stats."), bytes};
    }
}

static void tcmalloc(void *entry, struct figure *figures)
{
    static const struct {
        const char *name, *property;
    } known[] = {
        {"current_allocated", "generic.current_allocated_bytes"},
        {"heap_size", "generic.heap_size"},
        {"pageheap_free", "tcmalloc.pageheap_free_bytes"},
        {"pageheap_unmapped", "tcmalloc.pageheap_unmapped_bytes"},
        {"thread_cache", "tcmalloc.current_total_thread_cache_bytes"},
        {"central_cache", "tcmalloc.central_cache_free_bytes"},
        {"transfer_cache", "tcmalloc.transfer_cache_free_bytes"},
    };
    int (*property)(const char *, size_t *) = entry;
    size_t bytes;
    for (size_t i = 0; i < COUNT(known); i++)
        if (property(known[i].property, &bytes))
            *figures++ = (struct figure){known[i].name, bytes};
}

static void mimalloc(void *entry, struct figure *figures)
{
    void (*info)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *) = entry;
    size_t unused, committed, peak;
    info(&unused, &unused, &unused, &unused, &unused, &committed, &peak, &unused);
    *figures++ = (struct figure){"committed", committed};
    *figures++ = (struct figure){"peak_committed", peak};
}

/* glibc last: others may have its functions, too. */
static const struct allocator known[] = {
    {"jemalloc", "mallctl", jemalloc, {"allocated"}},
    {"tcmalloc", "MallocExtension_GetNumericProperty", tcmalloc, {"current_allocated"}},
    {"mimalloc", "mi_process_info", mimalloc, {NULL}},
    {"glibc", "mallinfo2", glibc, {"uordblks", "hblkhd"}},
};
static const struct allocator brought = {"jemalloc-rust", NULL, jemalloc, {"allocated"}};

static struct book {
    const struct allocator *allocator;
    void *entry;
    struct figure figures[MOST_FIGURES];
} books[2];
static size_t book_count;

static void book_read(struct book *book)
{
    memset(book->figures, 0, sizeof book->figures);
    book->allocator->read(book->entry, book->figures);
}

static uint64_t live(struct book *book)
{
    uint64_t bytes = 0;
    book_read(book);
    for (const struct figure *it = book->figures; it->name; it++)
        for (size_t i = 0; i < COUNT(book->allocator->live); i++)
            if (book->allocator->live[i] && !strcmp(it->name, book->allocator->live[i]))
                bytes += it->bytes;
    return bytes;
}

static const char *library(void *address, void **base)
{
    Dl_info info = {0};
    dladdr(address, &info);
    *base = info.dli_fbase;
    return info.dli_fname ? info.dli_fname : "an unknown library";
}

/* The allocator in whose library malloc lies; else what stands before it is taken to call glibc's. */
static struct book *book_of_malloc(void)
{
    void *of_malloc, *of_entry;
    struct book *book = &books[book_count++];
    library(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc);
    for (const struct allocator *it = known; it < known + COUNT(known); it++) {
        *book = (struct book){.allocator = it, .entry = dlsym(RTLD_DEFAULT, it->entry)};
        library(book->entry, &of_entry);
        if (book->entry && of_entry == of_malloc)
            break;
    }
    return book;
}

/* Its pages are never touched, and it is never freed: for such a block freed, glibc raises its threshold of mmap, and
 * all that follows would lie otherwise. */
static void check(struct book *book)
{
    static void *volatile block;
    const size_t size = 1 << 20;
    void *base;
    uint64_t before = live(book);
    if (!book->allocator->live[0])
        return;
    block = malloc(size);
    if (!block || live(book) < before + size)
        die("the books of %s did not see an allocation of 1 MiB: malloc is that of %s, or of a tool that stands before "
            "it (with marks=1, as for profilers, there are no books)",
            book->allocator->name, library(dlsym(RTLD_DEFAULT, "malloc"), &base));
}

void books_open(void)
{
    if (heapmeter.page || run.marks) /* their runs are about other figures, and none of them is to move */
        return;
    check(book_of_malloc());
    if (run.driver->mallctl) {
        struct book *book = &books[book_count++];
        *book = (struct book){.allocator = &brought, .entry = run.driver->mallctl};
        if (live(book) == 0) /* Rust's own start allocates; a block of C's would not be in these books */
            die("the books of jemalloc-rust are empty: it was built without stats, or Rust does not allocate with it");
    }
}

void books_print(void)
{
    if (book_count == 0)
        return;
    printf(",\"allocator\":{");
    for (struct book *book = books; book < books + book_count; book++) {
        book_read(book);
        printf("%s\"%s\":{", book == books ? "" : ",", book->allocator->name);
        for (const struct figure *it = book->figures; it->name; it++)
            printf("%s\"%s_bytes\":%" PRIu64, it == book->figures ? "" : ",", it->name, it->bytes);
        printf("}");
    }
    printf("}");
}
