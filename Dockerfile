# Rowrelay as a custom handler in a container of the Azure Functions host:
#
#   docker build -t rowrelay . && docker run --rm --env-file app.env rowrelay
#
# Settings are environment variables (docs/settings.md); local.settings.json stays out of the image.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /wwwroot/rowrelay ./cmd/rowrelay
# The same files as in a published zip: host.json and the function.json of each poller.
RUN cp host.json /wwwroot/ && for f in */function.json; do install -D -m 644 "$f" "/wwwroot/$f"; done

FROM mcr.microsoft.com/azure-functions/dotnet:4
ENV AzureWebJobsScriptRoot=/home/site/wwwroot \
    AzureFunctionsJobHost__Logging__Console__IsEnabled=true \
    FUNCTIONS_WORKER_RUNTIME=custom
COPY --from=build /wwwroot/ /home/site/wwwroot/
