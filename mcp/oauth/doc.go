// Package oauth logs a person in to an MCP server by OAuth 2.1, and keeps what comes of it.
//
// A [Resource] is one server by URL. [Resource.Login] is for a person: it finds the authorization server that the
// resource names, registers with it where that is needed, sends the person there, receives the answer on the loopback
// interface, and keeps the tokens in a [Store]. [Resource.Token] is for calls: it returns a token that is valid, renews
// one that is not, and never asks anybody; where a person has to log in it fails with [ErrLogin].
//
// A server is not believed further than it must be. What it names is reached through the network guard: an address of
// this machine or network only where a person named that host, nothing but HTTPS except on this machine, no redirects,
// and within bounds of size and time. Metadata must be about the resource and the issuer that they were asked about,
// PKCE is required, and the answer of the authorization server must carry our state and, where it names one, its issuer.
// Tokens are bound to the URL that they were issued for, and are in no error and no text.
package oauth
