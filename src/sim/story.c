#include "sim/story.h"

#include "base/str.h"

/* After the last step, for what is under way then. */
#define AFTER_S 15

#define STEPS(...) ((const struct sim_step[]){ __VA_ARGS__, { 0 } })
#define LONG_60 "m-a-name-of-sixty-characters-which-is-more-than-children-can-h"
#define LONG_63 "m-a-name-of-sixty-three-characters-just-what-a-label-can-hold-x"
#define SOURCE_A "{\"source\":\"https://models.example/old.gguf\"}"

static const struct sim_story stories[] = {
    { "names-alike",
        "otterscale: `owl-1.5` and `owl-1-5` are one name to a Service",
        true,
        STEPS({ 1, "ModelService", "owl-1.5", "{}" }, { 10, "ModelService", "owl-1-5", "{}" },
            { 20, "ModelService", "owl-1-5", "{\"decode.replicas\":2}" }) },
    { "names-long",
        "otterscale, toolhive: names of 60 to 63 characters, and one that begins with a digit",
        false,
        STEPS({ 1, "ModelService", LONG_60, "{}" }, { 2, "ModelService", LONG_63, "{}" },
            { 3, "ModelService", "7b", "{}" }, { 4, "ModelArtifact", LONG_63, "{}" },
            { 5, "Model", LONG_63, "{}" },
            { 6, "InferenceService", LONG_63, "{\"modelRef\":\"" LONG_63 "\"}" }) },
    { "source-edited",
        "llmkube: after an edit of the source the old weights were served on",
        false,
        STEPS({ 1, "Model", "m0", SOURCE_A }, { 2, "InferenceService", "i0", "{}" },
            { 30, "Model", "m0", "{}" }) },
    { "exposure-off",
        "llmkube: what exposed a service stayed when it was switched off",
        false,
        STEPS({ 1, "Model", "m0", "{}" },
            { 2,
                "InferenceService",
                "i0",
                "{\"endpoint\":{\"gateway\":{\"enabled\":true,\"gatewayRef\":{\"name\":\"gw\"}}},"
                "\"autoscaling\":{\"maxReplicas\":3}}" },
            { 30, "InferenceService", "i0", "{}" },
            { 31, "ModelService", "m0", "{\"monitoring\":{\"podMonitor\":{}},\"prefill\":{}}" },
            { 50, "ModelService", "m0", "{}" }) },
    { "tag-edited",
        "otterscale: the digest of one tag was told of the next",
        false,
        STEPS({ 1, "ModelArtifact", "m0", "{\"target.tag\":\"v1\"}" },
            { 2, "ModelArtifact", "m-1", "{\"target.tag\":\"v1\"}" },
            { 4, "ModelArtifact", "m-1", "{\"target.tag\":\"v2\"}" },
            { 40, "ModelArtifact", "m0", "{\"target.tag\":\"v2\"}" }) },
    { "service-first",
        "llmkube: that a Model is missing stayed told after it came",
        false,
        STEPS({ 1, "InferenceService", "i0", "{}" }, { 20, "Model", "m0", "{}" }) },
    { "hpa-refused",
        "llmkube: a refused autoscaler left no status",
        false,
        STEPS({ 1, "Model", "m0", "{}" },
            { 2,
                "InferenceService",
                "i0",
                "{\"autoscaling\":{\"minReplicas\":5,\"maxReplicas\":2}}" },
            { 30,
                "InferenceService",
                "i0",
                "{\"autoscaling\":{\"maxReplicas\":2}}",
                "spec.autoscaling.minReplicas: 5 is more than maxReplicas" }) },
    { "refused-then-accepted",
        "a Deployment that the server will not have, and then one that it has",
        false,
        STEPS({ 1, "Model", "m0", "{}" },
            { 2,
                "InferenceService",
                "i0",
                "{\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"value\":\"v\"}]}" },
            { 19, "~answer lost", "/deployments/i0", NULL },
            { 20, "InferenceService", "i0", "{}", "value must be empty when `operator`" }) },
    { "asked-for-in-vain",
        "a Secret that is not there, a Model that is not there, a value that cannot be",
        false,
        STEPS({ 1,
                  "ModelService",
                  "m0",
                  "{\"model.imagePullSecrets\":[{\"name\":\"nobody\"}],"
                  "\"monitoring\":{\"podMonitor\":{\"enabled\":true}}}" },
            { 2, "ModelArtifact", "m0", "{\"target.credentialsSecretRef\":{\"name\":\"nobody\"}}" },
            { 3, "InferenceService", "i0", "{}" },
            { 20, "ModelService", "m0", "{}", "Secret nobody is not in namespace" },
            { 20, "ModelArtifact", "m0", "{}", "Secret nobody is not in namespace" },
            { 20,
                "InferenceService",
                "i0",
                "{\"endpoint\":{\"gateway\":{\"enabled\":true,\"gatewayRef\":{\"name\":\"gw\"}}}}",
                "Model not found" },
            { 21, "Model", "m0", "{}" }) },
    { "edited-meanwhile",
        "otterscale: that somebody was faster was told as an error",
        false,
        STEPS({ 1, "ModelService", "m0", "{}" }, { 2, "Model", "m0", "{}" },
            { 3, "InferenceService", "i0", "{}" },
            { 19, "~edited before", "/deployments/m0", NULL },
            { 20, "ModelService", "m0", "{\"decode.replicas\":2}" },
            { 29, "~deleted before", "/services/i0", NULL },
            { 30, "InferenceService", "i0", "{\"endpoint\":{\"port\":8081}}" }) },
    { "lost-and-late",
        "an answer is lost, and the watch that would tell of the write is behind",
        false,
        STEPS({ 1, "Model", "m0", "{}" }, { 2, "~watch lags", "/deployments?", NULL },
            { 3, "~answer lost", "/deployments/i0", NULL },
            { 4, "InferenceService", "i0", "{}" }) },
    { "deleted-meanwhile",
        "otterscale: what was deleted before the answer to its creation came stayed away",
        false,
        STEPS({ 1, "~deleted after", "/deployments/m0-decode", NULL },
            { 2, "ModelService", "m0", "{}" }) },
    { "late-word",
        "toolhive: a status of an older generation won",
        false,
        STEPS({ 1, "ModelService", "m0", "{}" },
            { 19, "~arrives late", "/modelservices/m0/status", NULL },
            { 20, "ModelService", "m0", "{\"decode.replicas\":2}" },
            { 25, "ModelService", "m0", "{\"decode.replicas\":3}" },
            { 70, "ModelService", "m0", "{\"decode.replicas\":4}" }) },
    { "let-go-late",
        "an object that goes, and rights to take its finalizer off that come back later",
        false,
        STEPS({ 1, "ModelService", "m0", "{}" }, { 19, "~forbidden", "/modelservices/m0?", NULL },
            { 20, "ModelService", "m0", NULL }) },
    { "left-behind",
        "an object that goes, and rights to delete what it has in the cluster that come back later",
        false,
        STEPS({ 1, "ModelService", "m0", "{\"inferencePool\":{\"endpointPicker\":{}}}" },
            { 19, "~forbidden", "/clusterroles/", NULL }, { 20, "ModelService", "m0", NULL }) },
    { "made-too-late",
        "what is made when nobody asks for it any more",
        false,
        STEPS({ 1, "ModelService", "m0", "{}" },
            { 2, "~arrives late", "/deployments/m0-prefill", NULL },
            { 3, "ModelService", "m0", "{\"prefill\":{}}" }, { 4, "ModelService", "m0", "{}" },
            { 80, "~arrives late", "/clusterrolebindings/", NULL },
            { 81, "ModelService", "m-1", "{\"inferencePool\":{\"endpointPicker\":{}}}" },
            { 82, "ModelService", "m-1", NULL }, { 150, "ModelService", "m-2", "{}" }) },
    { "ends-meanwhile",
        "an operator ends while one service waits for the claim that another makes",
        false,
        STEPS({ 1, "Model", "m0", "{}" }, { 1, "Model", "m-1", "{}" },
            { 2, "~ends", "/persistentvolumeclaims", NULL }, { 3, "InferenceService", "i0", "{}" },
            { 3, "InferenceService", "i-1", "{}" },
            { 3, "InferenceService", "i-2", "{\"modelRef\":\"m0\"}" },
            { 3, "InferenceService", "i-3", "{\"modelRef\":\"m0\"}" }) },
    { "two-at-once",
        "two services need the same claim at the same time",
        false,
        STEPS({ 1, "Model", "m0", "{}" }, { 1, "Model", "m-1", "{}" },
            { 10, "InferenceService", "i0", "{}" }, { 10, "InferenceService", "i-1", "{}" },
            { 20, "InferenceService", "i0", "{\"replicas\":2}" }) },
    { "empty-texts",
        "what people leave empty the server fills in, and a new leader writes it again",
        false,
        STEPS({ 1, "Model", "m0", "{}" },
            { 2,
                "InferenceService",
                "i0",
                "{\"extraVolumes\":[{\"name\":\"v\",\"scaleIO\":{\"gateway\":\"g\",\"system\":"
                "\"s\","
                "\"volumeName\":\"n\",\"secretRef\":{\"name\":\"a\"},\"fsType\":\"\"}},"
                "{\"name\":\"w\",\"downwardAPI\":{\"items\":[{\"path\":\"p\",\"fieldRef\":"
                "{\"fieldPath\":\"metadata.name\",\"apiVersion\":\"\"}}]}},"
                "{\"name\":\"x\",\"projected\":{\"sources\":[{\"serviceAccountToken\":"
                "{\"path\":\"p\"}}]}}],\"probeOverrides\":{\"readiness\":{\"timeoutSeconds\":0,"
                "\"httpGet\":{\"port\":1}}}}" }) },
    { "fought-over",
        "somebody takes a label of a Deployment back each time: who owns it says so",
        false,
        STEPS({ 1, "Model", "m0", "{}" }, { 2, "~taken", "i0", NULL },
            { 3, "InferenceService", "i0", "{}" }, { 130, "Model", "m-1", "{}" }) },
    { "made-anew",
        "otterscale: what a predecessor of the same name left behind",
        false,
        STEPS({ 1, "ModelService", "m0", "{}" }, { 2, "ModelArtifact", "m0", "{}" },
            { 19, "~watch lags", "/serviceaccounts?", NULL }, { 20, "ModelService", "m0", NULL },
            { 21, "ModelArtifact", "m0", NULL }, { 22, "ModelService", "m0", "{}" },
            { 23, "ModelArtifact", "m0", "{}" }, { 24, "ModelService", "gone", "{}" },
            { 40, "ModelService", "gone", NULL }) },
};

const struct sim_story *sim_story_at(size_t i)
{
    return i < lengthof(stories) ? &stories[i] : NULL;
}

const struct sim_story *sim_story_find(const char *name)
{
    for (size_t i = 0; i < lengthof(stories); i++)
        if (text_eq(stories[i].name, name))
            return &stories[i];
    return NULL;
}

int64_t sim_story_ms(const struct sim_story *story)
{
    int64_t last_s = 0;
    for (const struct sim_step *step = story->steps; step->kind; step++)
        if (step->at_s > last_s)
            last_s = step->at_s;
    return (last_s + AFTER_S) * 1000;
}
