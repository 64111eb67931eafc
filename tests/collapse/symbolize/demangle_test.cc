// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/demangle.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string base62(size_t value) {
  const std::string digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (value == 0) return "_";
  std::string text = "_";
  for (--value;; value /= 62) {
    text.insert(0, 1, digits[value % 62]);
    if (value < 62) return text;
  }
}

}  // namespace

TEST_CASE("C++") {
  CHECK(demangle("_Z3foov") == "foo()");
  CHECK(demangle("_ZN2ns3Box4holdIiEET_S2_") == "int ns::Box::hold<int>(int)");
  CHECK(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi") ==
        "std::vector<int, std::allocator<int> >::push_back(int const&)");
  CHECK(demangle("_Znwm") == "operator new(unsigned long)");
  CHECK(demangle("_ZN12_GLOBAL__N_13runEv") == "(anonymous namespace)::run()");
  CHECK(demangle("_ZZ4mainENKUlvE_clEv") == "main::{lambda()#1}::operator()() const");
  CHECK(demangle("_Z3fooi.cold") == "foo(int) [clone .cold]");
  CHECK(demangle("_Z3fooi.isra.0") == "foo(int) [clone .isra.0]");
}

TEST_CASE("names of other languages, and what only looks mangled, stay as they are") {
  const char* names[] = {
      "",           "main", "malloc",  "__libc_malloc", "_Zz", "_ZN",         "_start",
      "foo.part.0", "_R",   "_RX",     "_RNv",          "_Z",  "std::vector", "_ZN17h",
      "_RYou",      "[x]",  "_ZN3foo", "a name; spaces"};
  for (const char* name : names) CHECK(demangle(name) == name);
}

// Names as rustc writes them, from programs made for this test.
TEST_CASE("Rust, legacy: the hash is left out") {
  CHECK(demangle("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE") ==
        "core::fmt::Formatter::write_str");
  CHECK(demangle("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h00112233aabbccddE") ==
        "core::ptr::drop_in_place<alloc::string::String>");
  CHECK(demangle("_ZN71_$LT$std..io..Write..write_fmt..Adapter$LT$T$GT$$u20$as$u20$core..fmt.."
                 "Write$GT$9write_str17h8c1d8f5e4a2b7c90E") ==
        "_ZN71_$LT$std..io..Write..write_fmt..Adapter$LT$T$GT$$u20$as$u20$core..fmt.."
        "Write$GT$9write_str17h8c1d8f5e4a2b7c90E");  // a length that does not fit
  CHECK(demangle("_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt"
                 "17h8c1d8f5e4a2b7c90E") == "<alloc::string::String as core::fmt::Display>::fmt");
  CHECK(demangle("_ZN3foo28_$u7b$$u7b$closure$u7d$$u7d$17h8c1d8f5e4a2b7c90E.llvm.12345") ==
        "foo::{{closure}}");
  CHECK(demangle("_ZN1a11gr$uf6$$udf$e9h$uf6$he17h8c1d8f5e4a2b7c90E.llvm.1") ==
        "_ZN1a11gr$uf6$$udf$e9h$uf6$he17h8c1d8f5e4a2b7c90E.llvm.1");
  CHECK(demangle("_ZN1a13gr$uf6$$udf$e17h8c1d8f5e4a2b7c90E") == "a::größe");
  CHECK(demangle("_ZN1a3f$C17h8c1d8f5e4a2b7c90E") == "a::f$C");  // not a whole escape
  CHECK(demangle("_ZN1a6f$ud8$17h8c1d8f5e4a2b7c90E") == "a::fØ");
  CHECK(demangle("_ZN1a8f$ud800$17h8c1d8f5e4a2b7c90E") == "a::f$ud800$");  // no code point
}

TEST_CASE("Rust, v0") {
  CHECK(demangle("_RNvCs6xxl1lAjzDf_1a4main") == "a::main");
  CHECK(demangle("_RINvCs6xxl1lAjzDf_1a5takesINtNtCslNYArtu3iFV_5alloc5boxed3BoxDNtNtNtNtCsgEmfK2"
                 "I1SDS_4core4iter6traits8iterator8Iteratorp4ItemmNtNtB16_6marker4SendEL_EEB2_") ==
        "a::takes::<alloc::boxed::Box<dyn core::iter::traits::iterator::Iterator<Item = u32> + "
        "core::marker::Send>>");
  CHECK(demangle("_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeNCINvNtNtCsjrHSEGnQ3l9_3std6thread"
                 "9lifecycle15spawn_uncheckedNCNvCs6xxl1lAjzDf_1a4main0INtNtCslNYArtu3iFV_5alloc3"
                 "vec3VeclEEs_0EB1J_") ==
        "core::ptr::drop_in_place::<std::thread::lifecycle::spawn_unchecked<a::main::{closure#0}, "
        "alloc::vec::Vec<i32>>::{closure#1}>");
  CHECK(
      demangle("_RNSNvYNCNvCs1_1a4main0INtNtNtCs2_4core3ops8function6FnOnceuE9call_once6vtable") ==
      "<a::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}");
  CHECK(demangle("_RNvCs1_1a4main.llvm.77") == "a::main");
  CHECK(demangle("_RNvNtCs6xxl1lAjzDf_1au9gre_6ka8iu7hhe_sna") == "a::größe::höhe");
}

TEST_CASE("Rust, v0: types and constants") {
  const auto type = [](const std::string& mangled) {
    const std::string name = demangle("_RINvC1a1f" + mangled + "E");
    return name.starts_with("a::f::<") ? name.substr(7, name.size() - 8) : name;
  };
  CHECK(type("l") == "i32");
  CHECK(type("TEz") == "(), !");
  CHECK(type("TlEu") == "(i32,), ()");
  CHECK(type("TlmE") == "(i32, u32)");
  CHECK(type("RShPhOh") == "&[u8], *const u8, *mut u8");
  CHECK(type("QAhj4_") == "&mut [u8; 4]");
  CHECK(type("FUKCRhEu") == "unsafe extern \"C\" fn(&u8)");
  CHECK(type("FK6systemEl") == "extern \"system\" fn() -> i32");
  CHECK(type("FG_RL0_hEQL0_h") == "for<'a> fn(&'a u8) -> &'a mut u8");
  CHECK(type("FG0_RL1_hRL0_hEu") == "for<'a, 'b> fn(&'a u8, &'b u8)");
  CHECK(type("DNtC1a1TEL_") == "dyn a::T");
  CHECK(type("Kb1_Kb0_Kj1f_Kan5_Kc41_Kcd6_Kp") == "true, false, 31, -5, 'A', '\\u{d6}', _");
  CHECK(type("Ko123456789abcdef01_") == "0x123456789abcdef01");
  CHECK(type("Knn80000000000000000000000000000000_") == "-0x80000000000000000000000000000000");
  CHECK(type("L_") == "'_");
  CHECK(type("INtC1a1VhE") == "a::V<u8>");
  CHECK(type("NtMC1aNtC1a1B1C") == "<a::B>::C");
  CHECK(type("NvXC1bNtC1a1BNtC1a1T1m") == "<a::B as a::T>::m");
  CHECK(type("lB7_") == "i32, i32");
  CHECK(type("B7_").starts_with("_R"));  // a reference to itself
}

TEST_CASE("names that would unfold to gigabytes stay as they are") {
  // Each argument is a pair of two of the one before: 2^30 of them in all.
  std::string cpp = "_Z1fSt4pairIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (size_t i = 0; i < 30; ++i) {
    const std::string before = std::string("S") + digits[i] + "_";
    cpp += "S_I" + before + before + "E";
  }
  CHECK(demangle(cpp) == cpp);
  std::string rust = "_RINvC1a1fTllE";
  size_t newest = 8;  // where the last tuple starts, counted behind "_R"
  for (int i = 0; i < 30; ++i) {
    const std::string reference = "B" + base62(newest);
    newest = rust.size() - 2;
    rust += "T" + reference + reference + "E";
  }
  CHECK(demangle(rust + "E") == rust + "E");
  const std::string deep(60000, 'N'), wide = "_ZN" + std::string(60000, '1') + "Ev";
  CHECK(demangle("_R" + deep) == "_R" + deep);
  CHECK(demangle(wide) == wide);
  CHECK(demangle("_RINvC1a1f" + std::string(5000, 'R') + "lE").starts_with("_RINv"));
  const std::string long_name = "_Z" + std::string(70000, 'P');
  CHECK(demangle(long_name) == long_name);
}

TEST_CASE("random changes to good names") {
  const std::string names[] = {"_ZNSt6vectorIiSaIiEE9push_backERKi", "_ZZ4mainENKUlvE_clEv",
                               "_ZN3foo28_$u7b$$u7b$closure$u7d$$u7d$17h8c1d8f5e4a2b7c90E",
                               "_RINvC1a1fNtNtC1b1c1TDNtC1d1Ep1FmNtB6_1GEL_FUKCRhEuE",
                               "_RNvNtCs6xxl1lAjzDf_1au9gre_6ka8iu7hhe_sna"};
  const std::string alphabet = "_0123456789abcABCDEFGHIKLMNOPQRSTUXYZ$.";
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string name = names[random() % std::size(names)];
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      name[2 + random() % (name.size() - 2)] = alphabet[random() % alphabet.size()];
    CHECK(demangle(name).size() <= 65536);
  }
}
