# The front door: `make help` lists everything there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # names are checked before anything is installed, and that before anything is built

# Compilers' options, LD_PRELOAD and makefiles of stacks split at these.
ifneq ($(words $(CURDIR))$(findstring :,$(CURDIR)),1)
$(error memtest: $(CURDIR): there is a space or a colon in this path, and preloading takes neither; move the clone)
endif

# Options come from the command line only: names like N and OUT leak in from many an environment. Nor do they leak out,
# into the makes and cargos of the stacks. MEMTEST_CACHE is none: it may come from either, and goes to tools/build.py;
# BENCH_MULTIPLIER may too, and goes to tools/measure.py.
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
given := $(filter-out MEMTEST_CACHE,$(given))
MAKEOVERRIDES :=
unexport $(filter-out BENCH_MULTIPLIER,$(given))
unexport PYTHONSAFEPATH # scripts in tools/dev import what lies beside them

define newline


endef
$(foreach name,$(given),$(if $(findstring $(newline),$(value $(name))),$(error $(name) holds a line break)))

quote = '$(subst ','\'',$(value $1))'
lower = $(shell echo $1 | tr A-Z a-z)
if_given = $(if $(filter $1,$(given)),$2,$3)
options = $(foreach option,$(given),$(option)=$(call quote,$(option)))
flag = --$(call lower,$1)$(if $(filter $1,$(switches)),,=$(call quote,$1))
left_out = $(foreach option,$(switches),$(if $(filter 1,$($(option))),,$(option)))
flags = $(foreach option,$(filter-out $(left_out),$(filter $1,$(given))),$(call flag,$(option)))
# Each target's name, the options that it takes, and those that are 0 or 1: tools/tlsmem/config/option_variables.py has them all.
goal :=
takes :=
include build/options.mk

.PHONY: help
help: ## this list
	@echo 'usage: make TARGET [OPTION=VALUE ...]   for instance: make mem N=10000'
	@echo '                                        and: make profile STACK=openssl@3.5.5 TOOL=heaptrack'
	@echo; echo 'targets:'
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 20
	@echo; tools/names.py --list

.PHONY: mem
mem: names packages-mem setup core stacks-mem ## what a session costs in memory, stacks side by side
	@.venv/bin/python tools/measure.py mem $(call flags,$(takes))

# Time. Runs are made alone, one after the other: no other campaign starts meanwhile, and nothing else should.
flags_timed = $(call flags,$(filter-out BENCH_MULTIPLIER,$(takes)))
.PHONY: throughput handshake threads measure
throughput: names packages-timed setup core stacks-throughput ## bulk transfer, each suite: MiB/s sending and receiving; seven minutes and the builds
	@.venv/bin/python tools/measure.py throughput $(flags_timed)

handshake: names packages-timed setup core stacks-handshake ## full and resumed handshakes a second, by role: a quarter of an hour and the builds; less with SUITES=
	@.venv/bin/python tools/measure.py handshake $(flags_timed)

# What several campaigns are made by: all of them, also when runs of one fail.
each = failed=0; for campaign in $1; do $2 || { test $$? = 1; failed=1; }; done; exit $$failed
threads: names packages-timed setup core stacks-throughput ## both over 1, 2, ... threads that share a server's context
	@$(call each,threads-handshake threads-throughput,.venv/bin/python tools/measure.py $$campaign $(flags_timed))

# Threads first: one thread is measured beside several, and not again afterwards.
measure: names packages-timed setup core stacks-throughput ## all three, each run 30 times instead of 5: two to three hours
	@$(call each,threads-handshake threads-throughput throughput handshake,.venv/bin/python tools/measure.py $$campaign $(call if_given,REPEATS,,--repeats=30) $(flags_timed))

# Axes: a short campaign each, whose names begin so.
axes_campaigns = $(shell sed -nE 's/^\[(axes-.*)\]$$/\1/p' memtest/campaigns.toml)
.PHONY: axes
axes: names packages-mem setup core stacks-mem ## stalled peers, post-quantum, client certificates, contexts, resumption, churn: each in short, of two stacks; ten minutes
	@$(call each,$(axes_campaigns),.venv/bin/python tools/measure.py $$campaign $(call flags,$(takes)))

.PHONY: c1m
c1m: names packages-mem setup core stacks-c1m ## a million live sessions in one process, predicted and measured; STACK=... or all that are built
	@.venv/bin/python tools/c1m.py $(call flags,$(takes))

.PHONY: live
live: names packages-live setup core ## what connections to a real server cost, SERVER=nginx or haproxy: its heap and RSS, and the kernel's bytes; as root
	@.venv/bin/python tools/live.py $(call flags,$(takes))

.PHONY: compare
compare: names packages-compare setup core ## what a patch changes: A=openssl@git:REVISION B=openssl@path:DIRECTORY, both built
	@.venv/bin/python tools/compare_builds.py $(call flags,$(takes))

.PHONY: compare-versions
compare-versions: names packages-compare setup core ## a library's releases, LIB=openssl: memory by bucket, a table and a picture; builds all
	@.venv/bin/python tools/compare_versions.py $(call flags,$(takes)) || test $$? = 77

.PHONY: report
report: names setup ## one page, report.html, of your newest recording and the committed ones, or of RECORDINGS=: tables, pictures, commands
	@.venv/bin/python tools/report.py $(call flags,$(takes))

.PHONY: stacks
stacks: names setup ## every stack, or those of STACKS: protocols, recorded or built, what a session costs
	@.venv/bin/python tools/list_stacks.py $(call flags,$(takes))

.PHONY: check
CHECKS := check-style check-layers check-types check-c check-rust check-go check-python check-smoke check-selfcheck
STACK_CHECKS := check-harnesses check-smoke check-selfcheck
check-smoke check-selfcheck: takes := STACKS PREFIX
check: names packages-check setup-dev core build/core/libmarks.so stacks-check
check: ## test the meters, the drivers and the tools, with three stacks; STACKS=... or all builds and tries these
	@.venv/bin/python tools/dev/run_checks.py $(CHECKS) $(options)
	@echo 'check: passed: style, layers, types, C, Rust, Go and Python tests, the stacks in every suite, the meters against others'
	@tools/dev/house.py --brief

.PHONY: check-stacks
check-stacks: names packages-check setup-dev core build/core/libmarks.so stacks-check-stacks
check-stacks: ## what `make check` does with stacks, with six; STACKS=... or all builds and tries these
	@.venv/bin/python tools/dev/run_checks.py $(STACK_CHECKS) $(options) TRY=$@
	@echo 'check-stacks: passed: the tests of harnesses, the stacks in every suite, the meters against others'

# Which stacks check-python, check-harnesses and check-smoke try: STACKS, or those of a target. What else is built they pass over.
TRY := check
# pytest takes what has a space in it for a file.
tried = $(call if_given,STACKS,$(call quote,STACKS),'$(shell tools/names.py --goal $(TRY) --default STACKS)')

.PHONY: bench
bench: names packages-mem packages-check-pages setup core stacks-mem build/pages-venv/ready ## what metering costs: runs under the heap meter against plain ones; weight and times of the report
	@.venv/bin/python tools/dev/bench_meter.py $(call flags,$(takes))
	@.venv/bin/python tools/report.py --out build/report.html
	@build/pages-venv/bin/python tools/dev/bench_page.py build/report.html

.PHONY: bench-attribution
bench-attribution: names packages-mem packages-selfcheck setup core build/core/libmarks.so stacks-mem
bench-attribution: ## what it costs to know where memory came from: sites runs, heaptrack, massif, DHAT
	@.venv/bin/python tools/dev/bench_attribution.py $(call flags,$(takes))

.PHONY: bench-loop
bench-loop: names packages-mem setup core ## what the harness costs in time: against minimal loops around OpenSSL and rustls
	@.venv/bin/python tools/dev/bench_loop.py $(call flags,$(takes))

.PHONY: bench-read
bench-read: setup ## how long it takes to read recordings and heap profiles; AGAINST=DIRECTORY, another checkout, in turn with this one
	@.venv/bin/python tools/dev/bench_read.py $(call if_given,AGAINST,--against=$(call quote,AGAINST)) $(call if_given,REPEATS,--repeats=$(call quote,REPEATS))

.PHONY: selfcheck
selfcheck: names packages-mem packages-selfcheck setup core build/core/libmarks.so stacks-mem
selfcheck: ## the heap meter against heaptrack, massif and DHAT, to the byte: two minutes
	@.venv/bin/python tools/dev/selfcheck.py $(call flags,$(takes))

.PHONY: profile
profiled = $(call if_given,$1,$(call quote,$1),$(shell tools/names.py --goal profile --default $1))
marks = $(if $(filter 'massif' massif 'dhat' dhat,$(call profiled,TOOL)),build/core/libmarks.so)
.SECONDEXPANSION: # only for a profile is its tool asked for
profile: names packages-profile setup core $$(marks) stack-profile
profile: ## which call stacks hold the bytes of a session, at the end of every phase
	@.venv/bin/python tools/profile_heap.py $(call flags,$(takes))

.PHONY: prove
prove: names packages-mem setup core stacks-mem ## what the project claims of its own figures, recorded and checked: half an hour
	@for campaign in repeat law large split keep; do .venv/bin/python tools/measure.py $$campaign $(call flags,$(takes)) > /dev/null; done
	@.venv/bin/python tools/dev/prove.py $(call if_given,OUT,-- $(call quote,OUT))

.PHONY: check-slow
check-slow: names packages-check setup-dev core build/core/libmarks.so stacks-check-stacks build/tests/faulty
check-slow: ## the tests of the tools that take three seconds and more each, which `make check` leaves out
	@$(PYTEST) -m slow

.PHONY: check-bisect
check-bisect: names packages-compare setup core ## git bisect, by compare, finds 16 bytes planted in 1 of 32 commits of OpenSSL: ten minutes
	@.venv/bin/python tools/tests/support/planted_history.py build/bisect --search

.PHONY: check-pages
check-pages: names packages-check-pages setup setup-dev build/pages-venv/ready ## pages of heap profiles and of reports in a browser; screenshots into build/pages
	@.venv/bin/python tools/browser-tests/flamegraph/examples.py build/pages
	@.venv/bin/python tools/browser-tests/report/examples.py build/pages
	@$(call once_more,$(PYTEST) -m page tools/tests)
	@$(call once_more,build/pages-venv/bin/python -m pytest tools/browser-tests/flamegraph)
	@$(call once_more,build/pages-venv/bin/python -m pytest tools/browser-tests/report)

# A browser may be slow once: what failed is named, and run again.
once_more = $1 || { test $$? = 1; echo 'check-pages: what failed above is run once more' >&2; $1 -rfp --last-failed --last-failed-no-failures=none; }

.PHONY: check-ci-page
check-ci-page: packages-check-ci-page setup ## the steps of docs/how-to/ci.md in a bare Debian 12, as root: ten minutes
	@tools/build.py openssl@3.5.5
	@.venv/bin/python tools/dev/check_ci_page.py

.PHONY: check-bare
check-bare: packages-check-ci-page setup ## make check in a bare Debian 12 that has only what the README asks for, as root: fifteen minutes
	@.venv/bin/python tools/dev/check_bare.py

.PHONY: soak
soak: packages-mem setup core ## 1,000 waves of sessions of the null stacks and of OpenSSL, which must leave nothing: ten minutes
	@tools/build.py null@c null@rust openssl@3.5.5
	@.venv/bin/python tools/dev/soak.py

.PHONY: check-gate
check-gate: names packages-mem setup core stacks-mem ## budgets let through what has not changed, 50 times of 50: half an hour
	@.venv/bin/python tools/dev/check_gate.py

.PHONY: check-answers
check-answers: names setup ## tools/cost.py and a report answer for every stack and suite with figures of that suite, and each command of the report runs: three minutes
	@.venv/bin/python tools/report.py --out build/report.html
	@.venv/bin/python tools/dev/check_answers.py build/report.html
	@.venv/bin/python tools/dev/check_commands.py build/report.html

.PHONY: check-patches
check-patches: names packages-compare setup core ## the first lines of a comparison say what a planted patch did, of eleven on real builds of OpenSSL: half an hour
	@.venv/bin/python tools/dev/check_patches.py

.PHONY: check-kills
check-kills: names packages-compare setup core ## a comparison that is killed at a random moment leaves no process behind: 50 times, ten minutes
	@.venv/bin/python tools/dev/check_kills.py

.PHONY: check-cluster
check-cluster: names packages-mem setup setup-dev core build/cluster-venv/ready ## a campaign on two workers of a Dask cluster, one of which is killed three times: a minute
	@build/cluster-venv/bin/python -m pytest tools/tests/cluster

.PHONY: check-prometheus
check-prometheus: names setup core ## a real Prometheus scrapes heap.py --listen for a minute, and each panel of the dashboard has data: Debian's prometheus and nginx-light
	@.venv/bin/python tools/dev/check_prometheus.py

.PHONY: figures
figures: setup ## every table and picture of README and docs again, each by the command that stands beside it; one that several pages show is drawn once
	@for page in README.md $(sort $(wildcard docs/*.md docs/*/*.md docs/*/*/*.md)); do \
	    sed -nE "s,^<!-- begin: (.*) -->$$,\1 --into $$page,p; s,^Reproduce this figure: \`(tools/.*)\`$$,\1,p" $$page; \
	done | awk '!drawn[$$0]++' | bash -eux

.PHONY: docs
docs: setup build/docs-venv/ready ## the documentation as a site with the report in it, in build/docs; a link that leads nowhere fails, and a name that the site changes
	@rm -rf build/docs-extra
	@.venv/bin/python tools/report.py --format directory --out build/docs-extra/report >/dev/null
	@build/docs-venv/bin/sphinx-build -q -W --keep-going -b html -d build/docs-cache docs build/docs
	@! grep -rnoE --include='*.html' --exclude-dir=report '.{0,40}(mailto:|–[a-z]).{0,40}' build/docs || \
	    { echo 'docs: the pages above show an option with a dash for its --, or a stack as an address of mail: see docs/conf.py and docs/command_parsers.py' >&2; false; }
	@echo 'docs: build/docs/index.html'

.PHONY: setup-core
setup-core: .venv/core ## those of heap.py, inspect_heaptrack.py, gate.py, cost.py and the builds: under 100 MB

.PHONY: setup-gate
setup-gate: packages-compare setup-core core ## all that gate.py needs but the stacks' own: no cargo, unless a budget's stack is Rust's or from a crate

.PHONY: setup
setup: .venv/ready ## the Python packages that all commands need, in .venv

.PHONY: setup-cluster
setup-cluster: build/cluster-venv/ready ## and those that measure.py --cluster and worker.py need, in build/cluster-venv

.PHONY: setup-dev
setup-dev: .venv/ready-dev ## and those that tests and linters need

.PHONY: core
core: build/core/libmemtest.a build/core/libheapmeter.so build/core/heapwalk ## what every harness shares

.PHONY: stacks-clean
stacks-clean: go-writable ## forget the built stacks and their sources
	rm -rf build/stacks build/trees build/ccache build/sources build/harness build/logs build/go

.PHONY: clean
clean: go-writable ## forget all that was built and installed; recordings stay
	rm -rf build .venv

.PHONY: go-writable
go-writable: # a toolchain that go fetched is read-only, directories too
	@if [ -d build/go/pkg ]; then chmod -R u+w build/go/pkg; fi

# What the targets above stand on.

build/options.mk: tools/tlsmem/config/option_variables.py tools/tlsmem/config/option_model.py tools/tlsmem/config/option_pages.py
	@mkdir -p build
	@tools/names.py --makefile > $@.$$$$ && mv $@.$$$$ $@

.PHONY: names packages-mem packages-timed packages-check packages-check-pages packages-check-ci-page
.PHONY: packages-selfcheck packages-profile packages-compare packages-live
.PHONY: stacks-mem stacks-check stacks-check-stacks stacks-throughput stacks-handshake stacks-c1m
.PHONY: stack-profile
names:
	@tools/names.py $(if $(goal),--goal $(goal) )$(options)

packages-mem packages-timed:
	@tools/packages.py $(patsubst packages-%,%,$@) $(call flags,STACKS PREFIX CLIENT SERVER ALLOCATOR)

packages-check packages-check-pages packages-selfcheck packages-compare packages-check-ci-page:
	@tools/packages.py $(patsubst packages-%,%,$@)

packages-live:
	@tools/packages.py live-$(firstword $(subst :, ,$(SERVER)))

packages-profile:
	@tools/packages.py profile $(call flags,STACK PREFIX TOOL)

# 77: what is missing is not to be had, and of all stacks, or to be checked, the others will do. For a check that names
# no stacks no toolchain of Go is fetched.
named = $(foreach option,$(filter STACK STACKS CLIENT SERVER,$(given)),$(call quote,$(option)))
offline-check := GOPROXY=off #
offline-check-stacks := $(offline-check)
stacks-mem stacks-check stacks-check-stacks stacks-throughput stacks-handshake stacks-c1m: stacks-%:
	@$(if $(named),,$(offline-$*))tools/build.py $(or $(named),--campaign $*) $(call flags,PREFIX GIT LIKE) $(if $(filter 'all' check check-stacks,$(named) $*),|| test $$? = 77)

PIP_INSTALL := .venv/bin/pip install --disable-pip-version-check --no-compile --require-hashes # Python compiles what it imports
# pip says the same of a package index that it cannot reach as of a version that is not there.
pip_failed = || { echo 'memtest: $@: pip did not install the packages; "from versions: none" means that it reached no package index: see `pip config list` and the network, then run this again' >&2; false; }
stack-profile:
	@tools/build.py $(call profiled,STACK) $(call flags,PREFIX GIT LIKE)

.venv/core: tools/requirements-core.txt
	@echo 'setup: Python packages into .venv'
	@rm -rf .venv && python3 -m venv .venv # not --clear, which would empty what a link points to
	@.venv/bin/pip uninstall -q -y setuptools # of venv; what needs it asks for a version of its own
	@$(PIP_INSTALL) -r tools/requirements-core.txt >&2 $(pip_failed)
	@touch $@

.venv/ready: tools/requirements.txt .venv/core
	@echo 'setup: Python packages of tables, pictures and the report into .venv'
	@$(PIP_INSTALL) -r tools/requirements.txt >&2 $(pip_failed)
	@touch $@

.venv/ready-dev: tools/requirements-dev.txt .venv/ready
	@echo 'setup-dev: Python packages of tests and linters into .venv'
	@$(PIP_INSTALL) -r tools/requirements-dev.txt >&2 $(pip_failed)
	@touch $@

build/docs-venv/ready: tools/requirements-docs.txt
	@echo 'docs: Sphinx and its theme into build/docs-venv'
	@rm -rf build/docs-venv && mkdir -p build && python3 -m venv build/docs-venv
	@build/docs-venv/bin/pip install --disable-pip-version-check --require-hashes -r tools/requirements-docs.txt >&2 $(pip_failed)
	@touch $@

build/pages-venv/ready: tools/requirements-pages.txt
	@echo 'check-pages: what drives a browser into build/pages-venv'
	@rm -rf build/pages-venv && mkdir -p build && python3 -m venv build/pages-venv
	@build/pages-venv/bin/pip install --disable-pip-version-check --require-hashes -r tools/requirements-pages.txt $(pip_failed)
	@touch $@

# It sees what .venv has: who asks a cluster is tools/measure.py as always, with distributed beside its packages.
build/cluster-venv/ready: tools/requirements-cluster.txt .venv/ready
	@echo 'check-cluster: what spreads runs over machines into build/cluster-venv'
	@rm -rf build/cluster-venv && mkdir -p build && python3 -m venv build/cluster-venv
	@build/cluster-venv/bin/pip install --disable-pip-version-check --require-hashes -r tools/requirements-cluster.txt >&2
	@printf '%s\n' $(CURDIR)/.venv/lib/python3*/site-packages $(CURDIR)/tools > build/cluster-venv/memtest.pth
	@mv build/cluster-venv/memtest.pth build/cluster-venv/lib/python3*/site-packages
	@touch $@

# The core: memtest/*.c into one archive, but for the heap meter and the marks, which are libraries to preload, and for
# heapwalk, which is a program.

FLAGS := -std=gnu11 -O2 -g1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wall -Wextra
FLAGS += '-ffile-prefix-map=$(CURDIR)=.' -MMD -MP # the same bytes from every clone
CORE := $(patsubst memtest/%.c,build/core/%.o,$(filter-out memtest/heapmeter% memtest/heapwalk% memtest/marks%,$(wildcard memtest/*.c)))
METER := $(wildcard memtest/heapmeter*.c)
WALK := $(wildcard memtest/heapwalk*.c)

build/core/libmemtest.a: $(CORE)
	@echo 'core: $@'
	@rm -f $@ && ar rcsD $@ $^

build/core/%.o: memtest/%.c Makefile | build/core
	@gcc $(FLAGS) -c $< -o $@

# gcc would turn the meter's own malloc + memset into a call of calloc: of itself.
build/core/heapmeter%.o: FLAGS += -fPIC -fno-builtin -fvisibility=hidden

# A dlopen whose caller is the meter's would search where the meter says.
build/core/heapmeter_dlopen.o: FLAGS += -foptimize-sibling-calls

build/core/libheapmeter.so: $(METER:memtest/%.c=build/core/%.o)
	@echo 'core: $@'
	@gcc -shared $(filter %.o,$^) -o $@ -ldl

build/core/heapwalk: $(WALK:memtest/%.c=build/core/%.o)
	@echo 'core: $@'
	@gcc $^ -o $@

# Only where valgrind and its headers are: for tools/profile_heap.py and selfcheck.py.
build/core/libmarks.so: memtest/marks_valgrind.c Makefile | build/core
	@echo 'core: $@'
	@gcc $(FLAGS) -fPIC -shared $< -o $@

# Tests and linters, all of them in `make check`.

TESTS := $(addprefix build/tests/test_,wire threads histogram session_store heapmeter)
C_FILES := $(wildcard memtest/*.[ch] memtest/tests/*.[ch])
HARNESS_C := $(wildcard harness-c/*.[ch] harness-c/*/*.[ch] harness-c/*/*.cpp)
RUSTLS := harness-rust/rustls-0.23.46/Cargo.toml
EVERY_RUSTLS := $(wildcard harness-rust/rustls-*/Cargo.toml)
FLAMEGRAPH := tools/tlsmem/explore/flamegraph/svg/Cargo.toml
# Harnesses that are not optimised at all take ten times as long in their tests.
CARGO := CARGO_TARGET_DIR=build/cargo CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo
.PHONY: check-style check-layers check-types check-c check-rust check-go check-python check-harnesses check-smoke check-selfcheck

check-style:
	@echo 'check: style'
	@clang-format --dry-run -Werror $(C_FILES) $(HARNESS_C)
	@gcc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -O2 -Imemtest $(filter %.c,$(C_FILES))
	@tools/dev/lint_drivers.py
	@tools/dev/check_go.py style
	@for manifest in harness-rust/Cargo.toml harness-rust/server/Cargo.toml $(EVERY_RUSTLS) $(FLAMEGRAPH); do cargo fmt --check --manifest-path $$manifest; done
	@$(CARGO) clippy -q --locked --all-targets --manifest-path harness-rust/Cargo.toml -- -D warnings
	@$(CARGO) clippy -q --locked --all-targets --manifest-path $(RUSTLS) --features aws-lc,jemalloc-rust,loop -- -D warnings
	@for manifest in $(EVERY_RUSTLS); do \
	    $(CARGO) clippy -q --locked --all-targets --manifest-path $$manifest --features ring -- -D warnings; \
	done
	@$(CARGO) clippy -q --locked --all-targets --manifest-path $(FLAMEGRAPH) -- -D warnings
	@.venv/bin/ruff check -q . && .venv/bin/ruff format -q --check .
	@.venv/bin/python tools/dev/check_words.py

check-layers:
	@echo 'check: layers'
	@mkdir -p build
	@PYTHONPATH=tools .venv/bin/lint-imports --no-cache --no-logo > build/layers.log || { cat build/layers.log; exit 1; }

# mypy exits with 1 while there are known errors: what counts is that the baseline has them all, and no other.
check-types:
	@echo 'check: types'
	@.venv/bin/mypy > build/types.log || test $$? = 1
	@.venv/bin/mypy-baseline filter < build/types.log > build/types-new.log || { cat build/types-new.log; exit 1; }

.PHONY: types-baseline
types-baseline: setup-dev ## take the type errors that are mended out of the baseline
	@.venv/bin/mypy > build/types.log || test $$? = 1
	@.venv/bin/mypy-baseline sync < build/types.log

check-c: $(TESTS) build/tests/faulty
	@echo 'check: C tests'
	@build/tests/test_wire
	@build/tests/test_threads
	@build/tests/test_histogram
	@build/tests/test_session_store
	@LD_PRELOAD=build/core/libheapmeter.so build/tests/test_heapmeter
	@for library in $$(sed -nE 's/^library = "(.*)"$$/\1/p' memtest/allocators.toml); do \
	    /sbin/ldconfig -p | grep -F "$$library" > /dev/null || continue; \
	    echo "check: the heap meter over $$library"; \
	    LD_PRELOAD="build/core/libheapmeter.so $$library" build/tests/test_heapmeter; \
	done

check-rust:
	@echo 'check: Rust tests'
	@$(CARGO) test -q --locked --manifest-path harness-rust/Cargo.toml
	@$(CARGO) test -q --locked --manifest-path $(RUSTLS) --features aws-lc,jemalloc-rust
	@for manifest in $(filter-out $(RUSTLS),$(EVERY_RUSTLS)); do \
	    $(CARGO) test -q --locked --manifest-path $$manifest --features ring; \
	done

check-go:
	@echo 'check: Go tests'
	@tools/dev/check_go.py tests

# Without cached bytecode each process of pytest rewrites the asserts of all tests: seconds of each CPU.
PYTEST := PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
check-python: build/tests/faulty
	@echo 'check: Python tests'
	@$(PYTEST) -m 'not slow' --stacks=$$(tr ' ' , <<< $(tried))

# The tests that run harnesses: of the tools those that ask for one that is built.
check-harnesses: $(TESTS) build/tests/faulty
	@echo 'check: tests of harnesses'
	@$(PYTEST) -m 'not slow' --stacks=$$(tr ' ' , <<< $(tried)) memtest/tests $$(grep -lrw --include='test_*.py' built_harness tools/tests)

.PHONY: snapshots
snapshots: setup-dev ## write the snapshots of the tests again, after a change of wording; read their diff like code
	@$(PYTEST) --snapshot-update $$(grep -lrw --include='test_*.py' snapshot tools/tests)

check-smoke:
	@echo 'check: every stack in every suite, 2 sessions'
	@.venv/bin/python tools/measure.py --verify --stacks=$(tried) $(call flags,PREFIX)

# TLS 1.3 alone in `make check`: valgrind starts six times, not twelve, and each start takes two seconds.
check-selfcheck:
	@echo 'check: the heap meter against heaptrack, massif and DHAT'
	@.venv/bin/python tools/dev/selfcheck.py --quick --leave-out $(call flags,$(takes)) \
	    $(if $(filter check,$(TRY)),--suites=tls13-rsa-aes256) > /dev/null

build/tests/test_wire: build/core/wire.o build/core/wire_mapped.o build/core/hello_retry.o
build/tests/test_threads: build/core/threads.o
build/tests/test_histogram: build/core/histogram.o
build/tests/test_session_store: harness-c/families/session_store.h
$(addprefix build/tests/test_,wire threads histogram session_store): build/tests/%: memtest/tests/%.c Makefile | build/tests
	@gcc $(FLAGS) -Imemtest $(filter %.c %.o,$^) -o $@ -lcmocka -lpthread

# gcc is right that a failed reallocarray's block is used again: that it stays valid is what is tested.
build/tests/test_heapmeter: memtest/tests/test_heapmeter.c Makefile | build/tests
	@gcc $(FLAGS) -fno-builtin -Wno-use-after-free -Imemtest $< -o $@ -lcmocka -ldl -lpthread

build/tests/faulty: memtest/tests/faulty.c harness-c/drivers/null.c build/core/libmemtest.a memtest/wrapped.flags Makefile | build/tests
	@gcc $(FLAGS) -Imemtest $< build/core/libmemtest.a @memtest/wrapped.flags -o $@ -ldl -lpthread

# Counts without the heap meter what the scenario contexts counts with it.
build/tests/one_context: memtest/tests/one_context.c memtest/tests/counted_openssl.h Makefile | build/tests
	@gcc $(FLAGS) $< -o $@ -lssl -lcrypto

# The same of what a server keeps of a client's chain.
build/tests/one_certificate: memtest/tests/one_certificate.c memtest/tests/counted_openssl.h Makefile | build/tests
	@gcc $(FLAGS) $< -o $@ -lcrypto

build/core build/tests:
	@mkdir -p $@

-include $(wildcard build/core/*.d build/tests/*.d)
