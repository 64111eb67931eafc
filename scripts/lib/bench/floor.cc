// SPDX-License-Identifier: BSD-2-Clause
// Attaches programs of floor.bpf.c, and takes from the ring what they report.
//
//   floor OBJECT empty|full multi|session|perf FILE FUNCTION=OFFSET…
//   floor OBJECT empty fault TRACEPOINT…
//
// FUNCTION is malloc, calloc, realloc or free; OFFSET is where in FILE its probe goes, in
// hexadecimal. Every process that uses FILE is probed. Says "ready"; at the end of standard input
// detaches and prints how many records there were.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "scripts/lib/bench/floor.h"
}

namespace {

// Since Linux 6.6 and 6.13; the headers of Debian 12 are older.
constexpr int attach_multi = 48, attach_session = 57;
constexpr uint32_t multi_return = 1;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "floor: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

struct Sites {
  std::vector<uint64_t> offsets, cookies;
};

constexpr std::array<const char*, floor_functions> functions{"malloc", "calloc", "realloc", "free"};

// One list for the functions that allocate, one for free.
std::array<Sites, 2> parse_sites(char** first, char** last) {
  std::array<Sites, 2> sites;
  for (; first != last; ++first) {
    const std::string text = *first;
    const size_t sign = text.find('=');
    size_t function = 0;
    while (function < functions.size() && text.substr(0, sign) != functions.at(function))
      ++function;
    if (sign == std::string::npos || function == functions.size())
      fail("no such function: " + text);
    Sites& list = sites.at(function == floor_free);
    list.offsets.push_back(std::strtoull(text.c_str() + sign + 1, nullptr, 16));
    list.cookies.push_back(function);
  }
  return sites;
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// union bpf_attr.link_create with its uprobe_multi member, as in linux/bpf.h of 6.6.
struct MultiLink {
  uint32_t program, target, attach_type, link_flags;
  uint64_t path, offsets, reference_counters, cookies;
  uint32_t count, flags, pid, pad;
};

int link_multi(const bpf_program* program, const char* file, const Sites& sites, int type,
               uint32_t flags) {
  const MultiLink link{static_cast<uint32_t>(bpf_program__fd(program)),
                       0,
                       static_cast<uint32_t>(type),
                       0,
                       address_of(file),
                       address_of(sites.offsets.data()),
                       0,
                       address_of(sites.cookies.data()),
                       static_cast<uint32_t>(sites.offsets.size()),
                       flags,
                       0,
                       0};
  const auto fd = static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link)));
  if (fd < 0) fail("cannot attach to " + std::string(file));
  return fd;
}

void link_perf(const bpf_program* program, const char* file, const Sites& sites, bool is_return) {
  for (size_t i = 0; i < sites.offsets.size(); ++i) {
    bpf_uprobe_opts options{};
    options.sz = sizeof(options);
    options.bpf_cookie = sites.cookies[i];
    options.retprobe = is_return;
    if (bpf_program__attach_uprobe_opts(program, -1, file, sites.offsets[i], &options) == nullptr)
      fail("cannot attach to " + std::string(file));
  }
}

struct Attachment {
  std::string work, link;
  const char* file;
  std::array<Sites, 2> sites;
};

bpf_program* program_of(bpf_object* object, const std::string& name) {
  bpf_program* program = bpf_object__find_program_by_name(object, name.c_str());
  if (program == nullptr) fail("no program is called " + name);
  return program;
}

// Only what is attached is loaded: older kernels lack what the others call.
std::vector<bpf_program*> load(bpf_object* object, const std::vector<std::string>& names,
                               int type) {
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, object) bpf_program__set_autoload(each, false);
  std::vector<bpf_program*> programs;
  for (const std::string& name : names) {
    programs.push_back(program_of(object, name));
    bpf_program__set_autoload(programs.back(), true);
    if (type != 0)
      bpf_program__set_expected_attach_type(programs.back(), static_cast<bpf_attach_type>(type));
  }
  return programs;
}

void attach_allocator(bpf_object* object, const Attachment& to) {
  const auto& [allocating, freeing] = to.sites;
  const bool session = to.link == "session", multi = session || to.link == "multi";
  std::vector<std::string> names{to.work + "_free"};
  if (session)
    names.push_back(to.work + "_session");
  else
    names.insert(names.end(), {to.work + "_enter", to.work + "_return"});
  const std::vector<bpf_program*> programs = load(object, names, multi ? attach_multi : 0);
  if (session)
    bpf_program__set_expected_attach_type(programs[1],
                                          static_cast<bpf_attach_type>(attach_session));
  if (bpf_object__load(object) != 0) fail("cannot load the programs");
  if (!multi) {
    link_perf(programs[0], to.file, freeing, false);
    link_perf(programs[1], to.file, allocating, false);
    link_perf(programs[2], to.file, allocating, true);
    return;
  }
  link_multi(programs[0], to.file, freeing, attach_multi, 0);
  if (session) {
    link_multi(programs[1], to.file, allocating, attach_session, 0);
    return;
  }
  link_multi(programs[1], to.file, allocating, attach_multi, 0);
  link_multi(programs[2], to.file, allocating, attach_multi, multi_return);
}

void attach_fault(bpf_object* object, char** first, char** last) {
  const std::vector<bpf_program*> programs = load(object, {"empty_fault"}, 0);
  if (bpf_object__load(object) != 0) fail("cannot load the program");
  for (; first != last; ++first)
    if (bpf_program__attach_raw_tracepoint(programs[0], *first) == nullptr)
      fail("cannot attach to " + std::string(*first));
}

int count_record(void* records, void*, size_t) {
  ++*static_cast<uint64_t*>(records);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  bpf_object* object = bpf_object__open_file(argv[1], nullptr);
  if (object == nullptr) fail(std::string("cannot open ") + argv[1]);
  if (std::strcmp(argv[3], "fault") == 0)
    attach_fault(object, argv + 4, argv + argc);
  else
    attach_allocator(object, {argv[2], argv[3], argv[4], parse_sites(argv + 5, argv + argc)});
  uint64_t records = 0;
  ring_buffer* ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "ring"),
                                       count_record, &records, nullptr);
  if (ring == nullptr) fail("cannot read the ring buffer");
  std::puts("ready");
  std::fflush(stdout);
  // Nobody is woken for a record: it is looked for often enough.
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (poll(&input, 1, 10) == 0) ring_buffer__consume(ring);
  ring_buffer__consume(ring);
  std::printf("%lu\n", records);  // the end of the process detaches
}
