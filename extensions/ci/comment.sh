#!/bin/sh
# Keeps one comment on a pull request (GitHub) or merge request (GitLab): updates the comment that an earlier run wrote, or writes one.
#
#   comment.sh FILE [KEY]     FILE has the comment; KEY distinguishes several, such as one for each environment
#
# GitHub: GITHUB_TOKEN, GITHUB_REPOSITORY, and TENURE_PULL_REQUEST or GITHUB_EVENT_PATH; GITHUB_API_URL if it is not github.com.
# GitLab: TENURE_GITLAB_TOKEN (a token that may write notes), CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID.
# Needs curl and jq.
set -eu

file=${1:?name the file with the comment}
key=${2:-}
mark="<!-- tenure-plan${key:+ $key} -->"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The first line is the mark by which the comment is found again.
{ printf '%s\n' "$mark"; sed '1{/^<!-- tenure-plan/d;}' "$file"; } > "$scratch/body"
jq --raw-input --slurp '{body: .}' "$scratch/body" > "$scratch/request"

if [ -n "${CI_API_V4_URL:-}" ]; then
  : "${TENURE_GITLAB_TOKEN:?a token that may write notes on merge requests}"
  list="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/${CI_MERGE_REQUEST_IID:?this is not a pipeline of a merge request}/notes"
  header="PRIVATE-TOKEN: $TENURE_GITLAB_TOKEN" update=PUT note=$list
else
  : "${GITHUB_TOKEN:?the token of the job}" "${GITHUB_REPOSITORY:?the repository, as owner/name}"
  number=${TENURE_PULL_REQUEST:-$(jq -r '.pull_request.number // empty' "${GITHUB_EVENT_PATH:-/dev/null}")}
  [ -n "$number" ] || { echo "comment.sh: this run is not about a pull request" >&2; exit 1; }
  api="${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/issues"
  list="$api/$number/comments" note="$api/comments"
  header="Authorization: Bearer $GITHUB_TOKEN" update=PATCH
fi

# The token is not an argument of a command, which others on the machine could see.
umask 077
printf 'header = "%s"\nheader = "Content-Type: application/json"\nsilent\nshow-error\n' "$header" > "$scratch/curl"
call() { curl --config "$scratch/curl" --retry 3 "$@"; }

id= page=1
while [ -z "$id" ] && [ "$page" -le 50 ]; do
  call --fail "$list?per_page=100&page=$page" > "$scratch/page"
  id=$(jq -r --arg mark "$mark" '[.[] | select(.body | startswith($mark)) | .id] | first // empty' "$scratch/page")
  [ "$(jq length "$scratch/page")" -eq 100 ] || break
  page=$((page + 1))
done
if [ -n "$id" ]; then
  code=$(call --request "$update" --data @"$scratch/request" --output /dev/null --write-out '%{http_code}' "$note/$id")
  case $code in
    2*) echo "updated comment $id"; exit 0 ;;
    403 | 404) ;; # Somebody else wrote it, or it is gone: write one.
    *) echo "comment.sh: the comment $id cannot be updated: HTTP $code" >&2; exit 1 ;;
  esac
fi
call --fail --request POST --data @"$scratch/request" --output "$scratch/new" "$list"
echo "wrote comment $(jq -r .id "$scratch/new")"
