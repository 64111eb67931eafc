// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>
#include <linux/perf_event.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <fstream>

#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/symbolize/symbolize_fixture.h"
#include "tests/support/skipped.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string u32(uint32_t value) { return raw(value); }
std::string u64(uint64_t value) { return raw(value); }
std::string text(const std::string& words) {  // padded to 8 bytes
  return words + std::string(8 - words.size() % 8, '\0');
}

std::string record(uint32_t type, const std::string& body, uint16_t misc = 0) {
  return u32(type) + raw(misc) + raw(static_cast<uint16_t>(body.size() + 8)) + body;
}

constexpr uint16_t user = PERF_RECORD_MISC_USER;
constexpr uint64_t usual = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                           PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;

struct Attr {
  uint64_t id = 1;
  uint64_t config = PERF_COUNT_SW_PAGE_FAULTS;
  uint64_t sample_type = usual;
};

std::string attr_of(const Attr& attr) {
  perf_event_attr raw_attr{};
  raw_attr.type = PERF_TYPE_SOFTWARE;
  raw_attr.size = sizeof raw_attr;
  raw_attr.config = attr.config;
  raw_attr.sample_period = 1;
  raw_attr.sample_type = attr.sample_type;
  raw_attr.sample_id_all = 1;
  return raw(raw_attr);
}

// A file of these records; the features follow them.
std::string file(const std::string& records, const std::vector<Attr>& attrs = {{}},
                 uint64_t features = 0, const std::vector<std::string>& sections = {}) {
  const uint64_t ids_at = 104;
  const uint64_t attr_size = sizeof(perf_event_attr) + 16;
  const uint64_t attrs_at = ids_at + 8 * attrs.size();
  const uint64_t data_at = attrs_at + attr_size * attrs.size();
  std::string bytes = "PERFILE2" + u64(104) + u64(attr_size) + u64(attrs_at) +
                      u64(attr_size * attrs.size()) + u64(data_at) + u64(records.size()) + u64(0) +
                      u64(0) + u64(features) + std::string(24, '\0');
  for (const Attr& attr : attrs) bytes += u64(attr.id);
  for (size_t i = 0; i < attrs.size(); ++i)
    bytes += attr_of(attrs[i]) + u64(ids_at + 8 * i) + u64(8);
  bytes += records;
  uint64_t at = bytes.size() + 16 * sections.size();
  for (const std::string& section : sections) {
    bytes += u64(at) + u64(section.size());
    at += section.size();
  }
  for (const std::string& section : sections) bytes += section;
  return bytes;
}

// The end of records that are not samples: pid, tid, time, id.
std::string trailer(uint64_t time) { return u64(0) + u64(time) + u64(1); }

std::string sample(uint64_t time, uint64_t period, const std::vector<uint64_t>& chain,
                   uint64_t id = 1, uint32_t pid = 7, uint32_t tid = 8) {
  std::string body = u64(id) + u64(chain.empty() ? 0x1000 : chain.back()) + u32(pid) + u32(tid) +
                     u64(time) + u64(period) + u64(chain.size());
  for (const uint64_t entry : chain) body += u64(entry);
  return record(PERF_RECORD_SAMPLE, body, user);
}

std::string comm(uint64_t time, uint32_t pid, uint32_t tid, const std::string& name,
                 uint16_t misc = 0) {
  return record(PERF_RECORD_COMM, u32(pid) + u32(tid) + text(name) + trailer(time), misc);
}
std::string fork(uint64_t time, uint32_t pid, uint32_t parent) {
  return record(PERF_RECORD_FORK,
                u32(pid) + u32(parent) + u32(pid) + u32(parent) + u64(time) + trailer(time));
}
std::string map(uint64_t time, uint32_t pid, uint64_t start, uint64_t size, uint64_t offset,
                const std::string& path, uint64_t inode = 99) {
  return record(PERF_RECORD_MMAP2, u32(pid) + u32(pid) + u64(start) + u64(size) + u64(offset) +
                                       u64(0) + u64(inode) + u64(0) + u32(4) + u32(0) + text(path) +
                                       trailer(time));
}

constexpr uint64_t in_user = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr uint64_t in_kernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);

const std::string process = comm(1, 7, 7, "my server") + comm(1, 7, 8, "worker") +
                            map(1, 7, 0x1000, 0x1000, 0, "/no/such/program") +
                            map(1, 7, 0x2000, 0x1000, 0x5000, "/no/such/libfoo.so");

}  // namespace

TEST_CASE("samples with their periods, root first, the leaf exact and callers behind calls") {
  const Profile p = read_text(file(process + sample(5, 3, {in_user, 0x2000, 0x2000}) +
                                   sample(6, 4, {in_user, 0x2000, 0x2000}) +
                                   sample(7, 1, {in_kernel, 0xffffffff81000010, in_user, 0x1010})));
  // 0x2000 is a return address; the call before it is in the other file.
  CHECK(stacks(p, {}, true) ==
        Stacks{{"worker;[program+0x1000];[libfoo.so+0x5000]", 7},
               {"worker;[program+0x10];[kernel 0xffffffff81000010]_[k]", 1}});
  CHECK(p.types == std::vector<ValueType>{{"page-faults", Unit::count}});
  CHECK(p.frames[p.path(p.touched()[0])[0]].kind == FrameKind::process);
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("roots as perf's readers write them") {
  const std::string bytes = file(process + sample(5, 3, {in_user, 0x2000}));
  CHECK(stacks(read_text(bytes, {}, {.pid = true})).begin()->first ==
        "worker-7;[libfoo.so+0x5000]");
  CHECK(stacks(read_text(bytes, {}, {.tid = true})).begin()->first ==
        "worker-7/8;[libfoo.so+0x5000]");
  CHECK(stacks(read_text(bytes, {}, {.comm = false})).begin()->first == "[libfoo.so+0x5000]");
  CHECK(stacks(read_text(file(sample(5, 3, {in_user, 0x2000})))) ==
        Stacks{{":8;[unmapped 0x2000]", 3}});
}

TEST_CASE("an address is looked up in what was mapped at its time") {
  const std::string at = "worker;";
  const Profile p =
      read_text(file(sample(9, 8, {in_user, 0x2000}) + process + sample(5, 1, {in_user, 0x2000}) +
                     map(6, 7, 0x1800, 0x900, 0, "/no/such/new") + sample(7, 2, {in_user, 0x2000}) +
                     sample(7, 4, {in_user, 0x2900})));
  CHECK(stacks(p) == Stacks{{at + "[libfoo.so+0x5000]", 1},
                            {at + "[new+0x800]", 10},
                            {at + "[libfoo.so+0x5900]", 4}});
  // A child has its parent's mappings until it execs.
  const Profile q = read_text(
      file(process + fork(6, 9, 7) + map(7, 9, 0x2000, 0x1000, 0, "/no/such/childs") +
           sample(8, 1, {in_user, 0x2000}, 1, 9, 9) + sample(8, 2, {in_user, 0x1000}, 1, 9, 9) +
           sample(8, 4, {in_user, 0x2000}) + comm(9, 9, 9, "new", PERF_RECORD_MISC_COMM_EXEC) +
           sample(10, 8, {in_user, 0x1000}, 1, 9, 9)));
  CHECK(stacks(q) == Stacks{{"my server;[childs+0x0]", 1},
                            {"my server;[program+0x0]", 2},
                            {"worker;[libfoo.so+0x5000]", 4},
                            {"new;[unmapped 0x1000]", 8}});
}

TEST_CASE("a column for each event, with the names that the file tells") {
  const std::string description = u32(1) + u32(sizeof(perf_event_attr)) + attr_of({}) + u32(1) +
                                  u32(16) + text("kmem:mm_page_a") + u64(2);
  const std::string bytes =
      file(process + sample(5, 3, {in_user, 0x2000}, 1) + sample(6, 5, {in_user, 0x2000}, 2),
           {{.id = 1}, {.id = 2, .config = 999}}, 1U << 12U, {description});
  const Profile p = read_text(bytes);
  CHECK(p.total(column(p, "page-faults")) == 3);
  CHECK(p.total(column(p, "kmem:mm_page_a")) == 5);
  CHECK(read_text(bytes, {}, {.events = {"kmem:mm_page_a"}}).types.size() == 1);
  CHECK(error_of(bytes, {}, {.events = {"cycles"}}) ==
        "text: it has no event of that name; it has page-faults, kmem:mm_page_a");
  CHECK(error_of(bytes, {}, {.weight = "order"}).find("perf script") != std::string::npos);
}

TEST_CASE("what is lost is counted") {
  const Profile p = read_text(file(process + sample(5, 3, {in_user, 0x2000}) +
                                   record(PERF_RECORD_LOST, u64(1) + u64(41) + trailer(5)) +
                                   record(PERF_RECORD_LOST_SAMPLES, u64(1) + trailer(5))));
  CHECK(p.losses[Loss::ring_full].events == 42);
  REQUIRE(!p.meta.notes.empty());
  CHECK(p.meta.notes.back().find("could not be opened") != std::string::npos);
  CHECK(p.meta.notes.front() == "perf lost 42 records");
}

TEST_CASE("through a pipe, and packed") {
  const std::string attr = record(64, attr_of({}) + u64(1));
  const std::string update = record(78, u64(2) + u64(1) + text("faults"));
  const std::string pipe =
      "PERFILE2" + u64(16) + attr + update + record(66, u32(5)) + std::string(8, 'x') + process;
  const std::string samples = sample(5, 3, {in_user, 0x2000}) + sample(6, 4, {in_user, 0x1000});
  CHECK(stacks(read_text(pipe + samples), "faults") ==
        Stacks{{"worker;[libfoo.so+0x5000]", 3}, {"worker;[program+0x0]", 4}});
  // One stream, cut in the middle of a record.
  std::string packed(ZSTD_compressBound(samples.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), samples.data(), samples.size(), 1));
  std::string blocks;
  for (size_t i = 0; i < packed.size(); i += 7) blocks += record(81, packed.substr(i, 7));
  CHECK(read_text(pipe + blocks).total(0) == 7);
  const Profile damaged =
      read_text(pipe + sample(5, 1, {in_user, 0x2000}) + record(81, "this is not zstd"));
  CHECK(damaged.total(0) == 1);
  CHECK(damaged.meta.notes.front().find("packed block is damaged") != std::string::npos);
}

TEST_CASE("a file that is cut off, or was never closed, gives what is there") {
  const std::string whole =
      file(process + sample(5, 3, {in_user, 0x2000}) + sample(6, 4, {in_user, 0x2000}));
  const std::string cut = whole.substr(0, whole.size() - 20);
  CHECK(read_text(cut).total(0) == 3);
  CHECK(read_text(cut).meta.notes.front() == "text is not whole (it ends in the middle)");
  CHECK(error_of(cut, {}, {.refuse_truncated = true}) == "text: it ends in the middle");
  std::string open = whole;
  std::memset(open.data() + 48, 0, 8);  // the size of the data
  CHECK(read_text(open).total(0) == 7);
  CHECK(read_text(open).meta.notes.front().find("not ended properly") != std::string::npos);
  for (size_t size = 0; size < whole.size(); size += 3) {
    try {
      read_text(whole.substr(0, size), "perf-data");
    } catch (const Error&) {
      continue;
    }
  }
}

TEST_CASE("what cannot be read is refused with what to do") {
  CHECK(error_of(file(process, {{.sample_type = usual | PERF_SAMPLE_STACK_USER}})) ==
        "text: its stacks are not unwound (--call-graph dwarf); use: perf script | memflame "
        "collapse");
  CHECK(error_of("2ELIFREP" + std::string(200, '\0')).find("big-endian") != std::string::npos);
  CHECK(error_of("PERFFILE" + std::string(200, '\0')).find("before 2010") != std::string::npos);
  CHECK(error_of(file(process)) == "text: it has no samples");
  CHECK(error_of(file(process + sample(1, UINT64_MAX, {in_user, 0x1000}))).find("64 bits") !=
        std::string::npos);
}

TEST_CASE("hostile numbers") {
  const std::string huge_chain = record(
      PERF_RECORD_SAMPLE,
      u64(1) + u64(0) + u64(0) + u64(1) + u64(1) + u64(0x2000000000000001) + u64(0x1000), user);
  const Profile p = read_text(file(
      process + huge_chain + sample(5, 1, {in_user, 0x2000}, 77) +
      record(PERF_RECORD_MMAP2, "short") + record(PERF_RECORD_FORK, "x") +
      record(PERF_RECORD_COMM, "") + map(2, 7, 0xfffffffffffff000, 0x2000, 0, "/x") +
      map(2, 7, 0, UINT64_MAX, UINT64_MAX, "/y") + sample(5, 1, {in_user, 0, UINT64_MAX - 5000})));
  CHECK(p.total(0) == 2);  // with one event ids do not matter
  CHECK(p.losses[Loss::input_line].events == 4);
  std::string ring = process;
  for (uint32_t i = 0; i < 20'000; ++i) {
    ring += map(2 + i, 7, 0x1000, 0x100000, 0, "/no/such/" + std::to_string(i % 7));
    ring += sample(2 + i, 1, {in_user, 0x1000 + i, 0x2000 + i});
  }
  CHECK(read_text(file(ring)).total(0) == 20'000);
}

TEST_CASE("lists of ids that are the whole file, once for each event") {
  std::string bytes = file(process + sample(5, 3, {in_user, 0x1000}), {{1}, {2}, {3}});
  constexpr size_t attr_size = sizeof(perf_event_attr) + 16;
  for (size_t end = 104 + 3 * 8 + attr_size; end <= 104 + 3 * (8 + attr_size); end += attr_size)
    bytes.replace(end - 16, 16, u64(0) + u64(bytes.size()));
  CHECK(error_of(bytes).find("lists of ids overlap") != std::string::npos);
}

TEST_CASE("names from the file that was mapped") {
  fixture::Case c(std::string(SYMBOLS) + "/pie");
  std::string maps = comm(1, 7, 8, "pie");
  for (const fixture::MapLine& line : c.ran.maps)
    if (line.path == c.module().path)
      maps += map(1, 7, line.start, line.end - line.start, line.offset, line.path, line.inode);
  const std::string records =
      maps + sample(5, 64, {in_user, c.ran.at.at("plain_entry"), c.ran.at.at("hold")});
  const std::string names =
      "pie;int shapes::Box::hold<int>(int);shapes::inner(int);(anonymous namespace)::hidden;plain";
  CHECK(stacks(read_text(file(records))) == Stacks{{names, 64}});
  // The build id, which perf writes at the end, counts more than the inode.
  const auto with_id = [&](std::string id) {
    id.resize(24, '\0');
    id[20] = 20;
    const std::string name = text(c.module().path);
    const std::string row = u32(0) + raw(uint16_t{0}) +
                            raw(static_cast<uint16_t>(36 + name.size())) + u32(7) + id + name;
    return read_text(file(records, {{}}, 1U << 2U, {row}));
  };
  std::string id;
  for (size_t i = 0; i < c.module().build_id.size(); i += 2)
    id += static_cast<char>(std::stoi(c.module().build_id.substr(i, 2), nullptr, 16));
  CHECK(stacks(with_id(id)) == Stacks{{names, 64}});
  id[3] = static_cast<char>(id[3] + 1);
  const Profile other = with_id(id);
  CHECK(stacks(other).begin()->first.starts_with("pie;[pie+0x"));
  CHECK(other.meta.notes.back().find("was replaced since it was mapped") != std::string::npos);
}

TEST_CASE("names of the kernel's code only while that kernel runs") {
  std::map<std::string, uint64_t> symbols;
  std::ifstream kallsyms("/proc/kallsyms");
  std::string address, type, name;
  while (kallsyms >> address >> type >> name) {
    if (name == "_text" || name == "schedule") symbols[name] = std::stoull(address, nullptr, 16);
    kallsyms.ignore(4096, '\n');
  }
  if (symbols["_text"] == 0 || symbols["schedule"] == 0) {
    skip("names of the kernel's code: /proc/kallsyms hides its addresses");
    return;
  }
  const auto recorded = [&](uint64_t text_at, uint64_t features = 0,
                            const std::vector<std::string>& sections = {}) {
    const std::string kernel =
        record(PERF_RECORD_MMAP,
               u32(UINT32_MAX) + u32(0) + u64(text_at) + u64(0x1000000) + u64(text_at) +
                   text("[kernel.kallsyms]_text") + trailer(1),
               PERF_RECORD_MISC_KERNEL);
    return read_text(file(process + kernel + sample(5, 2, {in_kernel, symbols["schedule"]}), {{}},
                          features, sections));
  };
  const Profile same = recorded(symbols["_text"]);
  CHECK(stacks(same, {}, true) == Stacks{{"worker;schedule_[k]", 2}});
  const auto unnamed = [](const Profile& p) {
    CHECK(stacks(p).begin()->first.starts_with("worker;[kernel 0x"));
    CHECK(p.meta.notes.back().find("not the one that was recorded") != std::string::npos);
  };
  unnamed(recorded(symbols["_text"] - 0x200000));  // after another boot
  unnamed(recorded(symbols["_text"], 1U << 4U, {u32(16) + text("2.6.32-other")}));
  const std::string its_name = text("[kernel.kallsyms]");
  const std::string id = std::string(20, 'x') + static_cast<char>(20) + std::string(3, '\0');
  unnamed(recorded(
      symbols["_text"], 1U << 2U,
      {u32(0) + raw(uint16_t{PERF_RECORD_MISC_KERNEL}) +
       raw(static_cast<uint16_t>(36 + its_name.size())) + u32(UINT32_MAX) + id + its_name}));
}

TEST_CASE("names of code made at run time, from a map that the user or root has written") {
  const auto pid = static_cast<uint32_t>(::getpid());
  const std::string path = "/tmp/perf-" + std::to_string(pid) + ".map";
  std::ofstream(path) << "70001000 100 Compiled.method\n";
  const std::string bytes =
      file(comm(1, pid, pid, "jit") + map(1, pid, 0x70000000, 0x10000, 0, "//anon") +
           sample(5, 4, {in_user, 0x70001010, 0x70002000}, 1, pid, pid));
  const Profile p = read_text(bytes);
  CHECK(stacks(p, {}, true).begin()->first.ends_with(";Compiled.method_[j]"));
  CHECK(p.meta.notes.front() ==
        "names of code made at run time are from " + path + " as it is now");
  CHECK(stacks(read_text(bytes, {}, {.symbols = false})).begin()->first.find("Compiled") ==
        std::string::npos);
  if (::geteuid() == 0) {
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    CHECK(stacks(read_text(bytes)).begin()->first.find("Compiled") == std::string::npos);
  } else {
    skip("a map of another user's: only root can make one");
  }
  ::unlink(path.c_str());
}

TEST_CASE("recognition") {
  CHECK(recognised(file("")) == "perf-data");
  CHECK(recognised("PERFILE 12\n") == "folded");
}
