/* A program that the heap meter cannot see into: malloc and its family are its own. With `wait` it ends with stdin. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static char pool[1 << 20];
static size_t used;

void *malloc(size_t size)
{
    char *block = pool + used + 16;
    memcpy(block - 16, &size, sizeof size);
    used += (size + 31) & ~(size_t)15;
    return block;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t each)
{
    return memset(malloc(count * each), 0, count * each);
}

void *realloc(void *block, size_t size)
{
    size_t before = 0;
    char *larger = malloc(size);
    if (block)
        memcpy(&before, (char *)block - 16, sizeof before);
    return block ? memcpy(larger, block, before < size ? before : size) : larger;
}

int main(int argc, char **argv)
{
    char byte;
    if (argc > 1 && !strcmp(argv[1], "wait"))
        return read(0, &byte, 1);
    return malloc(5000) == NULL;
}
