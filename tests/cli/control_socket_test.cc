// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/control_socket.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Word = ControlRequest::Word;

// What the error of `action` says; "" if there is none.
template <class Action>
std::string error_of(const Action& action, ExitCode code) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.exit_code == code);
    return error.what();
  }
  return "";
}

std::string refusal_of(const std::string& message) {
  return error_of([&] { parse_control(message); }, ExitCode::usage);
}

bool has(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

std::future<std::string> asked(const std::string& message) {
  return std::async(std::launch::async, [=] { return ask_memflame(::getpid(), message, false); });
}

// Serves until the asker has its answer.
void serve(ControlServer& server, const std::future<std::string>& answer,
           const ControlServer::Answer& answers) {
  while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    server.serve(answers);
}

std::future<std::string> at_once(std::string text) {
  std::promise<std::string> promise;
  promise.set_value(std::move(text));
  return promise.get_future();
}

std::future<std::string> named(const ControlRequest& request) {
  return at_once(request.word == Word::mark ? "mark " + request.name : "other");
}

}  // namespace

TEST_CASE("requests are words; a mark's name is one line of text") {
  CHECK(parse_control("status").word == Word::status);
  CHECK(parse_control("snapshot").word == Word::snapshot);
  CHECK(parse_control("resume").word == Word::resume);
  CHECK(parse_control("mark cache filled").word == Word::mark);
  CHECK(parse_control("mark cache filled").name == "cache filled");
  CHECK(parse_control("mark " + std::string(200, 'x')).name.size() == 200);
  const std::string name = parse_control("mark a\nb\x1b[2J\xff").name;
  CHECK(name.find('\n') == std::string::npos);
  CHECK(name.find('\x1b') == std::string::npos);
  CHECK(name.find('\xff') == std::string::npos);
}

TEST_CASE("what is not a request is refused, and the refusal says what is") {
  for (const char* message : {"", "mark", "stat", "status now", " status", "snapshot\n", "MARK x"})
    CHECK_MESSAGE(has(refusal_of(message), "expected status, mark NAME, snapshot or resume"),
                  message);
  CHECK(has(refusal_of("mark "), "1 to 200 bytes, not 0"));
  CHECK(has(refusal_of("mark " + std::string(201, 'x')), "1 to 200 bytes, not 201"));
  CHECK(has(refusal_of("stop"), "a run that counts cannot pause"));
  CHECK(has(refusal_of("pause"), "--start-paused"));
  CHECK(has(refusal_of("start"), "--between"));
}

TEST_CASE("a request is answered at once, or when its result is there") {
  ControlServer server(::getuid());
  std::future<std::string> answer = asked("mark here");
  serve(server, answer, named);
  CHECK(answer.get() == "mark here");

  std::promise<std::string> picture;
  bool was_asked = false;
  answer = asked("snapshot");
  while (!was_asked)
    server.serve([&](const ControlRequest& request) {
      CHECK(request.word == Word::snapshot);
      was_asked = true;
      return picture.get_future();
    });
  std::future<std::string> other = asked("status");
  serve(server, other, named);
  CHECK(other.get() == "other");
  CHECK(answer.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  picture.set_value("heap.1.svg\n");
  serve(server, answer, named);
  CHECK(answer.get() == "heap.1.svg\n");
}

TEST_CASE("a refusal reaches the asker") {
  ControlServer server(::getuid());
  std::future<std::string> answer = asked("snapshot");
  serve(server, answer,
        [](const ControlRequest&) -> std::future<std::string> { throw Error("no pictures here"); });
  CHECK(has(error_of([&] { answer.get(); }, ExitCode::failure), "no pictures here"));
  answer = asked("\x01\xff garbage");
  serve(server, answer, named);
  CHECK(has(error_of([&] { answer.get(); }, ExitCode::failure), "expected status"));
  answer = asked("mark " + std::string(5000, 'x'));
  serve(server, answer, named);
  CHECK(has(error_of([&] { answer.get(); }, ExitCode::failure), "at most 4096 bytes"));
}

TEST_CASE("the end of a run is the answer to what it has not done") {
  ControlServer server(::getuid());
  std::promise<std::string> never;
  bool was_asked = false;
  std::future<std::string> answer = asked("snapshot");
  while (!was_asked)
    server.serve([&](const ControlRequest&) {
      was_asked = true;
      return never.get_future();
    });
  server.finish();
  CHECK(has(error_of([&] { answer.get(); }, ExitCode::failure), "ended before it was done"));
  answer = asked("status");
  CHECK(has(error_of([&] { answer.get(); }, ExitCode::failure), "'pidof memflame' lists"));
}

TEST_CASE("a process has one socket, and another process has none of its name") {
  const ControlServer server(::getuid());
  CHECK(has_control_socket(::getpid()));
  CHECK_FALSE(has_control_socket(1));
  CHECK(has(error_of([] { const ControlServer second(::getuid()); }, ExitCode::failure),
            "could not be opened"));
  CHECK(has(error_of([] { ask_memflame(1, "status", false); }, ExitCode::failure),
            "no memflame with this process id"));
}
