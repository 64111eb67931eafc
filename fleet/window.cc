// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/window.h"

#include <sys/random.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace memflame {
namespace {

using nlohmann::json;

constexpr size_t id_bytes = 16;

const json& member(const json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end()) throw Error(std::string("the head of a window has no \"") + name + "\"");
  return *at;
}

bool is_id(std::string_view text) {
  return text.size() == 2 * id_bytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

json to_object(const WindowStack& stack) {
  return {{"function", stack.function},       {"stack", stack.stack},
          {"inuse_bytes", stack.inuse_bytes}, {"growth_bytes", stack.growth_bytes},
          {"verdict", stack.verdict},         {"bytes_per_hour", stack.bytes_per_hour}};
}

WindowStack stack_from(const json& object) {
  WindowStack stack;
  member(object, "function").get_to(stack.function);
  member(object, "stack").get_to(stack.stack);
  member(object, "inuse_bytes").get_to(stack.inuse_bytes);
  member(object, "growth_bytes").get_to(stack.growth_bytes);
  member(object, "verdict").get_to(stack.verdict);
  member(object, "bytes_per_hour").get_to(stack.bytes_per_hour);
  return stack;
}

WindowHead head_from(const json& object) {
  WindowHead head;
  member(object, "id").get_to(head.id);
  if (!is_id(head.id)) throw Error("the id of a window is not 32 hex digits");
  member(object, "began_ns").get_to(head.began_ns);
  member(object, "ended_ns").get_to(head.ended_ns);
  if (head.began_ns < 0 || head.ended_ns < head.began_ns)
    throw Error("window " + head.id + " ends before it begins");
  member(object, "labels").get_to(head.labels);
  member(object, "figures").get_to(head.figures);
  for (const json& stack : member(object, "top")) head.top.push_back(stack_from(stack));
  return head;
}

}  // namespace

const WindowType* window_type(std::string_view name) {
  for (const WindowType& type : window_types)
    if (type.name == name) return &type;
  return nullptr;
}

std::string to_json(const WindowHead& head) {
  json object{{"id", head.id},         {"began_ns", head.began_ns}, {"ended_ns", head.ended_ns},
              {"labels", head.labels}, {"figures", head.figures},   {"top", json::array()}};
  for (const WindowStack& stack : head.top) object["top"].push_back(to_object(stack));
  // Names of functions may be any bytes.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

WindowHead head_from_json(std::string_view line) {
  try {
    return head_from(json::parse(line));
  } catch (const json::exception& problem) {
    throw Error(std::string("the head of a window cannot be read: ") + problem.what());
  }
}

std::string to_bytes(const Window& window) { return to_json(window.head) + "\n" + window.pprof; }

Window window_from_bytes(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) throw Error("a window ends within its head");
  return {.head = head_from_json(bytes.substr(0, end)),
          .pprof = std::string(bytes.substr(end + 1))};
}

std::string new_window_id() {
  std::array<unsigned char, id_bytes> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw Error("the kernel gives no random numbers (getrandom)");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : random) {
    id += digits[byte >> 4U];
    id += digits[byte & 15U];
  }
  return id;
}

}  // namespace memflame
