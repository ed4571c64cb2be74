/* JSON on stdout, one object a line. Its buffer is static: stdout's own would be a malloc. */
#ifndef MEMTEST_JSON_H
#define MEMTEST_JSON_H

#include <stdint.h>

void json_open(void);                               /* before the first line */
void json_string(const char *text);                 /* a value: quoted, escaped */
void json_text(const char *key, const char *value); /* both with the comma before it, as not the first of its object */
void json_number(const char *key, uint64_t value);
void json_line_end(void); /* ends the object and the line, which is out then; dies when it cannot be written */

#endif
