// Command clients runs real agent clients against 'tongs mcp', with a scripted model and no network. Each client is
// installed from npm, gets a home, its own configuration file and a workspace in a temporary directory, and runs in a
// network namespace that has a loopback device and nothing else. See README.md.
package main
