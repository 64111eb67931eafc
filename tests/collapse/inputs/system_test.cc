// SPDX-License-Identifier: BSD-2-Clause
// What Linux says of memory: smaps, slabinfo, memory.stat.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

const std::string mapping = "1000-3000 rw-p 00000000 00:00 0 \nSize: 8 kB\nRss: 4 kB\n";

}  // namespace

TEST_CASE("smaps: a stack is a mapping's name and permissions") {
  const Profile p = read_data("smaps/sleep.txt");
  CHECK(p.types[p.shown] == ValueType{"rss", Unit::bytes});
  CHECK(stacks(p)["/usr/bin/sleep;r-xp"] == 20 << 10);
  CHECK(stacks(p)["[stack];rw-p"] > 0);
  CHECK(stacks(p, "size")["/usr/bin/sleep;r--p"] == (8 + 8 + 4) << 10);
  CHECK(stacks(p, "size").contains("[anonymous];rw-p"));
  CHECK(stacks(p, "size")["[vsyscall];--xp"] == 4096);
  for (const char* name : {"pss", "private_dirty", "swap", "swap_pss", "anon_huge_pages", "ksm"})
    CHECK(p.types[column(p, name)].unit == Unit::bytes);
  // Resident pages are shared or private, clean or dirty.
  const auto total = [&](const char* name) { return p.total(column(p, name)); };
  CHECK(total("rss") == total("shared_clean") + total("shared_dirty") + total("private_clean") +
                            total("private_dirty"));
  CHECK(p.losses.lost_events() == 0);
  const Profile all = read_data("smaps/rollup.txt");
  CHECK(stacks(all).begin()->first == "[rollup];---p");
}

TEST_CASE("smaps: damaged and cut") {
  CHECK(recognised(mapping) == "smaps");
  const Profile p = read_text(mapping + "Rss 5\nPss: many kB\nPss: 3\nVmFlags: rd\n" + mapping);
  CHECK(stacks(p) == Stacks{{"[anonymous];rw-p", 8192}});
  CHECK(p.losses[Loss::input_line].events == 3);
  CHECK(has_note(read_text(mapping + "Pss: 1 k"), "may be cut off"));
  CHECK(error_of(mapping + "Swap: 9223372036854775807 kB\n").find("64 bits") != std::string::npos);
  std::string many = mapping;
  for (int i = 0; i < 100; ++i) many += "X" + std::to_string(i) + ": 1 kB\n";
  CHECK(read_text(many).types.size() < 70);
  CHECK(error_of("x\n", "smaps").find("no mapping with figures") != std::string::npos);
}

TEST_CASE("slabinfo: slabs, and the objects in use") {
  const Profile p = read_data("slabinfo/some.txt");
  CHECK(recognised("slabinfo - version: 2.1\n") == "slabinfo");
  CHECK(stacks(p)["task_struct"] == 60 * 8 * 4096);
  CHECK(stacks(p, "active")["task_struct"] == 288 * 5888);
  CHECK(stacks(p, "active_objects")["task_struct"] == 288);
  CHECK(stacks(p, "objects")["task_struct"] == 300);
  CHECK(p.touched().size() == 7);
  const Profile odd = read_text(
      "slabinfo - version: 2.1\na 1 2 3\nb 1 1 8 1 1 : tunables 0 0 0 : "
      "slabdata 1 1 0\n");
  CHECK(stacks(odd) == Stacks{{"b", 4096}});
  CHECK(odd.losses[Loss::input_line].events == 1);
  CHECK(error_of("slabinfo - version: 2.1\nb 9223372036854775807 1 8 1 1 : tunables 0 0 0 : "
                 "slabdata 1 1 0\n")
            .find("64 bits") != std::string::npos);
}

TEST_CASE("memory.stat: parts are taken off the whole") {
  const Profile p = read_data("memory-stat/v2.txt");
  const int64_t mib = 1 << 20;
  CHECK(stacks(p) == Stacks{{"anon", 60 * mib},
                            {"anon;anon_thp", 40 * mib},
                            {"file", 42 * mib},
                            {"file;shmem", 6 * mib},
                            {"file;shmem;shmem_thp", 2 * mib},
                            {"kernel", 20 * mib - mib - 2 * mib - 65536 - 131072 - 12 * mib},
                            {"kernel;kernel_stack", mib},
                            {"kernel;pagetables", 2 * mib},
                            {"kernel;percpu", 65536},
                            {"kernel;slab_reclaimable", 8 * mib},
                            {"kernel;slab_unreclaimable", 4 * mib},
                            {"kernel;vmalloc", 131072},
                            {"sock", 4096}});
  CHECK(p.total(0) == 170 * mib + 4096);
  CHECK(has_note(p, "figures are left out: they count events, or memory that others count too"));
}

TEST_CASE("memory.stat of cgroup v1: with all descendants") {
  const Profile p = read_data("memory-stat/v1.txt");
  CHECK(stacks(p) ==
        Stacks{{"cache", 5352890368 - 14614528}, {"cache;shmem", 14614528}, {"rss", 6097227776}});
  const Profile own = read_text("cache 10\nrss 8\nrss_huge 9\nshmem 4\ninactive_anon 5\n");
  CHECK(stacks(own) == Stacks{{"cache", 6}, {"cache;shmem", 4}, {"rss;rss_huge", 9}});
  CHECK(has_note(own, "the parts of 'rss' are larger than it by 1 B"));
  CHECK(read_text("anon 5\nx\nanon 7\nfile 3\ninactive_anon 5\n", "memory-stat")
            .losses[Loss::input_line]
            .events == 2);
}
