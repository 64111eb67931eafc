// SPDX-License-Identifier: BSD-2-Clause
// Names are those that c++filt and rustc's demangler print for real symbols.
#include "collapse/tidy/allocated_type.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/collapse/tidy/tidy_fixture.h"

using namespace memflame;

namespace {

std::string type_of(std::string_view function) { return allocated_type(function).type; }

}  // namespace

TEST_CASE("types in names of libstdc++") {
  CHECK(type_of("std::__new_allocator<app::Node>::allocate(unsigned long, void const*)") ==
        "app::Node");
  CHECK(type_of("__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)") == "int");
  CHECK(type_of("std::allocator<app::Node>::allocate(unsigned long)") == "app::Node");
  CHECK(type_of("std::allocator_traits<std::allocator<app::Node> >::allocate("
                "std::allocator<app::Node>&, unsigned long)") == "app::Node");
  CHECK(type_of("std::_Vector_base<app::Node, std::allocator<app::Node> >::_M_allocate(unsigned "
                "long)") == "app::Node");
  CHECK(type_of("void std::vector<app::Node, std::allocator<app::Node> >::_M_realloc_insert<"
                "app::Node>(__gnu_cxx::__normal_iterator<app::Node*, std::vector<app::Node, "
                "std::allocator<app::Node> > >, app::Node&&)") == "app::Node");
  CHECK(type_of("std::__new_allocator<std::_List_node<app::Node> >::allocate(unsigned long, void "
                "const*)") == "app::Node");
  CHECK(type_of("std::__new_allocator<std::_Sp_counted_ptr_inplace<app::Node, "
                "std::allocator<void>, (__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long, void "
                "const*)") == "app::Node");
  CHECK(type_of("std::__new_allocator<std::__detail::_Hash_node_base*>::allocate(unsigned long, "
                "void const*)") == "std::__detail::_Hash_node_base*");
  CHECK(type_of("std::_MakeUniq<app::Node>::__single_object std::make_unique<app::Node, "
                "int>(int&&)") == "app::Node");
  CHECK(type_of("std::_MakeUniq<app::Node* []>::__array std::make_unique<app::Node* []>(unsigned "
                "long)") == "app::Node*");
  CHECK(type_of("std::shared_ptr<app::Node> std::make_shared<app::Node, int>(int&&)") ==
        "app::Node");
  CHECK(type_of("void std::_Construct<app::Node, int>(app::Node*, int&&)") == "app::Node");
}

TEST_CASE("nodes of maps are pairs, however they are told") {
  const std::string text =
      "std::__cxx11::basic_string<char, std::char_traits<char>, "
      "std::allocator<char> >";
  const std::string pair = "std::pair<int const, " + text + " >";
  CHECK(type_of("std::__new_allocator<std::_Rb_tree_node<" + pair +
                " > >::allocate(unsigned long, void const*)") ==
        "std::pair<int const, std::string>");
  CHECK(type_of("std::_Rb_tree<int, " + pair + ", std::_Select1st<" + pair +
                " >, std::less<int>, std::allocator<" + pair + " > >::_M_get_node()") ==
        "std::pair<int const, std::string>");
  CHECK(type_of("std::map<int, " + text + ", std::less<int>, std::allocator<" + pair +
                " > >::operator[](int&&)") == "std::pair<int const, std::string>");
  CHECK(type_of("std::__1::__tree<std::__1::__value_type<int, app::Node>, "
                "std::__1::__map_value_compare<int> >::__construct_node()") ==
        "std::pair<int const, app::Node>");
}

TEST_CASE("types in names of libc++") {
  CHECK(type_of("std::__1::allocator<app::Node>::allocate[abi:v160006](unsigned long)") ==
        "app::Node");
  CHECK(type_of("std::__1::allocator<std::__1::__tree_node<std::__1::__value_type<int, app::Node>, "
                "void*>>::allocate[abi:ne200100](unsigned long)") ==
        "std::pair<int const, app::Node>");
  CHECK(type_of("std::__1::allocator<std::__1::__shared_ptr_emplace<app::Node, "
                "std::__1::allocator<app::Node>>>::allocate(unsigned long)") == "app::Node");
  CHECK(type_of("std::__1::__allocation_result<std::__1::allocator_traits<std::__1::allocator<"
                "app::Node>>::pointer> std::__1::__allocate_at_least[abi:v160006]<std::__1::"
                "allocator<app::Node>>(std::__1::allocator<app::Node>&, unsigned long)") ==
        "app::Node");
  CHECK(type_of("std::__1::unique_ptr<app::Node, std::__1::default_delete<app::Node>> "
                "std::__1::make_unique[abi:v160006]<app::Node, int>(int&&)") == "app::Node");
  CHECK(type_of("void std::__1::vector<app::Node, std::__1::allocator<app::Node>>::"
                "__push_back_slow_path<app::Node>(app::Node&&)") == "app::Node");
}

TEST_CASE("types in names of Rust") {
  CHECK(type_of("<alloc::boxed::Box<app::Node>>::new") == "app::Node");
  CHECK(type_of("<alloc[1b2c3d4e5f607182]::boxed::Box<app[0a1b2c3d4e5f6071]::Node>>::new") ==
        "app::Node");
  CHECK(type_of("<alloc::vec::Vec<app::Node>>::with_capacity") == "app::Node");
  CHECK(type_of("<alloc::raw_vec::RawVec<(u32, app::Node)>>::grow_one") == "(u32, app::Node)");
  CHECK(type_of("<alloc::vec::Vec<app::Node> as core::iter::traits::collect::FromIterator<"
                "app::Node>>::from_iter::<core::ops::range::Range<u32>>") == "app::Node");
  CHECK(type_of("<alloc::boxed::Box<alloc::sync::ArcInner<app::Node>>>::new") == "app::Node");
  CHECK(type_of("<alloc::boxed::Box<alloc::collections::btree::node::LeafNode<u32, u64>>>::"
                "try_new_uninit_in") == "(u32, u64)");
  CHECK(type_of("alloc::vec::from_elem::<app::Node>") == "app::Node");
  CHECK(type_of("<std::collections::hash::map::HashMap<u32, app::Node>>::insert") ==
        "(u32, app::Node)");
  CHECK(type_of("<alloc::string::String as core::clone::Clone>::clone") == "alloc::string::String");
  // Legacy names tell the parameter, or the type where it is written out in the library's code.
  CHECK(type_of("alloc::boxed::Box<T>::new::h0123456789abcdef").empty());
  CHECK(type_of("alloc::vec::Vec<T,A>::push::h0123456789abcdef").empty());
  CHECK(type_of("alloc::string::String::with_capacity::h0123456789abcdef") ==
        "alloc::string::String");
}

TEST_CASE("other names tell no type") {
  for (const char* name :
       {"main", "malloc", "operator new(unsigned long)", "app::Vec<int>::grow()",
        "std::sort<int*>(int*, int*)", "g_object_new", "", "<", ">", "std::vector<",
        "std::vector<>", "std::vector<int", "std::vector<int>>::f", "std::vector<int>",
        "make_unique<int>()", "app::std::vector<int>::f()", "<T as alloc::vec::Vec<u8>>::f"})
    CHECK_MESSAGE(type_of(name).empty(), name);
  CHECK(type_of("app::Pooled::operator new(unsigned long)") == "app::Pooled");
  CHECK(type_of("app::Pooled::operator new[](unsigned long)") == "app::Pooled");
}

TEST_CASE("hostile names take linear time") {
  const std::string open(60000, '<'), many(30000, ',');
  CHECK(type_of("std::vector" + open).empty());
  CHECK(type_of("std::vector<" + many + ">::f").empty());
  std::string deep = "std::allocator<";
  for (int i = 0; i < 2000; ++i) deep += "std::_List_node<";
  deep += "x" + std::string(2000, '>') + ">::allocate";
  CHECK(type_of(deep).starts_with("std::_List_node<"));
  CHECK(type_of("std::vector<" + std::string(70000, 'x') + ">::f").empty());
}

TEST_CASE("code of libraries") {
  for (const char* name :
       {"std::vector<int>::push_back(int&&)", "<core::iter::adapters::map::Map<I, F> as X>::fold",
        "alloc::raw_vec::finish_grow", "hashbrown::raw::inner::f"})
    CHECK_MESSAGE(allocates_for_callers(name), name);
  for (const char* name : {"core::Engine::run()", "alloc::pool()", "app::f", "main"})
    CHECK_MESSAGE(!allocates_for_callers(name), name);
}
