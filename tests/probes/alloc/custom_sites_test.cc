// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/custom/custom_sites.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/unique_fd.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

#define PLAIN_CODE __attribute__((noinline, used, no_sanitize("address", "undefined", "thread")))

extern "C" {

int custom_sites_use_other(int a);
volatile int custom_sites_variable = 3;

[[gnu::noinline]] int custom_sites_plain(int a) { return a + custom_sites_variable; }
[[gnu::noinline]] int custom_sites_plane(int a) { return a * custom_sites_variable; }
[[gnu::noinline, gnu::used]] static int custom_sites_twin(int a) {
  return a * custom_sites_variable;
}
// Sanitizers of clang put data into a function's code, which by its address may or may not look
// like code.
PLAIN_CODE int custom_sites_throws(int a) {
  if (a + custom_sites_variable == 0) throw std::bad_alloc();
  return a - custom_sites_variable;
}
[[gnu::alias("custom_sites_plain"), gnu::noinline]] int custom_sites_alias(int a) noexcept;

// Their work depends on a variable, which nothing changes here.
int (*volatile custom_sites_often)(int) = custom_sites_plane;
int (*volatile custom_sites_rarely)(int) = custom_sites_plane;
PLAIN_CODE int dispatches_often(int a) { return custom_sites_often(a); }
PLAIN_CODE int dispatches_rarely(int a) { return custom_sites_rarely(a); }

}  // extern "C"

namespace {

// Like an inlined copy: it does the function's work without calling it.
template <int n>
PLAIN_CODE int copy_of_often(int a) {
  return custom_sites_often(a + n) * n;
}
template <int n>
PLAIN_CODE int copy_of_rarely(int a) {
  return custom_sites_rarely(a + n) * n;
}
template <int... n>
int all_copies(std::integer_sequence<int, n...>) {
  // Only the call matters; the values are not added up because the sum might overflow.
  return (copy_of_often<n>(n) ^ ...) ^ copy_of_rarely<1>(1) ^ copy_of_rarely<2>(2);
}

struct Self {
  UniqueFd fd{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
  std::string path;
  Self() {
    char text[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", text, sizeof(text));
    REQUIRE(length > 0);
    path.assign(text, static_cast<size_t>(length));
    // Keeps all of them in the program.
    const int values = custom_sites_plain(1) ^ custom_sites_plane(2) ^ custom_sites_twin(3) ^
                       custom_sites_throws(400) ^ custom_sites_use_other(5) ^ dispatches_often(6) ^
                       dispatches_rarely(7) ^ all_copies(std::make_integer_sequence<int, 12>());
    // Small, because it is multiplied each time.
    custom_sites_variable = values % 1000;
  }
  CustomFile find(const CustomFunctions& custom) const {
    FindOptions options;
    options.path = path;
    return find_custom(custom, fd.get(), options);
  }
};

std::string error_of(const Self& self, const CustomFunctions& custom) {
  const std::vector<CustomFile> found{self.find(custom)};
  const std::vector<CandidateFile> files{{self.fd.get(), self.path}};
  try {
    require_custom(custom, found, files);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
std::string error_of(const Self& self, const std::string& alloc) {
  return error_of(self, read_custom({alloc}, {}, {}));
}

}  // namespace

TEST_CASE("a function is found, with its shape, and frees come first") {
  const Self self;
  const CustomFunctions custom = read_custom({"custom_sites_test:custom_sites_plain(size=arg0)"},
                                             {"custom_sites_plane(ptr=arg0)"}, {});
  const CustomFile file = self.find(custom);
  REQUIRE(file.hits.size() == 2);
  REQUIRE(file.probes.sites.size() == 2);
  CHECK(file.probes.allocates());
  CHECK(file.probes.sites[0].shape.action == bpf::action_free);
  CHECK(file.probes.sites[1].shape.size == 1);
  CHECK(file.probes.sites[1].text.starts_with("custom_sites_plain"));
  CHECK(file.probes.allocators == std::vector<std::string>{"custom_sites_test"});
  CHECK(error_of(self, custom) == "no error");
  // The offset in the file is that of the function's code.
  const auto hit = std::ranges::find(file.hits, "custom_sites_plain", &CustomHit::name);
  REQUIRE(hit != file.hits.end());
  unsigned char code[8];
  REQUIRE(::pread(self.fd.get(), code, sizeof(code), static_cast<off_t>(hit->offset)) == 8);
  CHECK(std::equal(code, code + sizeof(code),
                   reinterpret_cast<const unsigned char*>(&custom_sites_plain)));
}

TEST_CASE("by a path, a part of the path, or not at all") {
  const Self self;
  const int fd = self.fd.get();
  CHECK(means_file("", fd, self.path));
  CHECK(means_file("*", fd, self.path));
  CHECK(means_file("custom_sites_test", fd, self.path));
  CHECK(means_file(self.path, fd, "another/name"));
  CHECK(means_file("/proc/self/exe", fd, self.path));
  CHECK(means_file("*/custom_sites_*", fd, self.path));
  CHECK_FALSE(means_file("custom_sites", fd, self.path));
  CHECK_FALSE(means_file("/bin/sh", fd, self.path));
  CHECK(means_file("libapr-1.so", fd, "/usr/lib/libapr-1.so.0.7.2"));
  CHECK(means_file("libapr-1.so.0", fd, "/usr/lib/libapr-1.so.0.7.2"));
  CHECK_FALSE(means_file("libapr-1.so.0", fd, "/usr/lib/libapr-1.so.01"));
  CHECK_FALSE(means_file("libapr", fd, "/usr/lib/libapr-1.so.0"));
  CHECK_FALSE(means_file("lib.so", fd, "/usr/lib/lib.so.old"));
}

TEST_CASE("one address by several names is one site") {
  const Self self;
  const CustomFunctions custom =
      read_custom({"custom_sites_alias(size=arg0)", "custom_sites_plain(size=arg0)"}, {}, {});
  CHECK(self.find(custom).probes.sites.size() == 1);
  CHECK(error_of(self, custom) == "no error");
  const CustomFunctions differ =
      read_custom({"custom_sites_alias(size=arg0)"}, {"custom_sites_plain(ptr=arg0)"}, {});
  CHECK(error_of(self, differ).find("is the same code as") != std::string::npos);
}

TEST_CASE("a pattern takes all that it matches") {
  const Self self;
  const CustomFunctions custom = read_custom({"*:custom_sites_pla?e(size=arg0)"}, {}, {});
  CHECK(self.find(custom).probes.sites.size() == 1);
  CHECK(error_of(self, custom) == "no error");
  CHECK(self.find(read_custom({"custom_sites_tw*(size=arg0)"}, {}, {})).probes.sites.size() == 2);
}

TEST_CASE("a function that may throw ends at its rets") {
  const Self self;
  const CustomFile file = self.find(read_custom({"custom_sites_throws(size=arg0,throws)"}, {}, {}));
  REQUIRE(file.hits.size() == 1);
  REQUIRE(file.hits[0].problem == "");
  REQUIRE(file.probes.sites.size() >= 2);
  CHECK(file.probes.sites.back().shape.own_end == 1);
  for (size_t i = 0; i + 1 < file.probes.sites.size(); ++i) {
    CHECK(file.probes.sites[i].shape.action == bpf::action_end);
    CHECK(file.probes.sites[i].shape.own_end == 0);
    CHECK(file.probes.sites[i].text.starts_with("custom_sites_throws+end@0x"));
    unsigned char code = 0;
    const auto offset = static_cast<off_t>(file.probes.sites[i].offset);
    REQUIRE(::pread(self.fd.get(), &code, 1, offset) == 1);
    const bool is_ret = code == 0xc3 || code == 0xf3;
    CHECK(is_ret);
  }
}

TEST_CASE("what is not there: names that are near") {
  const Self self;
  const std::string said = error_of(self, "custom_sites_plaim(size=arg0)");
  CHECK(
      said.starts_with("--alloc 'custom_sites_plaim(size=arg0)': no function "
                       "'custom_sites_plaim' in any file of the target; similar: "));
  CHECK(said.find("custom_sites_plain in " + self.path) != std::string::npos);
  CHECK(std::ranges::count(said, ',') <= 5);
  CHECK(error_of(self, "qqqqqqqqqqqqqq(size=arg0)").find("no similar name") != std::string::npos);
  CHECK(error_of(self, "libnone.so*:f(size=arg0)").find("no file of the target is 'libnone.so*'") !=
        std::string::npos);
  CHECK(error_of(self, "libnone.so*:f(size=arg0,later)") == "no error");
  CHECK(error_of(self, "custom_sites_variable(size=arg0)").find("is data, not a function") !=
        std::string::npos);
  CHECK(error_of(self, "custom_sites_test:+0x10(size=arg0)").find("is not in the file's code") !=
        std::string::npos);
}

TEST_CASE("what is several functions") {
  const Self self;
  const std::string said = error_of(self, "custom_sites_twin(size=arg0)");
  CHECK(said.find("is the name of several functions in the file") != std::string::npos);
  CHECK(said.find(self.path + ":+0x") != std::string::npos);
  CHECK(said.find("say which by FILE:+OFFSET") != std::string::npos);

  // Ambiguous in two files, unless all functions of the name are meant.
  for (const bool all : {false, true}) {
    const CustomFunctions custom =
        read_custom({std::string(all ? "*:" : "") + "custom_sites_plain(size=arg0)"}, {}, {});
    std::vector<CustomFile> found{self.find(custom), self.find(custom)};
    CHECK_NOTHROW(require_custom(custom, found, {}));  // the same file twice
    found[1].inode += 1;
    found[1].path = "/other";
    if (all)
      CHECK_NOTHROW(require_custom(custom, found, {}));
    else
      CHECK_THROWS_WITH_AS(require_custom(custom, found, {}),
                           doctest::Contains("is in several files of the target: "), Error);
  }
}

TEST_CASE("a preset needs something that allocates") {
  const Self self;
  CustomFunctions custom = read_custom({}, {}, {"apr-pools"});
  CHECK(error_of(self, custom)
            .find("--preset apr-pools: none of its allocating functions, like "
                  "apr_palloc") == 0);
  custom = read_custom({}, {}, {"apr-pools,later"});
  CHECK(error_of(self, custom) == "no error");
  custom.presets[0].functions[0] = parse_alloc("custom_sites_plain(size=arg0)");
  CHECK(error_of(self, custom) == "no error");
}

TEST_CASE("distances of names") {
  CHECK(name_distance("malloc", "malloc") == 0);
  CHECK(name_distance("my_aloc", "my_alloc") == 1);
  CHECK(name_distance("malloc", "je_malloc") == 2);
  CHECK(name_distance("my_alloc", "_ZN3foo8my_allocEm") == 2);
  CHECK_FALSE(name_distance("malloc", "printf"));
  CHECK_FALSE(name_distance("f", "g"));
  CHECK_FALSE(name_distance("", "x"));
}

TEST_CASE(
    "a function that the compiler has copied into its callers is refused, with their number") {
  const Self self;
  CHECK(error_of(self, "dispatches_rarely(size=arg0)") == "no error");
  const std::string error = error_of(self, "dispatches_often(size=arg0)");
  CAPTURE(error);
  CHECK(error.find("was inlined by the compiler in 12 other places") != std::string::npos);
}

TEST_CASE("a preset says what to do instead where its functions are inlined") {
  const Self self;
  CustomFunctions custom;
  Preset preset{.name = "mine", .description = "", .instead = "leave it", .functions = {}};
  for (const char* text : {"dispatches_often(size=arg0)", "dispatches_rarely(size=arg0)"})
    preset.functions.push_back(parse_alloc(text));
  custom.presets.push_back(preset);
  CHECK(error_of(self, custom) ==
        "--preset mine: the compiler has inlined dispatches_often in 12 places of " + self.path +
            ", which no probe sees; leave it");
}
