// SPDX-License-Identifier: BSD-2-Clause
#include "core/pprof.h"

#include <map>
#include <protozero/pbf_writer.hpp>
#include <sstream>

#include "core/folded.h"
#include "core/gzip.h"
#include "core/units.h"
#include "render/order/ordered_stacks.h"
#include "render/output.h"
#include "render/outputs/comments.h"
#include "render/outputs/pprof_places.h"
#include "render/text/clean_text.h"

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

class PprofWriter {
 public:
  PprofWriter(std::ostream& out, const Profile& profile, const RenderOptions& options)
      : out_(out),
        profile_(profile),
        options_(options),
        clean_(clean_strings(profile)),
        places_(profile) {
    for (size_t i = 0; i < profile.types.size(); ++i)
      if (profile.types[i].unit != Unit::variance) columns_.push_back(i);
    texts_of_.resize(clean_.texts.size(), -1);
  }

  void run() {
    write_types();
    const std::vector<bool> touched = touched_stacks(profile_);
    for (const StackId stack : ordered_stacks(profile_))
      if (touched[stack.index]) write_sample(stack);
    places_.finish();
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
    const std::span<const int64_t> values = profile_.values(stack);
    places_.take(stack, values[profile_.shown], locations_);
    values_.clear();
    for (const size_t column : columns_)
      values_.push_back(whole(values[column], profile_.types[column].decimals));
    {
      pbf_writer profile(message_);
      pbf_writer sample(profile, pprof::profile_sample);
      sample.add_packed_uint64(pprof::sample_location_id, locations_.begin(), locations_.end());
      sample.add_packed_int64(pprof::sample_value, values_.begin(), values_.end());
    }
    send();
  }

  void write_locations() {
    uint64_t id = 0;
    for (const PprofLocation& made : places_.locations()) {
      {
        pbf_writer profile(message_);
        pbf_writer location(profile, pprof::profile_location);
        location.add_uint64(pprof::location_id, ++id);
        if (made.mapping != 0) location.add_uint64(pprof::location_mapping_id, made.mapping);
        if (made.address != 0) location.add_uint64(pprof::location_address, made.address);
        for (const PprofLine& known : made.lines) {
          pbf_writer line(location, pprof::location_line);
          line.add_uint64(pprof::line_function_id, known.function);
          if (known.line != 0) line.add_int64(pprof::line_line, known.line);
        }
      }
      send();
    }
  }

  void write_functions() {
    for (uint32_t i = 1; i < places_.functions(); ++i) {
      const PprofFunction& key = places_.function(i);
      // A function must have a name.
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
        if (key.start_line != 0) function.add_int64(pprof::function_start_line, key.start_line);
      }
      send();
    }
  }

  void write_mappings() {
    uint64_t id = 0;
    for (const PprofMapping& made : places_.mappings()) {
      const CodeMapping& code = profile_.code[made.code];
      {
        pbf_writer profile(message_);
        pbf_writer mapping(profile, pprof::profile_mapping);
        mapping.add_uint64(pprof::mapping_id, ++id);
        if (made.code) {
          mapping.add_uint64(pprof::mapping_start, code.start);
          mapping.add_uint64(pprof::mapping_limit, code.limit);
          mapping.add_uint64(pprof::mapping_offset, code.offset);
          mapping.add_int64(pprof::mapping_build_id, texts_.add(clean(code.build_id)));
        }
        mapping.add_int64(pprof::mapping_file, made.code ? texts_.add(clean(code.file))
                                               : made.module
                                                   ? text(made.module)
                                                   : texts_.add(std::string(pprof::own_mapping)));
        mapping.add_bool(pprof::mapping_has_functions, made.functions);
        mapping.add_bool(pprof::mapping_has_filenames, made.files);
        mapping.add_bool(pprof::mapping_has_lines, made.lines);
        // Lines and inlined functions come from the same debug information.
        mapping.add_bool(pprof::mapping_has_inlined, made.lines);
      }
      send();
    }
  }

  // pprof shows the comments that do not begin with '#'.
  void write_meta() {
    const Meta& meta = profile_.meta;
    std::ostringstream exact;
    write_comments(exact, profile_, options_, clean_.replaced);
    std::vector<std::string> comments;
    std::istringstream lines(exact.str());
    for (std::string line; std::getline(lines, line);) comments.push_back(line);
    for (std::string& comment : places_.unnamed_comments()) comments.push_back(std::move(comment));
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
    if (meta.began_ns > 0) profile.add_int64(pprof::profile_time_nanos, meta.began_ns);
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
  std::vector<int64_t> texts_of_;  // by StringId::index, -1 = not used yet
  PprofPlaces places_;
  std::vector<uint64_t> locations_;  // of one sample, leaf first
  std::vector<int64_t> values_;
  std::string message_;
};

}  // namespace

void write_pprof(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  PprofWriter(out, profile, options).run();
}

}  // namespace memflame
