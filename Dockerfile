# Rowrelay as a custom handler, in a container of the Azure Functions host:
#
#   docker build -t rowrelay . && docker run --rm --env-file app.env -p 8080:80 rowrelay
#
# Settings are environment variables (docs/settings.md); local.settings.json stays out of the image. deploy/Dockerfile.run makes one
# without the host. HOST is a tag that Microsoft documents for custom handlers; give a digest to pin it: --build-arg HOST=…@sha256:…
ARG GO=golang:1.26.8-bookworm
ARG HOST=mcr.microsoft.com/azure-functions/dotnet:4

FROM ${GO} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# host.json, the binary, and the function.json of each poller: the files of a published zip.
ARG VERSION=dev
RUN VERSION=${VERSION} GOARCH=$(go env GOARCH) deploy/package.sh /wwwroot

FROM ${HOST}
ENV AzureWebJobsScriptRoot=/home/site/wwwroot \
    AzureFunctionsJobHost__Logging__Console__IsEnabled=true \
    FUNCTIONS_WORKER_RUNTIME=custom
COPY --from=build /wwwroot/ /home/site/wwwroot/
