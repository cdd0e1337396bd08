#include "http/follow.h"

#include <llhttp.h>
#include <stdlib.h>

struct follow {
    llhttp_t parser;
    const struct follow *requests; /* for a follower of responses */
    enum follow_state state;
    bool head_done, last;
    bool switched; /* the following bytes belong to another protocol */
};

static int on_request_head(struct follow *f)
{
    f->head_done = true;
    return 0;
}

static int on_answer_head(struct follow *f)
{
    int status = f->parser.status_code;
    int method = f->requests->parser.method;
    f->switched = status == 101 || (method == HTTP_CONNECT && status / 100 == 2);
    if (f->switched)
        return 2; /* no body, and no next message */
    return status < 200 || status == 204 || status == 304 || method == HTTP_HEAD;
}

static int on_headers_complete(llhttp_t *p)
{
    struct follow *f = p->data;
    if (p->http_major != 1)
        return -1;
    return f->requests ? on_answer_head(f) : on_request_head(f);
}

static int on_message_complete(llhttp_t *p)
{
    struct follow *f = p->data;
    if (f->requests && p->status_code < 200 && !f->switched)
        return 0;
    f->last = !llhttp_should_keep_alive(p);
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_headers_complete,
    .on_message_complete = on_message_complete,
};

static struct follow *follow_new(const struct follow *requests)
{
    struct follow *f = mem_new_of(struct follow);
    f->requests = requests;
    follow_next(f);
    return f;
}

struct follow *follow_requests_new(void)
{
    return follow_new(NULL);
}

struct follow *follow_answers_new(const struct follow *requests)
{
    assert(requests && !requests->requests);
    return follow_new(requests);
}

void follow_free(struct follow *f)
{
    free(f);
}

void follow_next(struct follow *f)
{
    *f = (struct follow){ .requests = f->requests };
    llhttp_init(&f->parser, f->requests ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
    f->parser.data = f;
}

size_t follow_feed(struct follow *f, struct str bytes)
{
    assert(f->state != FOLLOW_ENDED);
    if (f->state == FOLLOW_LOST || bytes.len == 0)
        return bytes.len;
    f->state = FOLLOW_INSIDE;
    llhttp_errno_t rc = llhttp_execute(&f->parser, bytes.ptr, bytes.len);
    if (rc == HPE_OK)
        return bytes.len;
    bool ended = (rc == HPE_PAUSED || rc == HPE_PAUSED_UPGRADE) && !f->switched;
    f->state = ended ? FOLLOW_ENDED : FOLLOW_LOST;
    return ended ? (size_t)(llhttp_get_error_pos(&f->parser) - bytes.ptr) : bytes.len;
}

enum follow_state follow_state(const struct follow *f)
{
    return f->state;
}

bool follow_is_last(const struct follow *f)
{
    return f->last;
}

bool follow_is_chunked(const struct follow *f)
{
    return f->parser.flags & F_CHUNKED;
}

bool follow_may_act(const struct follow *f)
{
    static const uint8_t repeatable[] = {
        HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_DELETE, HTTP_OPTIONS, HTTP_TRACE
    };
    for (size_t i = 0; i < lengthof(repeatable); i++)
        if (f->parser.method == repeatable[i])
            return false;
    return f->head_done;
}
