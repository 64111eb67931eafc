// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/http.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <array>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t most_words = 16384;  // kept of a reply that reports an error
constexpr long least_bytes_per_second = 1;

class CurlLibrary {
 public:
  CurlLibrary() {
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
      if (handle_ == nullptr) handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr)
      throw Error("a store is reached by libcurl.so.4, which is not installed (Debian: libcurl4)");
#define FIND(name) find(name, #name)
    FIND(curl_global_init);
    FIND(curl_easy_init);
    FIND(curl_easy_setopt);
    FIND(curl_easy_perform);
    FIND(curl_easy_getinfo);
    FIND(curl_easy_strerror);
    FIND(curl_easy_cleanup);
    FIND(curl_slist_append);
    FIND(curl_slist_free_all);
#undef FIND
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw Error("libcurl cannot start");
  }

  decltype(&::curl_global_init) curl_global_init = nullptr;
  decltype(&::curl_easy_init) curl_easy_init = nullptr;
  decltype(&::curl_easy_setopt) curl_easy_setopt = nullptr;
  decltype(&::curl_easy_perform) curl_easy_perform = nullptr;
  decltype(&::curl_easy_getinfo) curl_easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) curl_easy_strerror = nullptr;
  decltype(&::curl_easy_cleanup) curl_easy_cleanup = nullptr;
  decltype(&::curl_slist_append) curl_slist_append = nullptr;
  decltype(&::curl_slist_free_all) curl_slist_free_all = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr) throw Error(std::string("libcurl is too old: it has no ") + name);
  }

  void* handle_ = nullptr;  // never unloaded
};

const CurlLibrary& library() {
  static const CurlLibrary loaded;
  return loaded;
}

// What a request has of libcurl; it goes with the request.
class Transfer {
 public:
  Transfer() : curl_(library().curl_easy_init()) {
    if (curl_ == nullptr) throw Error("libcurl cannot begin a request");
  }
  ~Transfer() {
    library().curl_slist_free_all(headers_);
    library().curl_easy_cleanup(curl_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* get() const { return curl_; }

  template <class Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = library().curl_easy_setopt(curl_, option, value);
    if (code != CURLE_OK)
      throw Error(std::string("libcurl refuses a setting: ") + library().curl_easy_strerror(code));
  }
  void set(CURLoption option, const std::string& text) { set(option, text.c_str()); }
  void set_if(CURLoption option, const std::string& text) {
    if (!text.empty()) set(option, text);
  }

  void add_header(const std::string& line) {
    // Two lines in one would be a header that nobody asked for.
    if (line.find_first_of("\r\n") != std::string::npos)
      throw Error("a header of a request has a line end: " + line.substr(0, line.find(':')));
    curl_slist* const longer = library().curl_slist_append(headers_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    headers_ = longer;
  }
  void use_headers() { set(CURLOPT_HTTPHEADER, headers_); }

 private:
  CURL* curl_;
  curl_slist* headers_ = nullptr;
};

// The first line: editors end files with a line end.
std::string secret_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.empty())
    throw Error(path + ": no secret could be read from its first line");
  return line;
}

struct Receiver {
  const HttpRequest& request;
  const TakeBody& take;
  CURL* curl;
  HttpReply reply;
  uint64_t received = 0;
  std::exception_ptr failure;

  void receive(std::string_view part) {
    received += part.size();
    if (received > request.most_bytes) throw Error("the reply is too long");
    long status = 0;
    library().curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    const bool is_good = status >= 200 && status < 300;
    if (is_good && take) return take(part);
    if (!is_good && reply.body.size() > most_words) return;
    reply.body += part;
  }
};

// libcurl is C: no exception may pass through it.
size_t on_data(char* data, size_t size, size_t count, void* user) {
  auto& receiver = *static_cast<Receiver*>(user);
  try {
    receiver.receive({data, size * count});
    return size * count;
  } catch (...) {
    receiver.failure = std::current_exception();
    return 0;
  }
}

void set_access(Transfer& transfer, const HttpAccess& access) {
  if (!access.token_file.empty())
    transfer.add_header("Authorization: Bearer " + secret_in(access.token_file));
  if (!access.user.empty()) {
    transfer.set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    transfer.set(CURLOPT_USERNAME, access.user);
    if (!access.password_file.empty())
      transfer.set(CURLOPT_PASSWORD, secret_in(access.password_file));
  }
  transfer.set_if(CURLOPT_CAINFO, access.ca_file);
  transfer.set_if(CURLOPT_SSLCERT, access.certificate_file);
  transfer.set_if(CURLOPT_SSLKEY, access.key_file);
  transfer.set_if(CURLOPT_PROXY, access.proxy);
  for (const std::string& header : access.headers) transfer.add_header(header);
}

void set_body(Transfer& transfer, const HttpRequest& request) {
  if (request.method == "GET") return;
  transfer.set(CURLOPT_POST, 1L);
  transfer.set(CURLOPT_POSTFIELDS, request.body.data());
  transfer.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  if (request.method != "POST") transfer.set(CURLOPT_CUSTOMREQUEST, request.method);
  // Some servers answer a question for permission late or never.
  transfer.add_header("Expect:");
}

std::string host_of(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const std::string host = url.substr(begin + 3, url.find_first_of("/?#", begin + 3) - begin - 3);
  return host.substr(host.rfind('@') == std::string::npos ? 0 : host.rfind('@') + 1);
}

}  // namespace

HttpReply http(const HttpRequest& request, const TakeBody& take) {
  Transfer transfer;
  std::array<char, CURL_ERROR_SIZE> words{};
  Receiver receiver{request, take, transfer.get(), {}, 0, nullptr};
  transfer.set(CURLOPT_URL, request.url);
  transfer.set(CURLOPT_PROTOCOLS_STR, "http,https");
  transfer.set(CURLOPT_NOSIGNAL, 1L);
  transfer.set(CURLOPT_ERRORBUFFER, words.data());
  transfer.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_seconds * 1000));
  transfer.set(CURLOPT_LOW_SPEED_LIMIT, least_bytes_per_second);
  transfer.set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.idle_seconds));
  transfer.set(CURLOPT_WRITEFUNCTION, &on_data);
  transfer.set(CURLOPT_WRITEDATA, &receiver);
  transfer.set(CURLOPT_USERAGENT, "memflame");
  set_access(transfer, request.access);
  set_body(transfer, request);
  for (const std::string& header : request.headers) transfer.add_header(header);
  transfer.use_headers();
  const CURLcode code = library().curl_easy_perform(transfer.get());
  if (receiver.failure) std::rethrow_exception(receiver.failure);
  if (code != CURLE_OK)
    throw Error("cannot reach " + host_of(request.url) + ": " +
                (words[0] != '\0' ? std::string(words.data())
                                  : std::string(library().curl_easy_strerror(code))));
  long status = 0;
  library().curl_easy_getinfo(transfer.get(), CURLINFO_RESPONSE_CODE, &status);
  receiver.reply.status = static_cast<int>(status);
  return std::move(receiver.reply);
}

std::string url_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string encoded;
  for (const char letter : text) {
    if (plain.find(letter) != std::string_view::npos) {
      encoded += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    encoded += '%';
    encoded += digits[byte >> 4U];
    encoded += digits[byte & 15U];
  }
  return encoded;
}

}  // namespace memflame
