memflame_test(profile)
memflame_test(units)
memflame_test(interner)
