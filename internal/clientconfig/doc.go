// Package clientconfig reads and edits the configuration files of MCP clients: it adds Tongs to one, keeping everything
// else as it is, and imports the servers that one names. It writes no files.
package clientconfig
