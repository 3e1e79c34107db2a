// Package mcpclient makes tools of MCP servers: programs that speak the Model Context Protocol over their standard
// streams, and addresses that speak it over HTTP.
//
// What a server says of itself is not believed. Its definitions are pinned: a tool can be called freely only while it
// is described as it was when a person looked at it ([Set.Look], [Set.Approve]). A definition that is new or changed is
// quarantined: a model is not shown its words, and every call of it is a question that shows them to a person. The
// annotations of a server can make a call look graver, never milder. Its questions reach a person as its own words, and
// what it asks of a model is refused.
//
// A server is started when one of its tools is first called, by the Env of that call, so that the walk has decided on
// it and the sandbox holds it. Listing tools starts nothing: what was seen of a server is kept in a [Store].
package mcpclient
