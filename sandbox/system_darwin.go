package sandbox

func systemDirs() []string { return systemDarwin }
