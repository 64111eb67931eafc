// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/client.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/gzip.h"
#include "fleet/window.h"

namespace memflame {
namespace {

// A query over many days says nothing until its end.
constexpr double patience_seconds = 1800;
constexpr double insert_seconds = 300;
constexpr uint64_t most_reply_bytes = uint64_t{4} << 30U;

struct StoreProblem {
  int code = 0;
  std::string words;
};

// "Code: 60, e.displayText() = DB::Exception: Table m.t doesn't exist., e.what() = DB::Exception";
// later versions write "Code: 60. DB::Exception: Table m.t doesn't exist. (UNKNOWN_TABLE)".
StoreProblem problem_in(std::string_view reply) {
  StoreProblem problem;
  constexpr std::string_view begin = "Code: ", exception = "DB::Exception: ";
  if (reply.starts_with(begin))
    std::from_chars(reply.data() + begin.size(), reply.data() + reply.size(), problem.code);
  if (const size_t at = reply.find(exception); at != std::string_view::npos)
    reply.remove_prefix(at + exception.size());
  reply = reply.substr(0, reply.find(", e.what() ="));
  reply = reply.substr(0, reply.find('\n'));
  constexpr size_t longest = 500;
  problem.words = reply.substr(0, longest);
  while (problem.words.ends_with('.') || problem.words.ends_with(' ')) problem.words.pop_back();
  return problem;
}

// What to do about an error of that number; "" if nobody can say.
std::string remedy_for(int code, const StoreAddress& address) {
  switch (code) {
    case 16:  // no such column
    case 47:
      return "the tables are those of another version of memflame: 'memflame store init " +
             shown(address) + "' says which";
    case 60:  // no such table
    case 81:  // no such database
      return "'memflame store init " + shown(address) + "' makes the tables";
    case 158:  // too many rows, too slow
    case 159:
    case 160:
    case 241:  // too little memory
    case 307:
      return "a shorter range, or one type (type=inuse_space), needs less";
    case 192:  // unknown user, wrong password, wrong address
    case 193:
    case 194:
    case 195:
    case 516:
      return "the user stands before the host, USER@HOST, and password_file=FILE names the file "
             "with the password";
    case 252:  // too many parts
      return "more rows must come at a time: longer windows, or larger batches";
    default:
      return "";
  }
}

// No text has a line like this, unless it was made for it; so it is looked for.
std::string boundary_beside(std::span<const BoundTable> bound) {
  for (;;) {
    std::string boundary = "memflame-" + new_window_id();
    const bool is_free = std::none_of(bound.begin(), bound.end(), [&](const BoundTable& table) {
      return table.rows.find(boundary) != std::string::npos;
    });
    if (is_free) return boundary;
  }
}

}  // namespace

std::string shown(const StoreAddress& address) {
  const bool is_safe = address.url.starts_with("https:");
  return (is_safe ? "clickhouses" : "clickhouse") + address.url.substr(address.url.find(':')) +
         "/" + address.database;
}

void ClickHouse::fail(int status, const std::string& reply) const {
  const StoreProblem problem = problem_in(reply);
  std::string text = shown(address_) + ": ";
  if (problem.code == 0)
    throw Error(text + "what answered is not a ClickHouse (HTTP status " + std::to_string(status) +
                (problem.words.empty() ? "" : ": ") + problem.words + ")");
  const std::string remedy = remedy_for(problem.code, address_);
  throw Error(text + "the store says: " + problem.words + " (its error " +
              std::to_string(problem.code) + ")" + (remedy.empty() ? "" : "; " + remedy));
}

std::string ClickHouse::request(const std::string& parameters, const std::string& body,
                                std::vector<std::string> headers, bool in_database,
                                double patience) const {
  HttpRequest request;
  request.method = "POST";
  // The reply begins when it is complete: an error cannot come in its middle.
  request.url = address_.url + "/?wait_end_of_query=1" +
                (in_database ? "&database=" + url_encoded(address_.database) : "") + parameters;
  request.headers = std::move(headers);
  request.body = body;
  request.access = address_.access;
  request.idle_seconds = patience;
  request.most_bytes = most_reply_bytes;
  HttpReply reply = http(request);
  if (reply.status != 200) fail(reply.status, reply.body);
  return std::move(reply.body);
}

void ClickHouse::run(const std::string& statement, bool in_database) const {
  request("", statement, {"Content-Type: text/plain"}, in_database, patience_seconds);
}

std::string ClickHouse::ask(const std::string& query, std::span<const BoundTable> bound) const {
  const std::string text = query + " FORMAT RowBinary";
  if (bound.empty()) return request("", text, {"Content-Type: text/plain"}, true, patience_seconds);
  // The address could become longer than servers take, so the query is a part of the form.
  std::string parameters;
  const std::string boundary = boundary_beside(bound);
  std::string body = "--" + boundary +
                     "\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\n" + text + "\r\n";
  for (const BoundTable& table : bound) {
    parameters += "&" + table.name + "_format=RowBinary&" + table.name +
                  "_structure=" + url_encoded(table.columns);
    body += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + table.name +
            "\"; filename=\"" + table.name +
            "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + table.rows + "\r\n";
  }
  body += "--" + boundary + "--\r\n";
  return request(parameters, body, {"Content-Type: multipart/form-data; boundary=" + boundary},
                 true, patience_seconds);
}

void ClickHouse::insert(const std::string& into, std::string_view rows) const {
  if (rows.empty()) return;
  request("&query=" + url_encoded("INSERT INTO " + into + " FORMAT RowBinary"), gzip_body(rows),
          {"Content-Encoding: gzip", "Content-Type: application/octet-stream"}, true,
          insert_seconds);
}

}  // namespace memflame
