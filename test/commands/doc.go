// Package commands measures how often people are asked about commands: two sets, one of everyday commands and one of attacks,
// take the real decision under the default configuration and with this machine's sandbox, and those that run without a
// question are run.
package commands
