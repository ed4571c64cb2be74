/* JSON on stdout. */
#include "json.h"
#include "driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void json_open(void)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

void json_string(const char *text)
{
    putchar('"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", *text);
        else
            putchar(*text);
    putchar('"');
}

void json_text(const char *key, const char *value)
{
    printf(",\"%s\":", key);
    json_string(value);
}

void json_number(const char *key, uint64_t value)
{
    printf(",\"%s\":%" PRIu64, key, value);
}

void json_line_end(void)
{
    puts("}");
    if (fflush(stdout) != 0)
        die("cannot write to stdout: %s", strerror(errno));
}
