// SPDX-License-Identifier: BSD-2-Clause
#include "core/pprof.h"

#include <map>
#include <protozero/pbf_writer.hpp>
#include <sstream>

#include "core/folded.h"
#include "core/units.h"
#include "render/clean_text.h"
#include "render/comments.h"
#include "render/gzip.h"
#include "render/ordered_stacks.h"
#include "render/output.h"

namespace memflame {
namespace {

using protozero::pbf_writer;

// Texts in the order of their first use.
class Texts {
 public:
  int64_t add(const std::string& text) {
    const auto [at, is_new] = places_.try_emplace(text, static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  const std::vector<const std::string*>& all() const { return texts_; }

 private:
  std::map<std::string, int64_t> places_{{"", 0}};
  std::vector<const std::string*> texts_{&places_.begin()->first};
};

struct FunctionKey {
  StringId name, file;
  FrameKind mark = FrameKind::user;
  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
};
struct HashFunction {
  size_t operator()(const FunctionKey& key) const {
    return mix((uint64_t{key.name.index} << 32U) | key.file.index, static_cast<uint64_t>(key.mark));
  }
};
using FunctionId = Id<struct FunctionTag>;

// A location is a frame and those that were inlined into it: a short stack of its own.
class PprofWriter {
 public:
  PprofWriter(std::ostream& out, const Profile& profile, const RenderOptions& options)
      : out_(out), profile_(profile), options_(options), clean_(clean_strings(profile)) {
    for (size_t i = 0; i < profile.types.size(); ++i)
      if (profile.types[i].unit != Unit::variance) columns_.push_back(i);
    texts_of_.resize(clean_.texts.size(), -1);
    mapping_of_.resize(clean_.texts.size(), 0);
  }

  void run() {
    write_types();
    const std::vector<bool> touched = touched_stacks(profile_);
    for (const StackId stack : ordered_stacks(profile_))
      if (touched[stack.index]) write_sample(stack);
    write_locations();
    write_functions();
    write_mappings();
    write_meta();
    for (const std::string* text : texts_.all()) {
      pbf_writer(message_).add_string(pprof::profile_string_table, *text);
      send();
    }
    out_.finish();
  }

 private:
  void send() {
    out_.write(message_);
    message_.clear();
  }

  int64_t text(StringId id) {
    int64_t& place = texts_of_[id.index];
    if (place < 0) place = texts_.add(clean_[id]);
    return place;
  }

  std::string clean(std::string_view text) { return clean_text(text, replaced_); }

  void write_types() {
    for (const size_t column : columns_) {
      const ValueType& type = profile_.types[column];
      pbf_writer profile(message_);
      pbf_writer one(profile, pprof::profile_sample_type);
      one.add_int64(pprof::value_type_type, texts_.add(clean(type.name)));
      one.add_int64(pprof::value_type_unit, texts_.add(std::string(name(type.unit))));
    }
    send();
  }

  void write_sample(StackId stack) {
    locations_.clear();
    take_locations(profile_.path(stack));
    values_.clear();
    const std::span<const int64_t> values = profile_.values(stack);
    for (const size_t column : columns_)
      values_.push_back(whole(values[column], profile_.types[column].decimals));
    {
      pbf_writer profile(message_);
      pbf_writer sample(profile, pprof::profile_sample);
      sample.add_packed_uint64(pprof::sample_location_id, locations_.rbegin(), locations_.rend());
      sample.add_packed_int64(pprof::sample_value, values_.begin(), values_.end());
    }
    send();
  }

  // Root first.
  void take_locations(const std::vector<FrameId>& path) {
    StackId chain;
    for (size_t i = 0; i < path.size(); ++i) {
      chain = chains_.push(chain, path[i]);
      const bool goes_on = i + 1 < path.size() && is_inlined_into(path[i + 1], path[i]);
      if (goes_on) continue;
      if (location_of_.size() < chains_.size()) location_of_.resize(chains_.size(), 0);
      uint64_t& id = location_of_[chain.index];
      if (id == 0) {
        ends_.push_back(chain);
        id = ends_.size();
      }
      locations_.push_back(id);
      chain = {};
    }
  }

  bool is_inlined_into(FrameId callee, FrameId caller) const {
    const Frame& inner = profile_.frames[callee];
    return inner.kind == FrameKind::inlined && inner.module == profile_.frames[caller].module;
  }

  uint64_t mapping(StringId module) {
    if (!module) return 0;
    uint64_t& id = mapping_of_[module.index];
    if (id == 0) {
      mappings_.push_back(module);
      id = mappings_.size();
    }
    return id;
  }

  // The outermost line of a location cannot say that it was inlined, nor any what kind it is.
  uint64_t function(const Frame& frame, bool is_outermost) {
    const bool says_so = frame.kind == FrameKind::inlined && !is_outermost;
    return functions_.intern({frame.function, frame.file, says_so ? FrameKind::user : frame.kind})
        .index;
  }

  void write_locations() {
    for (size_t i = 0; i < ends_.size(); ++i) {
      {
        pbf_writer profile(message_);
        pbf_writer location(profile, pprof::profile_location);
        location.add_uint64(pprof::location_id, i + 1);
        const uint64_t id = mapping(profile_.frames[chains_[ends_[i]].frame].module);
        if (id != 0) location.add_uint64(pprof::location_mapping_id, id);
        for (StackId at = ends_[i]; at; at = chains_[at].caller) {
          const Frame& frame = profile_.frames[chains_[at].frame];
          pbf_writer line(location, pprof::location_line);
          line.add_uint64(pprof::line_function_id, function(frame, !chains_[at].caller));
          if (frame.line != 0) line.add_int64(pprof::line_line, frame.line);
        }
      }
      send();
    }
  }

  void write_functions() {
    for (uint32_t i = 1; i < functions_.size(); ++i) {
      const FunctionKey& key = functions_[FunctionId{i}];
      // A place without a name would have none at all.
      const int64_t plain = key.name ? text(key.name) : texts_.add("[unknown]");
      int64_t marked = plain;
      for (const FoldedSuffix& suffix : folded_suffixes)
        if (suffix.kind == key.mark)
          marked = texts_.add(clean_[key.name] + std::string(suffix.text));
      {
        pbf_writer profile(message_);
        pbf_writer function(profile, pprof::profile_function);
        function.add_uint64(pprof::function_id, i);
        function.add_int64(pprof::function_name, plain);
        function.add_int64(pprof::function_system_name, marked);
        if (key.file) function.add_int64(pprof::function_file, text(key.file));
      }
      send();
    }
  }

  // All names are known: nobody needs to look for more.
  void write_mappings() {
    for (size_t i = 0; i < mappings_.size(); ++i) {
      {
        pbf_writer profile(message_);
        pbf_writer mapping(profile, pprof::profile_mapping);
        mapping.add_uint64(pprof::mapping_id, i + 1);
        mapping.add_int64(pprof::mapping_file, text(mappings_[i]));
        for (const pprof::MappingField known :
             {pprof::mapping_has_functions, pprof::mapping_has_filenames, pprof::mapping_has_lines,
              pprof::mapping_has_inlined})
          mapping.add_bool(known, true);
      }
      send();
    }
  }

  // What pprof shows of the comments are those that do not begin with '#'.
  void write_meta() {
    const Meta& meta = profile_.meta;
    std::ostringstream exact;
    write_comments(exact, profile_, options_, clean_.replaced);
    std::vector<std::string> comments;
    std::istringstream lines(exact.str());
    for (std::string line; std::getline(lines, line);) comments.push_back(line);
    comments.push_back(clean(options_.title.empty() ? meta.title : options_.title));
    if (!meta.sampling.empty())
      comments.push_back("estimated from samples (" + clean(meta.sampling) + ")");
    for (const std::string& note : meta.notes) comments.push_back(clean(note));
    for (size_t i = 0; i < loss_info.size(); ++i)
      if (const LossCount& count = profile_.losses[static_cast<Loss>(i)]; count.events != 0)
        comments.push_back(std::string(loss_info[i].label) + ": " + std::to_string(count.events));
    for (const std::string& what : left_out(output_for("pprof", ""), profile_))
      comments.push_back("left out: " + clean(what));
    pbf_writer profile(message_);
    for (const std::string& comment : comments)
      if (!comment.empty()) profile.add_int64(pprof::profile_comment, texts_.add(comment));
    if (meta.seconds > 0 && meta.seconds < 9e9)
      profile.add_int64(pprof::profile_duration_nanos, static_cast<int64_t>(meta.seconds * 1e9));
    profile.add_int64(pprof::profile_default_sample_type,
                      texts_.add(clean(profile_.types[profile_.shown].name)));
    send();
  }

  Gzip out_;
  const Profile& profile_;
  const RenderOptions& options_;
  const CleanStrings clean_;
  uint64_t replaced_ = 0;
  std::vector<size_t> columns_;  // those that are values
  Texts texts_;
  std::vector<int64_t> texts_of_;     // by StringId::index, -1 = not used yet
  std::vector<uint64_t> mapping_of_;  // by StringId::index of the module, 0 = not used yet
  std::vector<StringId> mappings_;
  Interner<FunctionKey, FunctionId, HashFunction> functions_;
  StackTable chains_;
  std::vector<uint64_t> location_of_;  // by the index of a chain, 0 = none
  std::vector<StackId> ends_;          // chains that are locations
  std::vector<uint64_t> locations_;    // of one sample, root first
  std::vector<int64_t> values_;
  std::string message_;
};

}  // namespace

void write_pprof(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  PprofWriter(out, profile, options).run();
}

}  // namespace memflame
