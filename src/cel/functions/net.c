/* IP addresses and networks, in the format of Go's netip. */

#include <arpa/inet.h>

#include "base/buf.h"
#include "cel/lib.h"

uint64_t cel_ip_size(const struct cel_ip *ip)
{
    return ip->prefix < 0 ? ip->length : (uint64_t)(ip->prefix + 7) / 8;
}

/* ---- text ---- */

static const char *text_of_v6(struct arena *a, const uint8_t *bytes)
{
    int from = -1, length = 1; /* the longest run of zeros, at least two */
    for (int i = 0, run; i < 8; i += run ? run : 1) {
        for (run = 0; i + run < 8 && !bytes[(i + run) * 2] && !bytes[(i + run) * 2 + 1];)
            run++;
        if (run > length) {
            from = i;
            length = run;
        }
    }
    cleanup(buf_done) struct buf b = BUF_INIT(64);
    for (int i = 0; i < 8; i++) {
        if (i == from) {
            buf_add_text(&b, "::");
            i += length - 1;
            continue;
        }
        if (i > 0 && i != from + length)
            buf_add_char(&b, ':');
        buf_printf(&b, "%x", bytes[i * 2] << 8 | bytes[i * 2 + 1]);
    }
    return arena_strdup(a, buf_text(&b));
}

const char *cel_ip_text(struct arena *a, const struct cel_ip *ip)
{
    const uint8_t *b = ip->bytes;
    const char *text =
        ip->length == 4 ? arena_printf(a, "%d.%d.%d.%d", b[0], b[1], b[2], b[3]) : text_of_v6(a, b);
    return ip->prefix < 0 ? text : arena_printf(a, "%s/%d", text, ip->prefix);
}

/* ---- parsing: NULL, or the error ---- */

static const char *parse_v4(const char *text, uint8_t *ret)
{
    int value = 0, fields = 0, digits = 0;
    for (const char *at = text;; at++) {
        if (*at >= '0' && *at <= '9') {
            if (digits == 1 && value == 0)
                return "IPv4 field has octet with leading zero";
            value = value * 10 + *at - '0';
            digits++;
            if (value > 255)
                return "IPv4 field has value >255";
        } else if (*at == '.' || !*at) {
            if (!digits)
                return "IPv4 field must have at least one digit";
            if (fields == 4 || (*at && fields == 3))
                return "IPv4 address too long";
            ret[fields++] = (uint8_t)value;
            value = digits = 0;
            if (!*at)
                return fields < 4 ? "IPv4 address too short" : NULL;
        } else {
            return "unexpected character";
        }
    }
}

static const char *parse_address(struct arena *a, struct str s, struct cel_ip *ret)
{
    const char *text = str_dup(a, s), *trouble = "unable to parse IP";
    *ret = (struct cel_ip){ .length = 4, .prefix = -1 };
    const char *kind = text + strcspn(text, ".:%");
    if (strlen(text) == s.len && *kind == '.') {
        trouble = parse_v4(text, ret->bytes);
    } else if (strlen(text) == s.len && *kind == ':') {
        ret->length = 16;
        if (strchr(text, '%'))
            return arena_printf(a, "IP address \"%s\" with zone value is not allowed", text);
        trouble = inet_pton(AF_INET6, text, ret->bytes) == 1 ? NULL : trouble;
    } else if (*kind == '%') {
        trouble = "missing IPv6 address";
    }
    static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
    if (!trouble && ret->length == 16 && memcmp(ret->bytes, mapped, 12) == 0)
        return arena_printf(a, "IPv4-mapped IPv6 address \"%s\" is not allowed", text);
    if (!trouble)
        return NULL;
    return arena_printf(a,
        "IP Address %s parse error during conversion from string: ParseAddr(%s): %s",
        cel_show_quoted(a, s),
        cel_show_quoted(a, s),
        trouble);
}

static const char *parse_prefix(struct arena *a, struct str s, struct cel_ip *ret)
{
    const char *text = str_dup(a, s), *slash = strrchr(text, '/'), *trouble = NULL;
    int64_t bits = -1;
    if (!slash || strlen(text) != s.len)
        trouble = "no '/'";
    if (!trouble) {
        struct str address = { text, (size_t)(slash - text) }, digits = str_of(slash + 1);
        const char *bad = parse_address(a, address, ret);
        if (bad && text_starts(bad, "IPv4-mapped"))
            return arena_printf(a, "IPv4-mapped IPv6 address \"%s\" is not allowed", text);
        if (bad && strstr(bad, "ParseAddr"))
            trouble = strstr(bad, "ParseAddr");
        else if (bad)
            trouble = "IPv6 zones cannot be present in a prefix";
        else if (digits.len > 3 || (digits.len > 1 && *digits.ptr == '0') || !digits.len ||
                 *digits.ptr == '+' || *digits.ptr == '-' || !str_to_int(digits, &bits))
            trouble = arena_printf(a, "bad bits after slash: \"%s\"", slash + 1);
        else if (bits > ret->length * 8)
            trouble = "prefix length out of range";
    }
    if (trouble)
        return arena_printf(a,
            "network address parse error during conversion from string: "
            "netip.ParsePrefix(%s): %s",
            cel_show_quoted(a, s),
            trouble);
    ret->prefix = (int)bits;
    return NULL;
}

static struct cel_value ip_value(struct cel_eval *e, struct cel_ip ip)
{
    struct cel_ip *copy = arena_new(e->arena, struct cel_ip);
    *copy = ip;
    return (struct cel_value){ .kind = ip.prefix < 0 ? CEL_IP : CEL_CIDR, .ip = copy };
}

CEL_IMPLEMENT(to_ip)
{
    struct cel_ip ip;
    const char *trouble = parse_address(e->arena, args[0].text, &ip);
    return trouble ? cel_error(e, "%s", trouble) : ip_value(e, ip);
}

CEL_IMPLEMENT(is_ip)
{
    struct cel_ip ip;
    return cel_bool(!parse_address(e->arena, args[0].text, &ip));
}

CEL_IMPLEMENT(is_canonical)
{
    struct cel_ip ip;
    const char *trouble = parse_address(e->arena, args[0].text, &ip);
    return trouble ? cel_error(e, "%s", trouble)
                   : cel_bool(str_eq(args[0].text, str_of(cel_ip_text(e->arena, &ip))));
}

CEL_IMPLEMENT(to_cidr)
{
    struct cel_ip ip;
    const char *trouble = parse_prefix(e->arena, args[0].text, &ip);
    if (!trouble)
        return ip_value(e, ip);
    return cel_error(e, "network address parse error during conversion from string: %s", trouble);
}

CEL_IMPLEMENT(is_cidr)
{
    struct cel_ip ip;
    return cel_bool(!parse_prefix(e->arena, args[0].text, &ip));
}

/* ---- properties ---- */

static bool has_prefix(const struct cel_ip *ip, const struct cel_ip *network)
{
    if (ip->length != network->length)
        return false;
    for (int bit = 0; bit < network->prefix; bit++)
        if ((ip->bytes[bit / 8] ^ network->bytes[bit / 8]) & (0x80 >> bit % 8))
            return false;
    return true;
}

/* Whether an address is in one of two networks, one of IPv4 and one of IPv6. */
struct networks {
    struct cel_ip v4, v6;
};
static const struct networks unspecified = { { { 0 }, 4, 32 }, { { 0 }, 16, 128 } };
static const struct networks loopback = { { { 127 }, 4, 8 }, { { [15] = 1 }, 16, 128 } };
static const struct networks link_local = { { { 169, 254 }, 4, 16 }, { { 0xfe, 0x80 }, 16, 10 } };
static const struct networks multicast = { { { 224 }, 4, 4 }, { { 0xff }, 16, 8 } };
static const struct networks broadcast = { { { 255, 255, 255, 255 }, 4, 32 }, { { 0 }, 0, 0 } };

static bool in(const struct cel_ip *ip, const struct networks *networks)
{
    return has_prefix(ip, ip->length == 4 ? &networks->v4 : &networks->v6);
}

CEL_IMPLEMENT(family)
{
    (void)e;
    return cel_int(args[0].ip->length == 4 ? 4 : 6);
}

CEL_IMPLEMENT(is_unspecified)
{
    (void)e;
    return cel_bool(in(args[0].ip, &unspecified));
}

CEL_IMPLEMENT(is_loopback)
{
    (void)e;
    return cel_bool(in(args[0].ip, &loopback));
}

CEL_IMPLEMENT(is_link_local_multicast)
{
    const struct cel_ip *ip = args[0].ip;
    static const struct cel_ip local = { { 224, 0, 0 }, 4, 24 };
    (void)e;
    return cel_bool(ip->length == 4 ? has_prefix(ip, &local)
                                    : ip->bytes[0] == 0xff && (ip->bytes[1] & 0xf) == 2);
}

CEL_IMPLEMENT(is_link_local_unicast)
{
    (void)e;
    return cel_bool(in(args[0].ip, &link_local));
}

CEL_IMPLEMENT(is_global_unicast)
{
    const struct cel_ip *ip = args[0].ip;
    (void)e;
    return cel_bool(!in(ip, &unspecified) && !in(ip, &loopback) && !in(ip, &link_local) &&
                    !in(ip, &multicast) && !(ip->length == 4 && in(ip, &broadcast)));
}

CEL_IMPLEMENT(contains_ip)
{
    struct cel_ip ip;
    if (args[1].kind == CEL_IP)
        return cel_bool(has_prefix(args[1].ip, args[0].ip));
    /* Like the server, does not report what is wrong with the text. */
    return parse_address(e->arena, args[1].text, &ip) ? cel_no_overload(e)
                                                      : cel_bool(has_prefix(&ip, args[0].ip));
}

CEL_IMPLEMENT(contains_cidr)
{
    struct cel_ip other;
    if (args[1].kind == CEL_CIDR) {
        other = *args[1].ip;
    } else {
        struct cel_value v = to_cidr(e, f, args + 1, 1);
        if (v.kind == CEL_ERROR)
            return v;
        other = *v.ip;
    }
    return cel_bool(args[0].ip->prefix <= other.prefix && has_prefix(&other, args[0].ip));
}

CEL_IMPLEMENT(ip_of_cidr)
{
    struct cel_ip ip = *args[0].ip;
    ip.prefix = -1;
    return ip_value(e, ip);
}

CEL_IMPLEMENT(prefix_length)
{
    (void)e;
    return cel_int(args[0].ip->prefix);
}

CEL_IMPLEMENT(masked)
{
    struct cel_ip ip = *args[0].ip;
    for (int bit = ip.prefix; bit < ip.length * 8; bit++)
        ip.bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
    return ip_value(e, ip);
}

const struct cel_function cel_lib_net[] = {
    { "ip", "(string) ip", to_ip, CEL_COST_TRAVERSAL },
    { "ip", "cidr.() ip", ip_of_cidr, CEL_COST_ONE },
    { "isIP", "(string) bool", is_ip, CEL_COST_TRAVERSAL },
    { "ip.isCanonical", "(string) bool", is_canonical, CEL_COST_TRAVERSAL_TWICE },
    { "family", "ip.() int", family, CEL_COST_ONE },
    { "isUnspecified", "ip.() bool", is_unspecified, CEL_COST_ONE },
    { "isLoopback", "ip.() bool", is_loopback, CEL_COST_ONE },
    { "isLinkLocalMulticast", "ip.() bool", is_link_local_multicast, CEL_COST_ONE },
    { "isLinkLocalUnicast", "ip.() bool", is_link_local_unicast, CEL_COST_ONE },
    { "isGlobalUnicast", "ip.() bool", is_global_unicast, CEL_COST_ONE },
    { "cidr", "(string) cidr", to_cidr, CEL_COST_TRAVERSAL },
    { "isCIDR", "(string) bool", is_cidr, CEL_COST_TRAVERSAL },
    { "containsIP", "cidr.(string) bool", contains_ip, CEL_COST_CONTAINS_IP_TEXT },
    { "containsIP", "cidr.(ip) bool", contains_ip, CEL_COST_CONTAINS_IP },
    { "containsCIDR", "cidr.(string) bool", contains_cidr, CEL_COST_CONTAINS_CIDR_TEXT },
    { "containsCIDR", "cidr.(cidr) bool", contains_cidr, CEL_COST_CONTAINS_CIDR },
    { "prefixLength", "cidr.() int", prefix_length, CEL_COST_ONE },
    { "masked", "cidr.() cidr", masked, CEL_COST_ONE },
    { 0 },
};
