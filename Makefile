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
# into the makes and cargos of the stacks. MEMTEST_CACHE is none: it may come from either, and goes to the builds. An
# empty option is not given.
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
given := $(filter-out MEMTEST_CACHE,$(given))
MAKEOVERRIDES :=
unexport $(given)
given := $(foreach name,$(given),$(if $(value $(name)),$(name)))
unexport PYTHONSAFEPATH # scripts in tools/dev import what lies beside them

define newline


endef
$(foreach name,$(given),$(if $(findstring $(newline),$(value $(name))),$(error $(name) holds a line break)))

quote = '$(subst ','\'',$(value $1))'
if_given = $(if $(filter $1,$(given)),$2,$3)
options = $(foreach option,$(given),$(option)=$(call quote,$(option)))
PYTHON := .venv/bin/python
MEMTEST := $(PYTHON) tools/tls-memtest

.PHONY: help
help: ## this list
	@echo 'usage: make TARGET [OPTION=VALUE ...]   for instance: make mem N=10000'
	@echo '                                        and: make profile STACK=openssl@3.5.5 TOOL=heaptrack'
	@echo; echo 'targets:'
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 20
	@echo; tools/tls-memtest help make

# These pass their options on to a command of tls-memtest, which has what each takes (`make help`). Names and options are
# checked first, then packages are installed, and the stacks built.

MEASURING := mem throughput handshake threads measure axes c1m
COMPARING := live compare compare-versions
READING := report stacks
DEVELOPING := check check-stacks bench bench-attribution bench-loop selfcheck prove profile
.PHONY: $(MEASURING) $(COMPARING) $(READING) $(DEVELOPING) names built
$(foreach target,$(MEASURING) $(COMPARING) $(READING) $(DEVELOPING),$(eval $(target): goal := $(target)))
$(MEASURING) live: verb = measure $(goal)
measure: verb := measure time
compare: verb := diff builds
compare-versions: verb := diff releases
report: verb := show report
stacks: verb := stacks

names: # a target without options takes none, or those that `takes` has
	@$(if $(goal),tools/tls-memtest build --check $(goal) $(options),$(if $(filter-out $(takes),$(given)),$(error memtest: make $(MAKECMDGOALS) takes $(if $(takes),$(takes) alone,no options); leave $(filter-out $(takes),$(given)) out)))
built:
	@$(MEMTEST) build --for $(goal) $(options)

$(MEASURING): names setup core built
	@$(MEMTEST) $(verb) $(options)
$(COMPARING): names setup core $(if $(filter 1,$(SITES)),build/core/libmarks.so)
	@$(MEMTEST) $(verb) $(options) || test $@-$$? = compare-versions-77 # releases that are not to be had
$(READING): names setup
	@$(MEMTEST) $(verb) $(options)
.PHONY: live-short
live-short: purpose := live-source
live-short: takes := OUT
live-short: names packages setup core ## nginx and HAProxy, each on OpenSSL and on AWS-LC: what a connection costs, with 200 and 1,000 connections; OUT=DIRECTORY: ten minutes, as root
	@$(MEMTEST) measure live --server nginx,haproxy --stack openssl@3.5.5,awslc@5.12.0 --n 200,1000 --idle 5s --settle 1s --waves 0 $(call if_given,OUT,--out=$(call quote,OUT))
.PHONY: live-all
live-all: purpose := live-all
live-all: takes := OUT
live-all: names packages setup core build/core/libmarks.so ## every server that `make live` knows, nginx and HAProxy on their libraries too: what a connection costs with 300, 600 and 900 connections, after a storm of 900, and which call sites hold it; OUT=DIRECTORY: two hours, as root; again, it goes on
	@$(MEMTEST) measure live --server all --stack all --n 300,600,900 --window 100,all --idle 5s --settle 1s --waves 1 $(call if_given,OUT,--out=$(call quote,OUT))
	@$(MEMTEST) measure live --server all --sites --idle 5s $(call if_given,OUT,--out=$(call quote,OUT))
profile: names setup core $(if $(filter massif dhat,$(TOOL)),build/core/libmarks.so) built
	@$(MEMTEST) heap record $(options)

# The checks, and what else is for developers.

TESTS := $(addprefix build/tests/test_,wire threads histogram session_store heapmeter)
CHECKS := check-style check-layers check-types check-c check-rust check-go check-python check-smoke check-selfcheck
STACK_CHECKS := check-harnesses check-smoke check-selfcheck
check: names setup-dev core build/core/libmarks.so built ## test the meters, the drivers and the tools, with three stacks; STACKS=... or all builds and tries these
	@$(PYTHON) tools/dev/run_checks.py $(CHECKS) $(options)
	@echo 'check: passed: style, layers, types, C, Rust, Go and Python tests, the stacks in every suite, the meters against others'
	@tools/dev/house.py --brief

check-stacks: names setup-dev core build/core/libmarks.so built ## what `make check` does with stacks, with six; STACKS=... or all builds and tries these
	@$(PYTHON) tools/dev/run_checks.py $(STACK_CHECKS) $(options) TRY=$@
	@echo 'check-stacks: passed: the tests of harnesses, the stacks in every suite, the meters against others'

BENCH := bench-attribution bench-loop selfcheck
.PHONY: $(BENCH) bench-read
bench: names setup core built build/pages-venv/ready ## what metering costs: runs under the heap meter against plain ones; weight and times of the report
	@$(PYTHON) tools/dev/bench_meter.py $(options)
	@$(MEMTEST) show report --out build/report.html
	@build/pages-venv/bin/python tools/dev/bench_page.py build/report.html
bench-read: setup ## how long it takes to read recordings and heap profiles; AGAINST=DIRECTORY, another checkout, in turn with this one; LARGE=DIRECTORY, heap profiles of 100 MB and more, taken there
	@$(PYTHON) tools/dev/bench_read.py $(call if_given,AGAINST,--against=$(call quote,AGAINST)) $(call if_given,REPEATS,--repeats=$(call quote,REPEATS)) $(call if_given,LARGE,--large=$(call quote,LARGE))
$(BENCH): names setup core built
	@$(PYTHON) tools/dev/$(subst -,_,$@).py $(options)
bench-attribution check-live selfcheck: build/core/libmarks.so
bench-attribution: ## what it costs to know where memory came from: sites runs, heaptrack, massif, DHAT
bench-loop: ## what the harness costs in time: against minimal loops around OpenSSL and rustls
selfcheck: ## the heap meter against heaptrack, massif and DHAT, to the byte: two minutes
prove: names setup core built ## what the project claims of its own figures, recorded and checked: half an hour
	@for campaign in repeat law large split keep; do $(MEMTEST) measure $$campaign $(options) > /dev/null; done
	@$(PYTHON) tools/dev/prove.py $(call if_given,OUT,-- $(call quote,OUT))

# Steps of tools/dev/checks.py, which has the commands of each (--print shows them); what they need is made here.

STEPS := $(sort $(CHECKS) $(STACK_CHECKS))
HEAVY := check-bare check-bisect check-census check-ci-page check-gate check-kills check-live check-patches check-prometheus soak
OTHERS := check-answers check-cluster check-notebook check-pages check-slow check-thorough check-wheel docs figures snapshots wheel
check-bisect check-kills check-patches: purpose := compare
check-bare check-ci-page: purpose := check-ci-page
check-cluster check-gate soak: purpose := mem
check-pages: purpose := check-pages
check-slow check-thorough: purpose := check
.PHONY: $(STEPS) $(HEAVY) $(OTHERS) packages
packages:
	@$(if $(purpose),tools/tls-memtest build --packages $(purpose))
$(HEAVY): names packages setup core
check-answers: names setup ## cost, plan and a report answer for every stack and suite with figures of that suite, and each command of the report runs: three minutes
check-bare: ## make check in a bare Debian 12 that has only what the README asks for, as root: fifteen minutes
check-bisect: ## git bisect, by diff builds, finds 16 bytes planted in 1 of 32 commits of OpenSSL: ten minutes
check-census: ## heap census counts what real servers hold in each state, and leaves them as they are, as root: three minutes, with all programs seven
check-ci-page: ## the steps of docs/how-to/ci.md in a bare Debian 12, as root: ten minutes
check-cluster: names packages setup setup-dev core build/cluster-venv/ready ## a campaign on two workers of a Dask cluster, one of which is killed three times: a minute
check-gate: ## budgets let through what has not changed, 50 times of 50: half an hour
check-kills: ## a comparison that is killed at a random moment leaves no process behind: 50 times, ten minutes
check-notebook: names setup setup-dev build/notebook-venv/ready ## the notebooks in docs/notebooks run, and show the figures that are committed: a minute
check-pages: names packages setup setup-dev build/pages-venv/ready ## pages of heap profiles and of reports in a browser; screenshots into build/pages
check-live: ## the live heap of nginx on AWS-LC and of HAProxy on OpenSSL is what valgrind's massif counts in them, to the byte, as root: ten minutes
check-patches: ## the first lines of a comparison say what a planted patch did, of eleven on real builds of OpenSSL: half an hour
check-prometheus: ## a real Prometheus scrapes `heap run --listen` for a minute, and each panel of the dashboard has data: Debian's prometheus and nginx-light
check-slow: names packages setup-dev core build/core/libmarks.so ## the tests of the tools that take three seconds and more each, which `make check` leaves out
check-thorough: names packages setup-dev core build/core/libmarks.so ## the tests of the tools that take a fifth of a second of CPU time and more, which `make check` leaves out and CI runs: four minutes
check-wheel: wheel ## the wheel in empty environments answers as the clone does, byte for byte: ten minutes
docs: setup build/docs-venv/ready ## the documentation as a site with the report in it, in build/docs; a link that leads nowhere fails, and a name that the site changes
figures: setup ## every table and picture of README and docs again, each by the command that stands beside it; one that several pages show is drawn once
snapshots: setup-dev ## write the snapshots of the tests again, after a change of wording; read their diff like code
soak: ## 1,000 waves of sessions of the null stacks and of OpenSSL, which must leave nothing: ten minutes
wheel: setup core ## wheels for x86-64 and arm64 that answer without a clone, from a summary of the recordings, in build/wheel: two minutes
check-c check-harnesses: $(TESTS)
check-wheel: build/tests/test_heapmeter
check-c check-harnesses check-python check-slow check-thorough: build/tests/faulty
$(STEPS) $(HEAVY) $(OTHERS):
	@$(PYTHON) tools/dev/checks.py $@ $(options)

.PHONY: setup-core setup-gate setup setup-cluster setup-dev core stacks-clean clean go-writable
setup-core: .venv/core ## the Python packages of cost, gate, heap and build: about 90 MB
setup-gate: purpose := compare
setup-gate: packages setup-core core ## all that gate needs but the stacks' own: no cargo, unless a budget's stack is Rust's or from a crate
setup: .venv/ready ## the Python packages that all commands need, in .venv
setup-cluster: build/cluster-venv/ready ## and those of a cluster of machines, in build/cluster-venv
setup-dev: .venv/ready-dev ## and those that tests and linters need

core: build/core/libmemtest.a build/core/libheapmeter.so build/core/heapwalk ## what every harness shares

stacks-clean: go-writable ## forget the built stacks and their sources
	rm -rf build/stacks build/trees build/ccache build/sources build/harness build/logs build/go

clean: go-writable ## forget all that was built and installed; recordings stay
	rm -rf build .venv

go-writable: # a toolchain that go fetched is read-only, directories too
	@if [ -d build/go/pkg ]; then chmod -R u+w build/go/pkg; fi

# What the targets above stand on.

PIP_INSTALL := .venv/bin/pip install --disable-pip-version-check --no-compile --require-hashes # Python compiles what it imports
# pip says the same of a package index that it cannot reach as of a version that is not there.
pip_failed = || { echo 'memtest: $@: pip did not install the packages; "from versions: none" means that it reached no package index: see `pip config list` and the network, then run this again' >&2; false; }

.venv/core: tools/requirements-core.txt
	@echo 'setup: Python packages into .venv'
	@rm -rf .venv && python3 -m venv .venv # not --clear, which would empty what a link points to
	@.venv/bin/pip uninstall -q -y setuptools # of venv; what needs it asks for a version of its own
	@$(PIP_INSTALL) -r $< >&2 $(pip_failed)
	@ln -s ../../tools/tls-memtest .venv/bin/tls-memtest # on PATH, in `source .venv/bin/activate`
	@touch $@

.venv/ready: tools/requirements.txt .venv/core
.venv/ready-dev: tools/requirements-dev.txt .venv/ready
.venv/ready .venv/ready-dev:
	@echo '$(@F): the Python packages of $< into .venv'
	@$(PIP_INSTALL) -r $< >&2 $(pip_failed)
	@touch $@

# Environments beside it, of tools that are needed seldom.
build/docs-venv/ready: tools/requirements-docs.txt
build/pages-venv/ready: tools/requirements-pages.txt
build/cluster-venv/ready: tools/requirements-cluster.txt .venv/ready
build/notebook-venv/ready: tools/requirements-notebook.txt .venv/ready
build/wheel-venv/ready: tools/requirements-wheel.txt
build/docs-venv/ready build/pages-venv/ready build/cluster-venv/ready build/notebook-venv/ready build/wheel-venv/ready:
	@echo 'the Python packages of $< into $(@D)'
	@rm -rf $(@D) && mkdir -p build && python3 -m venv $(@D)
	@$(@D)/bin/pip install --disable-pip-version-check --require-hashes -r $< >&2 $(pip_failed)
	@$(if $(filter .venv/ready,$^),printf '%s\n' $(CURDIR)/.venv/lib/python3*/site-packages $(CURDIR)/tools > $$(echo $(@D)/lib/python3*/site-packages)/memtest.pth) # it sees what .venv has
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
METER_FLAGS := -fPIC -fno-builtin -fvisibility=hidden
build/core/heapmeter%.o: FLAGS += $(METER_FLAGS)

# A dlopen whose caller is the meter's would search where the meter says.
build/core/heapmeter_dlopen.o: FLAGS += -foptimize-sibling-calls

build/core/libheapmeter.so: $(METER:memtest/%.c=build/core/%.o)
	@echo 'core: $@'
	@gcc -shared $(filter %.o,$^) -o $@ -ldl

build/core/heapwalk: $(WALK:memtest/%.c=build/core/%.o)
	@echo 'core: $@'
	@gcc $^ -o $@

# The same two for wheels, by zig: for glibc 2.17 and later, on x86-64 and arm64.
wheel: $(foreach system,x86_64 aarch64,$(addprefix build/wheel-core/$(system)/,libheapmeter.so heapwalk))
WHEEL_CC = build/wheel-venv/bin/python -m ziglang cc -target $*-linux-gnu.2.17 $(filter-out -MMD -MP,$(FLAGS)) -s

build/wheel-core/%/libheapmeter.so: $(METER) $(wildcard memtest/*.h) Makefile build/wheel-venv/ready
	@echo 'core: $@'
	@mkdir -p $(@D)
	@$(WHEEL_CC) -c memtest/heapmeter_dlopen.c -o $(@D)/heapmeter_dlopen.o $(METER_FLAGS) -foptimize-sibling-calls
	@$(WHEEL_CC) -shared $(filter-out %_dlopen.c,$(METER)) $(@D)/heapmeter_dlopen.o -o $@ $(METER_FLAGS) -ldl

build/wheel-core/%/heapwalk: $(WALK) $(wildcard memtest/*.h) Makefile build/wheel-venv/ready
	@echo 'core: $@'
	@mkdir -p $(@D)
	@$(WHEEL_CC) $(WALK) -o $@

# Only where valgrind and its headers are: for profiles and the selfcheck.
build/core/libmarks.so: memtest/marks_valgrind.c Makefile | build/core
	@echo 'core: $@'
	@gcc $(FLAGS) -fPIC -shared $< -o $@

# The tests in C.

build/tests/test_wire: build/core/wire.o build/core/wire_mapped.o build/core/hello_retry.o
build/tests/test_threads: build/core/threads.o
build/tests/test_histogram: build/core/histogram.o
$(addprefix build/tests/test_,wire threads histogram session_store): build/tests/%: memtest/tests/%.c Makefile | build/tests
	@gcc $(FLAGS) -Imemtest memtest/tests/$*.c $(filter %.o,$^) -o $@ -lcmocka -lpthread

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
