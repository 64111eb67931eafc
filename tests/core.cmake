# SPDX-License-Identifier: BSD-2-Clause
memflame_test(profile)
memflame_test(secrets)
memflame_test(go_functions)
memflame_test(units)
memflame_test(interner)
