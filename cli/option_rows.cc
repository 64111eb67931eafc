// SPDX-License-Identifier: BSD-2-Clause
#include "cli/option_rows.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/completed.h"
#include "cli/runs/durations.h"
#include "core/error.h"
#include "core/units.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

std::vector<std::string> names_of(std::span<const OptionWord> words) {
  std::vector<std::string> names;
  for (const OptionWord& word : words) names.emplace_back(word.name);
  return names;
}

// What the parser takes for a value; owned by the option it is given to, as the library requires.
struct Semantic {
  const std::string& name;  // of the value

  po::value_semantic* operator()(const option::Switch&) const { return po::bool_switch(); }
  po::value_semantic* operator()(const option::Number&) const { return plain<uint32_t>(); }
  po::value_semantic* operator()(const option::Bytes&) const { return plain<std::string>(); }
  po::value_semantic* operator()(const option::Percent&) const { return plain<double>(); }
  po::value_semantic* operator()(const option::Text&) const { return plain<std::string>(); }
  po::value_semantic* operator()(const option::Texts& texts) const {
    if (texts.names.empty()) return plain<std::vector<std::string>>();
    return completed<std::vector<std::string>>(name, {Offer::words_or_files, texts.names});
  }
  po::value_semantic* operator()(const option::Choice& choice) const {
    return one_of(name, names_of(choice.words));
  }

  template <class T>
  po::value_semantic* plain() const {
    return po::value<T>()->value_name(name);
  }
};

// "--every must be 1 to 16,777,216, not 0"
Error out_of_range(const std::string& option, const std::string& least, const std::string& most,
                   const std::string& given) {
  return Error(option + " must be " + (most.empty() ? "at least " + least : least + " to " + most) +
                   ", not " + given,
               ExitCode::usage);
}

// Sets what a row points to.
struct Setter {
  std::string option;  // "--every"
  const po::variable_value& given;

  void operator()(const option::Switch& value) const { *value.into = given.as<bool>(); }

  void operator()(const option::Number& value) const {
    const auto number = given.as<uint32_t>();
    if (number < value.least || number > value.most)
      throw out_of_range(
          option, with_commas(value.least),
          value.most == std::numeric_limits<uint32_t>::max() ? "" : with_commas(value.most),
          with_commas(number));
    *value.into = number;
  }

  void operator()(const option::Bytes& value) const {
    const auto& text = given.as<std::string>();
    const uint64_t bytes = parse_bytes(option, text);
    if (bytes < value.least || bytes > value.most)
      throw out_of_range(option, iec_bytes(static_cast<int64_t>(value.least)),
                         iec_bytes(static_cast<int64_t>(value.most)), text);
    *value.into = bytes;
  }

  void operator()(const option::Percent& value) const {
    const double percent = given.as<double>();
    if (!(percent > 0) || !std::isfinite(percent))
      throw Error(option + " takes a positive number of percent", ExitCode::usage);
    *value.into = percent;
  }

  void operator()(const option::Text& value) const { *value.into = given.as<std::string>(); }

  void operator()(const option::Texts& value) const {
    *value.into = given.as<std::vector<std::string>>();
  }

  void operator()(const option::Choice& value) const {
    const auto& word = given.as<std::string>();
    for (size_t place = 0; place < value.words.size(); ++place)
      if (value.words[place].name == word) return value.set(place);
    throw Error(option + " takes " + words_without_notes(value.words) + ", not '" + word + "'",
                ExitCode::usage);
  }
};

}  // namespace

void add_rows(po::options_description& options, std::span<const OptionRow> rows,
              OptionGroup group) {
  for (const OptionRow& row : rows)
    if (row.group == group)
      options.add_options()(row.name.c_str(), std::visit(Semantic{row.value_name}, row.value),
                            row.help.c_str());
}

void read_rows(const po::variables_map& values, std::span<const OptionRow> rows) {
  for (const OptionRow& row : rows)
    if (values.count(row.name) != 0)
      std::visit(Setter{"--" + row.name, values[row.name]}, row.value);
}

}  // namespace memflame
