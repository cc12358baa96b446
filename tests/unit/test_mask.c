/* What looks like a secret in a command line is hidden, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

#define ROOM 400

/* `line`: arguments separated by |. */
static const char *masked(const char *line)
{
    static char out[ROOM];
    char arguments[ROOM];
    size_t bytes = strlen(line) + 1;
    memcpy(arguments, line, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (arguments[i] == '|') arguments[i] = 0;
    sl_mask_command(arguments, bytes, true, out, sizeof out);
    return out;
}

static void secrets_are_hidden(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"train.py|--api-key|abc123", "train.py --api-key ***"},
        {"train.py|--token=abc|--epochs=3", "train.py --token=*** --epochs=3"},
        {"train.py|--hub_token|abc", "train.py --hub_token ***"},
        {"train.py|--password|a b", "train.py --password ***"},
        {"train.py|--db.passwd=x,y z", "train.py --db.passwd=***"},
        {"env|WANDB_API_KEY=abc|HF_TOKEN=def|python", "env WANDB_API_KEY=*** HF_TOKEN=*** python"},
        {"sh|-c|exec AWS_SECRET_ACCESS_KEY=abc python x.py",
         "sh -c exec AWS_SECRET_ACCESS_KEY=*** python x.py"},
        {"train.py|openai.key=abc", "train.py openai.key=***"},
        {"fetch|https://me:pass@host/path?size=3", "fetch https://me:***@host/path?size=3"},
        {"fetch|https://0123456789abcdef@host/", "fetch https://***@host/"},
        {"fetch|https://host/path?token=abc&size=3", "fetch https://host/path?token=***&size=3"},
        {"curl|-u|me:pass|-H|Authorization: Bearer abc.def", "curl -u me:*** -H Authorization: Bearer ***"},
        {"run|{\"api_key\": \"abc\", \"n\": 1}", "run {\"api_key\": \"***\", \"n\": 1}"},
        {"login|hf_abcdefghijklmnop", "login ***"},
        {"login|sk-proj-abcdefghijklmnop", "login ***"},
        {"login|ghp_abcdefghijklmnop0123", "login ***"},
        {"login|--id|AKIAIOSFODNN7EXAMPLE", "login --id ***"},
        {"wandb|login|0123456789abcdef0123456789abcdef01234567", "wandb login ***"},
        {"x|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", "x ***"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(masked(cases[i][0]), cases[i][1]);
}

static void everything_else_stays(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "train.py|--tokenizer|gpt2|--max-tokens|256|--eos-token|</s>",
        "train.py|--pad_token=0|--num-keys=4|--key-dim|64|--sort-key|loss",
        "train.py|--private-key-file|/home/me/key|--token-id|3",
        "train.py|--use-auth-token|true|--token|--verbose",
        "git|checkout|commit:0123456789abcdef0123456789abcdef01234567",
        "train.py|https://host:8080/path@v2|s3://bucket/key",
        "train.py|-p|8080|--passes|3|--compass=north",
        "train.py|sk-learn|hf_hub|a=b:c|--lr=1e-3",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char expected[ROOM];
        strcpy(expected, lines[i]);
        for (char *at = expected; *at; at++)
            if (*at == '|') *at = ' ';
        assert_string_equal(masked(lines[i]), expected);
    }
}

static void nothing_is_hidden_where_nobody_wants_it(void **state)
{
    (void)state;
    char out[ROOM];
    sl_mask_command("x\0--token=abc", 14, false, out, sizeof out);
    assert_string_equal(out, "x --token=abc");
    sl_mask_command("", 0, true, out, sizeof out);
    assert_string_equal(out, "");
}

/* A secret is hidden also where the line is cut. */
static void a_line_is_cut_at_the_room(void **state)
{
    (void)state;
    char out[ROOM];
    for (size_t room = 1; room < 20; room++) {
        memset(out, 1, sizeof out);
        sl_mask_command("x\0--token=abcdef\0y", 19, true, out, room);
        assert_int_equal(strlen(out), room < 16 ? room - 1 : 15);
        assert_null(strchr(out, 'a'));
        assert_int_equal(out[room], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(everything_else_stays),
        cmocka_unit_test(nothing_is_hidden_where_nobody_wants_it),
        cmocka_unit_test(a_line_is_cut_at_the_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
