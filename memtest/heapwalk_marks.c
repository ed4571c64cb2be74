/* Marks of chunks by how their blocks begin, so that whoever asks for the chunks in use need not read each of a size
 * again. A rule has a size in bytes, which of the first words it is about, and the range in which that is, of the bits
 * in its mask. */
#include "heapwalk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool marks_parse(const char *text, struct marks *marks)
{
    int length;
    for (marks->count = 0; *text; text += length) {
        struct mark_rule rule;
        length = 0;
        if (marks->count == MARK_RULES_MOST ||
            sscanf(text, "%u:%" SCNu64 ":%u:%" SCNx64 ":%" SCNx64 ":%" SCNx64 "%n", &rule.mark, &rule.bytes, &rule.word,
                   &rule.mask, &rule.low, &rule.high, &length) != 6 ||
            !length || rule.mark >= MARK_MMAPPED || rule.word >= MARK_WORDS || rule.bytes < (rule.word + 1) * 8)
            return false;
        marks->rules[marks->count++] = rule;
        length += text[length] == ',';
    }
    return true;
}

void marks_set_lead(struct marks *marks, uint64_t lead)
{
    memset(marks->may, 0, sizeof marks->may);
    for (size_t i = 0; i < marks->count; i++) {
        struct mark_rule *rule = &marks->rules[i];
        uint64_t least = (rule->bytes + lead + 8 + 15) & ~UINT64_C(15);
        rule->chunk_bytes = least < CHUNK_LEAST ? CHUNK_LEAST : least;
        marks->may[rule->chunk_bytes / 16 % MARK_SLOTS] = marks->may[(rule->chunk_bytes / 16 + 1) % MARK_SLOTS] = true;
    }
    marks->lead = lead;
}

bool marks_may(const struct marks *marks, uint64_t size)
{
    return marks->may[size / 16 % MARK_SLOTS];
}

static uint64_t mark_of(const struct mark_rule *rule, const uint64_t words[MARK_WORDS])
{
    uint64_t word = words[rule->word] & rule->mask;
    return rule->low <= word && word < rule->high ? UINT64_C(1) << rule->mark : 0;
}

/* `words` are the first of the block in a chunk of that size. Such a chunk can be 16 bytes longer than it must be:
 * malloc leaves no remainder that is smaller than a chunk. */
uint64_t marks_of(const struct marks *marks, uint64_t size, const uint64_t words[MARK_WORDS])
{
    uint64_t found = 0;
    for (size_t i = 0; i < marks->count; i++) {
        const struct mark_rule *rule = &marks->rules[i];
        if (size == rule->chunk_bytes || size == rule->chunk_bytes + 16)
            found |= mark_of(rule, words);
    }
    return found;
}

/* The same of a chunk with so many bytes of a mapping: malloc takes as many pages as it, and 8 or 16 bytes more, need.
 */
uint64_t marks_of_mmapped(const struct marks *marks, uint64_t size, const uint64_t words[MARK_WORDS])
{
    uint64_t found = 0;
    for (size_t i = 0; i < marks->count; i++) {
        const struct mark_rule *rule = &marks->rules[i];
        if (rule->chunk_bytes + 8 <= size && size < rule->chunk_bytes + 16 + PAGE_BYTES)
            found |= mark_of(rule, words);
    }
    return found;
}
