// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/question.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/schema.h"

namespace memflame {
namespace {

constexpr std::string_view plain_scheme = "clickhouse://", safe_scheme = "clickhouses://";
constexpr int64_t last_second = 4'294'967'295;  // a DateTime of the store has 32 bits

[[noreturn]] void refuse(const std::string& what) { throw Error(what, ExitCode::usage); }

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

// "a%20b" -> "a b". A plus stays one: versions have it.
std::string url_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      refuse("'" + std::string(text) + "': after '%' come two hex digits; '%25' is a '%'");
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

// "2026-11-26", "2026-11-26T10:00", "2026-11-26 10:00:00Z": UTC.
std::optional<int64_t> date_ns(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  std::string date(text);
  std::replace(date.begin(), date.end(), 'T', ' ');
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"}) {
    std::tm parts{};
    const char* const end = ::strptime(date.c_str(), format, &parts);
    if (end == nullptr || end != date.c_str() + date.size()) continue;
    const int64_t seconds = ::timegm(&parts);
    if (seconds >= 0 && seconds <= last_second) return seconds * ns_a_second;
  }
  return std::nullopt;
}

int64_t time_of(const std::string& name, const std::string& text, int64_t now_ns) {
  if (text == "now") return now_ns;
  const bool is_ago = text.starts_with('-');
  if (is_ago) {
    const auto ago = parse_duration(std::string_view(text).substr(1));
    if (ago) return std::max<int64_t>(now_ns - std::llround(*ago * 1e9), 0);
  } else if (const auto date = date_ns(text)) {
    return *date;
  } else {
    int64_t since_1970 = -1;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, since_1970);
    if (error == std::errc{} && end == last && since_1970 >= 0 && since_1970 <= last_second)
      return since_1970 * ns_a_second;
  }
  refuse(name + "=" + text +
         ": expected a time like -1h, -7d, now, 2026-11-26, 2026-11-26T10:00 (UTC), or seconds "
         "since 1970");
}

// HOST, HOST:PORT or [ADDRESS]:PORT, as it goes into the address of requests.
std::string authority_of(std::string_view host, bool is_safe, const std::string& whole) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view name = host.substr(0, colon);
  if (name.empty()) refuse("'" + whole + "': there is no host");
  const bool is_address = name.starts_with('[') && name.ends_with(']');
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const std::string_view inner = is_address ? name.substr(1, name.size() - 2) : name;
  if (inner.find_first_not_of(is_address ? "0123456789abcdefABCDEF:.%" : letters) !=
      std::string_view::npos)
    refuse("'" + whole + "': '" + std::string(name) + "' is not the name of a host");
  std::string port = is_safe ? "8443" : "8123";
  if (colon != std::string_view::npos) port = host.substr(colon + 1);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size() || number == 0 || number > 65535)
    refuse("'" + whole + "': '" + port + "' is not the number of a port");
  return std::string(name) + ":" + port;
}

struct Pair {
  std::string name, value;
};

// The address without its parameters, and those.
std::pair<StoreAddress, std::vector<Pair>> parts_of(const std::string& address) {
  const bool is_safe = address.starts_with(safe_scheme);
  if (!is_store_address(address))
    refuse("'" + address +
           "': expected clickhouse://HOST:PORT/DATABASE, or clickhouses:// for "
           "TLS");
  std::string_view rest =
      std::string_view(address).substr((is_safe ? safe_scheme : plain_scheme).size());
  const size_t question = rest.find('?');
  std::string_view place = rest.substr(0, question);
  const std::string_view parameters =
      question == std::string_view::npos ? "" : rest.substr(question + 1);
  StoreAddress store;
  std::string_view path;
  if (const size_t slash = place.find('/'); slash != std::string_view::npos) {
    path = place.substr(slash + 1);
    place = place.substr(0, slash);
  }
  if (const size_t at = place.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = place.substr(0, at);
    if (user.find(':') != std::string_view::npos)
      refuse(
          "a password does not belong into an address, where others can see it; give "
          "password_file=FILE after the '?'");
    store.access.user = url_decoded(user);
    place = place.substr(at + 1);
  }
  // Without the user, who is nobody's business.
  store.url = (is_safe ? "https://" : "http://") + authority_of(place, is_safe, std::string(place));
  if (!path.empty()) store.database = url_decoded(path);
  require_database_name(store.database);
  std::vector<Pair> pairs;
  for (size_t begin = 0; begin < parameters.size();) {
    const size_t end = std::min(parameters.find('&', begin), parameters.size());
    const std::string_view pair = parameters.substr(begin, end - begin);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0)
      refuse("'" + std::string(pair) + "': expected NAME=VALUE, as in service=checkout");
    pairs.push_back({url_decoded(pair.substr(0, equals)), url_decoded(pair.substr(equals + 1))});
    begin = end + 1;
  }
  return {std::move(store), std::move(pairs)};
}

// Whether the parameter says how to reach the store.
bool take_access(HttpAccess& access, const Pair& pair) {
  constexpr std::array<std::pair<std::string_view, std::string HttpAccess::*>, 6> files{
      {{"password_file", &HttpAccess::password_file},
       {"token_file", &HttpAccess::token_file},
       {"ca_file", &HttpAccess::ca_file},
       {"certificate_file", &HttpAccess::certificate_file},
       {"key_file", &HttpAccess::key_file},
       {"proxy", &HttpAccess::proxy}}};
  for (const auto& [name, member] : files)
    if (name == pair.name) {
      access.*member = pair.value;
      return true;
    }
  return false;
}

// For scripts: the variable names the file, so the password is in no environment.
void take_environment(HttpAccess& access) {
  const char* const file = std::getenv("MEMFLAME_STORE_PASSWORD_FILE");
  if (file != nullptr && access.password_file.empty() && !access.user.empty())
    access.password_file = file;
}

bool stays_here(const std::string& url) {
  return url.starts_with("http://localhost:") || url.starts_with("http://127.") ||
         url.starts_with("http://[::1]:");
}

void check_access(StoreAddress& store, bool plain) {
  HttpAccess& access = store.access;
  take_environment(access);
  if (!plain && !access.password_file.empty() && store.url.starts_with("http://") &&
      !stays_here(store.url))
    refuse(
        "everybody between here and there could read the password: write clickhouses://, or "
        "add plain=true");
  if (!access.password_file.empty() && access.user.empty())
    refuse("password_file= needs a user: clickhouse://USER@HOST/DATABASE");
}

void take_label(StoreQuestion& question, const Pair& pair) {
  const auto known =
      std::find_if(question.labels.begin(), question.labels.end(),
                   [&](const LabelFilter& label) { return label.name == pair.name; });
  if (known != question.labels.end())
    known->values.push_back(pair.value);
  else
    question.labels.push_back({pair.name, {pair.value}});
}

}  // namespace

bool is_store_address(std::string_view text) {
  return text.starts_with(plain_scheme) || text.starts_with(safe_scheme);
}

StoreQuestion question_of(const std::string& address, int64_t now_ns) {
  auto [store, pairs] = parts_of(address);
  StoreQuestion question;
  question.store = std::move(store);
  std::string from = "-1h", to = "now";
  bool plain = false;
  for (const Pair& pair : pairs) {
    if (take_access(question.store.access, pair)) continue;
    if (pair.name == "plain")
      plain = pair.value == "true";
    else if (pair.name == "service")
      question.service = pair.value;
    else if (pair.name == "type")
      question.type = pair.value;
    else if (pair.name == "from")
      from = pair.value;
    else if (pair.name == "to")
      to = pair.value;
    else
      take_label(question, pair);
  }
  check_access(question.store, plain);
  question.from_ns = time_of("from", from, now_ns);
  question.to_ns = time_of("to", to, now_ns);
  if (question.from_ns >= question.to_ns)
    refuse("from=" + from + " and to=" + to + ": no time lies between");
  return question;
}

StoreAddress store_address_of(const std::string& address) {
  auto [store, pairs] = parts_of(address);
  bool plain = false;
  for (const Pair& pair : pairs)
    if (pair.name == "plain")
      plain = pair.value == "true";
    else if (!take_access(store.access, pair))
      refuse("'" + pair.name +
             "=' asks for data; here the address ends with the database, and how "
             "to reach it (password_file=, ca_file=)");
  check_access(store, plain);
  return std::move(store);
}

std::string utc_text(int64_t ns) {
  const std::time_t seconds = ns / ns_a_second;
  std::tm parts{};
  std::array<char, 40> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts) == 0)
    return std::to_string(seconds);
  return text.data();
}

std::string range_text(int64_t from_ns, int64_t to_ns) {
  return "from " + utc_text(from_ns) + " to " + utc_text(to_ns) + " UTC";
}

std::string asked_text(const StoreQuestion& question) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  };
  if (!question.service.empty()) add("service", question.service);
  if (!question.type.empty()) add("type", question.type);
  for (const LabelFilter& label : question.labels)
    for (const std::string& value : label.values) add(label.name, value);
  return text;
}

}  // namespace memflame
