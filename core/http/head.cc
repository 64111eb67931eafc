// SPDX-License-Identifier: BSD-2-Clause
#include "core/http/head.h"

#include <algorithm>
#include <utility>

namespace memflame {
namespace {

constexpr std::string_view field_blanks = " \t";

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_name(std::string_view text, std::string_view name) {
  return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                    [](char one, char other) { return lower_letter(one) == other; });
}

// The line, of which the end is removed from `rest`.
std::string_view next_line(std::string_view& rest) {
  std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(field_blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(field_blanks) - first + 1);
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

HttpAnswer text_answer(int status, std::string text) {
  return {.status = status,
          .type = "text/plain; charset=utf-8",
          .content = std::make_shared<const std::string>(std::move(text))};
}

size_t end_of_head(std::string_view bytes) {
  for (size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
    const std::string_view rest = bytes.substr(at + 1);
    if (rest.starts_with("\n")) return at + 2;
    if (rest.starts_with("\r\n")) return at + 3;
  }
  return std::string_view::npos;
}

std::optional<HttpQuestion> parse_head(std::string_view head) {
  const std::string_view asked = next_line(head);
  const size_t method_end = asked.find(' '), target_end = asked.rfind(' ');
  if (method_end == std::string_view::npos || method_end == 0 || target_end <= method_end + 1 ||
      !asked.substr(target_end + 1).starts_with("HTTP/1."))
    return {};
  HttpQuestion question{
      .method = std::string(asked.substr(0, method_end)),
      .target = std::string(asked.substr(method_end + 1, target_end - method_end - 1)),
      .host = {},
      .accept = {}};
  bool has_host = false;
  while (!head.empty()) {
    const std::string_view line = next_line(head);
    if (line.empty()) break;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return {};
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = without_blanks(line.substr(colon + 1));
    if (is_name(name, "host")) {
      if (std::exchange(has_host, true)) return {};
      question.host = value;
    } else if (is_name(name, "accept")) {
      if (!question.accept.empty()) question.accept += ", ";
      question.accept += value;
    }
  }
  return question;
}

std::string head_of(const HttpAnswer& answer, std::string_view more) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + ' ' + reason_of(answer.status);
  // Ranges of one page can be asked for a thousand times in one request.
  text += "\r\nConnection: close\r\nAccept-Ranges: none\r\n";
  text += more;
  if (!answer.allow.empty()) text += "Allow: " + answer.allow + "\r\n";
  text += "Content-Type: " + answer.type + "\r\n";
  text += "Content-Length: " + std::to_string(answer.content ? answer.content->size() : 0);
  return text + "\r\n\r\n";
}

}  // namespace memflame
