// SPDX-License-Identifier: BSD-2-Clause
// Requests to stores, by libcurl. It is loaded when the first request is made: no other command
// needs it, and it would make all of them start later.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

// How to reach a store, and as whom. Files are read at each request, so that a token may change.
struct HttpAccess {
  std::string token_file;           // a bearer token
  std::string user, password_file;  // HTTP's own way
  std::string ca_file;              // who may vouch for the server; "" = as the system has it
  std::string certificate_file, key_file;  // of this client
  std::string proxy;                       // "" = as the environment says (https_proxy, no_proxy)
  std::vector<std::string> headers;        // further ones: "X-Scope-OrgID: team"
};

struct HttpRequest {
  std::string method = "GET";  // or "POST", "PUT"
  std::string url;             // http:// or https://; redirections are not followed
  std::vector<std::string> headers;
  std::string_view body;  // with POST and PUT
  HttpAccess access;
  double connect_seconds = 10;
  // The request ends as an error when so little came or went for so long that it must be stuck.
  double idle_seconds = 60;
  uint64_t most_bytes = uint64_t{1} << 30U;  // of the reply
};

struct HttpReply {
  int status = 0;    // 200, …
  std::string body;  // empty if `take` had it
};

// What came of a reply with a status of 200 to 299, as it comes. It may throw, which ends the
// request.
using TakeBody = std::function<void(std::string_view part)>;

// Throws Error if there is no reply: "cannot reach HOST: why". A reply of any status is a reply.
HttpReply http(const HttpRequest& request, const TakeBody& take = nullptr);

// `text` as a part of an address: "a b" -> "a%20b".
std::string url_encoded(std::string_view text);

}  // namespace memflame
