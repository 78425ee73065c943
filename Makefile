# Everything the project does, by name. The work itself is Swift's, or a script's in scripts/.

PREFIX ?= /usr/local
SECONDS = 60
SOURCES = Package.swift Sources Tests $(wildcard Benchmarks/Package.swift Benchmarks/Sources Fuzzing/Package.swift Fuzzing/Sources Examples/Package.swift Examples/Sources Examples/Tests)

# One build serves demo and tests: optimised, as what ships, and open to `@testable import`. Debug information would be a tenth of the compilation.
OPTIMISED = -c release -Xswiftc -enable-testing -debug-info-format none --scratch-path .build/optimised
# Suites that try a sample of very many states, by their names: `make soak` has them try all.
HEAVY = ^[^/]*([Cc]rash|[Mm]odel|Damage|Failing|Streaming|Checkpoint|StoredOrder|Keyring|Salvage|HardPlace|BlockCache|Import)[^/]*/
# The suite that compiles what the pages show: `make api` runs it.
COMPILED = SnippetCompilationTests

.PHONY: help demo test examples lint format bench soak torture fuzz model docs api api-accept install clean libraries

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 12

demo: libraries ## build the tool and tour a real store in a temporary folder
	swift build $(OPTIMISED) --product notelog
	swift build $(OPTIMISED) --product LeasingApp
	@scripts/demo "$$(swift build $(OPTIMISED) --show-bin-path)"

test: libraries ## everything that proves the project
	swift build --build-tests $(OPTIMISED)
	scripts/test --skip-build --skip $(COMPILED) $(OPTIMISED)

soak: libraries ## the crash, model, cipher and rotation tests again, with many more rounds
	NOTELOG_SOAK=1 scripts/test --filter '$(HEAVY)|VectorTests|RotationTests|FolderTests' $(OPTIMISED)

torture: libraries ## damage, links, kills and many segments from outside, on the real tool: SECONDS=60 for each campaign
	swift build $(OPTIMISED) --product notelog
	scripts/torture "$$(swift build $(OPTIMISED) --show-bin-path)/notelog" --seconds $(SECONDS)

fuzz: libraries ## everything that reads untrusted bytes, fuzzed: SECONDS=60 each, TARGETS='journal record'
	SECONDS_EACH=$(SECONDS) scripts/fuzz $(TARGETS)

model: ## all states of the models of sharing, compaction and shipping, where spin is installed: MODELS='lending pins'
	@if command -v spin >/dev/null; then Tests/Models/check $(MODELS); else echo "skipped: spin is not installed (apt-get install spin)"; fi

lint: ## formatting and documentation of public declarations
	swift format lint --strict --recursive --parallel $(SOURCES)

format: ## put every Swift file into the house format
	swift format --in-place --recursive --parallel $(SOURCES)

bench: libraries ## measure beside the peers (sqlite, lmdb, leveldb, rocksdb)
	scripts/bench

docs: libraries ## the library's documentation, into docs/site
	scripts/docs $(OPTIMISED)

api: libraries ## compare what is public with docs/api.txt, count it, and compile what the pages show
	scripts/api $(OPTIMISED)
	swift build --build-tests $(OPTIMISED)
	scripts/test --skip-build --filter $(COMPILED) $(OPTIMISED)

api-accept: libraries ## write docs/api.txt anew: what changed is meant
	scripts/api --accept $(OPTIMISED)

examples: libraries ## build and drive the example programs, and run each row of docs/origins.md
	@scripts/ensure-libraries 'command sqlite3:sqlite3:sqlite'
	swift build --build-tests --package-path Examples
	scripts/test --skip-build --package-path Examples
	swift build $(OPTIMISED) --product notelog
	scripts/origins "$$(swift build $(OPTIMISED) --show-bin-path)"

install: libraries ## the tool, its man page and completions, under PREFIX (/usr/local)
	swift build -c release --product notelog
	scripts/install "$$(swift build -c release --show-bin-path)/notelog" "$(DESTDIR)$(PREFIX)"

clean: ## remove what was built
	rm -rf .build docs/site Benchmarks/.build Fuzzing/.build Examples/.build

libraries:
	@scripts/ensure-libraries
