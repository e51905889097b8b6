# Rowrelay. `make help` lists what there is; CONTRIBUTING.md says when to use it.

SHELL := bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo quick test engines sim sim-bugs late chaos siege snapshot outbox compare bench-outbox bench-drain bench-scale static check build compile format vet lint settings vuln licences licences-check sbom release release-check recording bench services stop

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

# With the build tag small: SQLite and HTTP, without Azure, brokers and the other engines, whose libraries take twice as
# long to compile as all else. What is compiled for it is not compiled again for ./rowrelay.
demo: ## rows of a real table arriving at a real endpoint; needs nothing but Go
	@echo "Compiling ./rowrelay-demo: a minute or two the first time (about 400 packages), seconds later"
	@$(call program,-tags small -o rowrelay-demo)
	@./rowrelay-demo demo

quick: ## race tests without services: for each save (make test runs everything)
	@scripts/quick.sh

test: ## race tests on real engines, which it starts; ends with the engines that ran
	@scripts/test.sh

engines: ## the tests of PostgreSQL and MariaDB on PostgreSQL 18 and MySQL 8.0, which it downloads once (570 MB)
	@scripts/engines.sh

late: ## late commits on each engine and in each mode: LOST, DUPLICATED, INVERTED, p50, p99; FOR=1m POLL=10ms
	@ROWRELAY_LATE_FOR=$(or $(FOR),1m) ROWRELAY_LATE_POLL=$(POLL) scripts/services.sh run -- go test ./e2e -run '^(TestLateCommits|TestLateRowsArriveSoon|TestSharedOrderKey)$$' -v -timeout 60m | grep --line-buffered -E 'LATE|^(---|ok|FAIL|panic)|NOT RUN'

chaos: ## kills, freezes, outages, restarts, a full disk: LOST, DUPLICATED, INVERTED (make test has a short form)
	@ROWRELAY_CHAOS_FOR=$(or $(FOR),1m) scripts/services.sh run -- go test ./e2e -run '^TestChaos$$' -v -timeout 60m | grep --line-buffered -E 'CHAOS|^(---|ok|FAIL|panic)|NOT RUN'

siege: ## change tracking, every change, and a cursor, while instances are killed, on each engine: LOST, INVERTED, deletes (make test has a short form)
	@ROWRELAY_SIEGE_FOR=$(or $(FOR),1m) scripts/services.sh run -- go test ./e2e -run '^Test(Tracked|EveryChange|Cursor)Siege$$' -v -count=1 -timeout 60m | grep --line-buffered -E 'SIEGE|^(---|ok|FAIL|panic)|NOT RUN'

snapshot: ## a table read whole beside writers and three kills, on each engine: LOST, INVERTED; ROWS=1000000
	@ROWRELAY_SNAPSHOT_ROWS=$(or $(ROWS),1000000) scripts/services.sh run -- go test ./tracking -run '^TestSnapshotOfATable$$' -v -count=1 -timeout 120m | grep --line-buffered -E 'SNAPSHOT|^(---|ok|FAIL|panic)|NOT RUN'

sim: ## seeds of the simulation: SEEDS=20000, or SEED=n for one (docs/simulation.md)
	@$(if $(SEED),SEED=$(SEED)) SEEDS=$(or $(SEEDS),$(if $(SEED),1,20000)) go test -count=1 -timeout 24h -run '^TestSimulation$$' -v ./sim

sim-bugs: ## does the simulation find the seeded bugs? BUG=name for one, with its trace
	@BUG=$(or $(BUG),all) go test -count=1 -timeout 2h -run '^TestSeededBugs$$' -v ./sim

check: ## everything that CI runs
	@$(MAKE) --no-print-directory static && $(MAKE) --no-print-directory test

# With the flags of what is shipped, so that the build cache holds one set of packages and not two.
static: export CGO_ENABLED = 0
static: export GOFLAGS = $(shell . scripts/shipped.sh && echo "$$GOFLAGS")
static: compile format vet lint settings licences-check vuln ## all checks but the tests

build: ## the binary for this machine: ./rowrelay
	@echo "Compiling ./rowrelay: minutes the first time (about 750 packages), seconds later"
	@$(call program,-o rowrelay)

# -v names each package that is compiled, the first time hundreds. They are counted, all else is shown.
program = . scripts/shipped.sh && go build -v -ldflags "-s -w" $(1) ./cmd/rowrelay 2>&1 | \
	awk '/^[^ :]+$$/ { if (++n % 50 == 0) { print "  " n " packages"; fflush() } next } { print; fflush() }'

compile: ## does everything build? (vet looks at the tests; those of bench/ need no services)
	@go build ./... && go build -tags small -o /dev/null ./cmd/rowrelay && cd bench && go vet ./... && go test ./...

format: ## gofmt finds nothing to change
	@test -z "$$(gofmt -l .)" || { echo "not formatted (run gofmt -w .):"; gofmt -l .; exit 1; }

vet: ## go vet
	@go vet ./...

lint: ## golangci-lint, pinned; holds the import rules of the design
	@scripts/lint.sh

settings: ## docs/settings.md is what the code generates (else: go generate ./config)
	@new=$$(mktemp) && trap 'rm -f "$$new"' EXIT && go run ./config/internal/gen "$$new" && \
	diff -u docs/settings.md "$$new" || { echo "docs/settings.md is not current: run go generate ./config"; exit 1; }

vuln: ## known vulnerabilities in what the binary calls, where the database can be reached
	@scripts/vuln.sh

licences: ## write docs/licences.md: what is in the binary, and under which licence
	@scripts/licences.sh

licences-check: ## docs/licences.md is current, and all licences go together with Apache-2.0
	@scripts/licences.sh check && cd internal/release && go vet ./... && go test ./...

sbom: ## the bill of materials of this machine's binary (CycloneDX); PLATFORM=linux/arm64 for another
	@scripts/sbom.sh $(PLATFORM)

release: ## archives, bills of materials and SHA256SUMS for six platforms in dist/; VERSION=v1.2.3 (SECURITY.md)
	@scripts/release.sh $(or $(VERSION),dev)

release-check: ## builds a release twice, in two directories, and compares all bytes; PLATFORM=linux/amd64 for one
	@scripts/release.sh check $(PLATFORM)

recording: ## from an empty home to a delivered row, timed, into docs/first-event.md; MODULES=warm leaves the downloads out
	@scripts/recording.sh docs/first-event.md

bench: ## every benchmark, on real engines; BENCH=regexp, BENCHFLAGS=… choose
	@scripts/services.sh run -- go test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -timeout 60m $(BENCHFLAGS) ./...

bench-drain: build ## how fast a table is drained, beside a bare loop that posts the same (bench/); ROWS=200000 ROUNDS=5 ONLY=text
	@scripts/services.sh run -- bash -c 'cd bench && go run . -rowrelay ../rowrelay -drain -events $(or $(ROWS),200000) -rounds $(or $(ROUNDS),5) -only "$(ONLY)"'

bench-scale: build ## what 1, 50, 200 and 1000 idle pollers cost in one process (bench/)
	@scripts/services.sh run -- bash -c 'cd bench && go run . -rowrelay ../rowrelay -scale'

compare: build ## Rowrelay beside its peers: events/s, p50, p99, LOST, DUPLICATED, INVERTED (bench/compare/); ROUNDS=3 ONLY=text FOR=20s
	@echo "Compiling Benthos: two minutes the first time"
	@cd bench/compare/benthos && go build .
	@scripts/services.sh run -- bash -c 'cd bench && go run ./compare -rowrelay ../rowrelay -benthos compare/benthos/benthos -rounds $(or $(ROUNDS),3) -for $(or $(FOR),20s) -only "$(ONLY)"'

bench-outbox: build ## the outbox publisher beside two Go libraries, and its latency (bench/); EVENTS=20000 ROUNDS=3 ONLY=rabbitmq
	@scripts/services.sh run -- bash -c 'cd bench && go run . -rowrelay ../rowrelay -events $(or $(EVENTS),20000) -rounds $(or $(ROUNDS),3) -only "$(ONLY)"'

outbox: ## every event in order to RabbitMQ while instances are killed and the broker restarts: LOST, INVERTED, DUPLICATED
	@ROWRELAY_OUTBOX_EVENTS=$(or $(EVENTS),100000) scripts/services.sh run -- go test ./e2e -run '^TestOutbox$$' -v -timeout 120m | grep --line-buffered -E 'OUTBOX|^(---|ok|FAIL|panic)|NOT RUN'

services: ## start the engines and leave them running
	@scripts/services.sh start && scripts/services.sh status

stop: ## stop them and delete their data
	@scripts/services.sh stop
