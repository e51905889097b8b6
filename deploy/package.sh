#!/usr/bin/env bash
# Puts what an Azure function app runs into an empty or new directory: the static binary for linux/amd64, which is built from this clone,
# and from the directory in which it is called host.json and the function.json of each poller, as `rowrelay functions` writes them there.
# azd (azure.yaml), the container (Dockerfile) and the publish scripts take it from there.
#
#   deploy/package.sh DIR
#
# GOARCH chooses another processor, VERSION is what `rowrelay version` shows.
set -euo pipefail

(($# == 1)) || { echo "usage: deploy/package.sh DIR" >&2; exit 2; }
clone=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)

[[ ! $out -ef . ]] || { echo "package: $out is the directory of the functions: name another one" >&2; exit 1; }
[[ -z $(ls -A "$out") || -f $out/host.json ]] || { echo "package: $out is neither empty nor a package of before" >&2; exit 1; }
[[ -f host.json ]] || { echo "package: no host.json in $PWD: rowrelay functions writes it" >&2; exit 1; }
compgen -G '*/function.json' >/dev/null || { echo "package: no <poller>/function.json in $PWD: rowrelay functions writes them" >&2; exit 1; }

rm -rf "${out:?}"/*
# shellcheck disable=SC1091 # it stands in the clone
. "$clone/scripts/shipped.sh"
GOOS=linux GOARCH=${GOARCH:-amd64} go build -C "$clone" -ldflags "-s -w -X main.version=${VERSION:-dev}" -o "$out/rowrelay" ./cmd/rowrelay
install -m 644 host.json "$out/host.json"
for f in */function.json; do
    install -D -m 644 "$f" "$out/$f"
done
