// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/output.h"

#include <array>

#include "core/error.h"

namespace memflame {
namespace {

constexpr std::array kinds_of_output{
#define WINDOW_OUTPUT(name, help) OutputKind{#name, help, &make_##name},
#include "fleet/outputs.def"
#undef WINDOW_OUTPUT
};

std::string text_of(const Setting& settings, std::string_view name) {
  const std::optional<Setting> setting = settings.find(name);
  return setting ? setting->text() : "";
}

bool is_on(const Setting& settings, std::string_view name) {
  const std::optional<Setting> setting = settings.find(name);
  return setting && setting->flag();
}

// "host:port" or "[::1]:port" of an address, without user and path.
std::string authority_of(const std::string& url) {
  const size_t begin = url.find("://") + 3;
  return url.substr(begin, url.find_first_of("/?#", begin) - begin);
}

bool is_this_host(const std::string& authority) {
  if (authority.starts_with("[::1]")) return true;
  const std::string host = authority.substr(0, authority.find(':'));
  return host == "localhost" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

// A header whose value opens doors.
bool is_secret(const std::string& header) {
  std::string name = header.substr(0, header.find(':'));
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  for (const std::string_view part : {"auth", "token", "key", "cookie", "secret", "password"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

void check_headers(const Setting& settings, const std::vector<std::string>& headers) {
  for (const std::string& header : headers) {
    const size_t colon = header.find(':');
    if (colon == 0 || colon == std::string::npos || header.find_first_of(" \t\"") < colon)
      settings.fail("'" + header + "' is not a header: write \"Name: value\"");
    if (header.find_first_of("\r\n") != std::string::npos)
      settings.fail("a header must not have a line end");
  }
}

void check_together(const Setting& settings, const HttpAccess& access) {
  if (!access.token_file.empty() && !access.user.empty())
    settings.get("token_file").fail("a token and a user exclude each other: remove one of them");
  if (!access.password_file.empty() && access.user.empty())
    settings.get("password_file").fail("a password needs a user: add \"user\"");
  if (!access.key_file.empty() && access.certificate_file.empty())
    settings.get("key_file").fail("a key needs its certificate: add \"certificate_file\"");
}

void refuse_plain_secrets(const Setting& settings, const HttpAccess& access,
                          const std::string& url) {
  bool has_secret = !access.token_file.empty() || !access.password_file.empty();
  for (const std::string& header : access.headers) has_secret = has_secret || is_secret(header);
  if (!has_secret || !url.starts_with("http://") || is_this_host(authority_of(url))) return;
  if (is_on(settings, "plain")) return;
  settings.get("url").fail(
      "everybody between here and there could read the secret: write https://, or add "
      "\"plain\": true");
}

}  // namespace

std::span<const OutputKind> output_kinds() { return kinds_of_output; }

std::unique_ptr<WindowOutput> make_output(const Setting& settings) {
  const Setting kind = settings.get("kind");
  std::string known;
  for (const OutputKind& one : kinds_of_output) {
    if (one.name == kind.text()) return one.make(settings);
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  kind.fail("there is no kind of output '" + kind.text() + "': the kinds are " + known);
}

std::string http_url(const Setting& settings) {
  const Setting setting = settings.get("url");
  std::string url = setting.text();
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  if (!is_http || authority_of(url).empty())
    setting.fail("'" + url + "' is not an address: write http://HOST:PORT or https://HOST:PORT");
  if (authority_of(url).find('@') != std::string::npos)
    setting.fail("names and passwords do not belong here: use \"user\" and \"password_file\"");
  if (url.find_first_of("?# \t\r\n") != std::string::npos)
    setting.fail("'" + url + "' must end with its path, without '?' and '#'");
  while (url.ends_with('/')) url.pop_back();
  return url;
}

HttpAccess http_access(const Setting& settings) {
  HttpAccess access;
  access.token_file = text_of(settings, "token_file");
  access.user = text_of(settings, "user");
  access.password_file = text_of(settings, "password_file");
  access.ca_file = text_of(settings, "ca_file");
  access.certificate_file = text_of(settings, "certificate_file");
  access.key_file = text_of(settings, "key_file");
  access.proxy = text_of(settings, "proxy");
  if (const std::optional<Setting> headers = settings.find("headers")) {
    access.headers = headers->texts();
    check_headers(*headers, access.headers);
  }
  check_together(settings, access);
  refuse_plain_secrets(settings, access, http_url(settings));
  return access;
}

}  // namespace memflame
