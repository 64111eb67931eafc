// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/outputs/otlp_message.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "collapse/inputs/pprof/pprof_message.h"
#include "core/error.h"
#include "fleet/outputs/otlp_dictionary.h"
#include "fleet/outputs/otlp_fields.h"
#include "fleet/window_sums.h"

namespace memflame {
namespace {

using protozero::pbf_writer;

// Labels that OpenTelemetry has a name for.
const std::map<std::string, std::string, std::less<>> semantic_names{
    {"service", "service.name"},
    {"host", "host.name"},
    {"version", "service.version"},
    {"container", "container.id"},
    {"namespace", "k8s.namespace.name"}};

// Samples of one column that are not 0.
struct ColumnSamples {
  std::vector<std::pair<int32_t, int64_t>> values;  // by stack
};

std::string id_of_column(const std::string& window_id, size_t column) {
  std::string id;
  for (size_t i = 0; i + 1 < window_id.size(); i += 2)
    id += static_cast<char>(std::stoi(window_id.substr(i, 2), nullptr, 16));
  id.back() = static_cast<char>(static_cast<unsigned char>(id.back()) ^ column);
  return id;
}

void write_resource(pbf_writer& resource_profiles, const WindowHead& head) {
  pbf_writer resource(resource_profiles, otlp::resource);
  for (const auto& [label, value] : head.labels) {
    const auto named = semantic_names.find(label);
    pbf_writer attribute(resource, otlp::resource_attributes);
    attribute.add_string(otlp::key, named == semantic_names.end() ? label : named->second);
    add_any_value(attribute, otlp::value, value);
  }
}

void write_value_type(pbf_writer& profile, uint32_t tag, int32_t type, int32_t unit) {
  pbf_writer value_type(profile, tag);
  value_type.add_int32(otlp::type_name, type);
  value_type.add_int32(otlp::unit, unit);
}

class OtlpWriter {
 public:
  OtlpWriter(const WindowHead& head, const pprof::Tables& tables)
      : head_(head), tables_(tables), dictionary_(tables), columns_(tables.sample_types.size()) {}

  std::string run() {
    read_samples();
    std::string message;
    pbf_writer request(message);
    {
      pbf_writer resource_profiles(request, otlp::resource_profiles);
      write_resource(resource_profiles, head_);
      pbf_writer scope_profiles(resource_profiles, otlp::scope_profiles);
      {
        pbf_writer scope(scope_profiles, otlp::scope);
        scope.add_string(otlp::scope_name, "memflame");
      }
      for (size_t column = 0; column < columns_.size(); ++column)
        write_profile(scope_profiles, column);
    }
    dictionary_.write(request);
    return message;
  }

 private:
  void read_samples() {
    pprof::Sample sample;
    for (const std::string_view bytes : tables_.samples) {
      pprof::read_sample(bytes, sample);
      if (sample.values.size() != columns_.size())
        throw Error("a sample of a window's profile has too few values");
      const int32_t stack = dictionary_.add_stack(sample.locations);
      for (size_t i = 0; i < columns_.size(); ++i)
        if (sample.values[i] != 0) columns_[i].values.emplace_back(stack, sample.values[i]);
    }
  }

  void write_profile(pbf_writer& scope_profiles, size_t column) {
    const pprof::ValueType& type = tables_.sample_types[column];
    pbf_writer profile(scope_profiles, otlp::profiles);
    write_value_type(profile, otlp::sample_type, dictionary_.add_pprof_text(type.type),
                     dictionary_.add_pprof_text(type.unit));
    for (const auto& [stack, value] : columns_[column].values) {
      pbf_writer sample(profile, otlp::samples);
      sample.add_int32(otlp::stack_index, stack);
      sample.add_packed_int64(otlp::values, &value, &value + 1);
    }
    profile.add_fixed64(otlp::time_unix_nano, static_cast<uint64_t>(head_.began_ns));
    profile.add_uint64(otlp::duration_nano, static_cast<uint64_t>(head_.ended_ns - head_.began_ns));
    write_period(profile);
    profile.add_bytes(otlp::profile_id, id_of_column(head_.id, column));
    std::vector<int32_t> attributes;
    for (const auto& [name, value] : head_.figures)
      attributes.push_back(dictionary_.add_attribute("memflame." + name, value));
    profile.add_packed_int32(otlp::profile_attributes, attributes.begin(), attributes.end());
  }

  void write_period(pbf_writer& profile) {
    const auto at = head_.figures.find("sample_bytes");
    if (at == head_.figures.end() || !(at->second >= 1) || at->second > 1e15) return;
    write_value_type(profile, otlp::period_type, dictionary_.add_text("alloc_space"),
                     dictionary_.add_text("bytes"));
    profile.add_int64(otlp::period, std::llround(at->second));
  }

  const WindowHead& head_;
  const pprof::Tables& tables_;
  OtlpDictionary dictionary_;
  std::vector<ColumnSamples> columns_;
};

}  // namespace

std::string otlp_request(const Window& window) try {
  const std::string message = unpacked_pprof(window.pprof);
  const pprof::Tables tables = pprof::read_tables(message);
  if (tables.sample_types.empty()) throw Error("the profile of a window has no columns");
  return OtlpWriter(window.head, tables).run();
} catch (const protozero::exception& problem) {
  throw Error(std::string("the profile of a window is damaged: ") + problem.what());
}

std::string otlp_rejection(std::string_view response) try {
  protozero::pbf_reader message(response.data(), response.size());
  while (message.next(otlp::partial_success)) {
    protozero::pbf_reader partial = message.get_message();
    int64_t rejected = 0;
    std::string why;
    while (partial.next()) {
      if (partial.tag() == otlp::rejected_profiles &&
          partial.wire_type() == protozero::pbf_wire_type::varint)
        rejected = partial.get_int64();
      else if (partial.tag() == otlp::error_message &&
               partial.wire_type() == protozero::pbf_wire_type::length_delimited)
        why = partial.get_string();
      else
        partial.skip();
    }
    if (rejected > 0)
      return "the store rejects " + std::to_string(rejected) + " profiles: " + why.substr(0, 300);
  }
  return "";
} catch (const protozero::exception&) {
  return "";  // not what the definition says, but the status was good
}

}  // namespace memflame
