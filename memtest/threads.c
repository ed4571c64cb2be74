/* The visit of every pair, each on the thread whose pair it is. Threads take turns and never run at once, so the steps
 * stay in lockstep and what they share needs no lock; what several threads change is whose arena a session comes from.
 */
#include "core.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static sem_t *turns; /* one for each thread, then the main one's; made only where there are threads */

/* What all threads do now, each to its share. */
static struct job {
    struct pairs pairs;
    size_t shift; /* of pairs to threads */
    visit *visit;
    void *with;
    void (*call)(void); /* instead of visits */
} job;

static void visit_pair(size_t pair)
{
    if (!pairs_have(&job.pairs, pair))
        return;
    peer_must_live();
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        if (job.pairs.has[role])
            job.visit(pair, role, job.with);
}

static void share(size_t thread)
{
    for (size_t pair = job.pairs.first; pair < job.pairs.first + job.pairs.count; pair++)
        if ((pair + job.shift) % run.threads == thread)
            visit_pair(pair);
}

static void await(size_t thread)
{
    while (sem_wait(&turns[thread]) != 0)
        ; /* a signal came */
}

static void *worker(void *thread)
{
    for (;;) {
        await((size_t)thread);
        if (job.call)
            job.call();
        else
            share((size_t)thread);
        sem_post(&turns[run.threads]);
    }
    return NULL;
}

void threads_open(void)
{
    if (run.threads == 1)
        return;
    turns = malloc((run.threads + 1) * sizeof *turns);
    if (!turns)
        die("out of memory");
    for (size_t thread = 0; thread <= run.threads; thread++)
        sem_init(&turns[thread], 0, 0);
    for (size_t thread = 0; thread < run.threads; thread++) {
        pthread_t unused;
        int error = pthread_create(&unused, NULL, worker, (void *)thread);
        if (error != 0)
            die("threads=%zu: thread %zu: %s", run.threads, thread + 1, strerror(error));
    }
}

/* Only where there are threads. */
static void take_turns(void)
{
    for (size_t thread = 0; thread < run.threads; thread++) {
        sem_post(&turns[thread]);
        await(run.threads);
    }
}

static void each_shifted(struct pairs pairs, size_t shift, visit *visit, void *with)
{
    job = (struct job){.pairs = pairs, .shift = shift, .visit = visit, .with = with};
    if (run.threads == 1)
        share(0); /* the laboratory: the main thread, and no other was made */
    else
        take_turns();
}

void each(struct pairs pairs, visit *visit, void *with)
{
    each_shifted(pairs, 0, visit, with);
}

void each_elsewhere(struct pairs pairs, visit *visit, void *with)
{
    each_shifted(pairs, 1, visit, with);
}

void on_every_thread(void (*call)(void))
{
    job = (struct job){.call = call};
    if (run.threads > 1)
        take_turns();
    call();
}
