# make help lists what there is to do.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export GOTOOLCHAIN := local

# What a person may set.
DATA ?= ../shared/data
DIR  ?= .data
PKG  ?= ./...
RUN  ?=
RACE ?=

BIN     := bin
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)
comma   := ,
MODULES := devstack$(comma)sdk/go$(comma).

GO_FILES := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './devstack/*' -not -path './sdk/js/*' -not -path './tools/*' -not -path '*/node_modules/*')
EMBEDDED := $(shell find api models web internal sdk/go -type f -not -name '*.go' -not -path '*/node_modules/*' -not -path '*/testdata/*' 2>/dev/null)

.PHONY: help
help: ## what there is to do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Run

.PHONY: run
run: $(BIN)/countersign $(BIN)/devstack ## the whole service on this machine: Postgres, Temporal, API, worker (DIR=folder of its data)
	@exec $(BIN)/countersign dev --dir $(DIR) --devstack $(BIN)/devstack

.PHONY: demo
demo: $(BIN)/countersign $(BIN)/devstack ## recorded people through the HTTP API (DATA=folder of recordings)
	@exec $(BIN)/countersign demo --dir $(DIR) --devstack $(BIN)/devstack --data $(DATA)

.PHONY: migrate
migrate: $(BIN)/countersign ## bring the database at COUNTERSIGN_DATABASE_URL up to this binary's schema
	@exec $(BIN)/countersign migrate

.PHONY: accuracy
accuracy: $(BIN)/countersign ## measure the scorer on recorded people (DATA=folder of recordings)
	@exec $(BIN)/countersign accuracy --data $(DATA)

## Build

.PHONY: build
build: $(BIN)/countersign $(BIN)/devstack ## the countersign binary and devstack, into bin/

.PHONY: devstack
devstack: $(BIN)/devstack ## the Temporal server and UI for development (minutes, the first time)

$(BIN)/countersign: $(GO_FILES) $(EMBEDDED) go.mod go.sum
	@echo "building $@"
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/countersign

$(BIN)/devstack: $(wildcard devstack/*.go) devstack/go.mod devstack/go.sum
	@echo "building $@: the Temporal server and its UI; three to five minutes on two cores the first time"
	@CGO_ENABLED=0 go build -C devstack -trimpath -o ../$@ .

$(BIN)/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@echo "building $@: a few minutes the first time"
	@go build -C tools/lint -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/gotestsum: tools/check/go.mod tools/check/go.sum
	@go build -C tools/check -o ../../$@ gotest.tools/gotestsum

$(BIN)/workflowcheck: tools/check/go.mod tools/check/go.sum
	@go build -C tools/check -o ../../$@ go.temporal.io/sdk/contrib/tools/workflowcheck

$(BIN)/govulncheck: tools/check/go.mod tools/check/go.sum
	@go build -C tools/check -o ../../$@ golang.org/x/vuln/cmd/govulncheck

$(BIN)/cyclonedx-gomod: tools/check/go.mod tools/check/go.sum
	@go build -C tools/check -o ../../$@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

$(BIN)/goreleaser: tools/release/go.mod tools/release/go.sum
	@echo "building $@: some five minutes on two cores the first time"
	@go build -C tools/release -o ../../$@ github.com/goreleaser/goreleaser/v2

$(BIN)/testrunner: $(wildcard internal/testing/testenv/runner/*.go internal/local/localpg/*.go internal/local/subprocess/*.go)
	@go build -o $@ ./internal/testing/testenv/runner

## Test

# The Standard Webhooks project's npm package, which a test verifies signatures with. Without npm that test is skipped.
STANDARD_WEBHOOKS := internal/delivery/webhook/testdata/npm
$(STANDARD_WEBHOOKS)/node_modules: $(STANDARD_WEBHOOKS)/package-lock.json
	@if command -v npm >/dev/null; then \
		cd $(STANDARD_WEBHOOKS) && npm ci --no-audit --no-fund --silent && touch node_modules || \
		echo "npm ci failed: signatures are not verified by the npm package"; fi

.PHONY: test
test: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum test-js $(STANDARD_WEBHOOKS)/node_modules ## every test, on a real Postgres and a real Temporal server (PKG=./... RUN=Test RACE=1)
	@$(BIN)/testrunner --modules $(if $(filter ./...,$(PKG)),$(MODULES),.) -- -timeout 20m $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') $(PKG)

.PHONY: test-js
test-js: ## the package for JavaScript: types, sizes, tests; passed over where there is no Node
	@if ! command -v npm >/dev/null; then \
		echo "no Node is found: the tests of sdk/js are passed over"; \
	elif [ '$(if $(RUN)$(filter-out ./...,$(PKG)),some,all)' = all ]; then \
		cd sdk/js && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --silent; } && npm run --silent test; \
	fi

.PHONY: test-unit
test-unit: ## the tests that need no server
	@go test -short ./internal/platform/canonical/... ./internal/authz/policy/... ./internal/behavior/scoring/... ./internal/behavior/features/... \
		./internal/platform/keyring/... ./internal/platform/strictjson/... ./internal/authz/proof/... ./internal/platform/reason/... ./internal/platform/ids/... ./api/openapi/...

.PHONY: test-integration
test-integration: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## only the black-box tests over HTTP
	@$(BIN)/testrunner --format testname -- -timeout 20m $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') ./integration/...

.PHONY: browser
browser: ## a Chromium for the tests of the pages: with apt, where there is none and that is possible
	@if [ -n "$${COUNTERSIGN_TEST_BROWSER:-}" ] || command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null; then \
		echo "a browser is there"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; \
	else \
		echo "no Chromium is found, and this user cannot install one: the tests of the pages will be skipped"; \
	fi

.PHONY: test-containers
test-containers: $(BIN)/testrunner $(BIN)/gotestsum ## every test, with Postgres and Temporal as containers where a Docker engine answers
	@go build -o $(BIN)/containers ./internal/testing/testenv/containers
	@$(BIN)/containers $(BIN)/testrunner --modules . -- -timeout 20m $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') $(PKG)

# All but the scorer, which is pure, alone, and ten times slower under the detector.
RACY = $(shell go list ./... | grep -vE '/internal/(accuracy|scoring)$$')

.PHONY: test-race
test-race: ## the tests under the race detector
	@$(MAKE) --no-print-directory test RACE=1 PKG='$(RACY)'
	@go test -C sdk/go -race ./...

FUZZTIME ?= 10s
.PHONY: fuzz
fuzz: ## every fuzz target for a short while each (FUZZTIME=10s)
	@for package in $$(grep -rl --include='*_test.go' '^func Fuzz' api internal | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$package/*_test.go | cut -d' ' -f2 | sort -u); do \
			echo "$$package $$target"; \
			go test ./$$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME); \
		done; \
	done

## Measure

PART   ?=
ROUNDS ?= 5
SLICE  ?= 4s
SOAK   ?=
.PHONY: bench
bench: $(BIN)/countersign $(BIN)/devstack ## every target measured, open loop, beside its SQL run bare (PART=authorize,reads SOAK=1h; minutes)
	@go build -o $(BIN)/bench ./cmd/bench
	@exec $(BIN)/bench -version '$(VERSION)' -rounds $(ROUNDS) -slice $(SLICE) \
		$(if $(SOAK),-part soak -soak $(SOAK),$(if $(PART),-part '$(PART)'))

.PHONY: fuzz-http
fuzz-http: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## hostile requests to every route of the running service (FUZZTIME=60s SEED=1)
	@COUNTERSIGN_FUZZ_TIME=$(if $(filter command environment,$(firstword $(origin FUZZTIME))),$(FUZZTIME),60s) COUNTERSIGN_FUZZ_SEED=$(or $(filter-out 0,$(SEED)),1) \
		$(BIN)/testrunner --format standard-verbose -- -timeout 20m -count 1 -run '^TestFuzzHTTP$$' ./integration

SEED     ?= 0
DURATION ?= 3m
.PHONY: chaos
chaos: $(BIN)/countersign $(BIN)/devstack ## kill, pause and cut off every part under load, then check every promise (SEED=7 DURATION=3m)
	@go build -o $(BIN)/chaos ./cmd/chaos
	@exec $(BIN)/chaos -seed $(SEED) -duration $(DURATION)

## Check

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/workflowcheck ## formatting, import rules, linters, determinism of workflows, go.mod
	@$(BIN)/golangci-lint run ./...
	@cd devstack && ../$(BIN)/golangci-lint run --config ../.golangci.yml ./...
	@cd sdk/go && ../../$(BIN)/golangci-lint run --config ../../.golangci.yml ./...
	@$(BIN)/workflowcheck ./workflows/...
	@go mod tidy -diff

.PHONY: lint-deploy
lint-deploy: ## the alert rules and what they fire on, the compose file, the Kubernetes manifests
	@command -v promtool >/dev/null || { echo "promtool is missing: apt-get install prometheus"; exit 1; }
	@promtool check config deploy/prometheus/prometheus.yml
	@promtool test rules deploy/prometheus/alerts_test.yml
	@go test -C tools/kubernetes -count 1 ./...
	@if docker compose version >/dev/null 2>&1; then \
		POSTGRES_PASSWORD=checked COUNTERSIGN_MASTER_KEY=checked docker compose --env-file deploy/compose.env --profile tools config --quiet; \
	else echo "docker compose is not here: docker-compose.yml was not checked"; fi

.PHONY: lint-contract
lint-contract: ## the OpenAPI document: redocly, spectral, a TypeScript compile
	@cd api/openapi/tools && npm ci --no-audit --no-fund --silent && npm run --silent lint

.PHONY: lint-web
lint-web: ## the scripts of the pages: a TypeScript check
	@cd web/assets && npm ci --no-audit --no-fund --silent && npm run --silent lint

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## format the Go files
	@$(BIN)/golangci-lint fmt ./...

.PHONY: generate
generate: ## what is generated: the OpenAPI document, tables in docs, scripts of the pages, types of sdk/js
	@go generate ./...
	@if command -v npm >/dev/null; then cd sdk/js && npm ci --ignore-scripts --silent && npm run --silent generate; fi

.PHONY: verify
verify: generate ## fails where a generated file is not what generate makes
	@git diff --exit-code --stat || { echo "run make generate and commit the result"; exit 1; }

# Where the public database cannot be reached: file:///folder of a copy of it (the folder data/osv of its repository will do).
VULNDB ?=
GOVULNCHECK = $(BIN)/govulncheck $(if $(VULNDB),-db $(VULNDB))

.PHONY: vulnerabilities
vulnerabilities: $(BIN)/govulncheck ## known vulnerabilities in what the product and the SDK really call (VULNDB=file:///copy)
	@$(GOVULNCHECK) ./...
	@$(GOVULNCHECK) -C sdk/go ./...
	@echo; echo "What is not shipped, for information:"
	@for tool in $(wildcard $(addprefix $(BIN)/,devstack golangci-lint gotestsum workflowcheck govulncheck cyclonedx-gomod)); do \
		echo "$$tool:"; $(GOVULNCHECK) -mode binary $$tool || [ $$? = 3 ]; \
	done

.PHONY: release-check
release-check: $(BIN)/goreleaser $(BIN)/cyclonedx-gomod ## .goreleaser.yaml, and a whole release into dist/ but its signing and publishing
	@$(BIN)/goreleaser check
	@PATH="$$PWD/$(BIN):$$PATH" $(BIN)/goreleaser release --snapshot --clean --skip=sign
	@[ $$(ls dist/*.cdx.json | wc -l) = $$(ls dist/*.tar.gz | wc -l) ] || { echo "not every binary has an inventory of its own"; exit 1; }

.PHONY: sbom
sbom: $(BIN)/cyclonedx-gomod ## what the binary is made of, with licences, as CycloneDX JSON: dist/countersign.cdx.json
	@mkdir -p dist
	@$(BIN)/cyclonedx-gomod app -json -licenses -main cmd/countersign -output dist/countersign.cdx.json .
	@echo "dist/countersign.cdx.json"

.PHONY: clean
clean: ## remove what was built; the data under DIR stays
	@rm -rf $(BIN) dist
