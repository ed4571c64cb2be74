/* A client's first flight as bytes: captured from a session of the stack's own, and changed. */
#ifndef MEMTEST_HELLO_H
#define MEMTEST_HELLO_H

#include <stddef.h>
#include <stdint.h>

enum { HELLO_BYTES = 128 * 1024 }; /* at most, with its records */

struct hello {
    size_t size;
    unsigned char records[HELLO_BYTES];
};

/* Takes what the bytes of `flight` are: records of one ClientHello. Dies where they are not. */
void hello_capture(struct hello *, const unsigned char *flight, size_t size);

/* The extension of this type has `size` bytes of `body`, whatever it had before; records are made anew. In TLS 1.3 a
 * pre_shared_key stays last. */
void hello_extend(struct hello *, uint16_t type, const unsigned char *body, size_t size);

/* The body of the extension of this type, in `body`, and its size. Dies where there is none. */
size_t hello_extension(const struct hello *, uint16_t type, const unsigned char **body);

#endif
