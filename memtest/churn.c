/* Scenario `churn`: sessions come and go over waves, at N of them open. What is live, and what is resident, when all
 * are open and when a wave has ended. The contexts stay, and with them all that a library keeps of sessions gone. */
#include "churn.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STRAGGLERS_OF = 100, /* one pair of so many stays when its wave ends */
    STAY_WAVES = 3,      /* and through the ends of so many waves, its own among them */
    LIFETIME_WAVES = 4,  /* of lifetimes the mean: so many parts of all sessions, one of them ends with a wave */
};

const char *const churn_patterns[] = {"waves", "sawtooth", "lifetimes", NULL};

static void *contexts[2];
static struct negotiated result[2];
static size_t wave, opened; /* opened: pairs, in all waves so far */
static bool *stays; /* by pair: it is open when a wave has ended. Outside of the heap, and resident from the start on */
static uint64_t random_state;

static size_t pair_count(void)
{
    return run.sessions / 2;
}

static struct pairs all_pairs(void)
{
    return pairs_held(0, pair_count());
}

static bool ends(size_t pair)
{
    return !stays[pair];
}

/* Those that a wave opens, for none is there; once it is chosen, those that end with it. */
static struct pairs ending_pairs(void)
{
    struct pairs pairs = all_pairs();
    pairs.has_pair = ends;
    return pairs;
}

/* SplitMix64: the same numbers in every language. */
static uint64_t random_next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t straggler_count(void)
{
    return pair_count() < STRAGGLERS_OF ? 1 : pair_count() / STRAGGLERS_OF;
}

/* Evenly apart, so that they pin as many pages as they can; each wave has the next ones. */
static bool straggles(size_t pair, size_t of_wave)
{
    const size_t apart = pair_count() / straggler_count();
    return of_wave > 0 && pair % apart == of_wave % apart && pair / apart < straggler_count();
}

static bool stays_as_straggler(size_t pair)
{
    for (size_t back = 0; back < STAY_WAVES; back++)
        if (wave >= back && straggles(pair, wave - back))
            return true;
    return false;
}

static size_t ending_count(void)
{
    return pair_count() < LIFETIME_WAVES ? 1 : pair_count() / LIFETIME_WAVES;
}

/* Just as many each time, each pair as likely as any other (selection sampling). */
static void choose_at_random(void)
{
    size_t wanted = ending_count();
    for (size_t pair = 0; pair < pair_count(); pair++) {
        stays[pair] = random_next() % (pair_count() - pair) >= wanted;
        wanted -= !stays[pair];
    }
}

/* Which sessions end with this wave: in waves all of them. */
static void choose(void)
{
    for (size_t pair = 0; run.churn.pattern == PATTERN_SAWTOOTH && pair < pair_count(); pair++)
        stays[pair] = stays_as_straggler(pair);
    if (run.churn.pattern == PATTERN_LIFETIMES)
        choose_at_random();
}

/* From `first` on, as far as there are pairs of the window in it. */
static struct pairs window_from(size_t first)
{
    struct pairs window = ending_pairs();
    window.first = first;
    window.count = 0;
    for (size_t open = 0; first + window.count < pair_count() && open < run.memory.window; window.count++)
        open += ends(first + window.count);
    return window;
}

static void open_wave(void)
{
    struct pairs window = {0};
    for (size_t first = 0; first < pair_count(); first = window.first + window.count) {
        window = window_from(first);
        sessions_new(contexts, window);
        handshake(window, unheard, unseen);
        established(window);
    }
    sessions_use(all_pairs(), unheard, unseen); /* those that stayed, too: they still carry data */
}

static void close_wave(void)
{
    sessions_free(ending_pairs());
    wires_reset(ending_pairs()); /* the other process, where there is one, has read what it had to */
    if (run.churn.trim)
        meter_trim();
}

static void one_wave(void)
{
    phase_begin("open");
    open_wave();
    phase_end();
    sessions_verify(ending_pairs(), result); /* all that it opened */
    for (size_t pair = 0; pair < pair_count(); pair++)
        opened += ends(pair);
    tickets_verify(opened);
    choose();
    phase_begin("closed");
    close_wave();
    phase_end();
}

static void open_contexts(void)
{
    const size_t size = pair_count() * sizeof *stays;
    stays = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (stays == MAP_FAILED)
        die("churn: cannot map %zu bytes: %s", size, strerror(errno));
    random_state = run.churn.seed;
    phase_begin("contexts");
    contexts_open(contexts, result);
    meter_trim();
    phase_end();
}

/* All that stayed are closed, and the contexts freed. */
static void close_all(void)
{
    struct pairs rest = all_pairs();
    wave = 0;
    for (size_t pair = 0; pair < pair_count(); pair++)
        stays[pair] = !stays[pair];
    rest.has_pair = ends;
    phase_begin("drained");
    sessions_free(rest);
    phase_end();
    phase_begin("trimmed");
    meter_trim();
    phase_end();
    phase_begin("freed");
    contexts_free(contexts);
    phase_end();
}

static const struct negotiated *verified(void)
{
    return result;
}

size_t churn_wave(void)
{
    return wave;
}

void churn(void)
{
    phases_open(verified);
    open_contexts();
    for (wave = 1; wave <= run.churn.waves; wave++)
        one_wave();
    close_all();
    phases_close(result);
}
