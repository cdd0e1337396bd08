# `make help` says what there is. V=asan builds the same things with address and undefined-behaviour sanitizers,
# V=tsan with the thread sanitizer, each in a folder of its own.
V ?= release
CC = gcc
O := build/$(V)
VERSION := 0.1.0
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SIM_SECONDS ?= 3600
EXAMPLE ?= examples/quickstart

# All cores, unless the command line says how many.
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

PACKAGES := libuv libnghttp2 openssl libfyaml yyjson libllhttp zlib sqlite3
CFLAGS.release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
CFLAGS.asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS.tsan := -O1 -fsanitize=thread
CFLAGS.fuzz := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS.release := -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
	-Wimplicit-fallthrough -Wwrite-strings -Wpointer-arith -Wundef -Werror \
	-Wno-missing-field-initializers
# Asked when something is compiled: by then set-up has installed them.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(PACKAGES)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $$(shell pkg-config --libs $(PACKAGES)))$(PKG_LIBS)
# base/budget.h ends a request by unwinding: that runs cleanup() handlers only with -fexceptions.
ALL_CFLAGS = -std=gnu17 -g -fPIE -fexceptions -D_GNU_SOURCE -Isrc -I. -DLEEBOARD_VERSION='"$(VERSION)"' \
	$(WARN) $(CFLAGS.$(V)) $(PKG_CFLAGS) $(CFLAGS)
quote = '$(subst ','\'',$(1))'
# One short line a step; `make Q=` shows the commands.
Q = @
LINK = $(Q)echo "  LINK $@"; $(CC) -pie -g $(CFLAGS.$(V)) $(LDFLAGS.$(V)) $(LDFLAGS) -o $@ $(filter %.o,$^) $(PKG_LIBS) -lm

SRC := $(sort $(shell find src -name '*.c' -not -path 'src/node/preload/*'))
TEST_SRC := $(sort $(shell find tests -name '*.c' -not -path 'tests/tools/*'))
TOOLS := $(patsubst tests/tools/%.c,$(O)/%,$(wildcard tests/tools/*.c))
FUZZ := $(patsubst fuzz/%.c,%,$(sort $(wildcard fuzz/fuzz_*.c)))
LIB := $(filter-out $(O)/o/src/main.o $(O)/o/src/sim/%,$(SRC:%.c=$(O)/o/%.o))
SIM := $(patsubst %.c,$(O)/o/%.o,$(wildcard src/sim/*.c))

all: build ## build/leeboard, optimised and hardened
build: $(O)/leeboard
$(O)/leeboard: $(O)/o/src/main.o $(LIB)
	$(LINK)
	$(if $(filter release,$(V)),@ln -f $@ build/leeboard)
$(O)/leeboard-sim: $(SIM) $(LIB) # a developers' program
	$(LINK)
	$(if $(filter release,$(V)),@ln -f $@ build/leeboard-sim)
# A deliberate bug: only what its patch touches is compiled anew.
TOUCHED = $(shell sed -n 's|^+++ b/||p' $<)
$(O)/mutants/%: tests/mutants/%.patch $(SIM) $(LIB)
	@rm -rf $@.src; mkdir -p $@.src; cp --parents $(TOUCHED) $@.src; patch -s -d $@.src -p1 <$<
	@for f in $(TOUCHED); do $(CC) $(ALL_CFLAGS) -Wno-error -w -c -o $@.src/$$(basename $$f .c).o $@.src/$$f || exit 1; done
	@$(CC) -pie -g $(CFLAGS.$(V)) $(LDFLAGS.$(V)) $(LDFLAGS) -o $@ \
	  $(filter-out $(TOUCHED:%.c=$(O)/o/%.o),$(SIM) $(LIB)) $@.src/*.o $(PKG_LIBS) -lm
	@rm -rf $@.src
$(O)/tests: $(TEST_SRC:%.c=$(O)/o/%.o) $(LIB)
	$(LINK)
$(TOOLS): $(O)/%: $(O)/o/tests/tools/%.o $(LIB) # programs that only tests start
	$(LINK)
$(O)/fuzz_%: $(O)/o/fuzz/fuzz_%.o $(if $(filter fuzz,$(V)),,$(O)/o/fuzz/replay.o) $(LIB)
	$(LINK) $(if $(filter fuzz,$(V)),-fsanitize=fuzzer)
# Another compiler, other flags, another version: everything anew.
FLAGS := $(CC) $(VERSION) $(WARN) $(CFLAGS.$(V)) $(CFLAGS)
$(O)/flags: FORCE
	@mkdir -p $(O); printf '%s\n' $(call quote,$(FLAGS)) | cmp -s - $@ || \
	  printf '%s\n' $(call quote,$(FLAGS)) >$@
$(O)/o/%.o: %.c $(O)/flags | setup-build
	@mkdir -p $(@D)
	$(Q)echo "  CC   $<"; $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
# Loaded into programs of pods; knows no libc, and so fits all of them.
$(O)/address.so: src/node/preload/address.c $(O)/flags | setup-build
	$(Q)echo "  CC   $<"; $(CC) -std=gnu17 -Os -fPIC -fno-stack-protector -fvisibility=hidden -D_GNU_SOURCE $(WARN) \
	  -shared -nostdlib -Wl,-s,-z,noexecstack,-soname,address.so -o $@ $<
$(O)/o/src/node/own_address.o: $(O)/address.so
$(O)/o/src/node/own_address.o: ALL_CFLAGS += -DADDRESS_SO='"$(O)/address.so"'
# What EMBED() takes in, the compiler does not tell.
$(O)/o/src/kinds/llmkube/storage_program.o: $(wildcard src/kinds/llmkube/scripts/*.sh)
$(addprefix $(O)/o/src/kinds/otterscale/,model_service.o model_artifact.o endpoint_picker.o): \
	$(wildcard src/kinds/otterscale/scripts/*)
$(O)/o/src/cli/embedded.o: $(wildcard api/*.yaml)
$(O)/o/src/node/image_map.o: src/node/images.yaml
$(O)/o/src/apiserver/controllers/bootstrap.o: src/apiserver/controllers/bootstrap.json
$(O)/o/src/apiserver/describe/openapi_schema.o: src/apiserver/describe/openapi.json
-include $(shell find $(O) -name '*.d' 2>/dev/null)

run: setup-run build ## leeboard up on the quickstart with a real llama-server; Ctrl-C ends it
	@tools/quickstart $(EXAMPLE)
test: setup-$(if $(filter asan,$(V)),asan,test) $(O)/leeboard $(O)/tests $(TOOLS) $(FUZZ:%=$(O)/%) ## unit tests, recorded cases, fuzz corpora
	@tests/run $(O)
test-cluster: setup-cluster build $(TOOLS) ## tests against a real kube-apiserver (built once)
	@tools/kube >/dev/null && tools/llama >/dev/null
	@tests/cluster/run
test-pods: setup-pods image ## real pods: containerd, kubelet, the chart, llama-server (as root; not in CI)
	@tools/kube >/dev/null && tools/kube --node >/dev/null && tools/llama >/dev/null
	@tests/pods/run
test-mcp: setup-test build ## real MCP clients and servers, of the Python SDK and of npm, around the proxy; needs npm
	@tests/mcp/real/run $(O) npm
conformance: build ## the official MCP suite through the proxy; writes the table in docs/mcp.md
	@tests/mcp/conformance $(O)
sim: $(O)/leeboard-sim ## the promises under every fault: a million steps and more (docs/simulation.md)
	@tests/sim/run $(O)/leeboard-sim
sim-long: $(O)/leeboard-sim ## new seeds for SIM_SECONDS
	@tests/sim/run $(O)/leeboard-sim $(SIM_SECONDS)
mutants: setup-test ## deliberate bugs, each of which the simulator must find; SOME=HASH: a few
	@tests/mutants/run $(if $(SOME),--some=$(SOME))
fuzz-replay: setup-test $(FUZZ:%=$(O)/%) ## every fuzz corpus once
	@tests/run $(O) fuzz
fuzz: setup-fuzz ## each fuzz target for FUZZ_SECONDS
	@$(MAKE) -s V=fuzz CC=$$(command -v clang-14 || command -v clang) $(FUZZ:%=build/fuzz/%)
	@for f in $(FUZZ); do echo "$$f for $(FUZZ_SECONDS) s"; mkdir -p build/fuzz/new/$$f; \
	  build/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -artifact_prefix=build/fuzz/ \
	  build/fuzz/new/$$f fuzz/corpus/$${f#fuzz_} || exit 1; done
bench: setup-cluster build $(TOOLS) ## speed and memory beside a real kube-apiserver; BENCH="--large --n 400"
	@bench/apiserver
	@bench/run $(BENCH)
	@bench/otterscale
	@bench/toolhive
	@bench/up
	@bench/proxy
	@bench/router
	@bench/mcp
format: setup-format ## lay out the sources
	@clang-format -i $(shell find src tests fuzz bench -name '*.[ch]')
install: build ## into PREFIX: program, man page, completion, systemd unit
	install -Dm755 build/leeboard $(DESTDIR)$(PREFIX)/bin/leeboard
	mkdir -p $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	build/leeboard man >$(DESTDIR)$(PREFIX)/share/man/man1/leeboard.1
	build/leeboard completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/leeboard
	build/leeboard completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_leeboard
	mkdir -p $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's,/usr/local/bin/,$(PREFIX)/bin/,' packaging/leeboard.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/leeboard.service
image: setup-image build ## OCI images as an archive, without a container engine: build/image/
	@tools/image build/leeboard $(VERSION) build/image/leeboard.oci.tar
deb: setup-image build ## a Debian package: build/leeboard_VERSION.deb
	@tools/deb $(VERSION) build/leeboard_$(VERSION).deb
chart: build ## what the chart's roles permit, from the program: charts/leeboard/files/rights.yaml
	@tools/chart
clean: ## remove build/
	rm -rf build
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' Makefile
setup-%:
	@tools/setup $*

.PHONY: FORCE all build run test test-cluster test-pods test-mcp conformance sim sim-long mutants fuzz-replay fuzz bench format install image deb chart clean help
.SECONDARY:
