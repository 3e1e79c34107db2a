// Package mcp holds both ends of the Model Context Protocol: mcpserver serves Tongs' tools to MCP clients, and mcpclient
// offers the tools of MCP servers as tools of Tongs. Package oauth logs in to servers that need it.
package mcp
