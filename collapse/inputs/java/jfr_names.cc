// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/java/jfr_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "collapse/inputs/text_frame.h"
#include "core/error.h"

namespace memflame {
namespace {

// The name of a hidden class, as of a lambda, ends in its address: "Main$$Lambda$71+0x00007f/634".
std::string_view without_class_address(std::string_view name) {
  const size_t slash = name.rfind('/');
  const bool hash = slash != name.npos && slash + 1 < name.size() &&
                    name.find_first_not_of("0123456789", slash + 1) == name.npos;
  if (hash && name.find("0x") < slash) name = name.substr(0, slash);
  for (const std::string_view mark : {"/0x", "+0x", ".0x"}) {
    const size_t at = name.rfind(mark);
    if (at != name.npos && is_hex(name.substr(at + mark.size()))) return name.substr(0, at);
  }
  return name;
}

std::string_view java_primitive(char letter) {
  constexpr std::array<std::pair<char, std::string_view>, 8> letters{{{'B', "byte"},
                                                                      {'C', "char"},
                                                                      {'D', "double"},
                                                                      {'F', "float"},
                                                                      {'I', "int"},
                                                                      {'J', "long"},
                                                                      {'S', "short"},
                                                                      {'Z', "boolean"}}};
  for (const auto& [known, name] : letters)
    if (known == letter) return name;
  return {};
}

// "java/lang/String" is java.lang.String, "[B" is byte[], "[[Ljava/lang/String;" is
// java.lang.String[][].
std::string java_name(std::string_view name) {
  const size_t dimensions = std::min(name.find_first_not_of('['), name.size());
  std::string_view inner = name.substr(dimensions);
  if (dimensions != 0 && inner.size() == 1 && !java_primitive(inner[0]).empty())
    inner = java_primitive(inner[0]);
  else if (dimensions != 0 && inner.starts_with('L') && inner.ends_with(';'))
    inner = inner.substr(1, inner.size() - 2);
  std::string result(without_class_address(inner));
  std::replace(result.begin(), result.end(), '/', '.');
  for (size_t i = 0; i < dimensions; ++i) result += "[]";
  return result;
}

const std::string unknown_class = "[unknown]";

}  // namespace

JfrNames::JfrNames(Profile& profile, Issues& issues, const ReadOptions& options,
                   const JfrTypes& types, const JfrPools& pools)
    : profile_(profile),
      issues_(issues),
      options_(options),
      types_(types),
      pools_(pools),
      stack_type_(types.id_of("jdk.types.StackTrace")),
      method_type_(types.id_of("jdk.types.Method")),
      class_type_(types.id_of("java.lang.Class")),
      package_type_(types.id_of("jdk.types.Package")),
      module_type_(types.id_of("jdk.types.Module")),
      thread_type_(types.id_of("java.lang.Thread")),
      old_type_(types.id_of("jdk.types.OldObject")) {}

StackId JfrNames::stack(int64_t thread, int64_t stack, int64_t object_class) {
  const StackId root = options_.tid ? push_thread(thread) : StackId{};
  StackId& known = stacks_[root.index][stack];
  if (!known) known = push_stack(root, stack);
  const FrameId of_class = class_frame(object_class);
  return of_class ? profile_.stacks.push(known, of_class) : known;
}

StackId JfrNames::push_thread(int64_t key) {
  StackId& known = threads_[key];
  JfrRow row;
  if (known || !pools_.row(thread_type_, key, row)) return known;
  std::string name = pools_.text(row, "javaName");
  if (name.empty()) name = pools_.text(row, "osName");
  if (!name.empty()) known = profile_.push({}, name, FrameKind::process);
  return known;
}

StackId JfrNames::push_stack(StackId root, int64_t key) {
  const auto none = [&] { return profile_.push(root, "[no stack]", FrameKind::note); };
  JfrRow row;
  if (key == 0) return none();
  const JfrRow::Cell* frames = pools_.row(stack_type_, key, row) ? row.find("frames") : nullptr;
  const JfrField* field = frames == nullptr ? nullptr : &row.field(*frames);
  const JfrType* type = field == nullptr ? nullptr : types_.find(field->type);
  if (type == nullptr || !field->array || field->pooled) {
    issues_.add("a stack that is not in the recording", 0, std::to_string(key));
    return none();
  }
  // Java keeps at most 2048.
  constexpr size_t most_frames = 4096, most_stacks = size_t{1} << 27U;
  if (profile_.stacks.size() > most_stacks) throw Error("it has more stacks than are read");
  JfrBytes bytes = frames->at;
  std::vector<FrameId> innermost_first;
  JfrRow frame;
  const size_t count = bytes.count();
  for (size_t left = std::min(count, most_frames); left != 0 && bytes.good(); --left) {
    types_.read_row(*type, bytes, frame);
    innermost_first.push_back(method(frame.number("method"), frame.number("lineNumber")));
  }
  StackId top = root;
  if (row.number("truncated") != 0 || count > most_frames)
    top = profile_.push(top, "[truncated: more frames than JFR keeps]", FrameKind::note);
  if (innermost_first.empty()) return top ? top : none();
  return push_leaf_first(profile_, top, innermost_first);
}

FrameId JfrNames::method(int64_t key, int64_t line) {
  if (!options_.lines || line < 0 || line > INT32_MAX) line = 0;
  FrameId& known = methods_[key][line];
  if (known) return known;
  JfrRow row;
  Frame frame{.function = {}, .module = {}, .file = {}, .line = static_cast<uint32_t>(line)};
  if (pools_.row(method_type_, key, row)) {
    const Class& of = class_of(row.number("type"));
    const std::string name = pools_.text(row, "name");
    frame.function = profile_.strings.intern(
        (of.name ? std::string(profile_.strings[of.name]) : unknown_class) + "." + name);
    frame.module = of.module;
    frame.kind = FrameKind::jit;
  } else {
    issues_.add("a method that is not in the recording", 0, std::to_string(key));
    frame.function = profile_.strings.intern(unknown_class);
    frame.kind = FrameKind::unknown;
  }
  known = profile_.frames.intern(frame);
  return known;
}

const JfrNames::Class& JfrNames::class_of(int64_t key) {
  const auto [at, is_new] = classes_.try_emplace(key);
  JfrRow row;
  if (!is_new || !pools_.row(class_type_, key, row)) return at->second;
  const std::string name = java_name(pools_.text(row, "name"));
  at->second = {.name = profile_.strings.intern(name.empty() ? unknown_class : name),
                .module = module_of_package(row.number("package"))};
  return at->second;
}

StringId JfrNames::module_of_package(int64_t key) {
  const auto [at, is_new] = packages_.try_emplace(key);
  JfrRow row;
  if (is_new && pools_.row(package_type_, key, row)) at->second = module_name(row.number("module"));
  return at->second;
}

// "java.base@17.0.15", as thread dumps write it.
StringId JfrNames::module_name(int64_t key) {
  const auto [at, is_new] = modules_.try_emplace(key);
  JfrRow row;
  if (!is_new || !pools_.row(module_type_, key, row)) return at->second;
  std::string name = pools_.text(row, "name");
  const std::string version = pools_.text(row, "version");
  if (!name.empty() && !version.empty()) name += "@" + version;
  at->second = profile_.strings.intern(name);
  return at->second;
}

FrameId JfrNames::class_frame(int64_t key) {
  const Class& of = class_of(key);
  if (!of.name) return {};
  return profile_.frames.intern({.function = of.name, .module = of.module, .file = {}});
}

int64_t JfrNames::class_of_old(int64_t object) {
  const auto [at, is_new] = old_objects_.try_emplace(object);
  JfrRow row;
  if (is_new && pools_.row(old_type_, object, row)) at->second = row.number("type");
  return at->second;
}

}  // namespace memflame
