#!/bin/sh
# Plans manifests for a review: a comment, annotations and a test report from one plan, and the exit code of the job.
#
#   TENURE_MANIFESTS   files and directories, separated by spaces; - for standard input
#   TENURE_BASELINE    the manifests of the base, if only the difference is of interest
#   TENURE_MANAGER     the field manager that applies
#   TENURE_ARGUMENTS   further arguments of `tenure plan`
#   TENURE_FAIL_ON     conflicts (default), changes, or nothing
#   TENURE_OUT         where to write plan.md, plan.sarif and plan.xml; ./.tenure by default
set -u

out=${TENURE_OUT:-.tenure}
mkdir -p "$out"
set --
for path in ${TENURE_MANIFESTS:?name the manifests}; do set -- "$@" -f "$path"; done
[ -z "${TENURE_BASELINE:-}" ] || set -- "$@" --baseline "$TENURE_BASELINE"
tenure plan "$@" -R ${TENURE_ARGUMENTS:-} --save markdown="$out/plan.md" --save sarif="$out/plan.sarif" --save junit="$out/plan.xml"
code=$?
echo "$code" > "$out/code"
case "$code ${TENURE_FAIL_ON:-conflicts}" in
  "0 "* | "2 conflicts" | "2 nothing" | "3 nothing") exit 0 ;;
  *) exit "$code" ;;
esac
