#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/families.h"

#define CLI_NAME_MAX 80

const struct cli_flag cli_flags_log[] = {
    { "log-level", 0, "LEVEL", "info", "Level of the log: error, warn, info or debug." },
    { "log-format", 0, "FORMAT", "text", "text for people, json for machines." },
    { 0 },
};

const struct cli_flag cli_flags_kube[] = {
    { "kubeconfig",
        0,
        "FILE",
        NULL,
        "Kubeconfig file; otherwise KUBECONFIG, ~/.kube/config, then the pod's service account." },
    { "context", 0, "NAME", NULL, "Context of the kubeconfig to use." },
    { "namespace",
        'n',
        "NAME",
        NULL,
        "Work in this namespace only; otherwise in all (operator: NAME,...)." },
    { 0 },
};

bool cli_flag_at(const struct cli_command *c, size_t i, struct cli_flag *ret)
{
    for (size_t g = 0; c->flags && c->flags[g]; g++)
        for (const struct cli_flag *f = c->flags[g]; f->name; f++)
            if (i-- == 0) {
                *ret = *f;
                return true;
            }
    const struct setting *f;
    for (size_t s = 0; c->shaping && (f = families_setting(s)); s++)
        if (i-- == 0) {
            *ret = (struct cli_flag){
                .name = f->name,
                .value = f->value,
                .fallback = f->standard,
                .help = f->help,
            };
            return true;
        }
    *ret = (struct cli_flag){ .name = "help", .letter = 'h', .help = "Show this help." };
    return i == 0;
}

static bool find_flag(
    const struct cli_command *c, const char *name, size_t length, struct cli_flag *ret)
{
    for (size_t i = 0; cli_flag_at(c, i, ret); i++)
        if (strlen(ret->name) == length && strncmp(ret->name, name, length) == 0)
            return true;
    return false;
}

static bool find_letter(const struct cli_command *c, char letter, struct cli_flag *ret)
{
    for (size_t i = 0; cli_flag_at(c, i, ret); i++)
        if (ret->letter == letter)
            return true;
    return false;
}

static bool is_bool(const char *text)
{
    return text_eq(text, "true") || text_eq(text, "false");
}

/* Parses one flag at argv[*at], and advances *at if the value is a separate word. */
static bool parse_flag(struct cli *cli, int argc, char **argv, int *at, struct error *err)
{
    const char *word = argv[*at] + 1 + (argv[*at][1] == '-');
    size_t length = strcspn(word, "=");
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    struct cli_flag f;
    bool found = find_flag(cli->command, word, length, &f);
    if (!found && argv[*at][1] != '-' && length > 0) {
        found = find_letter(cli->command, word[0], &f);
        if (found && length > 1 && !value)
            value = word + 1; /* -fFILE */
    }
    if (!found)
        return fail(err,
            ERR_INVALID,
            "unknown flag %.*s; `leeboard %s --help` lists the flags",
            (int)(length < CLI_NAME_MAX ? length : CLI_NAME_MAX) + (int)(word - argv[*at]),
            argv[*at],
            cli->command->name);
    if (f.value && !value) {
        if (*at + 1 >= argc)
            return fail(err, ERR_INVALID, "--%s needs a value: --%s=%s", f.name, f.name, f.value);
        value = argv[++*at];
    }
    if (!f.value && value && !is_bool(value))
        return fail(err, ERR_INVALID, "--%s is true or false, not %s", f.name, value);
    cli->names[cli->count] = f.name;
    cli->values[cli->count++] = value ? value : "true";
    return true;
}

static bool parse(struct cli *cli, int argc, char **argv, struct error *err)
{
    cli->names = arena_array(&cli->arena, (size_t)argc + 1, sizeof(*cli->names));
    cli->values = arena_array(&cli->arena, (size_t)argc + 1, sizeof(*cli->values));
    cli->arguments = arena_array(&cli->arena, (size_t)argc + 1, sizeof(*cli->arguments));
    bool flags = true;
    for (int i = 0; i < argc; i++) {
        bool is_flag = flags && argv[i][0] == '-' && argv[i][1];
        if (is_flag && strcmp(argv[i], "--") == 0)
            flags = false;
        else if (!is_flag)
            cli->arguments[cli->argument_count++] = argv[i];
        else if (!parse_flag(cli, argc, argv, &i, err))
            return false;
    }
    if (cli->argument_count && !cli->command->arguments)
        return fail(err,
            ERR_INVALID,
            "`leeboard %s` takes no argument, got %s",
            cli->command->name,
            cli->arguments[0]);
    return true;
}

const char *cli_text(const struct cli *cli, const char *name)
{
    for (size_t i = cli->count; i-- > 0;)
        if (strcmp(cli->names[i], name) == 0)
            return cli->values[i];
    struct cli_flag f;
    bool found = find_flag(cli->command, name, strlen(name), &f);
    assert(found);
    return f.fallback;
}

bool cli_given(const struct cli *cli, const char *name)
{
    for (size_t i = 0; i < cli->count; i++)
        if (strcmp(cli->names[i], name) == 0)
            return true;
    return false;
}

bool cli_on(const struct cli *cli, const char *name)
{
    return text_eq(cli_text(cli, name), "true");
}

int cli_fail(const struct cli *cli, const struct error *err)
{
    fprintf(stderr, "leeboard %s: %s\n", cli->command->name, err->text);
    return CLI_FAILED;
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "leeboard %s: ", cli->command->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return CLI_USAGE;
}

bool cli_setup_log(const struct cli *cli, struct error *err)
{
    enum log_level level;
    enum log_format format;
    const char *word = cli_text(cli, "log-level");
    if (!log_level_parse(word, &level))
        return fail(err, ERR_INVALID, "--log-level is error, warn, info or debug, not %s", word);
    word = cli_text(cli, "log-format");
    if (!log_format_parse(word, &format))
        return fail(err, ERR_INVALID, "--log-format is text or json, not %s", word);
    log_setup(format, level);
    return true;
}

static void print_flag(struct buf *b, const struct cli_flag *f)
{
    size_t before = b->len;
    if (f->letter)
        buf_printf(b, "  -%c, --%s", f->letter, f->name);
    else
        buf_printf(b, "      --%s", f->name);
    if (f->value)
        buf_printf(b, "=%s", f->value);
    size_t width = b->len - before;
    buf_printf(
        b, "%s%*s%s", width > 38 ? "\n" : "", width > 38 ? 40 : (int)(40 - width), "", f->help);
    if (f->fallback && *f->fallback)
        buf_printf(b, " [%s]", f->fallback);
    buf_add_char(b, '\n');
}

void cli_print_help(struct buf *b, const struct cli_command *c)
{
    buf_printf(b, "%s\n\nUsage: leeboard %s", c->summary, c->name);
    buf_printf(b,
        "%s%s%s\n",
        c->flags ? " [FLAGS]" : "",
        c->arguments ? " " : "",
        c->arguments ? c->arguments : "");
    if (c->text)
        buf_printf(b, "\n%s", c->text);
    buf_add_text(b, "\nFlags:\n");
    struct cli_flag f;
    size_t own = 0;
    for (size_t g = 0; c->flags && c->flags[g]; g++)
        for (const struct cli_flag *each = c->flags[g]; each->name; each++)
            own++;
    for (size_t i = 0; cli_flag_at(c, i, &f); i++) {
        if (i == own && c->shaping)
            buf_add_text(b, "\nOperator flags, which shape what is made:\n");
        if (f.help)
            print_flag(b, &f);
    }
    buf_add_text(
        b, "\nExit codes: 0 done, 1 failed (standard error says why), 2 wrong command line.\n");
}

void cli_print_overview(struct buf *b)
{
    buf_add_text(b,
        "Leeboard runs AI workloads on Kubernetes without drifting and without fighting.\n\n"
        "Usage: leeboard COMMAND [FLAGS] [ARGUMENTS]\n\nCommands:\n");
    for (size_t i = 0; cli_commands[i]; i++)
        if (!cli_commands[i]->hidden)
            buf_printf(b, "  %-12s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    buf_add_text(b, "\n`leeboard COMMAND --help` says more about one.\n");
}

static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int print_and_exit(struct buf *b)
{
    int code =
        fwrite(b->ptr, 1, b->len, stdout) == b->len && fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
    buf_done(b);
    return code;
}

int cli_main(int argc, char **argv)
{
    struct buf out = BUF_INIT((size_t)1 << 20);
    if (argc < 2 || text_eq(argv[1], "--help") || text_eq(argv[1], "-h")) {
        cli_print_overview(&out);
        return print_and_exit(&out);
    }
    const char *name = text_eq(argv[1], "--version") ? "version" : argv[1];
    struct cli cli = { .arena = ARENA_INIT, .command = find_command(name) };
    if (!cli.command) {
        fprintf(stderr, "leeboard: no command %s; `leeboard help` lists them\n", name);
        return CLI_USAGE;
    }
    struct error err;
    int code;
    if (!parse(&cli, argc - 2, argv + 2, &err)) {
        code = cli_usage(&cli, "%s", err.text);
    } else if (cli_on(&cli, "help")) {
        cli_print_help(&out, cli.command);
        code = print_and_exit(&out);
    } else {
        code = cli.command->run(&cli);
    }
    arena_done(&cli.arena);
    return code;
}
