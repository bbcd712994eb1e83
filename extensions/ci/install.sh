#!/bin/sh
# Installs `tenure` into a directory and verifies its checksum before anything of it runs.
#
#   TENURE_VERSION   the release, such as 0.2.0
#   TENURE_SHA256    the checksum of its archive; required
#   TENURE_URL       the address of the archive; that of the release by default
#   TENURE_DIR       where to put the program; ./.tenure/bin by default
set -eu

: "${TENURE_VERSION:?name the release of tenure}"
: "${TENURE_SHA256:?pin the archive of tenure by its SHA-256 checksum}"
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) echo "tenure: there is no program for $(uname -m)" >&2; exit 1 ;;
esac
url=${TENURE_URL:-https://github.com/tenure-dev/tenure/releases/download/v$TENURE_VERSION/tenure-$TENURE_VERSION-$machine-unknown-linux-musl.tar.gz}
directory=${TENURE_DIR:-.tenure/bin}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
curl --fail --silent --show-error --location --retry 3 --output "$scratch/archive" "$url"
echo "$TENURE_SHA256  $scratch/archive" | sha256sum -c - >/dev/null 2>&1 || {
  echo "tenure: the checksum of $url is $(sha256sum "$scratch/archive" | cut -d ' ' -f 1), expected $TENURE_SHA256" >&2
  exit 1
}
tar -xzf "$scratch/archive" -C "$scratch"
program=$(find "$scratch" -type f -name tenure | head -n 1)
[ -n "$program" ] || { echo "tenure: $url contains no program" >&2; exit 1; }
mkdir -p "$directory"
cp "$program" "$directory/tenure"
chmod 755 "$directory/tenure"
