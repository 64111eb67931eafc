// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/btf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "core/error.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr const char* kernel_btf = "/sys/kernel/btf/vmlinux";

// Bytes that follow a type: for each of its parts, or once.
struct Tail {
  uint32_t of_part = 0, once = 0;
};

// Nullptr for a kind that newer kernels may have.
const Tail* tail_of(uint32_t kind) {
  static constexpr Tail none{}, array{.once = sizeof(struct btf_array)},
      word{.once = sizeof(uint32_t)}, members{.of_part = sizeof(btf_member)},
      values{.of_part = sizeof(struct btf_enum)}, parameters{.of_part = sizeof(btf_param)},
      variables{.of_part = sizeof(btf_var_secinfo)},
      large_values{.of_part = sizeof(struct btf_enum64)};
  switch (kind) {
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FLOAT:
    case BTF_KIND_TYPE_TAG:
      return &none;
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
      return &word;
    case BTF_KIND_ARRAY:
      return &array;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      return &members;
    case BTF_KIND_ENUM:
      return &values;
    case BTF_KIND_ENUM64:
      return &large_values;
    case BTF_KIND_FUNC_PROTO:
      return &parameters;
    case BTF_KIND_DATASEC:
      return &variables;
    default:
      return nullptr;
  }
}

bool is_named_by_programs(uint32_t kind) {
  return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_TYPEDEF ||
         kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64;
}

template <class Value>
Value at(std::string_view bytes, size_t offset) {
  Value value{};
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Value)) throw Error("cut off");
  std::memcpy(&value, bytes.data() + offset, sizeof(Value));
  return value;
}

// The types of a file by number, from 1. Reading throws Error at what is not BTF.
class Types {
 public:
  explicit Types(std::string_view file) {
    const auto header = at<btf_header>(file, 0);
    if (header.magic != BTF_MAGIC || header.version != BTF_VERSION) throw Error("no BTF");
    const std::string_view rest = part(file, header.hdr_len, file.size() - header.hdr_len);
    types_ = part(rest, header.type_off, header.type_len);
    names_ = part(rest, header.str_off, header.str_len);
    if (names_.empty() || names_.back() != '\0') throw Error("no BTF");
    places_.push_back(0);  // void
    for (size_t place = 0; place < types_.size();) {
      places_.push_back(static_cast<uint32_t>(place));
      const auto head = at<btf_type>(types_, place);
      const Tail* tail = tail_of(BTF_INFO_KIND(head.info));
      if (tail == nullptr) throw Error("an unknown kind of type");
      place += sizeof(btf_type) + tail->once + size_t{tail->of_part} * BTF_INFO_VLEN(head.info);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(places_.size()); }
  btf_type head(uint32_t id) const { return at<btf_type>(types_, places_.at(id)); }
  // Offset from the type's begin.
  template <class Value>
  Value value(uint32_t id, size_t offset) const {
    return at<Value>(types_, places_.at(id) + offset);
  }
  std::string_view bytes(uint32_t id) const {
    const size_t end = id + 1 < size() ? places_[id + 1] : types_.size();
    return part(types_, places_.at(id), end - places_.at(id));
  }
  std::string_view name(uint32_t offset) const {
    return offset < names_.size() ? names_.data() + offset : std::string_view();
  }

 private:
  static std::string_view part(std::string_view bytes, size_t begin, size_t size) {
    if (begin > bytes.size() || size > bytes.size() - begin) throw Error("cut off");
    return bytes.substr(begin, size);
  }

  std::string_view types_, names_;
  std::vector<uint32_t> places_;
};

// Copies types with new numbers, in the order in which they are met.
class Copy {
 public:
  explicit Copy(const Types& types) : types_(types), numbers_(types.size()) {}

  uint32_t keep(uint32_t id) {
    if (id == 0) return 0;
    uint32_t& number = numbers_.at(id);
    if (number == 0) {
      met_.push_back(id);
      number = static_cast<uint32_t>(met_.size());
    }
    return number;
  }

  std::string file() {
    for (size_t i = 0; i < met_.size(); ++i) add(met_[i]);  // which meets more
    const btf_header header{.magic = BTF_MAGIC,
                            .version = BTF_VERSION,
                            .flags = 0,
                            .hdr_len = sizeof(btf_header),
                            .type_off = 0,
                            .type_len = static_cast<uint32_t>(out_.size()),
                            .str_off = static_cast<uint32_t>(out_.size()),
                            .str_len = static_cast<uint32_t>(names_.size())};
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + out_ + names_;
  }

 private:
  template <class Value>
  static void put(std::string& into, size_t offset, const Value& value) {
    std::memcpy(into.data() + offset, &value, sizeof(value));
  }

  uint32_t name(uint32_t offset) {
    const std::string_view name = types_.name(offset);
    if (name.empty()) return 0;
    const auto place = static_cast<uint32_t>(names_.size());
    names_.append(name).push_back('\0');
    return place;
  }

  void add(uint32_t id) {
    btf_type head = types_.head(id);
    const uint32_t kind = BTF_INFO_KIND(head.info), parts = BTF_INFO_VLEN(head.info);
    std::string bytes(types_.bytes(id));
    head.name_off = name(head.name_off);
    if (kind == BTF_KIND_PTR) head.type = 0;
    if (kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
        kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG)
      head.type = keep(head.type);
    put(bytes, 0, head);
    constexpr size_t tail = sizeof(btf_type);
    if (kind == BTF_KIND_ARRAY) {
      auto array = types_.value<struct btf_array>(id, tail);
      array.type = keep(array.type);
      array.index_type = keep(array.index_type);
      put(bytes, tail, array);
    }
    for (uint32_t i = 0; i < parts; ++i) {
      if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION) {
        const size_t place = tail + size_t{i} * sizeof(btf_member);
        auto member = types_.value<btf_member>(id, place);
        member.name_off = name(member.name_off);
        member.type = keep(member.type);
        put(bytes, place, member);
      } else if (kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64) {
        const size_t place = tail + size_t{i} * tail_of(kind)->of_part;
        put(bytes, place, name(types_.value<uint32_t>(id, place)));
      } else {
        throw Error("a type that nothing contains");
      }
    }
    out_ += bytes;
  }

  const Types& types_;
  std::vector<uint32_t> numbers_;  // by old number; 0: not kept
  std::vector<uint32_t> met_;      // old numbers
  std::string out_, names_{'\0'};
};

std::string types_of(const bpf_object* object) {
  const btf* own = bpf_object__btf(object);
  std::unordered_set<std::string_view> names;
  for (uint32_t id = 1; id < btf__type_cnt(own); ++id) {
    const btf_type* type = btf__type_by_id(own, id);
    const char* name = btf__name_by_offset(own, type->name_off);
    if (is_named_by_programs(BTF_INFO_KIND(type->info)) && name != nullptr && *name != '\0')
      names.insert(essential_name(name));
  }
  std::string all = read_file(kernel_btf);
  std::string some = types_named(all, names);
  return some.empty() ? all : some;
}

}  // namespace

std::string_view essential_name(std::string_view name) { return name.substr(0, name.find("___")); }

std::string types_named(std::string_view kernel,
                        const std::unordered_set<std::string_view>& names) {
  try {
    const Types types(kernel);
    Copy copy(types);
    for (uint32_t id = 1; id < types.size(); ++id) {
      const btf_type head = types.head(id);
      if (is_named_by_programs(BTF_INFO_KIND(head.info)) &&
          names.contains(essential_name(types.name(head.name_off))))
        copy.keep(id);
    }
    return copy.file();
  } catch (const Error&) {
    return {};
  } catch (const std::out_of_range&) {
    return {};
  }
}

KernelTypes::KernelTypes() : file_(::memfd_create("memflame-types", MFD_CLOEXEC)) {
  if (file_) path_ = "/proc/self/fd/" + std::to_string(file_.get());
}

void KernelTypes::fill(const bpf_object* object) {
  if (!file_) return;
  filling_ = std::async(std::launch::async, [object, file = file_.get()] {
    const std::string types = types_of(object);
    for (size_t done = 0; done < types.size();) {
      const ssize_t n = ::write(file, types.data() + done, types.size() - done);
      if (n <= 0) throw Error("the kernel's types could not be kept: no memory left");
      done += static_cast<size_t>(n);
    }
  });
}

void KernelTypes::ready() {
  if (filling_.valid()) filling_.get();
}

void KernelTypes::wait() const {
  if (filling_.valid()) filling_.wait();
}

}  // namespace memflame
