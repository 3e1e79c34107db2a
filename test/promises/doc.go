// Package promises has a test for each promise of the five founding documents, named after the document and its section:
// Test001_Forge_WorkingDir. Each test uses the promised thing as the document shows it: by the command, a worker with a scripted
// model, an MCP client, or the Go API. Examples of the documents are in testdata, to the letter.
package promises
