#!/usr/bin/env bash
# Builds a release from the tree that this script stands in: binaries for six platforms, each in an archive with its licences,
# bill of materials, manual pages and completions, and SHA256SUMS.
#
#   scripts/release.sh VERSION [OS/ARCH …]   into dist/, or ROWRELAY_DIST; VERSION is v1.2.3, or dev
#   scripts/release.sh check [OS/ARCH …]     build it twice, in two directories, the second time with empty caches of the
#                                            compiler, and compare all bytes
#
# What is built depends on the sources, on go.sum and on the Go version below, and on nothing else: the same commit gives the
# same bytes on any machine. The commit and its time come from git, whose tree must be clean, or from ROWRELAY_COMMIT and
# SOURCE_DATE_EPOCH, as for a source archive without git.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly GO_VERSION=go1.26.8
readonly PLATFORMS=(linux/amd64 linux/arm64 windows/amd64 windows/arm64 darwin/amd64 darwin/arm64)

say() { printf 'release: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Nothing of the caller's that the compiler, the linker or an archive would take up; where modules come from is the caller's.
# GOTOOLCHAIN fetches the pinned Go where another is installed.
GOPROXY=$(go env GOPROXY) GOPRIVATE=$(go env GOPRIVATE)
export GOPROXY GOPRIVATE
# shellcheck disable=SC1091 # it stands beside this script
. scripts/shipped.sh
export GOTOOLCHAIN=$GO_VERSION GOFLAGS="$GOFLAGS -mod=readonly -buildvcs=false" GOWORK=off GOEXPERIMENT='' GOENV=off
export GOAMD64=v1 GOARM64=v8.0 GOFIPS140=off LC_ALL=C TZ=UTC
unset GOOS GOARCH GODEBUG
umask 022

source_of_truth() {
    if [[ -n ${ROWRELAY_COMMIT-} && -n ${SOURCE_DATE_EPOCH-} ]]; then
        export SOURCE_DATE_EPOCH
        return
    fi
    git rev-parse --git-dir >/dev/null 2>&1 || die "this is no git clone: set ROWRELAY_COMMIT and SOURCE_DATE_EPOCH (the time of that commit, in seconds)"
    [[ -z $(git status --porcelain) ]] || die "the tree differs from its commit: commit, or remove what git status shows"
    ROWRELAY_COMMIT=$(git rev-parse HEAD)
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export ROWRELAY_COMMIT SOURCE_DATE_EPOCH
}

# compile OS/ARCH FILE VERSION. An empty build id: the default one is a hash over the inputs, which adds nothing here.
compile() {
    GOOS=${1%/*} GOARCH=${1#*/} go build -ldflags "-s -w -buildid= -X main.version=$3 -X main.commit=$ROWRELAY_COMMIT" -o "$2" ./cmd/rowrelay
}

# common DIR VERSION: what every archive has. The texts come out of a binary for this machine.
common() {
    local host=$1.host
    compile "$(go env GOHOSTOS)/$(go env GOHOSTARCH)" "$host" "$2"
    mkdir -p "$1/man/man1" "$1/completions"
    cp LICENSE README.md CHANGELOG.md SECURITY.md "$1/"
    "$host" man --dir "$1/man/man1" >/dev/null
    "$host" completion bash >"$1/completions/rowrelay.bash"
    "$host" completion zsh >"$1/completions/_rowrelay"
    "$host" completion fish >"$1/completions/rowrelay.fish"
    "$host" completion powershell >"$1/completions/rowrelay.ps1"
    (cd internal/release && go run . texts) >"$1/THIRD-PARTY-LICENCES.txt"
    find "$1" -type f -exec chmod 644 {} +
    rm -f "$host"
}

build() {
    local version=$1; shift
    [[ $version == dev || $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || die "VERSION is $version: write v1.2.3, or dev"
    [[ $(go env GOVERSION) == "$GO_VERSION" ]] || die "Go is $(go env GOVERSION), and releases are built with $GO_VERSION: install it, or let GOTOOLCHAIN fetch it"
    source_of_truth
    (cd internal/release && go run . licences -check)
    local dist=${ROWRELAY_DIST:-dist} work platform name file
    mkdir -p "$dist"; dist=$(cd "$dist" && pwd)
    [[ -z $(ls -A "$dist") ]] || die "$dist is not empty: remove it"
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # the directory as it is called now
    trap "rm -rf '$work'" EXIT
    common "$work/common" "$version"
    for platform in "$@"; do
        name=rowrelay-$version-${platform%/*}-${platform#*/}
        cp -r "$work/common" "$work/$name"
        if [[ $platform == windows/* ]]; then compile "$platform" "$work/$name/rowrelay.exe" "$version"; else compile "$platform" "$work/$name/rowrelay" "$version"; fi
        (cd internal/release && go run . sbom -platform "$platform" -version "$version") >"$work/$name/sbom.cdx.json"
        if [[ $platform == windows/* ]]; then file=$name.zip; else file=$name.tar.gz; fi
        (cd internal/release && go run . archive -o "$dist/$file" "$work/$name")
        cp "$work/$name/sbom.cdx.json" "$dist/$name.sbom.cdx.json"
        rm -rf "${work:?}/$name"
        say "$file"
    done
    (cd "$dist" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
    say "$dist holds $version of commit $ROWRELAY_COMMIT, built with $GO_VERSION"
}

# copy_to DIR: what git knows, or everything where there is no git.
copy_to() {
    mkdir -p "$1"
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "$1"
    else
        cp -r . "$1/"
    fi
}

check() {
    local work differ
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # the directory as it is called now
    trap "chmod -R u+w '$work'; rm -rf '$work'" EXIT
    # The bytes are compared, not published: what is not committed yet may be in them.
    export ROWRELAY_COMMIT=${ROWRELAY_COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo none)} SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1767225600}
    copy_to "$work/first"
    cp -r "$work/first" "$work/second-in-a-directory-of-another-name"
    ROWRELAY_DIST=$work/one "$work/first/scripts/release.sh" v0.0.0-check "$@"
    (umask 077; GOCACHE=$work/cache ROWRELAY_DIST=$work/two "$work/second-in-a-directory-of-another-name/scripts/release.sh" v0.0.0-check "$@")
    differ=$(diff <(cd "$work/one" && sha256sum -- *) <(cd "$work/two" && sha256sum -- *)) || { printf '%s\n' "$differ"; die "the two builds differ"; }
    (cd "$work/one" && sha256sum -- *)
    say "two builds in two directories, the second with an empty compiler cache: all $(find "$work/one" -type f | wc -l) files are the same, byte for byte"
}

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; }

case ${1-} in
    '' | -h | --help) usage; [[ -n ${1-} ]] ;;
    check)
        shift
        (($# > 0)) || set -- "${PLATFORMS[@]}"
        check "$@" ;;
    *)
        version=$1; shift
        (($# > 0)) || set -- "${PLATFORMS[@]}"
        build "$version" "$@" ;;
esac
