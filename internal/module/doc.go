// Package module makes tools of modules: a file of functions in TypeScript, JavaScript, Python or Go beside the
// configuration that names it, or a package of npm.
//
// A module is an MCP server with a loader in front. The loader makes one thing of the module and everything it imports,
// without running any of it, and identifies that by a hash of its content. A person approves the hash ([Set.Look],
// [Set.Approve]); only then is it run, from a private copy, by a host that speaks MCP, in the sandbox, through
// mcpclient. What the module says of its tools is kept from then on. A change of one byte has it asked about again.
package module
