/* Certificates and keys from files, which BearSSL does not read. */
#include "bearssl_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    unsigned char *data;
    size_t size;
};

void *found(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

/* What BearSSL decodes, it gives piece by piece. */
static void append(void *opaque, const void *piece, size_t size)
{
    struct bytes *bytes = opaque;
    bytes->data = found(realloc(bytes->data, bytes->size + size));
    memcpy(bytes->data + bytes->size, piece, size);
    bytes->size += size;
}

static struct bytes file_read(const char *path)
{
    struct bytes text = {NULL, 0};
    char piece[4096];
    size_t size;
    FILE *file = fopen(path, "r");
    if (!file)
        die("%s: %s", path, strerror(errno));
    while ((size = fread(piece, 1, sizeof piece, file)) > 0)
        append(&text, piece, size);
    if (ferror(file))
        die("%s: cannot be read", path);
    fclose(file);
    append(&text, "\n", 1); /* the decoder goes by lines, and the last may have no end */
    return text;
}

/* Decodes the objects of a PEM file, of which it has one at least: how many. */
static size_t pem_read(const char *path, struct bytes *objects, size_t room)
{
    struct bytes text = file_read(path);
    size_t count = 0, at = 0;
    br_pem_decoder_context decoder;
    br_pem_decoder_init(&decoder);
    while (at < text.size) {
        at += br_pem_decoder_push(&decoder, text.data + at, text.size - at);
        int event = br_pem_decoder_event(&decoder);
        if (event == BR_PEM_ERROR || (event == BR_PEM_BEGIN_OBJ && count == room))
            die("%s: is not PEM, or has more than the %zu that this driver gives BearSSL", path, room);
        if (event == BR_PEM_BEGIN_OBJ)
            br_pem_decoder_setdest(&decoder, append, &objects[count]);
        count += event == BR_PEM_END_OBJ;
    }
    free(text.data);
    if (count == 0)
        die("%s: has no PEM object", path);
    return count;
}

void root_load(struct credentials *credentials, const char *path)
{
    struct bytes root = {NULL, 0}, name = {NULL, 0};
    br_x509_decoder_context *decoder = &credentials->root_decoder;
    pem_read(path, &root, 1);
    br_x509_decoder_init(decoder, append, &name);
    br_x509_decoder_push(decoder, root.data, root.size);
    free(root.data);
    if (br_x509_decoder_last_error(decoder))
        die("%s: %s", path, error_text(br_x509_decoder_last_error(decoder)));
    credentials->root = (br_x509_trust_anchor){
        {name.data, name.size}, br_x509_decoder_isCA(decoder) ? BR_X509_TA_CA : 0, *br_x509_decoder_get_pkey(decoder)};
}

static void key_load(br_skey_decoder_context *key, const char *path)
{
    struct bytes encoded = {NULL, 0};
    pem_read(path, &encoded, 1);
    br_skey_decoder_init(key);
    br_skey_decoder_push(key, encoded.data, encoded.size);
    free(encoded.data);
    if (br_skey_decoder_last_error(key))
        die("%s: %s", path, error_text(br_skey_decoder_last_error(key)));
}

void own_load(struct credentials *credentials, const struct suite *suite, const char *name, const char *key)
{
    struct bytes chain[CHAIN_ROOM] = {0};
    char path[PATH_BYTES];
    credentials->chain_length = pem_read(suite_path(path, suite, name), chain, CHAIN_ROOM);
    for (size_t i = 0; i < credentials->chain_length; i++)
        credentials->chain[i] = (br_x509_certificate){chain[i].data, chain[i].size};
    key_load(&credentials->key, suite_path(path, suite, key));
}
