# Packs a Hugging Face repository as an OCI artifact, pushes it, and leaves the digest as the container's last word.
# If a step fails, the last word is the end of what it said.
set -eu
words=/dev/termination-log
said=/workspace/said
export KITOPS_HOME=/workspace/kit
mkdir -p "$KITOPS_HOME" /workspace/model

step() {
    { kit "$@" 2>&1 && : >/workspace/ok; } | tee "$said" >&2
    [ -e /workspace/ok ] || { tail -c 1000 "$said" >"$words"; exit 1; }
    rm /workspace/ok
}

set -- "$HF_REPO" --tag model:latest
[ -z "${HF_REVISION:-}" ] || set -- "$@" --ref "$HF_REVISION"
[ -z "${HF_TOKEN:-}" ] || set -- "$@" --token "$HF_TOKEN"
step import "$@"
if [ "$FORMAT" = ModelPack ]; then
    step unpack model:latest --overwrite --dir /workspace/model
    step pack /workspace/model --use-model-pack --tag "$OCI_TARGET"
else
    step tag model:latest "$OCI_TARGET"
fi
set -- "$OCI_TARGET"
[ "${PLAIN_HTTP:-}" != true ] || set -- "$@" --plain-http
step push "$@"
digest=$(grep -o 'sha256:[0-9a-f]\{64\}' "$said" | tail -n 1)
[ -n "$digest" ] || { echo "kit push named no digest" >"$words"; exit 1; }
printf %s "$digest" >"$words"
