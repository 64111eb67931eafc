#include "collapse/input.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace memflame {
namespace {

// Packed in a way that is not read: by its first bytes, with what unpacks it.
struct Packer {
  std::string_view magic, name, command;
};

constexpr std::array packers{
    Packer{"BZh", "bzip2", "bzip2 -dc"},
    Packer{"PK\x03\x04", "zip", "unzip -p"},
    Packer{"\x04\x22\x4d\x18", "lz4", "lz4 -dc"},
    Packer{"\x89LZO", "lzop", "lzop -dc"},
    Packer{"LZIP", "lzip", "lzip -dc"},
    Packer{{"]\0\0", 3}, "lzma", "xz --format=lzma -dc"},
    Packer{"\x1f\x8b", "gzip more than once", "gzip -dc"},
};

// POSIX's and GNU's, by the header of the first member; it would be taken for a part of the first
// line. No text is one: --from means nothing for it.
bool is_tar(std::string_view head) {
  constexpr size_t place = 257;
  const std::string_view magic = head.substr(std::min(place, head.size()), 6);
  using namespace std::string_view_literals;
  return magic == "ustar\0"sv || magic == "ustar "sv;
}

constexpr std::array table{
#define INPUT(id, name, help) Input{name, help, is_##id, read_##id},
#include "collapse/inputs/inputs.def"
#undef INPUT
};

}  // namespace

std::span<const Input> inputs() { return table; }

const Input& input_for(const Source& source, std::string_view from) {
  if (is_tar(source.head()))
    source.fail("it is a tar archive: unpack it first, as with 'tar -xOf FILE MEMBER'");
  const auto fits = [&](const Input& input) {
    return from.empty() ? input.matches(source.head()) : input.name == from;
  };
  const auto* found = std::find_if(table.begin(), table.end(), fits);
  if (found != table.end()) return *found;
  if (!from.empty())
    throw Error("there is no format '" + std::string(from) + "'; see 'memflame collapse --help'",
                ExitCode::usage);
  const std::string_view head = source.head();
  const auto* packer = std::find_if(packers.begin(), packers.end(), [&](const Packer& each) {
    return head.starts_with(each.magic);
  });
  if (packer != packers.end())
    source.fail("it is packed with " + std::string(packer->name) + ": unpack it first, as with '" +
                std::string(packer->command) + " FILE'");
  source.fail(
      head.empty()
          ? "it is empty"
          : "its format is not recognised; name it with --from (see 'memflame collapse --help')");
}

Profile read_profile(Source& source, std::string_view from, const ReadOptions& options) {
  return input_for(source, from).read(source, options);
}

}  // namespace memflame
