// Package tongs is the vocabulary of Tongs, the tool system that AI agents are given: tools, the effects a call
// would have, decisions about them, and what a running tool may reach.
//
// A tool is mostly data. Define one with [New], put it in a registry, and call it through an engine, which takes
// every call from every surface on the same walk:
//
//	open row → lookup → repair+validate → plan → decide → ask → run → fit → close row
//
// This package holds no mechanism: package engine is the walk, and the packages below it are its stages.
package tongs
