#!/usr/bin/env bash
# Builds Rowrelay for Azure, and publishes it with the functions of the directory in which this is called (host.json and
# <poller>/function.json, as `rowrelay functions` writes them) to a Flex Consumption app that exists, with Core Tools:
#
#   deploy/publish.sh APP [option of `func azure functionapp publish` …]
#
# App settings are not touched. An app on another plan of deploy/bicep runs from a package by URL: deploy/publish-package.sh.
set -euo pipefail

(($# > 0)) || { echo "usage: deploy/publish.sh APP [options]" >&2; exit 2; }
command -v func >/dev/null || { echo "publish: func is missing: npm install -g azure-functions-core-tools@4" >&2; exit 1; }

app=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$(dirname "$0")/package.sh" "$dir"
cd "$dir"
func azure functionapp publish "$app" --custom "$@"
