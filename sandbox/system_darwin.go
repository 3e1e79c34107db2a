package sandbox

// systemDarwin are the directories that hold programs on macOS, besides those that every program there needs.
var systemDarwin = []string{"/bin", "/sbin", "/usr", "/opt", "/Library/Developer", "/Applications/Xcode.app", "/private/etc/ssl"}

func systemDirs() []string { return systemDarwin }
