// SPDX-License-Identifier: BSD-2-Clause
#include "core/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace memflame {
namespace {

constexpr std::string_view hidden = "***";
constexpr std::string_view blanks = " \t\n\r\f\v";

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter_or_digit(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

template <class List>
bool any_of(const List& list, auto&& test) {
  return std::any_of(list.begin(), list.end(), test);
}

// "keyStorePassword", "AWS_ACCESS_KEY" -> key, store, password; aws, access, key
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  bool within = false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (!is_letter_or_digit(name[i])) {
      within = false;
      continue;
    }
    const bool hump = is_upper(name[i]) && i != 0 && !is_upper(name[i - 1]);
    if (!within || hump) parts.emplace_back();
    within = true;
    parts.back() += lower(name[i]);
  }
  return parts;
}

bool says_secret(std::string_view name) {
  constexpr std::array<std::string_view, 8> anywhere{"password",   "passwd",    "passphrase",
                                                     "secret",     "apikey",    "accesskey",
                                                     "privatekey", "credential"};
  constexpr std::array<std::string_view, 12> whole{"key",     "keys", "token",         "tokens",
                                                   "pass",    "pw",   "pwd",           "passin",
                                                   "passout", "auth", "authorization", "cookie"};
  if (name == "PWD" || name == "OLDPWD") return false;  // folders
  std::string all;
  for (const std::string& part : parts_of(name)) {
    all += part;
    if (any_of(whole, [&](std::string_view word) { return part == word; }) ||
        part.ends_with("token"))
      return true;
  }
  return any_of(anywhere, [&](std::string_view word) { return all.find(word) != all.npos; });
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  });
}

// Programs with short options that take a secret.
struct ShortOption {
  std::string_view program, option;
  bool glued, apart;  // "-pSECRET", "-p SECRET"
  bool after_colon;   // "USER:SECRET"
};
constexpr std::array short_options{
    ShortOption{"mysql", "-p", true, false, false},
    ShortOption{"mysqldump", "-p", true, false, false},
    ShortOption{"mysqladmin", "-p", true, false, false},
    ShortOption{"mariadb", "-p", true, false, false},
    ShortOption{"mariadb-dump", "-p", true, false, false},
    ShortOption{"mariadb-admin", "-p", true, false, false},
    ShortOption{"sshpass", "-p", true, true, false},
    ShortOption{"redis-cli", "-a", false, true, false},
    ShortOption{"ldapsearch", "-w", true, true, false},
    ShortOption{"ldapmodify", "-w", true, true, false},
    ShortOption{"curl", "-u", true, true, true},
    ShortOption{"curl", "--user", false, true, true},
    ShortOption{"curl", "-U", true, true, true},
    ShortOption{"curl", "--proxy-user", false, true, true},
};

// "https://user:secret@host", and "https://secret@host", where the secret stands in place of a user
// name.
std::string without_secret_of_url(std::string text) {
  for (size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    const bool of_web =
        text.substr(0, at).ends_with("http") || text.substr(0, at).ends_with("https");
    at += 3;
    const size_t end = std::min(text.find_first_of("/?# \t\n", at), text.size());
    const size_t host = text.rfind('@', end);
    if (host == std::string::npos || host < at || host >= end) continue;
    const size_t colon = text.find(':', at);
    const bool has_password = colon < host;
    if (!has_password && !of_web) continue;
    const size_t start = has_password ? colon + 1 : at;
    text.replace(start, host - start, hidden);
  }
  return text;
}

// "a=1&token=x;b=2", also behind a '?': values whose names mark them as secret.
std::string without_secret_values(std::string text) {
  for (size_t at = 0; (at = text.find('=', at)) != std::string::npos; ++at) {
    const size_t before = text.find_last_of("?&;,'\"`(){}[]:/=", at == 0 ? 0 : at - 1);
    const size_t start = before == std::string::npos || before >= at ? 0 : before + 1;
    const std::string_view name = std::string_view(text).substr(start, at - start);
    if (!is_name(name) || !says_secret(name)) continue;
    // In a query the next parameter follows; elsewhere all the rest is the value.
    const bool in_query = start != 0 && (text[start - 1] == '?' || text[start - 1] == '&');
    const size_t end =
        in_query ? std::min(text.find_first_of("&;#", at), text.size()) : text.size();
    text.replace(at + 1, end - at - 1, hidden);
  }
  return text;
}

class Hiding {
 public:
  std::string word(const std::string& word) {
    if (quote_ != 0) {
      if (word.ends_with(quote_)) quote_ = 0;
      return "";
    }
    if (next_is_secret_) {
      next_is_secret_ = false;
      const bool option = word.starts_with("-") && word.size() > 1 && !next_in_any_case_;
      if (!option) return secret(word);
    }
    if (const std::string* shown = short_option(word)) return *shown;
    remember_program(word);
    if (word.find_first_of(blanks) != std::string::npos) return within(word);
    return named(word);
  }

 private:
  // The mark for a secret. A quoted secret goes on in further words, up to the closing quote.
  std::string secret(const std::string& word) {
    if (next_after_colon_) {
      next_after_colon_ = false;
      const size_t colon = word.find(':');
      return colon == std::string::npos ? word : word.substr(0, colon + 1) + std::string(hidden);
    }
    open_quote(word);
    return std::string(hidden);
  }

  void open_quote(std::string_view value) {
    if (value.empty() || (value[0] != '\'' && value[0] != '"')) return;
    if (value.size() == 1 || value.back() != value[0]) quote_ = value[0];
  }

  void remember_program(const std::string& word) {
    const std::string name = word.substr(word.rfind('/') + 1);
    if (any_of(short_options, [&](const ShortOption& each) { return each.program == name; }))
      program_ = name;
  }

  const std::string* short_option(const std::string& word) {
    for (const ShortOption& each : short_options) {
      if (each.program != program_ || !word.starts_with(each.option)) continue;
      const std::string value = word.substr(each.option.size());
      if (value.empty() && each.apart) {
        next_is_secret_ = next_in_any_case_ = true;
        next_after_colon_ = each.after_colon;
        shown_ = word;
        return &shown_;
      }
      if (value.empty() || !each.glued || each.option.starts_with("--")) continue;
      next_after_colon_ = each.after_colon;
      shown_ = std::string(each.option) + secret(value);
      return &shown_;
    }
    return nullptr;
  }

  // A word made of several: "mysql -px", "Authorization: Bearer x".
  std::string within(const std::string& word) {
    const size_t colon = word.find(':');
    const std::string_view name = std::string_view(word).substr(0, colon);
    if (colon != std::string::npos && is_name(name) && says_secret(name))
      return word.substr(0, colon + 1) + " " + std::string(hidden);
    const size_t equals = word.find('=');
    const std::string_view option = std::string_view(word).substr(0, equals);
    if (equals != std::string::npos && is_name(option) && says_secret(option))
      return word.substr(0, equals + 1) + std::string(hidden);
    return without_secrets(std::string_view(word));
  }

  std::string named(const std::string& word) {
    if (word.starts_with("-") && word.find('=') == std::string::npos && is_name(word) &&
        says_secret(word)) {
      next_is_secret_ = true;
      next_in_any_case_ = false;
      return word;
    }
    if (word == "Bearer" || word == "bearer") next_is_secret_ = true;
    if (word.ends_with(':') && says_secret(word)) next_is_secret_ = true;
    const size_t equals = word.find('=');
    std::string clean = without_secret_values(without_secret_of_url(word));
    // An opening quote that closes in a later word.
    if (clean != word && equals != std::string::npos && clean.ends_with(hidden))
      open_quote(std::string_view(word).substr(equals + 1));
    return clean;
  }

  std::string program_, shown_;
  bool next_is_secret_ = false, next_in_any_case_ = false, next_after_colon_ = false;
  char quote_ = 0;
};

}  // namespace

std::vector<std::string> without_secrets(std::vector<std::string> words) {
  Hiding hiding;
  for (std::string& word : words) word = hiding.word(word);
  return words;
}

std::string without_secrets(std::string_view text) {
  Hiding hiding;
  std::string clean;
  while (!text.empty()) {
    const size_t start = std::min(text.find_first_not_of(blanks), text.size());
    const std::string_view between = text.substr(0, start);
    text.remove_prefix(start);
    const size_t end = std::min(text.find_first_of(blanks), text.size());
    const std::string word = end == 0 ? "" : hiding.word(std::string(text.substr(0, end)));
    if (end == 0 || !word.empty()) clean.append(between).append(word);
    text.remove_prefix(end);
  }
  return clean;
}

}  // namespace memflame
