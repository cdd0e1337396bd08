# make help says what there is. V=asan or V=tsan builds the same things with a sanitizer, in a folder of their own.
V ?= release
CC = gcc
O := build/$(V)
PYTHON := /usr/bin/python3
VERSION := 0.1.0
PREFIX ?= /usr/local

PACKAGES := libuv libnghttp2 openssl libfyaml yyjson libllhttp zlib
CFLAGS.release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
CFLAGS.asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS.tsan := -O1 -fsanitize=thread
CFLAGS.fuzz := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS.release := -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla \
	-Wimplicit-fallthrough -Wwrite-strings -Wpointer-arith -Wundef -Werror \
	-Wno-missing-field-initializers
# A set-up that failed, or has not run yet, must not stop `make help` and `make clean`.
PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS = $(shell pkg-config --libs $(PACKAGES))
ALL_CFLAGS = -std=gnu17 -g -fPIE -D_GNU_SOURCE -Isrc -I. -DLEEBOARD_VERSION='"$(VERSION)"' \
	$(WARN) $(CFLAGS.$(V)) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pie -g $(CFLAGS.$(V)) $(LDFLAGS.$(V)) $(LDFLAGS)

SRC := $(sort $(shell find src -name '*.c'))
TEST_SRC := $(sort $(shell find tests -name '*.c' -not -path 'tests/tools/*'))
FUZZ_SRC := $(sort $(wildcard fuzz/fuzz_*.c))
LIB := $(filter-out $(O)/o/src/main.o,$(SRC:%.c=$(O)/o/%.o))

all: build
build: $(O)/leeboard
$(O)/leeboard: $(O)/o/src/main.o $(LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm
	$(if $(filter release,$(V)),ln -f $@ build/leeboard)
$(O)/tests: $(TEST_SRC:%.c=$(O)/o/%.o) $(LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm
# What only tests start.
$(O)/merge-tool: $(O)/o/tests/tools/merge_tool.o $(filter $(O)/o/src/base/% $(O)/o/src/merge/%,$(LIB))
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm
$(O)/fuzz_%: $(O)/o/fuzz/fuzz_%.o $(O)/o/fuzz/replay.o $(LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm
$(O)/o/%.o: %.c | setup-build
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
# What EMBED() takes in, the compiler does not tell.
$(O)/o/src/kinds/llmkube/storage.o: $(wildcard src/kinds/llmkube/scripts/*.sh)
-include $(SRC:%.c=$(O)/o/%.d) $(TEST_SRC:%.c=$(O)/o/%.d) $(FUZZ_SRC:%.c=$(O)/o/%.d)

setup-%:
	@tools/setup $*

test: setup-test $(O)/leeboard $(O)/tests fuzz-build
	@tests/run $(O)
fuzz-build: $(FUZZ_SRC:fuzz/%.c=$(O)/%)

format: setup-format
	clang-format -i $(shell git ls-files '*.c' '*.h')
clean:
	rm -rf build

.PHONY: all build test fuzz-build format clean
.SECONDARY:
