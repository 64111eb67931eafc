// SPDX-License-Identifier: BSD-2-Clause
#include "cli/alloc_options.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "cli/completed.h"
#include "cli/options.h"
#include "core/error.h"
#include "probes/alloc/custom.h"
#include "probes/alloc/rate.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

void take_bytes(const po::variables_map& values, const char* name, uint64_t& into) {
  if (values.count(name) != 0)
    into = parse_bytes("--" + std::string(name), values[name].as<std::string>());
}

void read_sampling(const po::variables_map& values, ProbeOptions& options) {
  take_bytes(values, "sample", options.sample_bytes);
  take(values, "every", options.every);
  take(values, "max-overhead", options.max_overhead);
  if (values.count("sample") != 0 &&
      (options.sample_bytes == 0 || options.sample_bytes > largest_sample_bytes))
    throw Error("--sample takes 1 byte to 1 GiB", ExitCode::usage);
  if (values.count("every") != 0 && options.every == 0)
    throw Error("--every must be at least 1, which keeps all, not 0", ExitCode::usage);
  if (options.every > most_every)
    throw Error("--every must be at most " + std::to_string(most_every), ExitCode::usage);
  if (values.count("max-overhead") != 0 &&
      (!(options.max_overhead > 0) || !std::isfinite(options.max_overhead)))
    throw Error("--max-overhead takes a positive number of percent", ExitCode::usage);
  if (int{options.sample_bytes != 0} + int{options.every != 0} + int{options.max_overhead > 0} > 1)
    throw Error("--sample, --every and --max-overhead are mutually exclusive", ExitCode::usage);
}

}  // namespace

uint64_t parse_bytes(const std::string& option, const std::string& text) {
  const auto refuse = [&]() -> Error {
    return Error(
        option + " " + text + ": expected a number of bytes, like 4096, 512K, 1.5M or 2GiB",
        ExitCode::usage);
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) throw refuse();
  const std::string unit(end, text.data() + text.size());
  constexpr std::string_view prefixes = "KMGT";
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const size_t power = prefixes.find(static_cast<char>(unit[0] & ~0x20));
    const std::string rest = unit.substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB"))
      throw refuse();
    factor = std::ldexp(1.0, static_cast<int>(power + 1) * 10);
  }
  const double bytes = number * factor;
  if (!(bytes >= 0) || bytes >= std::ldexp(1.0, 63)) throw refuse();
  return static_cast<uint64_t>(bytes);
}

po::options_description block_options(const Probe& probe) {
  po::options_description options("Blocks");
  if (!probe.has_blocks) return options;
  options.add_options()("min-size", po::value<std::string>()->value_name("BYTES"),
                        "leave out blocks smaller than BYTES (K, M, G)");
  options.add_options()("max-size", po::value<std::string>()->value_name("BYTES"),
                        "leave out blocks larger than BYTES");
  options.add_options()("max-live", po::value<uint32_t>()->value_name("N"),
                        "follow at most N blocks at once (default: by the machine's memory)");
  if (probe.name != "alloc") return options;
  options.add_options()("sample", po::value<std::string>()->value_name("BYTES"),
                        "sample one block per BYTES allocated, on average; figures are then "
                        "estimates");
  options.add_options()("every", po::value<uint32_t>()->value_name("N"),
                        "sample one block in N, at random");
  options.add_options()("max-overhead", po::value<double>()->value_name("PERCENT"),
                        "sample so that memflame costs the target at most PERCENT of its CPU "
                        "time");
  options.add_options()("size", one_of("WHAT", {"requested", "usable"}),
                        "requested (default), or usable: what the allocator really allots");
  options.add_options()(
      "check", po::bool_switch(),
      "report blocks freed twice, never allocated, or by the wrong function; exit "
      "with 5 if there are any");
  options.add_options()("alloc", po::value<std::vector<std::string>>()->value_name("SPEC"),
                        "declare a function that allocates: 'FILE:FUNCTION(size=arg0,ptr=ret)'");
  options.add_options()("free", po::value<std::vector<std::string>>()->value_name("SPEC"),
                        "declare a function that frees: 'FILE:FUNCTION(ptr=arg0)'");
  std::string names;
  for (const std::string& name : preset_names()) names += (names.empty() ? "" : ", ") + name;
  options.add_options()(
      "preset",
      completed<std::vector<std::string>>("NAME", {Offer::words_or_files, preset_names()}),
      ("functions of a library: " + names + ", or FILE.json").c_str());
  options.add_options()("obj", po::value<std::string>()->value_name("FILE"),
                        "probe only the allocator in FILE (path, name or glob)");
  options.add_options()("symbols-prefix", po::value<std::string>()->value_name("PREFIX"),
                        "also probe functions named PREFIXmalloc, PREFIXfree, …");
  return options;
}

void read_block_options(const po::variables_map& values, ProbeOptions& options) {
  take_bytes(values, "min-size", options.min_size);
  take_bytes(values, "max-size", options.max_size);
  take(values, "max-live", options.max_live);
  if (options.min_size > options.max_size)
    throw Error("--min-size is larger than --max-size: no block would be left", ExitCode::usage);
  if (values.count("max-live") != 0 && options.max_live == 0)
    throw Error("--max-live must be at least 1, not 0", ExitCode::usage);
  read_sampling(values, options);
  std::string size = "requested";
  take(values, "size", size);
  if (size != "requested" && size != "usable")
    throw Error("--size takes 'requested' or 'usable', not '" + size + "'", ExitCode::usage);
  options.usable_size = size == "usable";
  take(values, "check", options.check);
  // A free of a block that was passed over is not a wrong free.
  const bool all = options.sample_bytes == 0 && options.every <= 1 && options.max_overhead == 0 &&
                   options.min_size == 0 && options.max_size == UINT64_MAX;
  if (options.check && !all)
    throw Error(
        "--check must see every block: leave out --sample, --every, --max-overhead, --min-size "
        "and --max-size",
        ExitCode::usage);
  take(values, "alloc", options.alloc_specs);
  take(values, "free", options.free_specs);
  take(values, "preset", options.presets);
  take(values, "obj", options.object);
  take(values, "symbols-prefix", options.symbols_prefix);
}

}  // namespace memflame
