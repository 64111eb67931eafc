// SPDX-License-Identifier: BSD-2-Clause
// Shortens frames' names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

struct Shortening {
  bool templates = false;   // std::vector<int>::at -> std::vector<…>::at
  bool arguments = false;   // void f<int>(int) const -> f<int>
  bool namespaces = false;  // a::b::c::f(int) -> c::f(int): the last two parts
  bool java = false;        // Lcom/x/Y;::m -> com.x.Y.m
  bool packages = false;    // com.example.Y.m -> c.e.Y.m; includes java
  bool go = false;          // github.com/a/b.(*T).m -> b.(*T).m
  bool rust = false;        // f::h0123456789abcdef -> f, alloc[1b2c…]::f -> alloc::f
  bool any() const {
    return templates || arguments || namespaces || java || packages || go || rust;
  }
};

enum class ModuleFrames : uint8_t {
  none,
  between,  // a frame for the module whenever it changes: main;[libz.so.1];inflate
  only,     // in place of the functions: app;libz.so.1
};

// A name that is not understood, because its brackets do not match or it is in another language, is
// returned unchanged. "(anonymous namespace)", operators and lambdas are not taken apart.
std::string shorten(std::string_view name, const Shortening& what);

std::string shorten_templates(std::string_view name);
std::string shorten_arguments(std::string_view name);
std::string shorten_namespaces(std::string_view name);
std::string shorten_java(std::string_view name, bool packages);
std::string shorten_go(std::string_view name);
std::string shorten_rust(std::string_view name);

// Whether it is a function of the C++ library, whatever it takes and gives: "void
// std::construct_at<T>(T*)".
bool is_of_cpp_library(std::string_view name);

// Mangled names of C++ and Rust, also with what the loader and other tools add: "_Znwm@plt",
// "__Z4mainv", "_ZN3foo3barEv+0x1f".
std::string demangle_decorated(std::string_view name);

}  // namespace memflame
