// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "tests/collapse/tidy/tidy_fixture.h"
#include "tests/support/scaled.h"

using namespace memflame;

namespace {

struct Case {
  std::string_view before, after;
};

}  // namespace

TEST_CASE("templates") {
  constexpr std::array cases{
      Case{"std::vector<int, std::allocator<int> >::push_back(int const&)",
           "std::vector<…>::push_back(int const&)"},
      Case{"std::map<int, std::vector<std::pair<int, int>>>::at(int)", "std::map<…>::at(int)"},
      Case{"void f<int>(std::vector<int>)", "void f<…>(std::vector<…>)"},
      Case{"f<>()", "f<>()"},
      Case{"f<…>(int)", "f<…>(int)"},
      Case{"Foo::operator->()", "Foo::operator->()"},
      Case{"Foo<int>::operator->() const", "Foo<…>::operator->() const"},
      Case{"Foo<int>::operator->*(int)", "Foo<…>::operator->*(int)"},
      Case{"bool operator< <int>(A<int> const&, A<int> const&)",
           "bool operator< <…>(A<…> const&, A<…> const&)"},
      Case{"bool operator<<int>(A<int> const&)", "bool operator<<…>(A<…> const&)"},
      Case{"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
           "std::ostream& std::operator<< <…>(std::ostream&, char const*)"},
      Case{"std::operator<<<std::char_traits<char>>(std::ostream&, char)",
           "std::operator<<<…>(std::ostream&, char)"},
      Case{"Date::operator<(Date const&) const", "Date::operator<(Date const&) const"},
      Case{"Date::operator<=>(Date const&) const", "Date::operator<=>(Date const&) const"},
      Case{"operator<=(A<int>, A<int>)", "operator<=(A<…>, A<…>)"},
      Case{"S<3>::operator>(int)", "S<…>::operator>(int)"},
      Case{"S<3>::operator>>(int)", "S<…>::operator>>(int)"},
      Case{"operator>><char>(int)", "operator>><…>(int)"},
      Case{"operator new(unsigned long)", "operator new(unsigned long)"},
      Case{"F<int>::operator std::vector<int>() const", "F<…>::operator std::vector<…>() const"},
      Case{"std::enable_if<((4)>(2)), int>::type f<int>()", "std::enable_if<…>::type f<…>()"},
      Case{"g<((1)<(2)), (A)3>::h()", "g<…>::h()"},
      Case{"h<(1<<2)>::k()", "h<…>::k()"},
      Case{"decltype (((a)->b)()) call<Foo>(Foo*)", "decltype (((a)->b)()) call<…>(Foo*)"},
      Case{"main::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
           "main::{lambda(std::vector<…>)#1}::operator()(std::vector<…>) const"},
      Case{"std::function<int (int)>::operator()(int) const",
           "std::function<…>::operator()(int) const"},
      Case{"f()::{lambda(auto:1)#1}::operator()<int>(int) const",
           "f()::{lambda(auto:1)#1}::operator()<…>(int) const"},
      Case{"f[abi:cxx11]<int>(int)", "f[abi:cxx11]<…>(int)"},
      Case{"(anonymous namespace)::Pool<int>::get()", "(anonymous namespace)::Pool<…>::get()"},
      Case{"f<(anonymous namespace)::X>(int)", "f<…>(int)"},
      // Rust
      Case{"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
           "<alloc::vec::Vec<…> as core::ops::drop::Drop>::drop"},
      Case{"core::mem::swap::<u8>", "core::mem::swap::<…>"},
      Case{"serde::de::impls::<impl serde::de::Deserialize for alloc::vec::Vec<T>>::deserialize",
           "serde::de::impls::<impl serde::de::Deserialize for alloc::vec::Vec<…>>::deserialize"},
      Case{"<F as FnOnce<(A,)>>::call_once{{vtable.shim}}",
           "<F as FnOnce<…>>::call_once{{vtable.shim}}"},
      Case{"Vec<fn(i32) -> i64>::push", "Vec<…>::push"},
      // Other languages
      Case{"java.util.HashMap.<init>", "java.util.HashMap.<init>"},
      Case{"java.util.HashMap::<init>", "java.util.HashMap::<init>"},
      Case{"<module> (app.py:1)", "<module> (app.py:1)"},
      Case{"f()::<lambda(int)>::operator()(int) const",
           "f()::<lambda(int)>::operator()(int) const"},
  };
  for (const Case& c : cases) CHECK(shorten_templates(c.before) == c.after);
}

TEST_CASE("arguments") {
  constexpr std::array cases{
      Case{"f(int)", "f"},
      Case{"ns::C::m(std::vector<int> const&, char) const", "ns::C::m"},
      Case{"C::m() &&", "C::m"},
      Case{"C::m() const &", "C::m"},
      Case{"void f<int>(int)", "f<int>"},
      Case{"std::vector<int> const& ns::f<int>(int)", "ns::f<int>"},
      Case{"unsigned long ns::f<int>(int)::{lambda(char)#2}::operator()(char) const",
           "ns::f<int>::{lambda(char)#2}::operator()"},
      Case{"decltype (((a)->b)()) call<Foo>(Foo*)", "call<Foo>"},
      Case{"decltype(auto) ns::f<int>(int)", "ns::f<int>"},
      Case{"operator new(unsigned long)", "operator new"},
      Case{"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
      Case{"operator delete(void*, unsigned long)", "operator delete"},
      Case{"A::operator()(int) const", "A::operator()"},
      Case{"A::operator()<int>(int) const", "A::operator()<int>"},
      Case{"A::operator->() const", "A::operator->"},
      Case{"A::operator[](unsigned long)", "A::operator[]"},
      Case{"A::operator,(B)", "A::operator,"},
      Case{"A::operator!() const", "A::operator!"},
      Case{"operator<(A, B)", "operator<"},
      Case{"operator<<(std::ostream&, A)", "operator<<"},
      Case{"std::ostream& std::operator<< <char>(std::ostream&, char)", "std::operator<< <char>"},
      Case{"A::operator std::string() const", "A::operator std::string"},
      Case{"A::operator unsigned long() const", "A::operator unsigned long"},
      Case{"A::operator char const*() const", "A::operator char const*"},
      Case{"A::operator std::vector<int>() const", "A::operator std::vector<int>"},
      Case{"operator\"\" _kb(unsigned long long)", "operator\"\" _kb"},
      Case{"operator co_await(Task&&)", "operator co_await"},
      Case{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
      Case{"bool (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f<int>"},
      Case{"a::(anonymous namespace)::f(int)::g()", "a::(anonymous namespace)::f::g"},
      Case{"f(int) [clone .isra.0]", "f [clone .isra.0]"},
      Case{"f[abi:cxx11](int)", "f[abi:cxx11]"},
      Case{"f(void (*)(int), int (&) [3])", "f"},
      Case{"f(int)@plt", "f@plt"},
      Case{"C::~C()", "C::~C"},
      Case{"non-virtual thunk to C::m(int)", "non-virtual thunk to C::m"},
      Case{"guard variable for f<int>(int)::x", "guard variable for f<int>::x"},
      Case{"f(int)::'lambda'(char)::operator()(char) const", "f::'lambda'(char)::operator()"},
      Case{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
      Case{"void std::__invoke_impl<void, f()::{lambda()#1}>(std::__invoke_other, "
           "f()::{lambda()#1}&&)",
           "std::__invoke_impl<void, f()::{lambda()#1}>"},
      // No arguments, or too hard to tell
      Case{"void (*f(int))(char)", "void (*f(int))(char)"},
      Case{"redis-server (pid 812)", "redis-server (pid 812)"},
      Case{"f (inlined)", "f (inlined)"},
      Case{"main.(*T).m", "main.(*T).m"},
      Case{"(*T).m", "(*T).m"},
      Case{"f(int", "f(int"},
      Case{"f)int(", "f)int("},
      Case{"a > b", "a > b"},
      Case{"decltype(x)", "decltype(x)"},
      Case{"-[NSFoo bar:]", "-[NSFoo bar:]"},
      Case{"java.util.HashMap.put(Object, Object)", "java.util.HashMap.put"},
  };
  for (const Case& c : cases) {
    CHECK(shorten_arguments(c.before) == c.after);
    CHECK(shorten_arguments(c.after) == c.after);
  }
}

TEST_CASE("namespaces: the last two parts") {
  constexpr std::array cases{
      Case{"a::b::c::d(int)", "c::d(int)"},
      Case{"a::b", "a::b"},
      Case{"a::b::(anonymous namespace)::f(x::y::z)", "b::(anonymous namespace)::f(x::y::z)"},
      Case{"a::(anonymous namespace)::b::C::f()", "(anonymous namespace)::C::f()"},
      Case{"a::b::c::f()::{lambda()#1}::operator()() const",
           "c::f()::{lambda()#1}::operator()() const"},
      Case{"x::y::z a::b::c::f<int>(int)", "x::y::z c::f<int>(int)"},
      Case{"std::vector<a::b::c>::push_back(int)", "vector<a::b::c>::push_back(int)"},
      Case{"a::b::C::operator std::string() const", "C::operator std::string() const"},
      Case{"a::b::C::operator<<(int)", "C::operator<<(int)"},
      Case{"<a::b::C as d::e::F>::g", "<a::b::C as d::e::F>::g"},
      Case{"a::b::c::d::{{closure}}", "c::d::{{closure}}"},
      Case{"a::b::c::d<(", "a::b::c::d<("},
      Case{"main", "main"},
  };
  for (const Case& c : cases) {
    CHECK(shorten_namespaces(c.before) == c.after);
    CHECK(shorten_namespaces(c.after) == c.after);
  }
}

TEST_CASE("Java, Go, Rust") {
  constexpr std::array java{
      Case{"Lcom/x/Y;::m", "com.x.Y.m"},
      Case{"Lcom/x/Y:::m", "com.x.Y.m"},
      Case{"com/x/Y:::m", "com.x.Y.m"},
      Case{"com/x/Y::m", "com.x.Y.m"},
      Case{"java/util/HashMap.put", "java.util.HashMap.put"},
      Case{"java/util/HashMap$Node.<init>", "java.util.HashMap$Node.<init>"},
      Case{"Lcom/x/Y;", "com.x.Y"},
      Case{"LFoo;::bar", "Foo.bar"},
      Case{"List::push(int)", "List::push(int)"},
      Case{"net/http.HandlerFunc.ServeHTTP", "net/http.HandlerFunc.ServeHTTP"},
      Case{"com.x.Y.m", "com.x.Y.m"},
      Case{"/usr/lib/libfoo.so", "/usr/lib/libfoo.so"},
      Case{"L;", "L;"},
      Case{"", ""},
  };
  for (const Case& c : java) CHECK(shorten_java(c.before, false) == c.after);
  CHECK(shorten_java("Lcom/example/Y;::m", true) == "c.e.Y.m");
  CHECK(shorten_java("org.a.b.Klass.m.n", true) == "o.a.b.Klass.m.n");
  CHECK(shorten_java("main.run", true) == "main.run");
  CHECK(shorten_java("std::a.b.C", true) == "std::a.b.C");

  constexpr std::array go{
      Case{"github.com/foo/bar/pkg.(*T).m", "pkg.(*T).m"},
      Case{"net/http.HandlerFunc.ServeHTTP", "http.HandlerFunc.ServeHTTP"},
      Case{"github.com/a/b/v2.(*T).m.func1", "b/v2.(*T).m.func1"},
      Case{"a/b.F[github.com/x/y.T]", "b.F[github.com/x/y.T]"},
      Case{"runtime.mallocgc", "runtime.mallocgc"},
      Case{"main.(*T).m", "main.(*T).m"},
      Case{"github.com/Foo/Bar.F", "Bar.F"},
      Case{"java/util/HashMap.put", "java/util/HashMap.put"},
      Case{"/usr/lib/x.so", "/usr/lib/x.so"},
      Case{"kworker/0:1", "kworker/0:1"},
      Case{"~f /srv/app/x.js:12", "~f /srv/app/x.js:12"},
      Case{"a/b::c.d", "a/b::c.d"},
  };
  for (const Case& c : go) CHECK(shorten_go(c.before) == c.after);

  constexpr std::array rust{
      Case{"core::ptr::drop_in_place::h0123456789abcdef", "core::ptr::drop_in_place"},
      Case{"f::h0123456789abcdef.llvm.123", "f"},
      Case{"f::h0123456789abcdeg", "f::h0123456789abcdeg"},
      Case{"core[1b2c3d4e5f607182]::f::<alloc[0123456789abcdef]::T>", "core::f::<alloc::T>"},
      Case{"f[abi:cxx11]::g", "f[abi:cxx11]::g"},
      Case{"::h0123456789abcdef", "::h0123456789abcdef"},
  };
  for (const Case& c : rust) CHECK(shorten_rust(c.before) == c.after);
}

TEST_CASE("mangled names") {
  CHECK(demangle_decorated("_Znwm") == "operator new(unsigned long)");
  CHECK(demangle_decorated("_Znwm@plt") == "operator new(unsigned long)@plt");
  CHECK(demangle_decorated("__ZN3foo3barEv") == "foo::bar()");
  CHECK(demangle_decorated("_ZN3foo3barEv+0x1f") == "foo::bar()+0x1f");
  CHECK(demangle_decorated("_ZN4core3ptr13drop_in_place17h0123456789abcdefE") ==
        "core::ptr::drop_in_place");
  CHECK(demangle_decorated("_RNvC6_123foo3bar") == "123foo::bar");
  for (const std::string_view same : {"main", "", "_", "_Z", "_Zz", "__libc_start_main", "____"})
    CHECK(demangle_decorated(same) == same);
}

TEST_CASE("several at once, on frames only") {
  const Shortening both{.templates = true, .arguments = true};
  CHECK(shorten("void f<int>(std::vector<int>)", both) == "f<…>");
  const Profile before = profile_of(
      "# memflame roots=\"process\"\na (pid 1);f<int>(int) 1\na (pid 1);f<char>(int) 2\n"
      "a (pid 1);[x<int>.so+0x12] 4\n");
  CHECK(lines(shorten_names(before, both)) ==
        Lines{{"a (pid 1);f<…>", 3}, {"a (pid 1);[x<int>.so+0x12]", 4}});
}

TEST_CASE("functions of the C++ library are told by their name, not by their arguments") {
  CHECK(memflame::is_of_cpp_library("std::vector<int>::push_back(int&&)"));
  CHECK(memflame::is_of_cpp_library("void std::construct_at<app::T>(app::T*)"));
  CHECK(memflame::is_of_cpp_library("__gnu_cxx::new_allocator<app::T>::allocate(unsigned long)"));
  CHECK_FALSE(memflame::is_of_cpp_library("app::load(std::string const&)"));
  CHECK_FALSE(memflame::is_of_cpp_library("std_app::load()"));
  CHECK_FALSE(memflame::is_of_cpp_library("void app::load<std::string>(std::string)"));
}

TEST_CASE("hostile names end, in linear time") {
  const size_t size = scaled(1U << 20U);
  const Shortening all{true, true, true, true, true, true, true};
  for (const std::string_view piece : {"<",         ">",
                                       "(",         ")",
                                       "::",        "operator",
                                       "operator<", "(anonymous namespace",
                                       "a::",       "f(",
                                       "f<",        "->",
                                       " ",         "[",
                                       "{",         "L/",
                                       "a.",        "/",
                                       "operator ", "f<(",
                                       "<)",        "[0123456789abcdef",
                                       "&",         "const ",
                                       " const",    "'",
                                       "(*"}) {
    std::string name;
    while (name.size() < size) name += piece;
    CHECK(shorten(name, all).size() <= name.size() + name.size() / 2 + 16);
    std::string closed = std::string(size / 2, '(') + std::string(size / 2, ')');
    CHECK_FALSE(shorten(piece.data() + closed, all).empty());
  }
}
