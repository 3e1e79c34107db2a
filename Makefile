# Two commands are enough on a fresh machine: `make run` and `make test`. `make help` lists the rest.

GO      ?= go
# A package may take longer than the ten minutes that go test gives it by default, on a busy machine.
PATIENT := -timeout 30m
TOOL    := $(GO) tool -modfile=test/checkers/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: launcher ## build bin/tongs, with the sandbox's launcher in it
	$(GO) build -trimpath -tags tongslauncher -ldflags '$(LDFLAGS)' -o bin/tongs ./cmd/tongs

.PHONY: launcher
launcher:
	CGO_ENABLED=0 GOOS=linux $(GO) build -trimpath -ldflags '-s -w' -o sandbox/launcher.bin ./sandbox/cmd/tongs-launch

.PHONY: run
run: build ## build, then serve the tools and the console on this machine, with nothing configured
	@./bin/tongs serve

.PHONY: tour
tour: build ## show the command at work in this repository
	@./test/scripts/tour bin/tongs

.PHONY: demo
demo: build ## watch a worker with a scripted model read, search, edit, ask and delegate; no key is needed
	@./test/scripts/demo bin/tongs

.PHONY: test
test: needs ## install what the tests need, and run them all
	$(GO) test $(PATIENT) ./...

.PHONY: needs
needs:
	@./test/scripts/needs

.PHONY: test-adapters
test-adapters: ## the adapters for other SDKs, each a module of its own
	@for d in $$(dirname adapters/*/go.mod); do echo "test $$d"; (cd $$d && $(GO) test -mod=mod ./...) || exit 1; done

.PHONY: race
race: needs ## the tests with the race detector
	$(GO) test -race $(PATIENT) $$($(GO) list ./... | grep -v '/tongs/sandbox$$\|/tongs/test/\|/cmd/tongs$$\|/tongs/system$$\|/tools/project$$')

# The escape suite starts hundreds of processes from its own binary, which takes minutes with the race detector; the
# sandbox runs with it under confine, shell and run_code. What is in test/, system and cmd/tongs drives whole sessions through packages that
# run with it on their own, and tools/project waits for the programs of projects.
.PHONY: check
check: needs format vet lint cross ## everything a change must pass: format, vet, lint, cross-compilation, tests with the race detector
	$(MAKE) race
	$(GO) test $(PATIENT) ./sandbox

.PHONY: format
format: ## fail on files that gofumpt would change
	@files=$$($(TOOL) gofumpt -l .); if [ -n "$$files" ]; then echo "run '$(TOOL) gofumpt -w .' for:"; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: lint
lint: ## staticcheck; the layer rules are tests in test/layers
	$(TOOL) staticcheck ./...

.PHONY: house
house: ## measure the shape of the code against its goals
	@$(GO) run ./test/scripts/house

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: cross
cross: ## compile for every platform
	@for p in $(PLATFORMS); do echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/tongs && GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet -copylocks=false ./workspace ./sandbox/... ./internal/search/... ./workspace/journal ./internal/changeset || exit 1; done

.PHONY: bench
bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-sandbox
bench-sandbox: launcher ## sandboxed runs beside bubblewrap and plain ones
	$(GO) run ./test/bench/sandbox -launcher $(CURDIR)/sandbox/launcher.bin

.PHONY: bench-search
bench-search: ## searches beside ripgrep and fd
	$(GO) run ./test/bench/search

.PHONY: bench-mcp
bench-mcp: build ## our MCP server beside npm's for files and a bare one
	./test/bench/mcp/run

.PHONY: bench-outcomes
bench-outcomes: launcher ## runs on a copy beside direct ones
	$(GO) run ./test/bench/outcomes

.PHONY: bench-prompts
bench-prompts: needs ## how often each preset asks in five coding sessions; writes internal/preset/counts.json
	$(GO) run ./test/bench/prompts -update

.PHONY: conformance
conformance: build ## the public MCP suite against server and client, and the inspector; writes docs/conformance.md
	./test/e2e/conformance/run
	./test/e2e/conformance/inspector
	./test/e2e/conformance/run-client

.PHONY: e2e-clients
e2e-clients: build ## agent clients from npm use the MCP server, with a scripted model and no network
	./test/e2e/clients/run
	./test/e2e/clients/run -http

FUZZTIME ?= 60s

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (60s), FUZZJOBS (1) at once
	@./test/scripts/fuzz -j $(or $(FUZZJOBS),1) $(FUZZTIME)

.PHONY: shell-corpus
shell-corpus: needs ## compare the shell planner with bash on the scripts in DIR, such as the spec directory of Oils
	@test -n "$(DIR)" || { echo 'name a directory with *.test.sh files: make shell-corpus DIR=oils/spec'; exit 2; }
	SHELL_CORPUS=$(abspath $(DIR)) $(GO) test -run TestShellCorpus -v -timeout 30m ./internal/shellsyntax

.PHONY: soak
soak: needs ## the long forms of the tests: composed commands, thousands of sandboxed runs, mutations, crashes
	COMMAND_SOAK=200000 $(GO) test -run TestComposed -timeout 30m ./internal/shellsyntax
	TONGS_SOAK=1000 $(GO) test -run 'NothingIsLeft|TheHostIsKilled' -timeout 60m ./sandbox
	TONGS_MILLION=1 $(GO) test -run Million ./internal/search/walk
	TONGS_MILLION=1 $(GO) test -run ManyFiles -timeout 30m ./internal/search/grep
	TONGS_IGNORE_CASES=60000 $(GO) test -timeout 30m ./internal/search/ignore
	$(GO) test -run Differential -timeout 30m ./internal/search/regex -patterns 50000
	TONGS_MUTATIONS=10000 $(GO) test -run Mutations -timeout 60m ./internal/search/live
	TONGS_SOAK=1m $(GO) test -run Soak -timeout 30m ./mcp/mcpserver
	TONGS_JOURNAL_MANY=1 $(GO) test -timeout 60m ./workspace/journal ./tools/undo
	TONGS_UNDO_PROGRAMS=1000 $(GO) test -run TestUndoOf -timeout 90m ./system
	TONGS_OUTCOME_PROGRAMS=10000 TONGS_OUTCOME_FILES=30000 TONGS_OUTCOME_BUILD=1 $(GO) test -timeout 90m ./internal/changeset
	TONGS_SOAK=1 $(GO) test -run GoModuleWithTools -timeout 20m ./internal/module
	TONGS_CONSOLE_LOAD=1m $(GO) test -run TestFiftyViewers -timeout 10m ./internal/console

.PHONY: update
update: ## rewrite the snapshots and golden files that the tests compare with
	$(GO) test ./tools/... ./engine/policy ./engine/registry ./internal/reference -update

.PHONY: pictures
pictures: build ## make the pictures of the terminal and of the console in docs/images again
	./test/scripts/pictures bin/tongs
	./test/scripts/console-pictures
