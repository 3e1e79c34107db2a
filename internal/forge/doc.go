// Package forge provides custom tools: those that an agent or a person wrote, each in a directory of its own. That directory
// of tools is called the forge.
//
//	~/.forge/tools/<name>/tool.yaml   what the tool is called, does and takes
//	~/.forge/tools/<name>/<name>.go   its source, in any language
//	~/.forge/tools/<name>/<name>      what runs, named by entrypoint
//
// A [Set] knows the tools of one such directory. Refreshing it looks at stat identities only; what did not change is not
// read again. A tool runs only as a person approved it: all of its files are hashed together, what runs is a private copy
// of what had that hash, and a change of one byte goes back to review. Until then every call of it must be asked.
//
// Arguments become flags, --name=value, in the order of tool.yaml. A program runs in the sandbox, in the workspace.
package forge
