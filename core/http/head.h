// SPDX-License-Identifier: BSD-2-Clause
// The text of a question of HTTP/1.x and of its answer. Clients may send anything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace memflame {

struct HttpQuestion {
  std::string method;
  std::string target;        // "/metrics?a=b", as it was sent
  std::string host, accept;  // headers; empty if they are missing
};

struct HttpAnswer {
  int status = 200;
  std::string type;                            // of the content
  std::shared_ptr<const std::string> content;  // answers may share it
  std::string allow = {};                      // the methods, if the status is 405
};

HttpAnswer text_answer(int status, std::string text);

// Where the empty line that ends a head ends; npos: the head is not complete.
size_t end_of_head(std::string_view bytes);

// Empty if the head is malformed, or has more than one Host.
std::optional<HttpQuestion> parse_head(std::string_view head);

// Status line and headers; `more` are lines of further headers. The connection ends with the
// answer.
std::string head_of(const HttpAnswer& answer, std::string_view more);

}  // namespace memflame
