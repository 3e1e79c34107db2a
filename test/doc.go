// Package test holds what checks the whole module: benchmarks, end-to-end tests, the layer rules, the checkers' module and
// the scripts that the Makefile runs. Tests of one package are beside that package.
package test
