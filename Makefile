# The gate of kprobesim, the same for people and for CI: make check.
# Running the simulator needs Go alone; what other tools a target wants stands
# beside it.

GO        ?= go
TOOL      := $(GO) tool -modfile=tools.mod
# Packages whose tests start goroutines: the race detector runs on these.
# The longest first, so that no CPU waits for it in the end.
RACE      := ./cmd/kprobesim ./experiments/reports ./races ./experiments/sensitivity ./experiments/calibration ./experiments/running ./experiments/schema ./gdb ./internal/native
# Of these packages some tests alone start goroutines.
RACEFEW   := ./experiments ./distro/measuring ./cpus/x86 ./cpus/ppc64 ./cpus/arm ./workloads ./results/outdir ./internal/hostcode
RACETESTS := ^(TestOneDigit|TestRunsAtOnce|TestDecodesInParallel|TestModulesCompile|TestWritersTakeTurns|TestCall|TestStruckCodeOfTheHost)$$
# These look at figures and documents, follow schedules one by one, or start other programs, and run alone.
RACESKIP  := ^(TestPlansLeftOutDoTheSame|TestErasExclude|TestHandlersAreProbed|TestRowsOfASchedule|TestFigures|TestFiguresInAColumn|TestPredictedTime|TestMeasureRead|TestTraceShowsEveryStep|TestDocuments|TestDocumentsAnswer|TestDocumentedCommands|TestInterfaceOfDocuments|TestLoopingPoint|TestPairsOfAKernel|TestTapesAreFollowed|TestTicksStrike|TestRealGDB|TestRealGDBAtAViolation|TestDiffNamesPrograms|TestMutantsAsJSON|TestRedrawChangesNoResults)$$
BENCHTIME ?= 2s
# Schedules of each scenario in a search for races. make races SCHEDULES=20000 searches for half an hour.
SCHEDULES ?= 400
# Schedules of each variant of a search for races that the paper tells of.
PAPER     ?= 20
FAULTS    ?= 1000

.PHONY: help quick check hosts cluster notebook hooks build vet fmt format staticcheck newcomer foreign tidy test race fuzz guest guest-fresh baselines clean-tree bench waits mutants races protocols eras compare faults man paper release rows
.NOTPARALLEL:

help: ## say what the targets do
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 14

quick: ## in two minutes: format, vet, staticcheck and short tests of what changed since main (or BASE) and of its importers
	@GO='$(GO)' sh .ci/quick

# The whole gate, cheap checks first. CI installs tools and kernels, and runs the same (.ci/run). The tests rebuild the
# guest images that have each year and option: guest-fresh does all.
GATE      := fmt tidy build vet staticcheck newcomer hosts notebook test baselines race fuzz races paper clean-tree
check: export KPROBESIM_LONG := $(if $(filter 2,$(KPROBESIM_LONG)),2,1)
check: ## the gate, as CI runs it: each of GATE in its order, with the time that it took; make -k goes on behind a failure
	@failed=; for stage in $(GATE); do \
	  start=$$(date +%s); $(MAKE) --no-print-directory $$stage || failed="$$failed $$stage"; \
	  echo "check: $$stage took $$(($$(date +%s) - start)) s"; \
	  [ -z "$$failed" ] || [ '$(findstring k,$(firstword -$(MAKEFLAGS)))' ] || break; \
	done; \
	[ -z "$$failed" ] || { echo "check: failed:$$failed"; exit 1; }; echo 'check: all passed'

hooks: ## install the hooks: subjects of commits below 73 characters, make quick before a push
	git config core.hooksPath .ci/hooks

newcomer: ## the way of a new user: an experiment, a machine and a check of his own
	sh .ci/newcomer

foreign: ## other hosts: compile for 32 bits, and compare the bytes of arm64 (needs qemu-user)
	sh .ci/foreign

hosts: ## foreign, and beside it cluster, which waits for most of its time
	@log=$$(mktemp); $(MAKE) --no-print-directory cluster >"$$log" 2>&1 & cluster=$$!; failed=0; \
	$(MAKE) --no-print-directory foreign || failed=1; wait $$cluster || failed=1; cat "$$log"; rm "$$log"; exit $$failed

cluster: ## shards on a real Slurm of its own, with a node that dies (needs slurm-wlm, munge and root)
	GO='$(GO)' sh .ci/cluster

build: ## compile everything
	$(GO) build ./...

vet: ## go vet
	$(GO) vet ./...

fmt: ## fail when a file is not formatted by gofumpt
	@out=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$out" ]; then echo "not formatted (run 'make format'):"; echo "$$out"; exit 1; fi

format: ## format by gofumpt
	$(TOOL) gofumpt -w .

staticcheck: ## staticcheck
	$(TOOL) staticcheck ./...

tidy: ## fail when go.mod or go.sum is not tidy
	$(GO) mod tidy -diff

test: ## all tests, and what they left out; KPROBESIM_LONG=1 for the long ones, 2 for those of the night, KPROBESIM_ALL=1 to fail where a tool lacks
	$(GO) run ./internal/tests

notebook: ## run the notebook of docs/files.md by DuckDB (needs a C++ compiler)
	GO='$(GO)' sh .ci/notebook

race: ## tests of the packages with goroutines under the race detector (needs a C compiler)
	@if ! command -v $${CC:-gcc} >/dev/null; then echo 'race: left out, no C compiler'; exit $${KPROBESIM_ALL:-0}; fi; \
	$(GO) test -race -short -timeout 40m -skip '$(RACESKIP)' $(RACE) && \
	$(GO) test -race -short -timeout 40m -run '$(RACETESTS)' $(RACEFEW)

fuzz: ## every fuzz target, for FUZZTIME (30000x, 10m) if it is given
	GO='$(GO)' FUZZTIME='$(FUZZTIME)' sh .ci/fuzz

guest: ## rebuild the guest images in place (needs gcc and binutils of Debian 12)
	grep -v '^#' workloads/images/list.txt | while read -r isa era _; do \
	  sh workloads/kernel/build.sh workloads/images/$$isa-$$era.elf $$era $$isa || exit 1; \
	done

guest-fresh: ## fail when a guest image is not what its sources build to
	KPROBESIM_LONG=2 $(GO) test -count=1 -v -run '^(TestImagesFresh|TestRebuild)$$' ./workloads

baselines: ## fail when a committed result moves
	$(GO) run ./cmd/kprobesim check

clean-tree: ## fail when the work tree differs from the last commit
	@out=$$(git status --porcelain) || exit 1; \
	if [ -n "$$out" ]; then echo 'the work tree is not clean:'; echo "$$out"; exit 1; fi

mutants: ## make mistakes in the code and list those that no test notices: MUTANTS='-n 200 -seed 2 -packages sim,mmu -short'
	$(GO) run ./internal/mutation $(MUTANTS)

bench: ## the Go benchmarks, among them simulated MIPS
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

# A build of the program that make waits compares with.
OLD       ?= out/kprobesim-old

waits: ## what users wait for, beside an older build of the program: OLD=../old/kprobesim (takes half an hour; packaged kernels are in KPROBESIM_LINUX)
	$(GO) build -o out/kprobesim-new ./cmd/kprobesim
	$(GO) run ./internal/waits -old $(OLD) -new out/kprobesim-new $(WAITS)

races: ## search for races: SCHEDULES of every scenario
	$(GO) run ./cmd/kprobesim races $$(ls races/scenarios/*.toml) --per-scenario --schedules $(SCHEDULES)

# Mutants of races/protocol.mutants, by name, or new for those that were not searched for yet.
PROTOCOLS ?= all

protocols: ## search for races in kernels with the mistakes of races/protocol.mutants, and write what was found (takes an hour; needs what guest needs)
	$(GO) test -count=1 -v -timeout 12h -run '^TestProtocolsNotice$$' ./races -protocols $(PROTOCOLS) -schedules 20000

eras: ## the same in the eras of changing text, for races/eras.found (takes half an hour)
	$(GO) test -count=1 -v -timeout 12h -run '^TestErasNotice$$' ./races -protocols $(PROTOCOLS) -schedules 100

faults: ## kill a thousand runs at chance moments: nothing that is finished may be lost
	KPROBESIM_FAULTS=$(FAULTS) $(GO) test -count=1 -v -timeout 40m -run '^(TestKilledRunsLoseNothing|TestFaultsAtEveryChange|TestDamagedIsNotKept)$$' ./cmd/kprobesim ./results/outdir ./experiments/keeping

# Rows of docs/coverage.md, as in ROWS=1-20,57.
ROWS      ?= all

rows: ## take each behaviour of docs/coverage.md away, and want a test that its row names to fail (takes hours; needs what guest needs)
	$(GO) test -count=1 -v -timeout 12h -run '^TestRowsNotice$$' ./internal/mutants -rows $(ROWS)

man: ## write the manual pages of all commands into out/man
	$(GO) run ./cmd/kprobesim man out/man

release: ## write archives of static binaries for five platforms (or PLATFORMS=linux/amd64) with checksums into dist
	GO='$(GO)' PLATFORMS='$(PLATFORMS)' sh .ci/release

paper: ## make out/paper/paper.pdf from the committed results; fails with the sentence that they make untrue (needs TeX Live)
	$(GO) run ./cmd/kprobesim paper --schedules $(PAPER)
	@command -v pdflatex >/dev/null || { echo 'paper: not typeset, no pdflatex'; exit $${KPROBESIM_ALL:-0}; }; \
	cd out/paper && for program in pdflatex bibtex pdflatex pdflatex; do \
	  case $$program in bibtex) set -- paper;; *) set -- -interaction=nonstopmode -halt-on-error paper.tex;; esac; \
	  $$program "$$@" >$$program.txt || { tail -n 30 $$program.txt; exit 1; }; \
	done

compare: ## speed beside qemu on the same loops (needs qemu-system-x86, -ppc and -arm, gcc, binutils and the cross gcc of powerpc64 and arm)
	GO='$(GO)' sh experiments/compare-qemu.sh
