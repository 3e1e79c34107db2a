// Package tongs is the vocabulary of Tongs, which runs tools for AI agents: tools, the effects that a call would have,
// decisions about them, and what a running tool may reach.
//
// A tool is mostly data. Define one with [New], put it in a registry (package engine/registry), and call it through an engine.
// Every call takes the same stages in the same order, the walk, wherever it comes from: a Go program, the command line, an MCP
// client, the console or a worker.
//
//	open row → lookup → repair+validate → plan → decide → join → ask → run → settle → fit → close row
//
// The main words, in the order in which a call meets them:
//
//   - A [Call] asks a [Caller], such as an engine, to run a [Tool]. A [Spec] describes the tool.
//   - A [Plan] lists what the call would do, as [Effect]s: read, write or delete a path, execute a command, reach a host.
//   - A [Rule] is what a person configured about effects or whole calls. A [Decision] is what follows: run, ask or refuse.
//   - An [Env] is all that the running tool can reach: the decided effects and nothing else. A [Permit] is the same for the code
//     that runs programs and makes requests for the tool.
//   - A [Need] is the error for something that nobody decided. The engine plans again with it.
//   - A [Result] is what the caller gets.
//   - A [Scope] narrows a Caller, for example for a worker. A [Zone] is a part of the files, read-only or writable.
//
// This package only defines these words. Package engine is the walk, and the packages below it are its stages.
package tongs
