# SPDX-FileCopyrightText: The Arke Authors
# SPDX-License-Identifier: Apache-2.0

MAKEFLAGS += --warn-undefined-variables --no-print-directory
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

COMMIT      := $(shell git describe --always --dirty=+ --abbrev=12 --exclude '*' 2>/dev/null || true)
GOLANGCI    := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.5.0
PROTOC_GEN  := google.golang.org/protobuf/cmd/protoc-gen-go
FUZZTIME    ?= 10s
BENCH       ?= .
BENCH_FULL  ?=
MUTANTS     ?=
SEEDS       ?=
# Scenarios that begin first, so that no processor waits for them at the end.
LONGEST     := churn thousand-subscribers sharded-cluster federation-churn

# Tests of minutes, which run the same thing many times, or large networks: make slow.
SLOW = TestTwoFoldersBuildTheSameBytes|TestMembersOfAShardedClusterCrossABorder|TestMembersOfAShardedClusterWithItsOwnKeyCrossABorder|TestEachFaultIsSaid|TestALentClusterCostsFewBytesAcrossTheBorder|TestThreeCloudsServeEachOther|TestTwoConvergedHalvesFindEachOtherAgain|TestWholeNodesReplayUnderEveryFault|TestFiftyNodesReplay|TestEveryFaultReplays|TestOverlaysReplay|TestRunsReplayWithJitter|TestSimulationReplays|TestDeliveredAndReportedIsSentWhateverBreaks|TestCrashesOfForwardersAreReportedWithTheirSize|TestAForwarderWithoutRoomLosesForOneOnly
# Tests of many seconds, which make test leaves to make race: a newcomer waits for make test.
LONG = TestAClockThatIsSteppedHidesNoMember|TestTheProductCompilesWithTheBugs|TestWhatTheExcludedTryComesToNothing|TestABanReachesEverybodyAndAnOldKeyOpensNothing|TestAHundredNodesCutWhoIsExcludedWithinFiveSeconds|TestRandomHistoriesAreJudgedTheSameTwice|TestRequestsCrossTheNetwork|TestAScenarioPlays|TestRoundTripsTakeWhatWasAsked|TestNoGatewayHelpsWhoIsExcluded|TestARotationOfASealedClustersKeyLosesNothingAcrossABorder|TestAGatewayThatDiesUnderLoadLosesNoMessageSilently|TestAGatewayThatEndsUnderLoadLosesNoPublicationSilently|TestFiveThousandMembersAreSharded|TestProgramOfTheReadmeCompiles|TestEitherDoesTheSameBothWays|TestThousandClustersFitTheDefaults|TestPatternsKeepTheirPromisesUnderKeys|TestPatternsKeepTheirPromisesAcrossABorder|TestMessagesCostNoMoreThanTheirBounds|TestAttachedProgramsAreSmall|TestCertificatesRenewThemselvesWhileRequestsFlow|TestSeedThatReturnsWithAnotherIDIsJoined|TestSeedWithAnIDLeadsToNoOtherNode|TestTwoNetworksLendEachOtherAService|TestAKilledGatewayLosesNoPublicationSilently|TestPostgreSQLWorksThroughTunnels|TestPausedRelayIsLeftOutAndComesBack|TestKeysAreRotatedUnderLoad|TestPrometheusScrapesThreeRelays|TestGarbageAtTheSocketHarmsNobody|TestGarbageAtTheNodePortHarmsNobody|TestFloodStaysWithinTheLimits|TestSimulationEndsWithASignal|TestARelayWhoseLogIsNotReadServesOnAndEnds
# No vet (make lint does it) and no debugger's tables: linking is a third of the work.
# Nor does the race detector look into the arithmetic of signatures and key exchanges, which
# has no state to race for: that took more than all the rest.
ARITHMETIC = bigmod edwards25519/... mlkem nistec/... sha3
GOTEST = go test -race $(ARITHMETIC:%=-gcflags=crypto/internal/fips140/%=-race=false) -vet=off -ldflags=-w -shuffle=on -timeout 40m
# Prints a line for each package when it ends, and all failures at the end.
TESTSUM     := go run gotest.tools/gotestsum@v1.13.0 --format pkgname --hide-summary skipped

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## the stripped binary, in bin/arke
	@mkdir -p bin
	go build -trimpath -ldflags '-s -w -X github.com/arke-mesh/arke/sim/runner.stamp=$(COMMIT)' -o bin/arke ./cmd/arke

.PHONY: demo
demo: build ## three relays, a cluster of three members, one killed and brought back, in 20 s
	./bin/arke demo

.PHONY: demo-federation
demo-federation: build ## two networks, two gateways, a service that dies and comes back, in 40 s
	./bin/arke demo federation

.PHONY: test
test: ## the tests of all packages, and black-box tests of the main job: eight minutes
	@echo 'building first: one minute or two. Then each package has its line'
	@$(TESTSUM) -- -vet=off -ldflags=-w -timeout 40m -skip '^($(SLOW)|$(LONG))$$' ./...

.PHONY: race
race: ## all tests but the slow ones, with the race detector: fifteen minutes
	$(GOTEST) -p 3 -skip '^($(SLOW))$$' ./...

.PHONY: slow
slow: ## the slow tests, with the race detector
	$(GOTEST) -run '^($(SLOW))$$' ./sim/... ./gateway ./patterns/pubsub ./tests

.PHONY: short
short: ## the tests beside the code only, no processes
	go test -race -short ./...

.PHONY: grpc
grpc: ## the tests of arkegrpc and its example, which are modules of their own
	cd arkegrpc && go vet ./... && go test -race ./...
	cd examples/grpc && go vet ./...
	go test ./tests/architecture -run PublicAPI -grpc

.PHONY: lint
lint: ## gofumpt, vet, staticcheck and the other linters of .golangci.yml
	$(GOLANGCI) run ./...

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in what is called; says "not run" where the database can't be reached
	@.ci/vulncheck

.PHONY: sbom
sbom: ## what the binary is made of, as CycloneDX, in bin/arke.cdx.json
	@.ci/sbom

.PHONY: format
format: ## gofumpt, in place
	$(GOLANGCI) fmt

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s) each
	@go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir pkg; do \
		for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go 2>/dev/null | cut -d' ' -f2 || true); do \
			echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
		done; done

.PHONY: bench
bench: ## the benchmarks beside the code, with allocations
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./internal/... ./security/... ./overlay/... ./cluster/... ./patterns/... ./relay/...

.PHONY: bench-check
bench-check: ## lint and the tests of the folder bench, a module of its own: it measures nothing and needs no peers
	$(MAKE) -C bench lint test

.PHONY: bench-peers
bench-peers: ## Arke beside its peers, ten to fifteen minutes; BENCH_FULL=1 for everything: bench/README.md
	$(MAKE) -C bench deps peers BENCH_FULL=$(BENCH_FULL)

.PHONY: measure
measure: ## what the design promises, measured with real relays, half an hour or more
	go run ./tests/measure

.PHONY: pgbench
pgbench: ## PostgreSQL's pgbench, direct and through two relays, about two minutes
	go test -count 1 -timeout 15m -run TestPgbenchThroughArkeBesideDirect -v ./tests -pgbench 30s

.PHONY: scenarios
scenarios: build ## every shipped scenario twice, assertions and trace hashes compared; SEEDS=A..B for other seeds
	./bin/arke sim run --twice $(SEEDS:%=--seeds %) $(LONGEST) $(filter-out $(LONGEST),$(notdir $(basename $(wildcard sim/scenarios/*.yaml))))

.PHONY: mutants
mutants: ## which hand-made bugs the shipped scenarios catch; MUTANTS='-bugs x,y' for some
	@mkdir -p bin
	go run ./sim/mutation/score -program bin/arke-mutants -table sim/mutation/SCORE.md $(MUTANTS)

.PHONY: generate
generate: ## the protobuf code; needs protoc
	@mkdir -p bin && go build -o bin/protoc-gen-go $(PROTOC_GEN)
	protoc --plugin=protoc-gen-go=bin/protoc-gen-go --go_out=. --go_opt=module=github.com/arke-mesh/arke internal/wire/control.proto
