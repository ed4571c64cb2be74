/* Programs with known answers for the heap meter: how they fork, exec, name themselves and give up their user. Each
 * way is a word, and begins with 1,000,000 bytes in one block. `after` ends a way by exec, with 10 bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile kept; /* so that no allocation is optimised away */
static char *self;

static void keep(size_t bytes)
{
    kept = malloc(bytes);
}

static void become(char *way)
{
    execl(self, self, way, NULL);
    _exit(9);
}

static void wait_for_all(void)
{
    while (wait(NULL) > 0)
        ;
}

static void exec(void)
{
    become("after");
}

static void exec_twice(void)
{
    become("exec");
}

/* A link and a descriptor leave no name of the program behind. */
static void exec_by_link(void)
{
    execl("/proc/self/exe", "called-by-link", "after", NULL);
}

static void exec_by_descriptor(void)
{
    char *words[] = {"called-by-descriptor", "after", NULL};
    fexecve(open(self, O_RDONLY | O_CLOEXEC), words, environ);
}

static void fork_three(void)
{
    for (int i = 0; i < 3; i++)
        if (!fork())
            _exit(0);
    wait_for_all();
}

static void fork_and_keep(void)
{
    for (int i = 0; i < 3; i++)
        if (!fork()) {
            keep(5000);
            _exit(0);
        }
    wait_for_all();
}

static void fork_and_free(void)
{
    if (!fork()) {
        free(kept);
        _exit(0);
    }
    wait_for_all();
}

static void fork_and_enlarge(void)
{
    if (!fork()) {
        kept = realloc(kept, 2000000);
        _exit(0);
    }
    wait_for_all();
}

static void fork_grandchild(void)
{
    if (!fork()) {
        keep(5000);
        if (!fork()) {
            keep(70);
            _exit(0);
        }
        wait_for_all();
        _exit(0);
    }
    wait_for_all();
}

static void fork_without_handlers(void)
{
    if (!_Fork()) {
        keep(5000);
        _exit(0);
    }
    wait_for_all();
}

static void fork_deep(void)
{
    for (int i = 0; i < 70 && !fork(); i++)
        ;
    wait_for_all();
}

static void vfork_and_exec(void)
{
    if (!vfork())
        become("after");
    wait_for_all();
}

/* A worker that frees what its parent keeps, and a parent that frees what its worker keeps. */
static void free_in_turn(void)
{
    char *first = kept;
    keep(5000);
    if (!fork()) {
        free(kept);
        _exit(0);
    }
    wait_for_all();
    free(first);
}

/* Workers of three configurations run at once: each has the one that its parent had. */
static void reload(void)
{
    int wait_here[2];
    if (pipe(wait_here))
        _exit(9);
    for (int i = 0; i < 3; i++) {
        if (i) {
            char *former = kept;
            keep(1000000);
            free(former);
        }
        for (int worker = 0; worker < 2; worker++)
            if (!fork()) {
                close(wait_here[1]);
                keep(5000);
                if (read(wait_here[0], &i, 1))
                    _exit(9);
                _exit(0);
            }
    }
    close(wait_here[1]);
    wait_for_all();
}

static void title(void)
{
    char *end = self + strlen(self);
    memset(self, 'x', end - self);
    memcpy(self, "a/b/", 4);
    if (!fork()) {
        keep(5000);
        _exit(0);
    }
    wait_for_all();
}

static void name(void)
{
    prctl(PR_SET_NAME, "another name");
    title();
}

static void give_up_user(void)
{
    if (setgid(65534) || setuid(65534))
        _exit(77);
}

static void user_then_exec(void)
{
    give_up_user();
    become("after");
}

static void user_then_exec_twice(void)
{
    give_up_user();
    become("exec");
}

static void user_then_fork(void)
{
    give_up_user();
    fork_and_keep();
}

static void user_then_unmetered(void)
{
    give_up_user();
    become("unmetered");
}

static void unmetered(void)
{
    char *words[] = {self, "after", NULL}, *variables[] = {NULL};
    execve(self, words, variables);
}

static void workers(void)
{
    for (int i = 0; i < 30; i++) {
        if (!fork()) {
            keep(1000);
            _exit(0);
        }
        wait_for_all();
    }
}

static void killed(void)
{
    if (!fork()) {
        keep(5000);
        raise(SIGKILL);
    }
    wait_for_all();
}

static void raw_clone(void)
{
    if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
        keep(5000);
        sleep(4);
        _exit(0);
    }
    wait_for_all();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
        {"exec", exec},
        {"exec-twice", exec_twice},
        {"exec-by-link", exec_by_link},
        {"exec-by-descriptor", exec_by_descriptor},
        {"fork", fork_three},
        {"fork-keep", fork_and_keep},
        {"fork-free", fork_and_free},
        {"fork-enlarge", fork_and_enlarge},
        {"fork-grandchild", fork_grandchild},
        {"fork-without-handlers", fork_without_handlers},
        {"fork-deep", fork_deep},
        {"vfork", vfork_and_exec},
        {"free-in-turn", free_in_turn},
        {"reload", reload},
        {"title", title},
        {"name", name},
        {"user-exec", user_then_exec},
        {"user-exec-twice", user_then_exec_twice},
        {"user-fork", user_then_fork},
        {"user-unmetered", user_then_unmetered},
        {"unmetered", unmetered},
        {"workers", workers},
        {"killed", killed},
        {"raw-clone", raw_clone},
    };
    self = argv[0];
    if (argc != 2)
        return 1;
    if (!strcmp(argv[1], "after")) {
        keep(10);
        return 0;
    }
    keep(1000000);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name))
            return ways[i].run(), 0;
    return 1;
}
