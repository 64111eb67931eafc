// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/outputs/push.h"

#include <algorithm>
#include <array>

#include "core/utf8.h"
#include "fleet/output.h"

namespace memflame {
namespace {

constexpr size_t most_shown = 300;  // of an answer that is an error

// Answers that say that this request is wrong, whenever it is sent. All others may change: a token
// is replaced, a store is set up, a limit is not reached any more.
constexpr std::array refusals{400, 413, 415, 422};

// A line for people; what comes from a server may be anything.
std::string shown(std::string_view body) {
  std::string line(beginning(body, most_shown));
  for (char& letter : line)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = ' ';
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace

PushTarget push_target(const Setting& settings) {
  PushTarget target{.url = http_url(settings), .access = http_access(settings)};
  if (const std::optional<Setting> tenant = settings.find("tenant")) {
    if (tenant->text().empty() || tenant->text().find_first_of("\r\n") != std::string::npos)
      tenant->fail("a tenant must be one line of text");
    target.access.headers.push_back("X-Scope-OrgID: " + tenant->text());
  }
  return target;
}

std::string push(const PushTarget& target, const std::string& path, const std::string& type,
                 std::string_view body, const std::string& further_header) {
  HttpRequest request;
  request.method = "POST";
  request.url = target.url + path;
  request.headers = {"Content-Type: " + type};
  if (!further_header.empty()) request.headers.push_back(further_header);
  request.body = body;
  request.access = target.access;
  request.most_bytes = uint64_t{1} << 20U;
  HttpReply reply = http(request);
  if (reply.status >= 200 && reply.status < 300) return std::move(reply.body);
  const std::string what =
      "the store answers " + std::to_string(reply.status) + ": " + shown(reply.body);
  if (std::find(refusals.begin(), refusals.end(), reply.status) != refusals.end())
    throw Refused(what);
  throw Error(what);
}

std::string plain_label_name(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    const bool is_digit = letter >= '0' && letter <= '9';
    plain += is_letter || (is_digit && !plain.empty()) ? letter : '_';
  }
  // Names with two underscores are the stores' own.
  return plain.empty() || plain.starts_with("__") ? "label_" + plain : plain;
}

std::string label_in(const WindowHead& head, const std::string& name) {
  const auto at = head.labels.find(name);
  return at == head.labels.end() ? "" : at->second;
}

}  // namespace memflame
