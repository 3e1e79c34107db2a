// Package terminal shows things to a person at a terminal and asks them: questions and their answers, a running worker,
// long texts, tables. It decides nothing: an answer goes to whoever asked, and where there is no terminal nobody is
// asked and nothing is approved.
package terminal
