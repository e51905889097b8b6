# shellcheck shell=sh
# How the program that is shipped is compiled, for `go build -ldflags "-s -w" ./cmd/rowrelay`. Whatever builds it reads this file, so
# that all find each other's packages in the build cache.
#
# grpcnotrace leaves out pages that gRPC could serve, whose templates would have the linker keep every exported method of the
# program: a seventh of its size.
#
# -l: the small functions of these packages are called, and not copied into thousands of places: 1.3 MB of the program, and no time
# that could be measured.
export CGO_ENABLED=0
export GOFLAGS='-trimpath -tags=grpcnotrace -gcflags=errors=-l -gcflags=fmt=-l'
GOFLAGS="$GOFLAGS -gcflags=github.com/twmb/franz-go/pkg/kmsg=-l -gcflags=github.com/itchyny/gojq=-l"
GOFLAGS="$GOFLAGS -gcflags=github.com/Azure...=-l -gcflags=go.yaml.in/...=-l -gcflags=go.opentelemetry.io/...=-l -gcflags=google.golang.org/...=-l"
