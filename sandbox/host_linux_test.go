package sandbox

// testHost is a process that uses the sandbox and that a test kills.
func testHost(job string) int { return 1 }
