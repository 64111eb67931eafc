// SPDX-License-Identifier: BSD-2-Clause
// The other function of this name in custom_sites_test.
extern "C" {
[[gnu::noinline, gnu::used]] static int custom_sites_twin(int a) { return a * 7; }
int custom_sites_use_other(int a) { return custom_sites_twin(a) + 1; }
}
