#include "tools/model/autograd_node.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NODE_MOST = 70 }; /* bytes of a name: a text has it, and the operation of at most twice as many */

static bool skip(const char **text, const char *prefix)
{
    size_t length = strlen(prefix);
    if (strncmp(*text, prefix, length) != 0) return false;
    *text += length;
    return true;
}

static size_t identifier_bytes(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') length++;
    return length;
}

/* The bytes of the node's name that are the operation's: those in front of "Backward0"; 0: there are none. */
static size_t operation_bytes(const char *node, size_t length)
{
    static const char suffix[] = "Backward";
    const size_t suffix_bytes = sizeof(suffix) - 1;
    if (length && node[length - 1] == 's') length--; /* CopyBackwards */
    while (length && isdigit((unsigned char)node[length - 1])) length--;
    if (length <= suffix_bytes || memcmp(node + length - suffix_bytes, suffix, suffix_bytes) != 0) return 0;
    return length - suffix_bytes;
}

/* MaxPool2DWithIndices becomes max_pool2d_with_indices: the generator makes a capital of each letter that
 * does not follow one. */
static void write_operation(const char *node, size_t length, char *out)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)node[i];
        if (i && isupper(c) && !isdigit((unsigned char)node[i - 1]) && node[i - 1] != '_') *out++ = '_';
        *out++ = (char)tolower(c);
    }
    *out = 0;
}

bool autograd_node_title(const char *function, char out[AUTOGRAD_NODE])
{
    char operation[2 * NODE_MOST + 1];
    const char *node = function;
    if (!skip(&node, "torch::autograd::")) return false;
    skip(&node, "generated::");
    size_t length = identifier_bytes(node);
    const char *rest = node + length;
    if (!length || length > NODE_MOST || !skip(&rest, "::apply(")) return false;
    size_t named = operation_bytes(node, length);
    write_operation(node, named, operation);
    if (named)
        snprintf(out, AUTOGRAD_NODE, "backward of %s (%.*s)", operation, (int)length, node);
    else
        snprintf(out, AUTOGRAD_NODE, "backward (%.*s)", (int)length, node);
    return true;
}
