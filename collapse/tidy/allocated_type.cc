// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/allocated_type.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "collapse/tidy/name_scan.h"
#include "collapse/tidy/names.h"
#include "collapse/tidy/template_name.h"

namespace memflame {
namespace {

constexpr size_t longest_name = 65536;
constexpr int most_wrappers = 4;  // a node of a tree of pairs has two

// "alloc::vec::Vec<T>" of Rust's "<alloc::vec::Vec<T> as Trait>::f" and "<alloc::vec::Vec<T>>::f";
// of other names nothing.
std::string_view rust_self(std::string_view name) {
  const std::optional<std::vector<NameSpan>> spans = scan_name(name);
  if (!spans || spans->empty() || spans->front().begin != 0 ||
      spans->front().kind != SpanKind::angle)
    return {};
  const size_t end = spans->front().end - 1;
  if (!name.substr(end).starts_with(">::")) return {};
  size_t i = 1, inner = 1;
  for (; i < end; ++i) {
    while (inner < spans->size() && (*spans)[inner].begin < i) ++inner;
    if (inner < spans->size() && (*spans)[inner].begin == i)
      i = (*spans)[inner].end - 1;
    else if (name.substr(i).starts_with(" as "))
      break;
  }
  return name.substr(1, i - 1);
}

enum class Element : uint8_t {
  first,      // T of vector<T>
  second,     // the second argument
  pair,       // std::pair<K const, V> of map<K, V>
  rust_pair,  // (K, V)
  allocator   // T of allocator_traits<allocator<T>>
};

enum class Form : uint8_t { member, function };

struct Helper {
  std::string_view name;
  Element element = Element::first;
  Form form = Form::member;
};

constexpr std::array helpers{
    // Allocators.
    Helper{"std::allocator"},
    Helper{"std::__new_allocator"},
    Helper{"__gnu_cxx::new_allocator"},
    Helper{"__gnu_cxx::malloc_allocator"},
    Helper{"__gnu_cxx::__pool_alloc"},
    Helper{"__gnu_cxx::__mt_alloc"},
    Helper{"__gnu_cxx::bitmap_allocator"},
    Helper{"std::pmr::polymorphic_allocator"},
    Helper{"std::allocator_traits", Element::allocator},
    Helper{"__gnu_cxx::__alloc_traits", Element::allocator},
    Helper{"std::__detail::_Hashtable_alloc", Element::allocator},
    Helper{"std::__allocate_guarded", Element::allocator, Form::function},
    Helper{"std::__allocate_at_least", Element::allocator, Form::function},
    // Functions that make one object.
    Helper{"std::make_unique", Element::first, Form::function},
    Helper{"std::make_unique_for_overwrite", Element::first, Form::function},
    Helper{"std::make_shared", Element::first, Form::function},
    Helper{"std::make_shared_for_overwrite", Element::first, Form::function},
    Helper{"std::allocate_shared", Element::first, Form::function},
    Helper{"std::_Construct", Element::first, Form::function},
    Helper{"std::construct_at", Element::first, Form::function},
    Helper{"std::__construct_at", Element::first, Form::function},
    Helper{"boost::make_unique", Element::first, Form::function},
    Helper{"boost::make_shared", Element::first, Form::function},
    Helper{"absl::make_unique", Element::first, Form::function},
    // Containers.
    Helper{"std::vector"},
    Helper{"std::_Vector_base"},
    Helper{"std::deque"},
    Helper{"std::_Deque_base"},
    Helper{"std::list"},
    Helper{"std::_List_base"},
    Helper{"std::forward_list"},
    Helper{"std::_Fwd_list_base"},
    Helper{"std::set"},
    Helper{"std::multiset"},
    Helper{"std::unordered_set"},
    Helper{"std::unordered_multiset"},
    Helper{"std::map", Element::pair},
    Helper{"std::multimap", Element::pair},
    Helper{"std::unordered_map", Element::pair},
    Helper{"std::unordered_multimap", Element::pair},
    Helper{"std::_Rb_tree", Element::second},
    Helper{"std::_Hashtable", Element::second},
    Helper{"std::__detail::_Map_base", Element::second},
    Helper{"std::valarray"},
    Helper{"std::basic_string"},
    Helper{"std::_Function_base::_Base_manager"},
    Helper{"std::__split_buffer"},
    Helper{"std::__tree"},
    Helper{"std::__hash_table"},
    Helper{"QVector"},
    Helper{"QList"},
    Helper{"QTypedArrayData"},
    Helper{"QHash", Element::pair},
    Helper{"QMap", Element::pair},
    // Rust.
    Helper{"alloc::boxed::Box"},
    Helper{"alloc::rc::Rc"},
    Helper{"alloc::sync::Arc"},
    Helper{"alloc::vec::Vec"},
    Helper{"alloc::raw_vec::RawVec"},
    Helper{"alloc::vec::from_elem", Element::first, Form::function},
    Helper{"alloc::collections::vec_deque::VecDeque"},
    Helper{"alloc::collections::linked_list::LinkedList"},
    Helper{"alloc::collections::binary_heap::BinaryHeap"},
    Helper{"alloc::collections::btree::set::BTreeSet"},
    Helper{"alloc::collections::btree::map::BTreeMap", Element::rust_pair},
    Helper{"alloc::collections::btree::node::LeafNode", Element::rust_pair},
    Helper{"std::collections::hash::set::HashSet"},
    Helper{"std::collections::hash::map::HashMap", Element::rust_pair},
    Helper{"hashbrown::set::HashSet"},
    Helper{"hashbrown::map::HashMap", Element::rust_pair},
    Helper{"hashbrown::raw::RawTable"},
};

// What lies in memory around one object.
constexpr std::array<std::string_view, 14> wrappers{"std::_List_node",
                                                    "std::_Fwd_list_node",
                                                    "std::_Rb_tree_node",
                                                    "std::__detail::_Hash_node",
                                                    "std::__list_node",
                                                    "std::__forward_list_node",
                                                    "std::__tree_node",
                                                    "std::__hash_node",
                                                    "std::_Sp_counted_ptr_inplace",
                                                    "std::__shared_ptr_emplace",
                                                    "alloc::rc::RcInner",
                                                    "alloc::rc::RcBox",
                                                    "alloc::sync::ArcInner",
                                                    "core::mem::maybe_uninit::MaybeUninit"};

std::string pair_of(std::string_view key, std::string_view value) {
  return "std::pair<" + std::string(key) + " const, " + std::string(value) + ">";
}

std::string rust_pair_of(std::string_view key, std::string_view value) {
  return "(" + std::string(key) + ", " + std::string(value) + ")";
}

// "app::Node" of "std::_List_node<app::Node>".
std::string unwrapped(std::string_view type) {
  for (int i = 0; i < most_wrappers; ++i) {
    const std::optional<TemplateName> parts = template_name(type);
    if (!parts || !parts->rest.empty()) break;
    const auto& [key, value] = parts->arguments;
    if (parts->name == "std::__value_type" || parts->name == "std::__hash_value_type")
      return pair_of(key, value);
    if (parts->name == "alloc::collections::btree::node::LeafNode" ||
        parts->name == "alloc::collections::btree::node::InternalNode")
      return rust_pair_of(key, value);
    if (std::find(wrappers.begin(), wrappers.end(), parts->name) == wrappers.end()) break;
    type = key;
  }
  while (type.ends_with("[]")) {
    type.remove_suffix(2);
    while (type.ends_with(' ')) type.remove_suffix(1);
  }
  return std::string(type);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    out.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  if (at != 0) text = out.append(text, at);
}

// "std::make_unique<T>" of "std::make_unique[abi:v160006]<T>".
std::string without_abi_tags(std::string_view name) {
  std::string out;
  size_t at = 0;
  for (size_t tag = name.find("[abi:"); tag != std::string_view::npos;
       tag = name.find("[abi:", at)) {
    const size_t end = name.find(']', tag);
    if (end == std::string_view::npos) break;
    out.append(name.substr(at, tag - at));
    at = end + 1;
  }
  return out.append(name.substr(at));
}

// One spelling of what demanglers and libraries spell in several ways.
std::string one_spelling(std::string_view name) {
  std::string text = without_abi_tags(shorten_arguments(shorten_rust(name)));
  for (const std::string_view space : {"std::__1::", "std::__cxx11::", "std::__ndk1::"})
    replace_all(text, space, "std::");
  replace_all(text, "std::_V2::", "std::");
  for (size_t size = 0; size != text.size();) {  // "> > >" needs a second pass
    size = text.size();
    replace_all(text, "> >", ">>");
  }
  replace_all(text, "std::basic_string<char, std::char_traits<char>, std::allocator<char>>::",
              "std::basic_string<char>::");
  replace_all(text, "std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
              "std::string");
  replace_all(text,
              "std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t>>",
              "std::wstring");
  return text;
}

// Rust's legacy names have the names of parameters, not of types: "alloc::vec::Vec<T,A>::push".
bool is_placeholder(std::string_view type) {
  return type.empty() || type == "_" || (type.size() == 1 && type[0] >= 'A' && type[0] <= 'Z');
}

std::string element_of(const Helper& helper, const TemplateName& parts) {
  const auto& [one, two] = parts.arguments;
  const bool is_rust = helper.name.starts_with("alloc::") ||
                       helper.name.starts_with("hashbrown::") ||
                       helper.name.starts_with("std::collections::");
  if (is_rust &&
      (is_placeholder(one) || (helper.element == Element::rust_pair && is_placeholder(two))))
    return "";
  switch (helper.element) {
    case Element::first:
      return unwrapped(one);
    case Element::second:
      return unwrapped(two);
    case Element::pair:
      return two.empty() ? "" : pair_of(one, two);
    case Element::rust_pair:
      return rust_pair_of(one, two);
    case Element::allocator:
      break;
  }
  const std::optional<TemplateName> allocator = template_name(one);
  return allocator && allocator->rest.empty() ? unwrapped(allocator->arguments[0]) : "";
}

bool is_letter(std::string_view type) {
  constexpr std::array<std::string_view, 7> letters{"char",     "wchar_t", "char8_t", "char16_t",
                                                    "char32_t", "QChar",   "u8"};
  return std::find(letters.begin(), letters.end(), type) != letters.end();
}

AllocatedType of_class_operator(std::string_view name) {
  for (const std::string_view end : {"::operator new", "::operator new[]"})
    if (name.ends_with(end) && name.size() > end.size())
      return {.type = std::string(name.substr(0, name.size() - end.size()))};
  return {};
}

constexpr std::string_view rust_string = "alloc::string::String";

bool is_rust_string(std::string_view name) {
  return name.starts_with("alloc::string::String::") ||
         name.starts_with("<alloc::string::String>::") ||
         name.starts_with("<alloc::string::String as ");
}

}  // namespace

AllocatedType allocated_type(std::string_view function) {
  if (function.size() > longest_name) return {};
  const std::string name = one_spelling(function);
  if (is_rust_string(name)) return {.type = std::string(rust_string), .is_string = true};
  const std::string_view self = rust_self(name);
  const std::optional<TemplateName> parts = template_name(self.empty() ? name : self);
  if (!parts) return of_class_operator(name);
  const auto* const helper = std::find_if(helpers.begin(), helpers.end(), [&](const Helper& known) {
    if (known.name != parts->name) return false;
    if (!self.empty()) return parts->rest.empty();
    return known.form == Form::function ? parts->rest.empty() : parts->rest.starts_with("::");
  });
  if (helper == helpers.end()) return of_class_operator(name);
  std::string type = element_of(*helper, *parts);
  if (helper->name == "std::basic_string")
    return {.type = type == "char" ? "std::string" : "std::basic_string<" + type + ">",
            .is_string = true};
  const bool letter = is_letter(type);
  return {.type = std::move(type), .is_letter = letter};
}

bool allocates_for_callers(std::string_view function) {
  if (function.size() > longest_name) return false;
  if (is_of_cpp_library(function)) return true;
  const std::string spelled = shorten_rust(function);
  std::string_view name = spelled;
  while (name.starts_with('<')) name.remove_prefix(1);
  // Folders of Rust's libraries: `core` and `alloc` alone may be anybody's namespace.
  constexpr std::array<std::string_view, 29> folders{"alloc::alloc::",
                                                     "alloc::borrow::",
                                                     "alloc::boxed::",
                                                     "alloc::collections::",
                                                     "alloc::fmt::",
                                                     "alloc::raw_vec::",
                                                     "alloc::rc::",
                                                     "alloc::slice::",
                                                     "alloc::str::",
                                                     "alloc::string::",
                                                     "alloc::sync::",
                                                     "alloc::vec::",
                                                     "core::alloc::",
                                                     "core::array::",
                                                     "core::clone::",
                                                     "core::convert::",
                                                     "core::default::",
                                                     "core::fmt::",
                                                     "core::iter::",
                                                     "core::mem::",
                                                     "core::ops::",
                                                     "core::option::",
                                                     "core::ptr::",
                                                     "core::result::",
                                                     "core::slice::",
                                                     "core::str::",
                                                     "hashbrown::",
                                                     "std::collections::",
                                                     "std::"};
  return std::any_of(folders.begin(), folders.end(),
                     [&](std::string_view folder) { return name.starts_with(folder); });
}

}  // namespace memflame
