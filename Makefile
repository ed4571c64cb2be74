# The front door: `make help` lists everything there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # names are checked before anything is installed, and that before anything is built
.PHONY: help setup core

CORE := build/core
CORE_OBJECTS := $(patsubst memtest/%.c,$(CORE)/%.o,$(filter-out memtest/heapmeter%.c,$(wildcard memtest/*.c)))
CORE_FLAGS := -std=gnu11 -O2 -g1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wall -Wextra \
    -ffile-prefix-map=$(CURDIR)=. # the same bytes from every clone

help: ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: .venv/ready ## the Python environment of the tools

.venv/ready: tools/requirements.txt
	@echo "tools: Python packages into .venv"
	python3 -m venv --clear .venv
	.venv/bin/pip install --disable-pip-version-check --require-hashes -r tools/requirements.txt
	touch $@

core: $(CORE)/libmemtest.a $(CORE)/libheapmeter.so ## what every harness shares

$(CORE)/libmemtest.a: $(CORE_OBJECTS)
	@rm -f $@
	ar rcsD $@ $^

$(CORE)/%.o: memtest/%.c Makefile
	@mkdir -p $(@D)
	gcc $(CORE_FLAGS) -MMD -MP -c $< -o $@

# gcc would turn the meter's own malloc + memset into a call of calloc: of itself.
$(CORE)/libheapmeter.so: $(wildcard memtest/heapmeter*.c) memtest/heapmeter.h Makefile
	@mkdir -p $(@D)
	gcc $(CORE_FLAGS) -fPIC -shared -fno-builtin $(filter %.c,$^) -o $@ -ldl

-include $(wildcard $(CORE)/*.d)
