// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <string>

#include "core/error.h"
#include "tests/collapse/tidy/tidy_fixture.h"

using namespace memflame;

TEST_CASE("the run of allocator frames at the end") {
  const std::string text =
      "main;parse;operator new(unsigned long);malloc;_int_malloc;sysmalloc 10\n"
      "main;parse;operator new(unsigned long) 5\n"
      "main;parse 1\n"
      "main;malloc;hook;work 3\n"
      "malloc;mmap 2\n";
  CHECK(lines(tidy_allocators(profile_of(text), Allocators::hide, builtin_allocators())) ==
        Lines{{"main;parse", 16}, {"main;malloc;hook;work", 3}, {"[allocator]", 2}});
  CHECK(lines(tidy_allocators(profile_of(text), Allocators::merge, builtin_allocators())) ==
        Lines{{"main;parse;[allocator]", 15},
              {"main;parse", 1},
              {"main;malloc;hook;work", 3},
              {"[allocator]", 2}});
  CHECK(lines(tidy_allocators(profile_of(text), Allocators::keep, builtin_allocators())) ==
        lines(profile_of(text)));
}

TEST_CASE("processes and notes are not allocators") {
  const Profile profile = profile_of("# memflame roots=\"process\"\nmalloc;malloc 1\n");
  CHECK(lines(tidy_allocators(profile, Allocators::hide, builtin_allocators())) ==
        Lines{{"malloc", 1}});
}

TEST_CASE("the list of the program") {
  for (const std::string_view name :
       {"malloc",
        "malloc@plt",
        "malloc@@GLIBC_2.2.5",
        "malloc+0x1f",
        "__libc_malloc",
        "operator new(unsigned long)",
        "operator new[](unsigned long, std::nothrow_t const&)",
        "operator new",
        "je_malloc",
        "je_prof_backtrace",
        "prof_backtrace_impl",
        "tc_newarray",
        "mi_heap_malloc",
        "_int_malloc",
        "sysmalloc.part.0",
        "PyMem_RawMalloc",
        "PyObject_Malloc",
        "std::__new_allocator<int>::allocate(unsigned long, void const*)",
        "__gnu_cxx::new_allocator<std::pair<int const, A> >::allocate(unsigned long, void const*)",
        "std::allocator_traits<std::allocator<int> >::allocate(A&, unsigned long)",
        "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
        "alloc::alloc::alloc",
        "alloc::raw_vec::finish_grow",
        "__rust_alloc",
        "runtime.mallocgc",
        "runtime.(*mcache).nextFree",
        "g_malloc0",
        "mmap",
        "mmap64",
        "posix_memalign",
        "__kmalloc_node",
        "scudo::Allocator<scudo::Config>::allocate(unsigned long)",
        "[libjemalloc.so.2+0x8f21]",
        "[libtcmalloc_minimal.so.4]",
        "operator new(unsigned long) [clone .cold]"}) {
    CAPTURE(name);
    CHECK(builtin_allocators().contains(name));
  }
  for (const std::string_view name :
       {"main", "", "@plt", "mallocator", "my_malloc", "__libc_start_main", "operator<<(A, B)",
        "A::operator new(unsigned long)", "std::vector<int>::push_back(int const&)",
        "std::allocator_traits<std::allocator<A> >::construct<A>(A*)", "runtime.main",
        "prof_backtraces", "free", "jeopardy", "*", "strdup", "[libc.so.6+0x8f21]"}) {
    CAPTURE(name);
    CHECK_FALSE(builtin_allocators().contains(name));
  }
}

TEST_CASE("lists of one's own") {
  AllocatorList list;
  CHECK(list.empty());
  list.add("# mine\r\n\n  pool_*  \npool_stats\n!pool_st*\nfoo*bar*baz\n*::create\nlast", "list");
  CHECK_FALSE(list.empty());
  CHECK(list.contains("pool_alloc"));
  CHECK_FALSE(list.contains("pool_stats"));
  CHECK(list.contains("foo bar baz"));
  CHECK(list.contains("foobarbarbaz"));
  CHECK_FALSE(list.contains("foobaz"));
  CHECK(list.contains("a::b::create"));
  CHECK_FALSE(list.contains("a::b::create2"));
  CHECK(list.contains("last"));
  CHECK_FALSE(list.contains("malloc"));

  AllocatorList fresh = builtin_allocators();
  fresh.add("!*\nonly_this\n", "list");
  CHECK(fresh.contains("only_this"));
  CHECK_FALSE(fresh.contains("malloc"));
  fresh.add("malloc\n", "list");
  CHECK(fresh.contains("malloc"));
}

TEST_CASE("a list that cannot be meant") {
  AllocatorList list;
  const auto error_of = [&](const std::string& text) -> std::string {
    try {
      list.add(text, "my.txt");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of("malloc\n!\n") ==
        "my.txt: line 2 is not a function name; one per line, '*' for any text");
  CHECK_FALSE(error_of(std::string("\0", 1)).empty());
  CHECK_FALSE(error_of(std::string(5000, 'a')).empty());
}
