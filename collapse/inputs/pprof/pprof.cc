// SPDX-License-Identifier: BSD-2-Clause
// Profiles in pprof's format (core/pprof.h). A first pass over the message notes where the tables'
// entries and the samples lie in it. Then samples are decoded one by one, and a location becomes
// frames when a sample uses it for the first time.
#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <protozero/exception.hpp>
#include <set>

#include "collapse/inputs/folded/folded_comment.h"
#include "collapse/inputs/pprof/pprof_places.h"
#include "collapse/inputs/pprof/pprof_units.h"
#include "collapse/inputs/readers.h"
#include "collapse/inputs/text_frame.h"
#include "collapse/text/issues.h"
#include "core/error.h"
#include "core/folded.h"
#include "core/units.h"

namespace memflame {
namespace {

using pprof::Tables;

// Many messages may refer to one long text, so copies of it are cut to this length.
constexpr size_t longest_name = 255;

class PprofReader {
 public:
  PprofReader(Source& source, const ReadOptions& options)
      : source_(source),
        options_(options),
        bytes_(source.all()),
        tables_(pprof::read_tables(bytes_)) {}

  Profile run() {
    columns();
    try {
      take_comments();
    } catch (const Error& error) {
      source_.fail(error.what());
    }
    describe();
    pprof::Places places(tables_, unnamed_, options_, profile_, issues_,
                         comments_.roots_are_processes(), bytes_.size());
    for (const std::string_view message : tables_.samples) {
      pprof::read_sample(message, sample_);
      if (sample_.values.size() != factors_.size()) {
        issues_.add("a sample with another number of values than there are kinds", 0,
                    std::to_string(sample_.values.size()));
        continue;
      }
      add(places);
    }
    places.finish();
    if (!other_labels_.empty()) note_labels();
    if (tables_.ids_used_twice != 0)
      issues_.add("an id that is used twice: the first counts", 0,
                  std::to_string(tables_.ids_used_twice));
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  std::string_view text(int64_t at) {
    if (at >= 0 && static_cast<size_t>(at) < tables_.strings.size())
      return tables_.strings[static_cast<size_t>(at)];
    if (at != 0) issues_.add("a text that is not there", 0, std::to_string(at));
    return {};
  }

  void columns() {
    if (tables_.sample_types.empty()) source_.fail("it does not say what its values are");
    if (tables_.sample_types.size() > max_columns) source_.fail("it has more than 1,024 columns");
    const std::string_view standard = text(tables_.default_sample_type).substr(0, longest_name);
    std::optional<size_t> chosen, in_use;
    for (const pprof::ValueType& type : tables_.sample_types) {
      const std::string_view name = text(type.type).substr(0, longest_name);
      const std::string_view unit_text = text(type.unit).substr(0, longest_name);
      const NamedUnit unit = unit_named(unit_text);
      if (!standard.empty() && name == standard) chosen = factors_.size();
      if (name == "inuse_space") in_use = factors_.size();
      factors_.push_back(unit.factor);
      profile_.types.push_back({std::string(name.empty() ? unit_text : name), unit.unit});
      if (!unit.known && unit_text != name)
        profile_.meta.notes.push_back(std::string(name) + " is in " + std::string(unit_text));
    }
    profile_.shown = chosen.value_or(in_use.value_or(factors_.size() - 1));
  }

  // memflame's own comments hold what the format has no field for.
  void take_comments() {
    std::vector<std::string> plain;
    bool is_ours = false;
    std::set<int64_t> seen;
    for (const int64_t comment : tables_.comments) {
      if (!seen.insert(comment).second) continue;
      const std::string_view line = text(comment);
      if (line.starts_with(pprof::unnamed_comment) && !unnamed_.take(line))
        issues_.add("a damaged comment on code without names", 0, line);
      else if (line.starts_with(folded_comment) && comments_.take(line))
        is_ours = true;
      else if (!line.empty() && !line.starts_with('#'))
        plain.emplace_back(line);
    }
    // memflame's other comments repeat the same for people.
    std::vector<std::string>& notes = profile_.meta.notes;
    if (!is_ours) notes.insert(notes.end(), plain.begin(), plain.end());
    comments_.finish(profile_);
  }

  void describe() {
    Meta& meta = profile_.meta;
    if (meta.seconds == 0 && tables_.duration > 0)
      meta.seconds = static_cast<double>(tables_.duration) / 1e9;
    if (tables_.time > 0) {
      meta.began_ns = tables_.time;
      constexpr int64_t second = 1000000000;
      const std::time_t time = tables_.time / second;
      std::tm utc{};
      std::array<char, 40> date{};
      if (gmtime_r(&time, &utc) != nullptr &&
          std::strftime(date.data(), date.size(), "taken %Y-%m-%d %H:%M:%S UTC", &utc) != 0 &&
          std::find(meta.notes.begin(), meta.notes.end(), date.data()) == meta.notes.end())
        meta.notes.emplace_back(date.data());
    }
    if (!meta.sampling.empty() || tables_.period <= 1) return;
    const NamedUnit unit = unit_named(text(tables_.period_type.unit));
    int64_t period = 0;
    if (__builtin_mul_overflow(tables_.period, unit.factor, &period)) return;
    meta.sampling = "1 in " + human(period, {"", unit.unit}) + " of " +
                    std::string(text(tables_.period_type.type)) +
                    ", already scaled by the profiler";
  }

  // The frame of the program, if labels name it and the options want it.
  StackId root() {
    std::string comm, pid, tid;
    for (const pprof::Label& label : sample_.labels) {
      const std::string_view key = text(label.key);
      const auto value = [&] {
        return label.text != 0 ? std::string(text(label.text).substr(0, longest_name))
                               : std::to_string(label.number);
      };
      if (key == "comm" && options_.comm)
        comm = value();
      else if (key == "pid" && (options_.pid || options_.tid))
        pid = value();
      else if (key == "tid" && options_.tid)
        tid = value();
      else if (constexpr size_t most = 8; other_labels_.size() < most)
        other_labels_.insert(label.key);
    }
    return push_process(profile_, comm, pid, tid, options_);
  }

  void note_labels() {
    std::string list;
    for (const int64_t key : other_labels_)
      list += (list.empty() ? "" : ", ") + std::string(text(key));
    profile_.meta.notes.push_back("labels that are not used: " + list);
  }

  void add(pprof::Places& places) {
    for (size_t i = 0; i < factors_.size(); ++i)
      if (__builtin_mul_overflow(sample_.values[i], factors_[i], &sample_.values[i]))
        source_.fail("a value of " + profile_.types[i].name + " leaves the range of 64 bits");
    try {
      profile_.add(places.stack(root(), sample_.locations), sample_.values);
    } catch (const Error& error) {
      source_.fail(error.what());
    }
  }

  Source& source_;
  const ReadOptions& options_;
  const std::string bytes_;
  const Tables tables_;
  Profile profile_;
  Issues issues_;
  FoldedComments comments_;
  pprof::UnnamedCode unnamed_;
  std::vector<int64_t> factors_;  // by column
  pprof::Sample sample_;
  std::set<int64_t> other_labels_;
};

}  // namespace

bool is_pprof(std::string_view head) { return pprof::looks_like_profile(head); }

Profile read_pprof(Source& source, const ReadOptions& options) {
  try {
    return PprofReader(source, options).run();
  } catch (const protozero::exception& error) {
    source.fail(std::string("it is not a whole pprof profile (") + error.what() +
                "); was it cut off?");
  }
}

}  // namespace memflame
