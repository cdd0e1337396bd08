# Brings a model into a pod. The operator puts two lines in front: refresh=IfNotPresent or OnChange,
# and sha256= with 64 hex digits or nothing. What users wrote comes by environment only:
#   MODEL_SOURCE             http(s), hf:// or s3:// URL, or org/repo; a base URL with MODEL_FILES
#   MODEL_PATH               the one file to make, or
#   MODEL_FILES, CACHE_DIR   names below the source, one a line, and the directory to put them in
#   S3_BUCKET, S3_KEY or S3_PREFIX, AWS_*, HF_TOKEN
# A file appears under its name only when it is whole and, with sha256, right. The last lines of a
# failure name the cause: they become the container's termination message.
set -eu
umask 002
export LC_ALL=C
tries=5

say() { printf '%s\n' "$*"; }
die() { printf 'ERROR: %s\n' "$*" >&2; exit 1; }

# Without user, password and query, which may hold secrets.
public() {
  url=${1%%[?#]*}
  case $url in *://*@*) url=${url%%://*}://${url#*@} ;; esac
  printf '%s' "$url"
}

# Percent-encoded, slashes kept.
encode() {
  rest=$1 out=
  while [ -n "$rest" ]; do
    tail=${rest#?} char=${rest%"${rest#?}"}
    case $char in
      [A-Za-z0-9/._~-]) out=$out$char ;;
      *) out=$out$(printf '%%%02X' $(($(printf %d "'$char") & 255))) ;;
    esac
    rest=$tail
  done
  printf '%s' "$out"
}

# The URL behind MODEL_SOURCE, when it names one file.
single_url() {
  case $MODEL_SOURCE in
    [sS]3://*) s3_url "$S3_KEY" ;;
    [hH][tT][tT][pP]://* | [hH][tT][tT][pP][sS]://*)
      case $MODEL_SOURCE in
        # A blob page shows a file, resolve gives it.
        *://huggingface.co/*/*/blob/* | *://www.huggingface.co/*/*/blob/*)
          say "${MODEL_SOURCE%%/blob/*}/resolve/${MODEL_SOURCE#*/blob/}" ;;
        *) say "$MODEL_SOURCE" ;;
      esac ;;
    *) hub_url "${MODEL_SOURCE#[hH][fF]://}" ;;
  esac
}

# org/repo/file@revision
hub_url() {
  revision=main path=$1
  case $path in *@*) revision=${path#*@} path=${path%%@*} ;; esac
  case $path in
    */*/?*) ;;
    *) die "$MODEL_SOURCE names a repository, not a file: list spec.files in the Model," \
        "or set skipModelInit on a service whose runtime fetches repositories itself" ;;
  esac
  org=${path%%/*} path=${path#*/}
  say "https://huggingface.co/$org/${path%%/*}/resolve/$revision/$(encode "${path#*/}")"
}

s3_url() {
  endpoint=${AWS_ENDPOINT_URL:-https://s3.${AWS_REGION:-us-east-1}.amazonaws.com}
  say "${endpoint%/}/$(encode "$S3_BUCKET/$1")"
}

# URL of one file of MODEL_FILES.
listed_url() {
  case $MODEL_SOURCE in
    [sS]3://*) prefix=${S3_PREFIX:-} prefix=${prefix%/}; s3_url "${prefix:+$prefix/}$1" ;;
    *) say "${MODEL_SOURCE%/}/$(encode "$1")" ;;
  esac
}

quoted() { printf '%s' "$1" | tr -d '\r\n' | sed 's/[\\"]/\\&/g'; }

# Credentials as a curl configuration on its input, so that no process list shows them.
credentials() {
  case $MODEL_SOURCE in
    [sS]3://*)
      [ -n "${AWS_ACCESS_KEY_ID:-}" ] || return 0
      say "aws-sigv4 = \"aws:amz:$(quoted "${AWS_REGION:-us-east-1}"):s3\""
      say "user = \"$(quoted "$AWS_ACCESS_KEY_ID"):$(quoted "${AWS_SECRET_ACCESS_KEY:-}")\""
      [ -z "${AWS_SESSION_TOKEN:-}" ] ||
        say "header = \"x-amz-security-token: $(quoted "$AWS_SESSION_TOKEN")\"" ;;
    *)
      case $1 in
        https://huggingface.co/* | https://www.huggingface.co/*)
          [ -z "${HF_TOKEN:-}" ] ||
            say "header = \"Authorization: Bearer $(quoted "$HF_TOKEN")\"" ;;
      esac ;;
  esac
}

# curl with limits on everything. The first argument is the URL.
request() {
  to=$1; shift
  credentials "$to" | curl -K - --globoff --fail --location --max-redirs 10 --silent --show-error \
    --proto =http,https --connect-timeout 30 --speed-limit 1024 --speed-time 60 "$@" --url "$to"
}

# One attempt at URL $1 into file $2, from where the last one ended if the server still has the same
# file (its ETag says so). Sets http to the last status.
attempt() {
  etag=$(cat "$2.etag" 2>/dev/null || :) code=0
  [ -n "$etag" ] || rm -f "$2"
  if [ -s "$2" ]; then
    set -- "$1" "$2" --continue-at - --header "If-Range: $etag"
  else
    set -- "$1" "$2"
  fi
  url=$1 file=$2; shift 2
  http=$(request "$url" --output "$file" --etag-save "$file.etag.new" --write-out '%{http_code}' \
    "$@") || code=$?
  [ ! -s "$file.etag.new" ] || mv -f "$file.etag.new" "$file.etag"
  return $code
}

# Downloads URL $1 into file $2, trying again when that can help.
download() {
  try=1
  while :; do
    code=0
    attempt "$1" "$2" || code=$?
    case $code/$http in
      0/*) rm -f "$2.etag" "$2.etag.new"; return 0 ;;
      33/* | 36/* | 22/416) rm -f "$2" "$2.etag" ;;           # cannot go on from there: begin anew
      22/408 | 22/429 | 22/5*) ;;                             # the server failed for now
      5/* | 6/* | 7/* | 18/* | 28/* | 35/* | 52/* | 55/* | 56/* | 92/*) ;; # the way to it did
      *) break ;;
    esac
    [ $try -lt $tries ] || break
    say "Attempt $try failed (curl exit code $code, HTTP status $http), trying again"
    sleep $((try * try)); try=$((try + 1))
  done
  rm -f "$2.etag.new"
  explain "$1" "$code" "$http" "$2"
  return 1
}

explain() {
  where=$(public "$1")
  case $2 in
    22) printf 'ERROR: HTTP %s from %s\n' "$3" "$where" >&2 ;;
    23)
      free=$(df -Pk "${4%/*}" 2>/dev/null | awk 'NR == 2 { print $4 }') || free=
      [ "${free:-1024}" -ge 1024 ] || printf 'ERROR: No space left on device\n' >&2
      printf 'ERROR: cannot write %s\n' "$4" >&2 ;;
    *) printf 'ERROR: download of %s failed, curl exit code %s\n' "$where" "$2" >&2 ;;
  esac
}

# Whether file $1 has the wanted digest. A finished check leaves a mark, so that the next start does
# not read tens of gigabytes again.
verified() {
  [ -n "$sha256" ] || return 0
  [ "$(cat "$(mark "$1")" 2>/dev/null || :)" != "$(stamp "$1")" ] || return 0
  [ "$(digest "$1")" = "$sha256" ] || return 1
  remember "$1"
}
digest() { sum=$(sha256sum <"$1"); say "${sum%% *}"; }
mark() { say "${1%/*}/.${1##*/}.sha256"; }
stamp() { say "$sha256 $(size_of "$1")"; }
remember() { stamp "$1" 2>/dev/null >"$(mark "$1")" || :; }

size_of() { wc -c <"$1" | tr -d ' '; }
remote_size() {
  request "$1" --head --output - 2>/dev/null | tr -d '\r' |
    awk 'tolower($1) == "content-length:" { size = $2 } END { print size }' || :
}

# Makes file $2 from URL $1, or from the mounted host file.
stage() {
  target=$2 dir=${2%/*}
  mkdir -p "$dir"
  find "$dir" -maxdepth 1 -name '*.tmp' -type f -mmin +1440 -exec rm -f {} + 2>/dev/null || :
  if [ -f "$target" ]; then
    if ! verified "$target"; then
      say "$target does not have the wanted SHA-256, fetching it again"
    elif [ "$refresh" != OnChange ]; then
      say "$target is there"; return 0
    else
      case $1 in
        /*) size=$(size_of "$1") ;;
        *) size=$(remote_size "$1") ;;
      esac
      if [ "${size:-0}" != 0 ] && [ "$size" = "$(size_of "$target")" ]; then
        say "$target is up to date"; return 0
      fi
    fi
  fi
  # A name of this pod's own: several pods may fill one cache at once.
  part=$target.$(hostname 2>/dev/null || say pod).tmp
  if ! bring "$1" "$part"; then
    [ -f "$target" ] && verified "$target" || return 1
    say "Keeping the copy that is there"; return 0
  fi
  if [ -n "$sha256" ]; then
    got=$(digest "$part")
    if [ "$got" != "$sha256" ]; then
      rm -f "$part"
      die "SHA-256 mismatch: expected $sha256, got $got from $(public "$1")"
    fi
  fi
  mv -f "$part" "$target"
  [ -z "$sha256" ] || remember "$target"
  say "$target is ready"
}

bring() {
  case $1 in
    /*) say "Copying the model from the node"; cp "$1" "$2" ;;
    *) say "Downloading $(public "$1")"; download "$1" "$2" ;;
  esac
}

# Certificates of --ca-cert-configmap, beside the image's own.
if [ -d /custom-certs ]; then
  bundle=$(mktemp)
  for file in "${CURL_CA_BUNDLE:-}" /etc/ssl/certs/ca-certificates.crt /cacert.pem; do
    [ ! -f "$file" ] || { cat "$file"; break; }
  done >"$bundle"
  for file in /custom-certs/*; do
    [ ! -f "$file" ] || { printf '\n'; cat "$file"; } >>"$bundle"
  done
  export CURL_CA_BUNDLE="$bundle"
fi

if [ -n "${MODEL_FILES:-}" ]; then
  while IFS= read -r name; do
    stage "$(listed_url "$name")" "$CACHE_DIR/$name"
    sha256= # it is the first file's
  done <<LIST
$MODEL_FILES
LIST
elif [ -f /host-model/model.gguf ]; then
  stage /host-model/model.gguf "$MODEL_PATH"
else
  url=$(single_url)
  stage "$url" "$MODEL_PATH"
fi
