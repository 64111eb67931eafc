memflame_test(profile)
memflame_test(units)
