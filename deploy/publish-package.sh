#!/usr/bin/env bash
# Builds Rowrelay for Azure, and publishes it with the functions of the directory in which this is called (host.json and
# <poller>/function.json) to an app of deploy/bicep on a Premium, Dedicated or Consumption plan. These run from a zip in the container
# `packages` of the host's storage account, which they read with their identity (WEBSITE_RUN_FROM_PACKAGE).
#
#   deploy/publish-package.sh RESOURCE_GROUP APP HOST_ACCOUNT
#
# HOST_ACCOUNT is the output hostAccount. You need Storage Blob Data Contributor on it, az and zip.
set -euo pipefail

(($# == 3)) || { echo "usage: deploy/publish-package.sh RESOURCE_GROUP APP HOST_ACCOUNT" >&2; exit 2; }
for tool in az zip; do
    command -v "$tool" >/dev/null || { echo "publish: $tool is missing" >&2; exit 1; }
done

group=$1 app=$2 account=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$(dirname "$0")/package.sh" "$dir/wwwroot"
(cd "$dir/wwwroot" && zip -q -r "$dir/rowrelay.zip" .)
az storage blob upload --auth-mode login --account-name "$account" --container-name packages --name rowrelay.zip \
    --file "$dir/rowrelay.zip" --overwrite --only-show-errors
# The app reads the package at its start, and the platform learns of its timers only when it is told.
az functionapp restart --resource-group "$group" --name "$app"
id=$(az functionapp show --resource-group "$group" --name "$app" --query id --output tsv)
# While the app starts, the platform refuses that: it is asked for two minutes.
for try in {1..12}; do
    if az rest --method post --url "https://management.azure.com$id/syncfunctiontriggers?api-version=2024-11-01"; then
        exit 0
    fi
    ((try == 12)) || sleep 10
done
echo "publish: the package is there, but its triggers could not be synchronised within two minutes: look at the app's log stream," \
    "then run the last az command again" >&2
exit 1
