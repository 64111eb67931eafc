// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/java/jfr_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "collapse/inputs/text_frame.h"

namespace memflame {
namespace {

// The name of a hidden class, as of a lambda, ends in its address: "Main$$Lambda$1/0x00000008".
std::string_view without_class_address(std::string_view name) {
  for (const std::string_view mark : {"/0x", "+0x", ".0x"}) {
    const size_t at = name.rfind(mark);
    if (at != name.npos && is_hex(name.substr(at + mark.size()))) return name.substr(0, at);
  }
  return name;
}

std::string_view primitive(char letter) {
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
  if (dimensions != 0 && inner.size() == 1 && !primitive(inner[0]).empty())
    inner = primitive(inner[0]);
  else if (dimensions != 0 && inner.starts_with('L') && inner.ends_with(';'))
    inner = inner.substr(1, inner.size() - 2);
  std::string result(without_class_address(inner));
  std::replace(result.begin(), result.end(), '/', '.');
  for (size_t i = 0; i < dimensions; ++i) result += "[]";
  return result;
}

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
  JfrBytes bytes = frames->at;
  std::vector<FrameId> innermost_first;
  JfrRow frame;
  for (size_t left = bytes.count(); left != 0 && bytes.good(); --left) {
    types_.read_row(*type, bytes, frame);
    innermost_first.push_back(method(frame.number("method"), frame.number("lineNumber")));
  }
  StackId top = root;
  if (row.number("truncated") != 0)
    top = profile_.push(top, "[truncated: more frames than JFR keeps]", FrameKind::note);
  if (innermost_first.empty()) return top ? top : none();
  return push_leaf_first(profile_, top, innermost_first);
}

FrameId JfrNames::method(int64_t key, int64_t line) {
  if (!options_.lines || line < 0 || line > INT32_MAX) line = 0;
  FrameId& known = methods_[key][line];
  if (known) return known;
  JfrRow row, of_class;
  std::string name = "[unknown]", module;
  FrameKind kind = FrameKind::unknown;
  if (pools_.row(method_type_, key, row)) {
    name = pools_.text(row, "name");
    if (pools_.row(class_type_, row.number("type"), of_class)) {
      name = class_name(of_class) + "." + name;
      module = module_of(of_class);
    }
    kind = FrameKind::jit;
  } else {
    issues_.add("a method that is not in the recording", 0, std::to_string(key));
  }
  Frame frame{.function = profile_.strings.intern(name),
              .module = profile_.strings.intern(module),
              .file = {},
              .line = static_cast<uint32_t>(line),
              .kind = kind};
  known = profile_.frames.intern(frame);
  return known;
}

std::string JfrNames::class_name(const JfrRow& row) const {
  std::string name = java_name(pools_.text(row, "name"));
  return name.empty() ? "[unknown]" : name;
}

// "java.base@17.0.15", as thread dumps write it.
std::string JfrNames::module_of(const JfrRow& of_class) const {
  JfrRow package, module;
  if (!pools_.row(package_type_, of_class.number("package"), package) ||
      !pools_.row(module_type_, package.number("module"), module))
    return {};
  const std::string name = pools_.text(module, "name"), version = pools_.text(module, "version");
  return name.empty() || version.empty() ? name : name + "@" + version;
}

FrameId JfrNames::class_frame(int64_t key) {
  FrameId& known = classes_[key];
  JfrRow row;
  if (known || !pools_.row(class_type_, key, row)) return known;
  known = profile_.frames.intern({.function = profile_.strings.intern(class_name(row)),
                                  .module = profile_.strings.intern(module_of(row)),
                                  .file = {}});
  return known;
}

int64_t JfrNames::class_of_old(int64_t object) const {
  JfrRow row;
  return pools_.row(old_type_, object, row) ? row.number("type") : 0;
}

}  // namespace memflame
