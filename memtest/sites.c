/* The sites of a sites run, as docs/reference/records.md has them: lines of call stacks, a phase's live blocks, and the
 * blocks that it allocated and freed. */
#define _GNU_SOURCE
#include "sites.h"
#include "core.h"
#include "heapmeter.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool (*begin)(uint32_t pairs, uint32_t pair, int (*unwinder)(void **, int));
static const struct heapmeter_sites *(*read)(void);
static int (*unwinder)(void **, int);
static const struct heapmeter_sites *sites; /* NULL until they are kept */
static uint32_t numbers[HEAPMETER_SITES];   /* of stacks that were printed, from 1 */
static uint32_t stack_count;

bool sites_wanted(void)
{
    const char *value = getenv("HEAPMETER_SITES");
    return value && !strcmp(value, "1");
}

void sites_open(void)
{
    void *frames[HEAPMETER_FRAMES];
    if (!sites_wanted())
        return;
    begin = dlsym(RTLD_DEFAULT, "heapmeter_sites_begin");
    read = dlsym(RTLD_DEFAULT, "heapmeter_sites_read");
    if (!begin || !read)
        die("HEAPMETER_SITES=1 needs libheapmeter.so in LD_PRELOAD");
    void *library = dlopen("libunwind.so.8", RTLD_NOW);
    unwinder = library ? dlsym(library, "unw_backtrace") : NULL;
    if (!unwinder)
        die("HEAPMETER_SITES=1 needs libunwind.so.8 (Debian: apt install libunwind8)");
    unwinder(frames, HEAPMETER_FRAMES); /* what it takes once, it takes here */
}

/* The middle of the last window, so that every phase is one of this pair's own. Others of that window are painted, for
 * unwinding would write the stack of this one. */
static void sites_begin(void)
{
    size_t pairs = run.sessions / 2, first = pairs - run.memory.window, pair = first + run.memory.window / 2;
    errno = EOVERFLOW;
    if (pairs <= UINT32_MAX && begin(pairs, pair, unwinder)) {
        paint_begin(first, run.memory.window, pair);
        return;
    }
    if (errno == ENOSYS)
        die("HEAPMETER_SITES=1 needs glibc 2.35 or later, for _dl_find_object");
    die("sites: cannot map the tables of %zu pairs: %s", pairs, strerror(errno));
}

/* MODULE+0xOFFSET; the offset is the address as the module's ELF file has it. */
static void frame(void *address)
{
    struct dl_find_object found;
    bool known = _dl_find_object((char *)address - 1, &found) == 0; /* a call may be its function's last instruction */
    const struct link_map *module = known ? found.dlfo_link_map : NULL;
    putchar('"');
    for (const char *c = !module ? "?" : *module->l_name ? module->l_name : program_invocation_name; *c; c++)
        printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    printf("+0x%" PRIxPTR "\"", (uintptr_t)address - (module ? module->l_addr : 0));
}

static bool ended[HEAPMETER_PHASES]; /* a phase that comes again has earlier blocks too, which are not told apart */

/* Those that the phase which ends has allocated and freed. */
static uint64_t temporary_blocks(const struct heapmeter_site *site)
{
    uint32_t phase = heapmeter.page()->phase;
    return site->phase == phase && !ended[phase] ? site->allocated_blocks - site->blocks : 0;
}

static const char *role_of(const struct heapmeter_site *site)
{
    static const char *const names[] = {
        [HEAP_CLIENT] = "client",
        [HEAP_SERVER] = "server",
        [HEAP_CLIENT_CONTEXT] = "client context",
        [HEAP_SERVER_CONTEXT] = "server context",
    };
    return names[site->role];
}

static void amount(const struct heapmeter_site *site, uint64_t blocks, uint64_t bytes)
{
    printf(",\"stack\":%" PRIu32, numbers[site->stack] - 1);
    printf(",\"blocks\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", blocks, bytes);
}

static bool is_printed(const struct heapmeter_site *site)
{
    return site->blocks || site->peak_blocks || temporary_blocks(site);
}

static void stack(const struct heapmeter_site *site)
{
    numbers[site->stack] = ++stack_count;
    printf("{\"record\":\"stack\",\"stack\":%" PRIu32 ",\"frames\":[", stack_count - 1);
    for (int i = 0; i < site->depth; i++) {
        printf("%s", i ? "," : "");
        frame(site->frames[i]);
    }
    puts("]}");
}

/* What the warm-up left in the first phase is no pair's, so pairs are counted from its end on. */
void sites_stacks(void)
{
    if (!unwinder)
        return;
    if (!sites)
        sites_begin();
    sites = read();
    if (sites->full)
        die("sites: one pair has blocks from more than %d places", HEAPMETER_SITES);
    for (uint32_t i = 0; i < sites->count; i++)
        if (is_printed(&sites->list[i]) && !numbers[sites->list[i].stack])
            stack(&sites->list[i]);
}

/* At the end of the phase, or at the peak of each session in it. */
static void list_live(bool peak)
{
    const char *comma = "";
    printf(",\"%s\":[", peak ? "peak" : "live");
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct heapmeter_site *site = &sites->list[i];
        uint64_t blocks = peak ? site->peak_blocks : site->blocks;
        if (!blocks)
            continue;
        printf("%s{\"role\":\"%s\"", comma, role_of(site));
        printf(",\"since\":\"%s\"", heapmeter.page()->phases[site->phase]);
        amount(site, blocks, peak ? site->peak_bytes : site->bytes);
        comma = ",";
    }
    putchar(']');
}

static void list_peaks(void)
{
    list_live(true);
    printf(",\"peak_bytes\":{\"client\":%" PRIu64, sites->peak_bytes[ROLE_CLIENT]);
    printf(",\"server\":%" PRIu64 "}", sites->peak_bytes[ROLE_SERVER]);
}

static void list_temporary(void)
{
    const char *comma = "";
    printf(",\"temporary\":[");
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct heapmeter_site *site = &sites->list[i];
        if (!temporary_blocks(site))
            continue;
        printf("%s{\"role\":\"%s\"", comma, role_of(site));
        amount(site, temporary_blocks(site), site->allocated_bytes - site->bytes);
        comma = ",";
    }
    putchar(']');
}

static void deepest(const char *key, enum role role)
{
    uint64_t bytes = paint_deepest(role);
    printf(bytes ? "%s%" PRIu64 : "%snull", key, bytes);
}

void sites_record(void)
{
    if (!sites)
        return;
    printf(",\"sites\":{\"pair\":%" PRIu32 ",\"pairs\":%" PRIu32, sites->pair, sites->pairs);
    printf(",\"alike\":%" PRIu32 ",\"identical\":%" PRIu32, sites->alike, sites->identical);
    list_live(false);
    list_peaks();
    uint32_t phase = heapmeter.page()->phase;
    if (!ended[phase])
        list_temporary();
    ended[phase] = true;
    deepest(",\"stack_bytes\":{\"client\":", ROLE_CLIENT);
    deepest(",\"server\":", ROLE_SERVER);
    printf("}}");
}
