/* The Go structs of config.yaml, one table each, in their order. */

#include "kinds/toolhive/vmcp_tables.h"

#include "kinds/toolhive/document_macros.h"
#include "kinds/toolhive/runconfig_tables.h"

/* ---- incoming authentication ---- */

static const struct document_field oidc[] = {
    TEXT_ALWAYS("issuer"),
    TEXT_ALWAYS("clientId"),
    TEXT("clientSecretEnv"),
    TEXT_ALWAYS("audience"),
    TEXT("resource"),
    TEXT("jwksUrl"),
    TEXT("introspectionUrl"),
    TEXTS("scopes"),
    BOOL("protectedResourceAllowPrivateIp"),
    BOOL("jwksAllowPrivateIp"),
    BOOL("insecureAllowHttp"),
    TEXT("caBundlePath"),
    { 0 },
};
static const struct document_field authz[] = {
    TEXT_ALWAYS("type"),
    TEXTS("policies"),
    TEXT("entitiesJson"),
    TEXT("primaryUpstreamProvider"),
    TEXT("groupClaimName"),
    TEXT("roleClaimName"),
    TEXT("groupEntityType"),
    { 0 },
};
static const struct document_field incoming[] = {
    TEXT_ALWAYS("type"), POINTER("oidc", oidc), POINTER("authz", authz), { 0 }
};

/* ---- access to back ends ---- */

static const struct document_field header_injection[] = {
    TEXT_ALWAYS("headerName"), TEXT("headerValue"), TEXT("headerValueEnv"), { 0 }
};
static const struct document_field token_exchange[] = {
    TEXT_ALWAYS("tokenUrl"),
    TEXT("clientId"),
    TEXT("clientSecret"),
    TEXT("clientSecretEnv"),
    TEXT("audience"),
    TEXTS("scopes"),
    TEXT("subjectTokenType"),
    TEXT("subjectProviderName"),
    { 0 },
};
static const struct document_field upstream_inject[] = { TEXT_ALWAYS("providerName"), { 0 } };
static const struct document_field role_mapping[] = {
    TEXT("claim"), TEXT("matcher"), TEXT_ALWAYS("roleArn"), RAW("priority"), { 0 }
};
static const struct document_field aws_sts[] = {
    TEXT_ALWAYS("region"),
    TEXT("service"),
    TEXT("fallbackRoleArn"),
    STRUCTS("roleMappings", role_mapping),
    TEXT("roleClaim"),
    RAW("sessionDuration"),
    TEXT("sessionNameClaim"),
    TEXT("subjectProviderName"),
    { 0 },
};
static const struct document_field xaa[] = {
    TEXT_ALWAYS("idpTokenUrl"),
    TEXT("idpClientId"),
    TEXT("idpClientSecret"),
    TEXT("idpClientSecretEnv"),
    TEXT_ALWAYS("targetTokenUrl"),
    BOOL("insecureTargetTokenUrl"),
    TEXT("targetClientId"),
    TEXT("targetClientSecret"),
    TEXT("targetClientSecretEnv"),
    TEXT_ALWAYS("targetAudience"),
    TEXT("targetResource"),
    TEXTS("scopes"),
    TEXT("subjectProviderName"),
    TEXT("subjectTokenType"),
    { 0 },
};
static const struct document_field strategy[] = {
    TEXT_ALWAYS("type"),
    POINTER("headerInjection", header_injection),
    POINTER("tokenExchange", token_exchange),
    POINTER("upstreamInject", upstream_inject),
    POINTER("awsSts", aws_sts),
    POINTER("xaa", xaa),
    { 0 },
};
static const struct document_field outgoing[] = {
    TEXT_ALWAYS("source"), POINTER("default", strategy), STRUCT_MAP("backends", strategy), { 0 }
};
static const struct document_field backend[] = {
    TEXT_ALWAYS("name"),
    TEXT_ALWAYS("url"),
    TEXT_ALWAYS("transport"),
    TEXT("type"),
    TEXT("caBundlePath"),
    TEXT_MAP("metadata"),
    { 0 },
};

/* ---- which tools are offered ---- */

static const struct document_field hints[] = {
    RAW("title"),
    RAW("readOnlyHint"),
    RAW("destructiveHint"),
    RAW("idempotentHint"),
    RAW("openWorldHint"),
    { 0 },
};
static const struct document_field override[] = {
    TEXT("name"), TEXT("description"), POINTER("annotations", hints), { 0 }
};
static const struct document_field reference[] = { TEXT_ALWAYS("name"), { 0 } };
static const struct document_field workload_tools[] = {
    TEXT_ALWAYS("workload"),
    POINTER("toolConfigRef", reference),
    TEXTS("filter"),
    STRUCT_MAP("overrides", override),
    BOOL("excludeAll"),
    { 0 },
};
static const struct document_field conflicts[] = {
    TEXT("prefixFormat"), TEXTS("priorityOrder"), { 0 }
};
static const struct document_field aggregation[] = {
    TEXT_ALWAYS("conflictResolution"),
    POINTER("conflictResolutionConfig", conflicts),
    STRUCTS("tools", workload_tools),
    BOOL("excludeAllTools"),
    TEXT("defaultToolVisibility"),
    { 0 },
};

/* ---- composite tools ---- */

static const struct document_field on_error[] = {
    TEXT("action"), INT("retryCount"), DURATION("retryDelay"), { 0 }
};
static const struct document_field response[] = { TEXT("action"), { 0 } };
extern const struct document_field composite_step_fields[];
const struct document_field composite_step_fields[] = {
    TEXT_ALWAYS("id"),
    TEXT("type"),
    TEXT("tool"),
    RAW("arguments"),
    TEXT("condition"),
    TEXTS("dependsOn"),
    POINTER("onError", on_error),
    TEXT("message"),
    RAW("schema"),
    DURATION("timeout"),
    POINTER("onDecline", response),
    POINTER("onCancel", response),
    RAW("defaultResults"),
    TEXT("collection"),
    TEXT("itemVar"),
    INT("maxParallel"),
    INT("maxIterations"),
    POINTER("step", composite_step_fields),
    { 0 },
};
extern const struct document_field composite_property_fields[];
const struct document_field composite_property_fields[] = {
    TEXT_ALWAYS("type"),
    TEXT_ALWAYS("description"),
    TEXT("value"),
    STRUCT_MAP("properties", composite_property_fields),
    RAW("default"),
    { 0 },
};
static const struct document_field output[] = {
    { .name = "properties",
        .kind = DOCUMENT_STRUCT,
        .shape = DOCUMENT_MAP,
        .of = composite_property_fields },
    TEXTS("required"),
    { 0 },
};
const struct document_field composite_tool_fields[] = {
    TEXT_ALWAYS("name"),
    TEXT("description"),
    RAW("parameters"),
    DURATION("timeout"),
    { .name = "steps",
        .kind = DOCUMENT_STRUCT,
        .shape = DOCUMENT_LIST,
        .of = composite_step_fields },
    POINTER("output", output),
    POINTER("annotations", hints),
    { 0 },
};

/* ---- operation ---- */

static const struct document_field timeouts[] = {
    DURATION("default"),
    { .name = "perWorkload", .kind = DOCUMENT_DURATION, .shape = DOCUMENT_MAP, .omitempty = true },
    { 0 },
};
static const struct document_field breaker[] = {
    BOOL("enabled"), INT("failureThreshold"), DURATION("timeout"), { 0 }
};
static const struct document_field failures[] = {
    DURATION("healthCheckInterval"),
    INT("unhealthyThreshold"),
    DURATION("healthCheckTimeout"),
    DURATION("statusReportingInterval"),
    TEXT("partialFailureMode"),
    POINTER("circuitBreaker", breaker),
    { 0 },
};
static const struct document_field operational[] = {
    TEXT("logLevel"), POINTER("timeouts", timeouts), POINTER("failureHandling", failures), { 0 }
};
static const struct document_field audit[] = {
    BOOL("enabled"),
    TEXT("component"),
    TEXTS("eventTypes"),
    TEXTS("excludeEventTypes"),
    BOOL("includeRequestData"),
    BOOL("includeResponseData"),
    RAW("detectApplicationErrors"),
    INT("maxDataSize"),
    RAW("maxDelegationDepth"),
    TEXT("logFile"),
    { 0 },
};
static const struct document_field optimizer[] = {
    TEXT("embeddingService"),
    DURATION("embeddingServiceTimeout"),
    TEXT("embeddingProvider"),
    TEXT("embeddingModel"),
    TEXT_MAP("embeddingHeaders"),
    INT("maxToolsToReturn"),
    TEXT("hybridSearchSemanticRatio"),
    TEXT("semanticDistanceThreshold"),
    { 0 },
};
static const struct document_field code_mode[] = {
    BOOL("enabled"),
    INT("stepLimit"),
    INT("parallelMaxConcurrency"),
    DURATION("toolCallTimeout"),
    { 0 },
};
static const struct document_field sessions[] = {
    TEXT_ALWAYS("provider"), TEXT("address"), INT("db"), TEXT("keyPrefix"), { 0 }
};
/* Upstream's YAML library does not know its duration type: the time is one level deeper. */
static const struct document_field period[] = { { .name = "duration", .kind = DOCUMENT_DURATION },
    { 0 } };
static const struct document_field bucket[] = {
    INT_ALWAYS("maxTokens"),
    { .name = "refillPeriod", .kind = DOCUMENT_STRUCT, .of = period },
    { 0 },
};
static const struct document_field tool_limit[] = {
    TEXT_ALWAYS("name"), POINTER("shared", bucket), POINTER("perUser", bucket), { 0 }
};
static const struct document_field limits[] = {
    POINTER("shared", bucket), POINTER("perUser", bucket), STRUCTS("tools", tool_limit), { 0 }
};

const struct document_field vmcp_config_fields[] = {
    TEXT("name"),
    TEXT("groupRef"),
    STRUCTS("backends", backend),
    POINTER("incomingAuth", incoming),
    POINTER("outgoingAuth", outgoing),
    POINTER("aggregation", aggregation),
    STRUCTS("compositeTools", composite_tool_fields),
    STRUCTS("compositeToolRefs", reference),
    POINTER("operational", operational),
    TEXT_MAP("metadata"),
    POINTER("telemetry", telemetry_fields),
    POINTER("audit", audit),
    POINTER("optimizer", optimizer),
    POINTER("codeMode", code_mode),
    POINTER("sessionStorage", sessions),
    POINTER("rateLimiting", limits),
    TEXTS("passthroughHeaders"),
    { 0 },
};
