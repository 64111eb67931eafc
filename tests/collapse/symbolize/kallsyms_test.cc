// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/kallsyms.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("code of the kernel and of modules") {
  const Kallsyms kallsyms(
      "0000000000000000 A fixed_percpu_data\n"
      "000000000001f000 a per_cpu_thing\n"
      "ffffffff81000000 T _stext\n"
      "ffffffff81000000 T _text\n"
      "ffffffff81000000 T startup_64\n"
      "ffffffff81000200 t local_one\n"
      "ffffffff81000300 T __x64_sys_brk\n"
      "ffffffff81000300 W sys_brk\n"
      "ffffffff81e00000 D table\n"
      "ffffffffc0201000 t nft_do_chain\t[nf_tables]\n"
      "ffffffffc0300000 t bpf_prog_0123456789abcdef_brk\t[bpf]\n");
  CHECK_FALSE(kallsyms.hidden());
  CHECK(kallsyms.find(0xffffffff81000000).function == "startup_64");
  CHECK(kallsyms.find(0xffffffff81000000).module == "kernel");
  CHECK(kallsyms.find(0xffffffff810001ff).function == "startup_64");
  CHECK(kallsyms.find(0xffffffff81000200).function == "local_one");
  CHECK(kallsyms.find(0xffffffff81000301).function == "sys_brk");
  CHECK(kallsyms.find(0xffffffffc0201010).function == "nft_do_chain");
  CHECK(kallsyms.find(0xffffffffc0201010).module == "[nf_tables]");
  CHECK(kallsyms.find(0xffffffffc0300040).module == "[bpf]");
  CHECK(kallsyms.find(0xffffffffc0300040).function == "bpf_prog_0123456789abcdef_brk");
}

TEST_CASE("addresses that no name belongs to") {
  const Kallsyms kallsyms(
      "000000000001f000 a per_cpu_thing\n"
      "ffffffff81000000 T first\n"
      "ffffffff81e00000 D table\n"
      "ffffffffc0201000 t last\t[m]\n");
  CHECK(kallsyms.find(0).function.empty());
  CHECK(kallsyms.find(0x1f010).function.empty());
  CHECK(kallsyms.find(0xffffffff80ffffff).function.empty());
  CHECK(kallsyms.find(0xffffffff81e00004).function.empty());  // data
  CHECK(kallsyms.find(0xffffffff81100000).function.empty());  // no function is 1 MiB long
  CHECK(kallsyms.find(0xffffffffffffffff).function.empty());
}

TEST_CASE("hidden") {
  CHECK(Kallsyms("").hidden());
  CHECK(Kallsyms("0000000000000000 T _text\n0000000000000000 t a\t[m]\n").hidden());
  CHECK(Kallsyms("0000000000000000 T _text\n").find(0xffffffff81000000).function.empty());
}

TEST_CASE("lines that are not as the kernel writes them") {
  const Kallsyms kallsyms(
      "\n\n \nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
      "zzz T name\nffffffff81000000 TT name\n1ffffffff81000000 T name\n"
      "ffffffff81000000  T name\n"
      "ffffffffffffffff T at_the_end\n"
      "ffffffff82000000 T good\tno module\n"
      "ffffffff83000000 T unfinished\t[module\n"
      "ffffffff84000000 T spaces in it\r\n"
      "ffffffff85000000 T no end of line");
  CHECK(kallsyms.find(0xffffffff81000000).function == "name");  // two blanks are fine
  CHECK(kallsyms.find(0xffffffff82000000).function == "good");
  CHECK(kallsyms.find(0xffffffff82000000).module == "kernel");
  CHECK(kallsyms.find(0xffffffff83000000).module == "kernel");
  CHECK(kallsyms.find(0xffffffff84000000).function == "spaces in it");
  CHECK(kallsyms.find(0xffffffff85000000).function == "no end of line");
  CHECK(kallsyms.find(0xffffffff85000000).module == "kernel");
}

TEST_CASE("what is missing reads as empty") { CHECK(read_text("/nonexistent/file").empty()); }
