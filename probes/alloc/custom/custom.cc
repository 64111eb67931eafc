// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/custom/custom.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t max_declaration = 4096;
constexpr unsigned max_arguments = 6;  // only arguments in registers

// The text of a declaration, and how far it has been read.
struct Cursor {
  std::string_view option, text;
  size_t at = 0;

  [[noreturn]] void fail(const std::string& expected) const { fail_at(at, expected); }
  [[noreturn]] void fail_at(size_t column, const std::string& expected) const {
    throw Error(std::string(option) + " '" + std::string(text) + "', column " +
                    std::to_string(column + 1) + ": expected " + expected,
                ExitCode::usage);
  }
  bool take(std::string_view word) {
    if (!text.substr(at).starts_with(word)) return false;
    at += word.size();
    return true;
  }
  std::string_view take_until(std::string_view stops) {
    const std::string_view rest = text.substr(at);
    const std::string_view word = rest.substr(0, rest.find_first_of(stops));
    at += word.size();
    return word;
  }
};

// Returns 1 for "arg0", because 0 means no argument.
unsigned take_argument(Cursor& cursor) {
  const size_t start = cursor.at;
  if (!cursor.take("arg")) cursor.fail("arg0 to arg5");
  const std::string_view digits = cursor.take_until(",)*");
  if (digits.size() != 1 || digits[0] < '0' || digits[0] >= static_cast<char>('0' + max_arguments))
    cursor.fail_at(start, "arg0 to arg5 (arguments in registers)");
  return static_cast<unsigned>(digits[0] - '0') + 1;
}

void take_size(Cursor& cursor, CustomFunction& function) {
  if (function.shape.size != 0) cursor.fail("either size= or size32=");
  function.shape.size = take_argument(cursor) & 7U;
  if (cursor.take("*")) function.shape.count = take_argument(cursor) & 7U;
}
void take_size32(Cursor& cursor, CustomFunction& function) {
  take_size(cursor, function);
  function.shape.int_size = 1;
}
void take_result(Cursor& cursor, CustomFunction& function) {
  if (cursor.take("ret")) return;
  if (!cursor.take("*")) cursor.fail("ret, or *argN for an address that is written there");
  function.shape.out = take_argument(cursor) & 7U;
}
void take_block(Cursor& cursor, CustomFunction& function) {
  function.shape.block = take_argument(cursor) & 7U;
}
void take_pool(Cursor& cursor, CustomFunction& function) {
  function.shape.pool = take_argument(cursor) & 7U;
}

struct Field {
  std::string_view name;  // with '=' if a value follows
  void (*read)(Cursor&, CustomFunction&);
};

constexpr std::array alloc_fields{
    Field{"size=", take_size},
    Field{"size32=", take_size32},
    Field{"ptr=", take_result},
    Field{"old=", take_block},
    Field{"pool=", take_pool},
    Field{"throws", [](Cursor&, CustomFunction& f) { f.shape.own_end = 1; }},
    Field{"zero-frees", [](Cursor&, CustomFunction& f) { f.shape.always_frees = 1; }},
    Field{"later", [](Cursor&, CustomFunction& f) { f.later = true; }},
};
constexpr std::array free_fields{
    Field{"ptr=", take_block},
    Field{"pool=", take_pool},
    Field{"forwards", [](Cursor&, CustomFunction& f) { f.shape.forwards = 1; }},
    Field{"later", [](Cursor&, CustomFunction& f) { f.later = true; }},
};

template <size_t n>
void take_fields(Cursor& cursor, const std::array<Field, n>& fields, CustomFunction& function) {
  std::string names;
  for (const Field& field : fields) names += (names.empty() ? "" : ", ") + std::string(field.name);
  std::array<bool, n> seen{};
  do {
    const size_t start = cursor.at;
    const std::string_view word = cursor.take_until("=,)");
    const bool has_value = cursor.take("=");
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& each) {
      return each.name == cursor.text.substr(start, word.size() + (has_value ? 1 : 0));
    });
    if (field == fields.end()) cursor.fail_at(start, "one of " + names);
    bool& known = seen.at(static_cast<size_t>(field - fields.begin()));
    if (known) cursor.fail_at(start, std::string(field->name) + " only once");
    known = true;
    field->read(cursor, function);
  } while (cursor.take(","));
  if (!cursor.take(")")) cursor.fail("',' or ')'");
  if (cursor.at != cursor.text.size()) cursor.fail("nothing after ')'");
}

void take_offset(const Cursor& cursor, size_t column, CustomFunction& function) {
  std::string_view digits = std::string_view(function.function).substr(1);
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  uint64_t offset = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), offset, 16);
  if (error != std::errc() || end != digits.data() + digits.size())
    cursor.fail_at(column, "an offset in the file in hexadecimal, like +0x1a40");
  if (function.file.empty()) cursor.fail_at(0, "FILE: in front of an offset");
  function.offset = offset;
  function.function.clear();
}

// "[FILE:]FUNCTION(". A path may contain ':', a symbol cannot.
void take_place(Cursor& cursor, CustomFunction& function) {
  const size_t open = cursor.text.rfind('(');
  if (open == std::string_view::npos)
    cursor.fail_at(cursor.text.size(), "'(' and what the arguments are");
  const std::string_view place = cursor.text.substr(0, open);
  const size_t colon = place.rfind(':');
  const size_t name = colon == std::string_view::npos ? 0 : colon + 1;
  if (colon != std::string_view::npos) {
    if (colon > 0 && place[colon - 1] == ':')
      cursor.fail_at(name, "the function's name as the linker knows it (nm -D FILE lists them)");
    function.file = place.substr(0, colon);
  }
  function.function = place.substr(name);
  if (function.function.empty()) cursor.fail_at(name, "a function's name, or +OFFSET");
  for (size_t i = 0; i < function.function.size(); ++i)
    if (const auto c = static_cast<unsigned char>(function.function[i]); c <= ' ' || c == 0x7f)
      cursor.fail_at(name + i, "a function's name without spaces");
  if (function.function[0] == '+') take_offset(cursor, name, function);
  cursor.at = open + 1;
}

Cursor begin(std::string_view option, std::string_view text) {
  Cursor cursor{option, text};
  if (text.size() > max_declaration)
    throw Error(std::string(option) + ": a declaration of " + std::to_string(text.size()) +
                    " bytes, more than the limit of " + std::to_string(max_declaration),
                ExitCode::usage);
  return cursor;
}

// Pools need both an allocating and a freeing declaration. Blocks do not: a function that need not
// be declared may free them, like free().
void require_pairs(const std::vector<CustomFunction>& functions, const std::string& what) {
  bool allocates = false, frees = false;
  for (const CustomFunction& function : functions)
    if (function.shape.pool != 0)
      (function.shape.action == bpf::action_allocate ? allocates : frees) = true;
  if (allocates && !frees)
    throw Error(what + " declares a function that allocates from a pool and none that frees one: " +
                    "add --free 'FUNCTION(pool=arg0)'",
                ExitCode::usage);
  if (frees && !allocates)
    throw Error(what + " declares a function that frees a pool and none that allocates from one: " +
                    "add --alloc 'FUNCTION(pool=arg0,size=arg1,ptr=ret)'",
                ExitCode::usage);
}

}  // namespace

CustomFunction parse_alloc(std::string_view text) {
  Cursor cursor = begin("--alloc", text);
  CustomFunction function;
  function.option = "--alloc";
  function.text = text;
  take_place(cursor, function);
  function.shape.action = bpf::action_allocate;
  function.shape.family = bpf::family_other;
  const size_t fields = cursor.at;
  take_fields(cursor, alloc_fields, function);
  if (function.shape.size == 0) cursor.fail_at(fields, "size= or size32=, the bytes asked for");
  if (function.shape.always_frees != 0 && function.shape.block == 0)
    cursor.fail_at(fields, "old= with zero-frees: the block that size 0 frees");
  if (function.shape.pool != 0 && function.shape.block != 0)
    cursor.fail_at(fields, "either old= or pool=");
  return function;
}

CustomFunction parse_free(std::string_view text) {
  Cursor cursor = begin("--free", text);
  CustomFunction function;
  function.option = "--free";
  function.text = text;
  take_place(cursor, function);
  function.shape.action = bpf::action_free;
  function.shape.family = bpf::family_other;
  const size_t fields = cursor.at;
  take_fields(cursor, free_fields, function);
  if ((function.shape.block != 0) == (function.shape.pool != 0))
    cursor.fail_at(fields, "either ptr= or pool=, what is freed");
  return function;
}

CustomFunctions read_custom(const std::vector<std::string>& allocs,
                            const std::vector<std::string>& frees,
                            const std::vector<std::string>& presets) {
  CustomFunctions result;
  for (const std::string& text : allocs) result.functions.push_back(parse_alloc(text));
  for (const std::string& text : frees) result.functions.push_back(parse_free(text));
  for (const std::string& name : presets) result.presets.push_back(read_preset(name));
  require_pairs(result.functions, "the command line");
  for (const Preset& preset : result.presets)
    require_pairs(preset.functions, "the preset " + preset.name);
  return result;
}

bool is_glob(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

// Backtracks only to the last '*', so it takes at most pattern.size() * name.size() steps.
bool glob_matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace memflame
