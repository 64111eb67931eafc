// SPDX-License-Identifier: BSD-2-Clause
// What an option takes, for shells that complete it. Other options complete files if their value is
// called FILE or PATH, and nothing otherwise.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace memflame {

enum class Offer : uint8_t {
  words,           // one of `words`
  list,            // several of them, with commas
  words_or_files,  // one of them, or a file
  pids,            // of processes, with commas
  comms,           // names of processes
  users,
  runs,  // the process id of a memflame
};

struct Completion {
  Offer offer = Offer::words;
  std::vector<std::string> words{};
};

class HasCompletion {
 public:
  explicit HasCompletion(Completion what) : completion(std::move(what)) {}
  const Completion completion;
};

// As po::value<T>()->value_name(name), with completion. Words are only offered; the code that reads
// the option decides whether one is valid.
template <class T>
class CompletedValue : public boost::program_options::typed_value<T>, public HasCompletion {
 public:
  CompletedValue(const std::string& name, Completion what)
      : boost::program_options::typed_value<T>(nullptr), HasCompletion(std::move(what)) {
    this->value_name(name);
  }
};

// Owned by the option it is given to, as the library requires.
template <class T = std::string>
CompletedValue<T>* completed(const std::string& name, Completion completion) {
  return new CompletedValue<T>(name, std::move(completion));
}
template <class T = std::string>
CompletedValue<T>* one_of(const std::string& name, std::vector<std::string> words) {
  return completed<T>(name, {Offer::words, std::move(words)});
}

}  // namespace memflame
