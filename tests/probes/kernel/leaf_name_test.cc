// SPDX-License-Identifier: BSD-2-Clause
#include "probes/kernel/leaf_name.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "probes/kernel/config.h"
#include "probes/kernel/meminfo.h"
#include "probes/kernel/slab_aliases.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("each kind of memory has its name") {
  CHECK(leaf_name(bpf::leaf_cache | 7, "dentry") == "[slab dentry]");
  CHECK(leaf_name(bpf::leaf_cache, "") == "[slab]");
  CHECK(leaf_name(bpf::leaf_kmalloc | 64 / 8, "") == "[kmalloc-64]");
  CHECK(leaf_name(bpf::leaf_kmalloc | 8192 / 8, "") == "[kmalloc-8192]");
  CHECK(leaf_name(bpf::leaf_large | 3, "") == "[kmalloc order 3]");
  CHECK(leaf_name(bpf::leaf_pages | 10, "") == "[pages order 10]");
  CHECK(leaf_name(bpf::leaf_movable, "") == "[movable pages order 0]");
  CHECK(leaf_name(bpf::leaf_percpu, "") == "[percpu]");
  CHECK(leaf_name(bpf::leaf_vmalloc, "") == "[vmalloc]");
  CHECK(leaf_name(0, "") == "[unknown memory]");
}

TEST_CASE("a cache's name is text, whatever a module has called it") {
  using namespace std::string_view_literals;
  CHECK(clean_cache_name("dentry\0rubbish"sv) == "dentry");
  CHECK(clean_cache_name("bio-120") == "bio-120");
  CHECK(clean_cache_name("a;b\nc\x1b[31m]\x80 d") == "a?b?c??31m???d");
  CHECK(clean_cache_name("no end") == "no?end");
  CHECK(clean_cache_name("").empty());
}

TEST_CASE("meminfo: KiB to bytes, whole names, and what is missing is 0") {
  const KernelMemory memory = parse_meminfo(
      "MemTotal:        4018168 kB\nMemFree:          100 kB\nVmallocTotal:   34359738367 kB\n"
      "VmallocUsed:       24 kB\nSlab:  9 kB\nSReclaimable:  3 kB\nSUnreclaim:   4 kB\n");
  CHECK(memory.free == 102400);
  CHECK(memory.slab == 7168);
  CHECK(memory.vmalloc == 24576);
  CHECK(memory.percpu == 0);
  CHECK(parse_meminfo("").slab == 0);
  CHECK(parse_meminfo("MemFree:").free == 0);
  CHECK(parse_meminfo("xMemFree: 5 kB").free == 0);
}

TEST_CASE("caches that the kernel keeps as one say so, if the folder is theirs") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "memflame-slab-aliases";
  fs::remove_all(folder);
  fs::create_directories(folder / ":0000064");
  fs::create_directories(folder / ":0000032");
  fs::create_directories(folder / "dentry");
  std::ofstream(folder / ":0000064/slab_size") << "64\n";
  std::ofstream(folder / ":0000032/slab_size") << "32\n";
  for (const char* name : {"jbd2_inode", "io;mmu", "a_first"})
    fs::create_directory_symlink(":0000064", folder / name);
  fs::create_directory_symlink(":0000032", folder / "alone");
  const SlabAliases aliases(folder);
  CHECK(aliases.label("jbd2_inode", 64) == "jbd2_inode (merged: a_first, io?mmu)");
  CHECK(aliases.label("jbd2_inode", 72) == "jbd2_inode");  // that was another one
  CHECK(aliases.label("alone", 32) == "alone");
  CHECK(aliases.label("dentry", 192) == "dentry");
  CHECK(aliases.label("gone", 64) == "gone");
  CHECK(leaf_name(bpf::leaf_cache | 1, aliases.label("a_first", 64)) ==
        "[slab a_first (merged: io?mmu, jbd2_inode)]");
  for (int i = 0; i < 8; ++i)
    fs::create_directory_symlink(":0000064", folder / ("z" + std::to_string(i)));
  CHECK(SlabAliases(folder).label("a_first", 64) ==
        "a_first (merged: io?mmu, jbd2_inode, z0, z1, z2, z3, z4, z5 and 2 more)");
  fs::remove_all(folder);
  CHECK(SlabAliases(folder).label("a_first", 64) == "a_first");
}
