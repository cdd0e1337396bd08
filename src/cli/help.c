/* help, version, completion and the man page: everything generated from the command table. */

#include <stdio.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/cli.h"

static int print(struct buf *b)
{
    bool ok = fwrite(b->ptr, 1, b->len, stdout) == b->len && fflush(stdout) == 0;
    buf_done(b);
    return ok ? CLI_OK : CLI_FAILED;
}

static int run_help(struct cli *cli)
{
    struct buf out = BUF_INIT((size_t)1 << 20);
    if (cli->argument_count == 0) {
        cli_print_overview(&out);
        return print(&out);
    }
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, cli->arguments[0]) == 0) {
            cli_print_help(&out, cli_commands[i]);
            return print(&out);
        }
    return cli_usage(cli, "no command %s; `leeboard help` lists them", cli->arguments[0]);
}

const struct cli_command cli_help = {
    .name = "help",
    .summary = "List the commands, or explain one.",
    .arguments = "[COMMAND]",
    .run = run_help,
};

static int run_version(struct cli *cli)
{
    (void)cli;
    printf("leeboard %s\n"
           "compatible with LLMKube 0.9.19, ToolHive 0.44.0 (operator and MCP proxy) and\n"
           "OtterScale 1.0.1; Kubernetes 1.33 and newer. docs/compatibility.md names each "
           "difference.\n",
        LEEBOARD_VERSION);
    return CLI_OK;
}

const struct cli_command cli_version = {
    .name = "version",
    .summary = "Print the version.",
    .run = run_version,
};

/* ---- completion ---- */

static void add_flag_words(struct buf *b, const struct cli_command *c)
{
    struct cli_flag f;
    for (size_t i = 0; cli_flag_at(c, i, &f); i++)
        if (f.help)
            buf_printf(b, "%s--%s%s", i ? " " : "", f.name, f.value ? "=" : "");
}

static void print_bash(struct buf *b)
{
    buf_add_text(b,
        "_leeboard() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} words\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        words='");
    for (size_t i = 0; cli_commands[i]; i++)
        if (!cli_commands[i]->hidden)
            buf_printf(b, "%s%s", i ? " " : "", cli_commands[i]->name);
    buf_add_text(b, "'\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        buf_printf(b, "        %s) words='", cli_commands[i]->name);
        add_flag_words(b, cli_commands[i]);
        buf_add_text(b, "' ;;\n");
    }
    buf_add_text(b,
        "        esac\n"
        "        case $word in -*) ;; *) words='' ;; esac\n"
        "        case ${COMP_WORDS[1]}/$word in\n"
        "        */-*) ;;\n"
        "        logs/* | why/* | run/* | chat/* | stop/* | rm/* | export/*) \\\n"
        "            words=$(leeboard ps -o wide 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n"
        "        mcp/*) case $COMP_CWORD in\n"
        "            2) words='list tools call run' ;;\n"
        "            3) words=$(leeboard mcp list 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n"
        "            4) words=$(leeboard mcp tools \"${COMP_WORDS[3]}\" 2>/dev/null |\n"
        "                awk 'NR > 1 { print $1 }') ;;\n"
        "            esac ;;\n"
        "        esac\n"
        "    fi\n"
        "    [ -n \"$words\" ] && COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
        "    case ${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac\n"
        "}\n"
        "complete -o default -F _leeboard leeboard\n");
}

/* Quoted for a zsh word inside single quotes, with brackets and colons escaped for _arguments. */
static void add_zsh_text(struct buf *b, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            buf_add_text(b, "'\\''");
        else if (strchr("[]:", *c))
            buf_printf(b, "\\%c", *c);
        else
            buf_add_char(b, *c);
    }
}

static void print_zsh(struct buf *b)
{
    buf_add_text(b,
        "#compdef leeboard\n"
        "_leeboard() {\n"
        "    local -a commands\n"
        "    commands=(\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        if (cli_commands[i]->hidden)
            continue;
        buf_printf(b, "        '%s:", cli_commands[i]->name);
        add_zsh_text(b, cli_commands[i]->summary);
        buf_add_text(b, "'\n");
    }
    buf_add_text(b,
        "    )\n"
        "    if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
        "    shift words; (( CURRENT-- ))\n"
        "    case $words[1] in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *c = cli_commands[i];
        buf_printf(b, "    %s) _arguments", c->name);
        struct cli_flag f;
        for (size_t k = 0; cli_flag_at(c, k, &f); k++) {
            if (!f.help)
                continue;
            buf_printf(b, " '--%s%s[", f.name, f.value ? "=" : "");
            add_zsh_text(b, f.help);
            const char *files = f.value && text_starts(f.value, "FILE") ? ":_files" : ":";
            buf_printf(
                b, "]%s%s%s'", f.value ? ":" : "", f.value ? f.value : "", f.value ? files : "");
        }
        buf_printf(b, "%s ;;\n", c->arguments ? " '*:file:_files'" : "");
    }
    buf_add_text(b, "    esac\n}\n_leeboard \"$@\"\n");
}

static int run_completion(struct cli *cli)
{
    struct buf out = BUF_INIT((size_t)1 << 20);
    const char *shell = cli->argument_count == 1 ? cli->arguments[0] : "";
    if (text_eq(shell, "bash"))
        print_bash(&out);
    else if (text_eq(shell, "zsh"))
        print_zsh(&out);
    else
        return cli_usage(cli, "say which shell: `leeboard completion bash` or `… zsh`");
    return print(&out);
}

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "Print a completion script for bash or zsh.",
    .arguments = "bash|zsh",
    .text = "  source <(leeboard completion bash)\n"
            "  leeboard completion zsh >\"${fpath[1]}/_leeboard\"\n",
    .run = run_completion,
};

/* ---- the man page ---- */

/* Escapes for roff: a leading dot or quote and every backslash would be commands, and some readers
 * take non-ASCII bytes as Latin-1. */
static void add_roff(struct buf *b, const char *text)
{
    struct str rest = str_of(text);
    uint32_t c, before = '\n';
    for (size_t length; (length = utf8_first(rest, &c)) > 0; before = c) {
        if (before == '\n' && (c == '.' || c == '\''))
            buf_add_text(b, "\\&");
        if (c == '\\')
            buf_add_text(b, "\\e");
        else if (c == '-')
            buf_add_text(b, "\\-");
        else if (c == 0x2026) /* … : some terminals do not have it */
            buf_add_text(b, "...");
        else if (c >= 0x80)
            buf_printf(b, "\\[u%04X]", c);
        else
            buf_add_char(b, (char)c);
        rest = (struct str){ rest.ptr + length, rest.len - length };
    }
}

static void add_man_command(struct buf *b, const struct cli_command *c)
{
    buf_printf(b, ".SS leeboard %s ", c->name);
    add_roff(b, c->arguments ?: "");
    buf_add_char(b, '\n');
    add_roff(b, c->summary);
    buf_add_char(b, '\n');
    if (c->text) {
        buf_add_text(b, ".PP\n.nf\n");
        add_roff(b, c->text);
        buf_add_text(b, ".fi\n");
    }
    struct cli_flag f;
    for (size_t i = 0; cli_flag_at(c, i, &f); i++) {
        if (!f.help)
            continue;
        buf_add_text(b, ".TP\n.B ");
        if (f.letter)
            buf_printf(b, "\\-%c, ", f.letter);
        buf_add_text(b, "\\-\\-");
        add_roff(b, f.name);
        if (f.value) {
            buf_add_text(b, "=\\fI");
            add_roff(b, f.value);
            buf_add_text(b, "\\fR");
        }
        buf_add_char(b, '\n');
        add_roff(b, f.help);
        if (f.fallback && *f.fallback) {
            buf_add_text(b, " Default: ");
            add_roff(b, f.fallback);
            buf_add_char(b, '.');
        }
        buf_add_char(b, '\n');
    }
}

static int run_man(struct cli *cli)
{
    (void)cli;
    struct buf out = BUF_INIT((size_t)1 << 20);
    buf_printf(&out, ".TH LEEBOARD 1 \"\" \"leeboard %s\" \"Leeboard\"\n", LEEBOARD_VERSION);
    buf_add_text(&out,
        ".SH NAME\nleeboard \\- runs AI workloads on Kubernetes without drifting or fighting\n"
        ".SH SYNOPSIS\n.B leeboard\n.I COMMAND\n[\\fIFLAGS\\fR] [\\fIARGUMENTS\\fR]\n"
        ".SH DESCRIPTION\n"
        "Leeboard takes the manifests that people have for LLMKube (Model, InferenceService) and "
        "OtterScale (ModelService, ModelArtifact) and keeps a cluster as they say. It never strips "
        "what others wrote, never writes when "
        "nothing changed, never spins or fights, never lets a stale writer win, converges from "
        "anywhere, and lets no bad object harm another.\n.SH COMMANDS\n");
    for (size_t i = 0; cli_commands[i]; i++)
        if (!cli_commands[i]->hidden)
            add_man_command(&out, cli_commands[i]);
    buf_add_text(&out,
        ".SH EXIT STATUS\n0: done. 1: failed; standard error says why. 2: wrong command line.\n"
        ".SH ENVIRONMENT\n.TP\n.B KUBECONFIG\nKubeconfig files, separated by colons.\n"
        ".TP\n.B LEEBOARD_DATA\nThe folder of this machine, as --data names it.\n"
        ".TP\n.B NO_COLOR\nIf it is set, the display has no colours.\n"
        ".TP\n.B POD_NAME, POD_NAMESPACE\nThe operator's own pod: its identity in the Lease "
        "and the namespace of the Lease.\n"
        ".SH FILES\n.TP\n.I ~/.local/share/leeboard\nWhat `leeboard up` keeps: objects, pods, "
        "volumes, models, log. For root /var/lib/leeboard.\n"
        ".TP\n.I ~/.kube/config\nThe default kubeconfig.\n"
        ".SH EXAMPLES\n.nf\n"
        "leeboard run ./model.gguf                # a chat with a model\n"
        "leeboard up \\-f examples/quickstart      # models on this machine\n"
        "leeboard ps\n"
        "leeboard render \\-f model.yaml           # what manifests become\n"
        "leeboard manifests | kubectl apply \\-\\-server\\-side \\-f \\-\n"
        ".fi\n"
        ".SH SEE ALSO\n.BR kubectl (1)\n");
    return print(&out);
}

const struct cli_command cli_man = {
    .name = "man",
    .summary = "Print the man page.",
    .hidden = true,
    .run = run_man,
};
