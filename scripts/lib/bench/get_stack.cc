// SPDX-License-Identifier: BSD-2-Clause
// Puts one program of get_stack.bpf.c on malloc.
//
//   get_stack OBJECT PROGRAM PID LIBRARY OFFSET
//
// OFFSET is malloc's in the file, in hexadecimal. Says "ready"; at the end of standard input prints
// nanoseconds spent in the program, its runs, and the frames of the last stack.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  bpf_object* object = bpf_object__open_file(argv[1], nullptr);
  if (object == nullptr) return 1;
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, object)
      bpf_program__set_autoload(each, std::strcmp(bpf_program__name(each), argv[2]) == 0);
  bpf_program* program = bpf_object__find_program_by_name(object, argv[2]);
  if (program == nullptr || bpf_object__load(object) != 0) return 1;
  bpf_link* link = bpf_program__attach_uprobe(program, false, std::atoi(argv[3]), argv[4],
                                              std::strtoul(argv[5], nullptr, 16));
  if (link == nullptr) return 1;
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  bpf_prog_info info{};
  __u32 size = sizeof(info);
  if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0) return 1;
  const bpf_map* globals = bpf_object__find_map_by_name(object, ".bss");
  unsigned key = 0;
  unsigned long long frames = 0;
  if (globals != nullptr) bpf_map_lookup_elem(bpf_map__fd(globals), &key, &frames);
  std::printf("%llu %llu %llu\n", info.run_time_ns, info.run_cnt, frames);
  bpf_link__destroy(link);
  bpf_object__close(object);
}
