// Package cmd holds the programs of Tongs. There is one: tongs, which turns flags into calls and results into text.
package cmd
