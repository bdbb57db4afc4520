# elegans: `make demo` and `make test` install what is missing, build and run; `make help` lists the rest.
#
#   make                 library, program and tests into build/
#   make demo            what this machine is and can do; a network learns to balance a pole
#   make test            all tests; FILTER=gemm runs those whose name contains it
#   make bench           our kernels beside the ceilings of this machine
#   make bench-peers     our kernels beside OpenBLAS, BLIS, oneDNN, libxsmm, libmvec, SLEEF
#   make test-python     installs what is missing, builds the Python package and runs its tests
#   make wheel           a source archive and a wheel of the Python package, into build/wheels
#   make check-all       the longer checks: compilers, sanitizers, ARM, old x86, macOS, coverage ...
#   make check-exhaustive  all floats through exp, sigmoid, tanh, log, erf: minutes
#   make abi-update      the interface as it is now becomes the one that check-abi compares with
#   make format          clang-format over all our C
#   make install PREFIX=/usr/local DESTDIR=      and make uninstall
#
# Variables: CC, B (build folder), SAN=address,undefined, RUN="qemu-aarch64 ...", WERROR=1, COV=1, V=1 (whole commands),
# JOBS (all cores).
# Kept within what make 3.81 knows, because that is what macOS has.

CC      ?= cc
AR      ?= ar
B       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0
SOVERSION := 0

# ---- a line for each file; all cores, unless somebody has said how many
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) '$(2)')
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS))$(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

# ---- what we build for: taken from the compiler, so that a cross compiler needs no more words
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
ARCH := $(if $(filter x86_64%,$(MACHINE)),x86_64,$(if $(filter aarch64% arm64%,$(MACHINE)),aarch64,other))
OS   := $(if $(findstring darwin,$(MACHINE))$(findstring macos,$(MACHINE)),macos,linux)

# ---- libraries: a file that needs one ends in _<library>.c, its replacement in _no<library>.c; the 3 of
# sqlite3 and the lib of libutf8proc are not in the names
PKG_CONFIG ?= pkg-config
LIBRARIES  ?= $(if $(filter linux,$(OS)),hwloc) jansson sqlite3 zlib libutf8proc
LIB_CFLAGS := $(if $(strip $(LIBRARIES)),$(shell $(PKG_CONFIG) --cflags $(LIBRARIES) 2>/dev/null))
LIB_LIBS   := $(if $(strip $(LIBRARIES)),$(shell $(PKG_CONFIG) --libs $(LIBRARIES) 2>/dev/null))
# of the program alone, where it is installed: without it `monitor` prints lines
SCREEN_LIBRARY ?= $(shell $(PKG_CONFIG) --exists ncursesw 2>/dev/null && echo ncursesw)
SCREEN_CFLAGS := $(if $(SCREEN_LIBRARY),$(shell $(PKG_CONFIG) --cflags $(SCREEN_LIBRARY)))
SCREEN_LIBS   := $(if $(SCREEN_LIBRARY),$(shell $(PKG_CONFIG) --libs $(SCREEN_LIBRARY)))

# likewise: without its header `monitor --web` says so; the library itself is opened at run time
WEB_LIBRARY ?= $(shell $(PKG_CONFIG) --exists libmicrohttpd 2>/dev/null && echo libmicrohttpd)
WEB_CFLAGS := $(if $(WEB_LIBRARY),$(shell $(PKG_CONFIG) --cflags $(WEB_LIBRARY)))

# ---- sources: the last part of a file's name says where it belongs
suffix_of = $(patsubst lib%,%,$(patsubst %3,%,$(1)))
SKIP := $(if $(filter x86_64,$(ARCH)),,%_x86.c %_avx2.c %_avx512.c %_avx512bf16.c %_amxtile.c) \
        $(if $(filter aarch64,$(ARCH)),,%_arm.c %_neon.c %_dotprod.c %_i8mm.c %_fhm.c %_bf16.c %_sme.c) $(if $(filter other,$(ARCH)),,%_other.c) \
        $(if $(filter linux,$(OS)),%_macos.c,%_linux.c) \
        $(foreach l,hwloc jansson sqlite3 zlib libutf8proc,$(if $(filter $(l),$(LIBRARIES)),%_no$(call suffix_of,$(l)).c,%_$(call suffix_of,$(l)).c)) \
        $(if $(SCREEN_LIBRARY),%_noncurses.c,%_ncurses.c) $(if $(WEB_LIBRARY),%_nomicrohttpd.c,%_microhttpd.c)
ALL_SRC  := $(filter-out $(SKIP),$(wildcard src/*/*.c src/*/*/*.c))
CLI_SRC  := $(filter src/cli/%,$(ALL_SRC))
LIB_SRC  := $(filter-out src/cli/%,$(ALL_SRC))
TEST_SRC := $(filter-out $(SKIP) tests/exhaustive.c,$(wildcard tests/*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/obj/%.o) $(B)/obj/data/chips.o
EXAMPLES := $(patsubst %.c,$(B)/%,$(wildcard examples/*.c examples/*/*.c))
WEB_PAGE := $(sort $(wildcard src/cli/web/page/*))
CLI_OBJ  := $(CLI_SRC:%.c=$(B)/obj/%.o) $(B)/obj/web/files.o
# what draws screens and what looks at requests is tested as the library is; it needs no terminal and no connection
VIEW_OBJ := $(filter $(B)/obj/src/cli/view/% %/web_check.o %/web/files.o,$(CLI_OBJ))
TEST_OBJ := $(TEST_SRC:%.c=$(B)/obj/%.o)

# ---- the benchmark: it loads other libraries at run time or, where that cannot be, links those that
# are installed
DNNL_H := $(wildcard /usr/include/oneapi/dnnl/dnnl_version.h)
DNNL_MAJOR := $(if $(DNNL_H),$(shell [ "`uname -m`" != $(ARCH) ] || sed -n 's/.*DNNL_VERSION_MAJOR //p' $(DNNL_H)))
PEERS := $(if $(filter 2 3,$(DNNL_MAJOR)),dnnl) $(if $(filter x86_64,$(ARCH)),$(if $(wildcard /usr/include/libxsmm.h),xsmm))
BENCH_SKIP := $(SKIP) $(foreach l,xsmm dnnl,$(if $(filter $(l),$(PEERS)),%_no$(l).c,%_$(l).c)) \
              $(foreach v,2 3,$(if $(filter $(v),$(DNNL_MAJOR)),,%_dnnl$(v).c))
BENCH_OBJ  := $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(BENCH_SKIP),$(wildcard bench/*.c)))
BENCH_LIBS := $(if $(filter xsmm,$(PEERS)),-lxsmm -lxsmmnoblas) $(if $(filter dnnl,$(PEERS)),-ldnnl) -ldl

# ---- flags. No contraction and no fast-math: the same program gives the same bits.
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
CFLAGS ?= -O2 -g
BASE_CFLAGS := -std=c11 -ffp-contract=off -fPIC -fvisibility=hidden -pthread -Iinclude -Isrc -D_GNU_SOURCE \
    $(WARN) $(if $(WERROR),-Werror) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
    $(if $(COV),--coverage -fprofile-update=atomic -fprofile-abs-path) $(LIB_CFLAGS)
LINK_FLAGS := $(if $(SAN),-fsanitize=$(SAN)) $(if $(COV),--coverage) -pthread $(LDFLAGS)
LINK_LIBS  := $(LIB_LIBS) -lm
FLAGS_avx2   := -O3 -mavx2 -mfma -mf16c
FLAGS_avx512 := -O3 -mavx2 -mfma -mf16c -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512
FLAGS_avx512bf16 := $(FLAGS_avx512) -mavx512bf16
FLAGS_amxtile := $(FLAGS_avx512) -mavx512vnni
FLAGS_neon   := -O3
FLAGS_dotprod := -O3 -march=armv8.2-a+dotprod
FLAGS_i8mm   := -O3 -march=armv8.2-a+dotprod+i8mm
FLAGS_fhm    := -O3 -march=armv8.2-a+fp16fml
FLAGS_bf16   := -O3 -march=armv8.2-a+bf16
FLAGS_sme    := $(FLAGS_dotprod)
FLAGS_amx    := -O3
FLAGS_ref    := -O2
# the interpreter's choice among instructions: comparisons cost less than a jump through a table
$(B)/obj/src/kernels/fused/fused_f32_%.o: override KERNEL_CFLAGS += -fno-jump-tables
# integer products: dot products of bytes, a feature of its own
$(B)/obj/src/kernels/quantized/gemm_integer_avx512.o $(B)/obj/src/kernels/quantized/infile_integer_avx512.o: override KERNEL_CFLAGS += -mavx512vnni
# streaming mode has no NEON: the compiler must not make any
$(B)/obj/src/kernels/sme/product_sme.o: override KERNEL_CFLAGS += -O2 -mgeneral-regs-only
$(B)/obj/src/cli/%_ncurses.o: CPPFLAGS += $(SCREEN_CFLAGS)
$(B)/obj/src/cli/%_microhttpd.o: CPPFLAGS += $(WEB_CFLAGS)
# a profile says what the library was built with
$(B)/obj/src/profile/measure/environment.o: CPPFLAGS += -DELEGANS_CFLAGS='"$(subst ",\",$(subst \,\\,$(CFLAGS)))"'
isa_of = $(lastword $(subst _, ,$(basename $(notdir $(1)))))

ifeq ($(OS),macos)
SHARED := libelegans.$(SOVERSION).dylib
SHARED_FLAGS = -dynamiclib -install_name $(PREFIX)/lib/$(SHARED)
SHARED_LINKS := libelegans.dylib
else
SHARED := libelegans.so.$(VERSION)
SHARED_FLAGS = -shared -Wl,-soname,libelegans.so.$(SOVERSION) -Wl,--no-undefined
SHARED_LINKS := libelegans.so.$(SOVERSION) libelegans.so
endif

.PHONY: help all lib examples demo test run-demo run-test deps bench bench-peers run-bench run-bench-peers clean \
        install uninstall format test-python wheel \
        check-all check-exhaustive abi-update coverage coverage-update
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/elegans $(B)/tests lib examples
lib: $(B)/libelegans.a $(B)/$(SHARED)

help:
	@sed -n '/^#   make/s/^#   //p' Makefile

examples: $(EXAMPLES)

# ---- the two commands of a newcomer: install what is missing, then start make again, because what
# pkg-config says is read when make starts
deps:
	@sh tools/deps.sh build
demo: deps
	+@$(SUBMAKE) run-demo
test: deps
	+@$(SUBMAKE) run-test

run-demo: $(B)/elegans
	$(RUN) $(B)/elegans info --measure
	@echo
	$(RUN) $(B)/elegans demo -o $(B)/demo
run-test: all
	ELEGANS="$(RUN) $(abspath $(B))/elegans" $(RUN) $(B)/tests $(FILTER)

# ---- the Python package
test-python:
	@sh tools/deps.sh build python
	@B="$(B)" MAKE="$(MAKE)" sh tools/python.sh test $(FILTER)
wheel:
	@sh tools/deps.sh build python
	@B="$(B)" MAKE="$(MAKE)" sh tools/python.sh wheel

# ---- speed; ARGS=--quick, or any other option of build/bench
bench: deps
	+@$(SUBMAKE) run-bench
bench-peers:
	@sh tools/deps.sh build peers
	+@$(SUBMAKE) run-bench-peers
run-bench: $(B)/bench
	$(RUN) $(B)/bench --no-peers $(ARGS)
run-bench-peers: $(B)/bench
	$(RUN) $(B)/bench --json $(B)/peers.json $(ARGS)

# ---- building
DEPFLAGS = -MMD -MP -MF $(@:.o=.d)
$(B)/obj/src/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,cc,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(FLAGS_$(call isa_of,$<)) \
	    $(if $(filter src/kernels/%,$<),$(KERNEL_CFLAGS)) $(DEPFLAGS) -c $< -o $@
$(B)/obj/bench/%.o: bench/%.c Makefile
	@mkdir -p $(@D)
	$(call say,cc,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(FLAGS_$(call isa_of,$<)) $(DEPFLAGS) -c $< -o $@
$(B)/obj/tests/%.o: tests/%.c Makefile
	@mkdir -p $(@D)
	$(call say,cc,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) -DELEGANS_SOURCE='"$(CURDIR)"' $(DEPFLAGS) -c $< -o $@
# the chip table becomes a string: nothing to install beside the library, nothing to read at run time
$(B)/obj/data/chips.c: data/chips.csv Makefile
	@mkdir -p $(@D)
	@printf 'extern const char eg__chips_csv[];\nconst char eg__chips_csv[] =\n' > $@
	@sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$$/\\n"/' data/chips.csv >> $@
	@printf '    ;\n' >> $@
$(B)/obj/data/chips.o: $(B)/obj/data/chips.c
	$(call say,cc,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -c $< -o $@
# and so do the files of the page of `monitor --web`; \? because two of them would begin a trigraph
$(B)/obj/web/files.c: $(WEB_PAGE) Makefile
	@mkdir -p $(@D)
	@{ printf '#include "cli/web/web.h"\nconst web_file web_files[] = {\n'; \
	for file in $(WEB_PAGE); do \
	    path=/$${file##*/}; \
	    case $$file in \
	    *.html) path=/ type='text/html; charset=utf-8' ;; \
	    *.css) type='text/css; charset=utf-8' ;; \
	    *.js) type='text/javascript; charset=utf-8' ;; \
	    *.svg) type=image/svg+xml ;; \
	    *) echo "no type for $$file" >&2; exit 1 ;; \
	    esac; \
	    printf '    {"%s", "%s",\n' "$$path" "$$type"; \
	    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/     "/' -e 's/$$/\\n"/' $$file; \
	    printf '    },\n'; \
	done; \
	printf '    {0}};\n'; } > $@
$(B)/obj/web/files.o: $(B)/obj/web/files.c src/cli/web/web.h
	$(call say,cc,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -Wno-missing-field-initializers $(CFLAGS) -c $< -o $@
$(B)/libelegans.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,ar,$@)
	$(Q)$(AR) rcs $@ $^
$(B)/$(SHARED): $(LIB_OBJ)
	$(call say,link,$@)
	$(Q)$(CC) $(SHARED_FLAGS) $^ $(LINK_FLAGS) $(LINK_LIBS) -o $@
	@cd $(B) && for link in $(SHARED_LINKS); do ln -sf $(SHARED) $$link; done
$(B)/elegans: $(CLI_OBJ) $(B)/libelegans.a
	$(call say,link,$@)
	$(Q)$(CC) $^ $(LINK_FLAGS) $(SCREEN_LIBS) $(LINK_LIBS) -o $@
$(B)/tests: $(TEST_OBJ) $(VIEW_OBJ) $(B)/libelegans.a
	$(call say,link,$@)
	$(Q)$(CC) $^ $(LINK_FLAGS) $(LINK_LIBS) -o $@
$(B)/bench: $(BENCH_OBJ) $(B)/libelegans.a
	$(call say,link,$@)
	$(Q)$(CC) $^ $(LINK_FLAGS) $(BENCH_LIBS) $(LINK_LIBS) -o $@
# as a user would compile them: nothing but the public headers and the library
$(B)/examples/%: examples/%.c $(B)/libelegans.a Makefile
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) -std=c11 -O2 -Iinclude $(WARN) $(if $(WERROR),-Werror) $(if $(COV),--coverage) $< $(B)/libelegans.a $(LINK_FLAGS) $(LINK_LIBS) -o $@
$(B)/exhaustive: $(B)/obj/tests/exhaustive.o $(B)/libelegans.a
	$(call say,link,$@)
	$(Q)$(CC) $^ $(LINK_FLAGS) $(LINK_LIBS) -o $@
# a parser fed by clang's libFuzzer: CC=clang SAN=fuzzer-no-link,address,undefined; FUZZ_<name>: what else a target needs
$(B)/cli.a: $(filter-out %/main.o,$(CLI_OBJ))
	@rm -f $@
	$(call say,ar,$@)
	$(Q)$(AR) rcs $@ $^
FUZZ_partition := tests/device_host.c tests/random_graph.c tests/random_graph_make.c
$(B)/fuzz_%: fuzz/fuzz_%.c fuzz/fuzz.h $(B)/cli.a $(B)/libelegans.a Makefile
	$(call say,link,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -Ifuzz -Itests $(CFLAGS) -fsanitize=fuzzer $< $(FUZZ_$*) $(B)/cli.a $(B)/libelegans.a $(LINK_FLAGS) $(SCREEN_LIBS) $(LINK_LIBS) -o $@
-include $(B)/obj/tests/exhaustive.d $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(BENCH_OBJ:.o=.d)

clean:
	rm -rf $(B)
FORMAT ?= -i
format:
	clang-format $(FORMAT) $(shell find include src tests bench fuzz examples python -name '*.[ch]' 2>/dev/null)

# ---- installing. DESTDIR is where a packager stages files; PREFIX is what the files say of themselves.
TO := $(DESTDIR)$(PREFIX)
BASH_TO := $(TO)/share/bash-completion/completions
ZSH_TO  := $(TO)/share/zsh/site-functions
FISH_TO := $(TO)/share/fish/vendor_completions.d
MAN_TO  := $(TO)/share/man/man1
# the program writes its own manual and completions: cross builds need RUN
MANUAL := $(addprefix $(B)/manual/,elegans.1 elegans.bash elegans.zsh elegans.fish)
$(B)/manual/elegans.1: $(B)/elegans
	@mkdir -p $(@D)
	$(RUN) $(B)/elegans help --man > $@
$(B)/manual/elegans.%: $(B)/elegans
	@mkdir -p $(@D)
	$(RUN) $(B)/elegans completions $* > $@
install: lib $(B)/elegans $(MANUAL)
	install -d $(TO)/bin $(TO)/include/elegans $(TO)/lib/pkgconfig $(MAN_TO) $(BASH_TO) $(ZSH_TO) $(FISH_TO)
	install -m 755 $(B)/elegans $(TO)/bin
	install -m 644 include/elegans/*.h $(TO)/include/elegans
	install -m 644 $(B)/libelegans.a $(TO)/lib
	install -m 755 $(B)/$(SHARED) $(TO)/lib
	cd $(TO)/lib && for link in $(SHARED_LINKS); do ln -sf $(SHARED) $$link; done
	$(if $(filter macos,$(OS)),install_name_tool -id $(PREFIX)/lib/$(SHARED) $(TO)/lib/$(SHARED))
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBRARIES@|$(LIBRARIES)|' \
	    packaging/elegans.pc.in > $(TO)/lib/pkgconfig/elegans.pc
	install -m 644 $(B)/manual/elegans.1 $(MAN_TO)
	install -m 644 $(B)/manual/elegans.bash $(BASH_TO)/elegans
	install -m 644 $(B)/manual/elegans.zsh $(ZSH_TO)/_elegans
	install -m 644 $(B)/manual/elegans.fish $(FISH_TO)
uninstall:
	rm -f $(TO)/bin/elegans $(MAN_TO)/elegans.1
	rm -f $(BASH_TO)/elegans $(ZSH_TO)/_elegans $(FISH_TO)/elegans.fish
	rm -f $(addprefix $(TO)/lib/,libelegans.a $(SHARED) $(SHARED_LINKS) pkgconfig/elegans.pc)
	rm -rf $(TO)/include/elegans

# ---- the longer checks, each alone as `make check-<name>`; tools/check.sh says what each one proves;
# first what is over soon and finds most, then the longest, two at a time; WITHOUT="browser malloc" leaves some out
CHECKS := format layers headers gcc asan python arm64 tsan clang penryn amx sme tile fuzz abi macos cache export howto agree terminal installed browser web malloc
.PHONY: $(CHECKS:%=check-%)
check-all:
	@B="$(B)" MAKE="$(MAKE)" sh tools/check.sh $(filter-out $(WITHOUT),$(CHECKS))
$(CHECKS:%=check-%):
	@B="$(B)" MAKE="$(MAKE)" sh tools/check.sh $(@:check-%=%)
abi-update:
	@B="$(B)" MAKE="$(MAKE)" sh tools/check.sh update-abi
check-exhaustive: $(B)/exhaustive
	$(RUN) $(B)/exhaustive
coverage:
	@B="$(B)" MAKE="$(MAKE)" sh tools/coverage.sh show
coverage-update:
	@B="$(B)" MAKE="$(MAKE)" sh tools/coverage.sh update
