//go:build !tongslauncher || !linux

package sandbox

// embedded is the launcher, which this build does not have: it re-executes itself instead.
const embedded = ""
