/* The visit of every pair, each on the thread whose pair it is. Threads take turns and never run at once, so the steps
 * stay in lockstep and nothing needs a lock; what several threads change is whose arena a session comes from. */
#include "core.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static sem_t turns[MAX_THREADS], done;

/* What is done in the present round. */
static struct job {
    struct pairs pairs;
    size_t shift; /* of pairs to threads */
    visit *visit;
    void *with;
} job;

static void share(size_t thread)
{
    for (size_t pair = job.pairs.first; pair < job.pairs.first + job.pairs.count; pair++)
        for (enum role role = ROLE_CLIENT; (pair + job.shift) % run.threads == thread && role <= ROLE_SERVER; role++)
            if (job.pairs.has[role]) {
                peer_must_live();
                job.visit(pair, role, job.with);
            }
}

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ; /* a signal came */
}

static void *worker(void *thread)
{
    for (;;) {
        await(&turns[(size_t)thread]);
        share((size_t)thread);
        sem_post(&done);
    }
    return NULL;
}

void threads_open(void)
{
    int error = 0;
    sem_init(&done, 0, 0);
    for (size_t thread = 0; run.threads > 1 && thread < run.threads; thread++) {
        pthread_t unused;
        sem_init(&turns[thread], 0, 0);
        if ((error = pthread_create(&unused, NULL, worker, (void *)thread)) != 0)
            die("threads=%zu: thread %zu: %s", run.threads, thread + 1, strerror(error));
    }
}

/* With one thread that is the main one. */
static void round_of_turns(void)
{
    if (run.threads == 1)
        share(0);
    for (size_t thread = 0; run.threads > 1 && thread < run.threads; thread++) {
        sem_post(&turns[thread]);
        await(&done);
    }
}

void each(struct pairs pairs, visit *visit, void *with)
{
    job = (struct job){pairs, 0, visit, with};
    round_of_turns();
}

void each_elsewhere(struct pairs pairs, visit *visit, void *with)
{
    job = (struct job){pairs, 1, visit, with};
    round_of_turns();
}
