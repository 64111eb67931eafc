// SPDX-License-Identifier: BSD-2-Clause
#include "core/inner_frame.h"

#include <doctest/doctest.h>

#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

InnerFrame inner(std::string_view function, FrameKind kind = FrameKind::user) {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const StackId stack = p.push({}, function, kind);
  return inner_frame(p, p.frames[p.stacks[stack].frame]);
}

}  // namespace

TEST_CASE("the own name of a function is without its return type and its arguments") {
  CHECK(own_name("main") == "main");
  CHECK(own_name("f(int, char)") == "f");
  CHECK(own_name("void std::vector<int>::reserve<int>(unsigned long)") ==
        "std::vector<int>::reserve<int>");
  CHECK(own_name("std::vector<int, std::allocator<int> > my::make<int>(int)") == "my::make<int>");
  CHECK(own_name("(anonymous namespace)::f(int)") == "(anonymous namespace)::f");
  CHECK(own_name("int (anonymous namespace)::f<a b>(int)") == "(anonymous namespace)::f<a b>");
  CHECK(own_name("decltype(auto) std::__invoke<int>(int&&)") == "std::__invoke<int>");
  CHECK(own_name("decltype (f(1)) std::invoke<int>(int&&)") == "std::invoke<int>");
  CHECK(own_name("std::ostream& operator<< <char>(int)").starts_with("operator<<"));
  CHECK(own_name("A::operator()(int) const") == "A::operator()(int) const");
  CHECK(own_name("void my::f()::{lambda(std::string)#1}::operator()(std::string) const")
            .starts_with("my::f"));
  CHECK(own_name("std::string::push_back(char) [clone .part.0]") == "std::string::push_back");
  CHECK(own_name("f [liba.so]") == "f");
  CHECK(own_name("<alloc::vec::Vec<T,A> as core::ops::Drop>::drop") ==
        "<alloc::vec::Vec<T,A> as core::ops::Drop>::drop");
  CHECK(own_name("(no name)") == "(no name)");
  CHECK(own_name("") == "");
  CHECK(own_name(" ") == " ");
  // Names come from anyone: unpaired brackets, and many of them.
  CHECK(own_name("std::f<<<<") == "std::f<<<<");
  CHECK(own_name(">>>)))") == ">>>)))");
  const std::string deep(1'000'000, '<');
  CHECK(own_name(deep) == deep);
}

TEST_CASE("who allocates for others is known by name") {
  for (const char* name : {"malloc", "operator new(unsigned long)", "_Znwm", "__libc_malloc",
                           "std::__new_allocator<int>::allocate(unsigned long, void const*)",
                           "alloc::raw_vec::RawVec<T,A>::reserve_for_push"})
    CHECK_MESSAGE(inner(name) == InnerFrame::allocator, name);
  for (const char* name :
       {"std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int)",
        "void std::vector<int>::_M_realloc_insert<int const&>(int const&)",
        "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
        "std::__detail::_Map_base<int>::operator[](int const&)", "__gnu_cxx::__alloc_traits<int>",
        "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvPiDpOT_",
        "std::__1::basic_string<char>::append(char const*)", "alloc::vec::Vec<T,A>::push",
        "<alloc::string::String as core::clone::Clone>::clone",
        "hashbrown::raw::RawTable<T,A>::reserve_rehash",
        "<T as alloc::slice::hack::ConvertVec>::to_vec",
        "core::iter::adapters::map::Map<I,F>::fold", "strdup"})
    CHECK_MESSAGE(inner(name) == InnerFrame::container, name);
  for (const char* name :
       {"main", "std", "my::std::f()", "std::vector<int> my::make<int>()", "core::Engine::run()",
        "alloc::pool::take()", "<my::Node as core::clone::Clone>::clone",
        "<my::Node as alloc::borrow::ToOwned>::to_owned", "standard()", ""})
    CHECK_MESSAGE(inner(name) == InnerFrame::other, name);
}

TEST_CASE("only code allocates") {
  CHECK(inner("malloc", FrameKind::process) == InnerFrame::other);
  CHECK(inner("[libjemalloc.so.2+0x1]", FrameKind::unknown) == InnerFrame::allocator);
  CHECK(inner("__kmalloc_noprof", FrameKind::kernel) == InnerFrame::allocator);
  CHECK(inner("std::f", FrameKind::note) == InnerFrame::other);
}
