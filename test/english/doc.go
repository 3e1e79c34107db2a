// Package english checks, as a test, that what people read is plain English: turns of phrase that readers found stilted
// are not used in strings, pages and documents. Places that still use one are listed in testdata/allowed.txt, and the
// list only shrinks.
package english
