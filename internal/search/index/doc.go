// Package index tells which files may contain a text, without reading them: an index of trigrams, three neighbouring bytes,
// over blocks of whole lines of about 16 KiB.
//
// Bytes are mapped to an alphabet of 64 codes first: letters without their case, digits, the common punctuation each by
// itself, the rest in classes. What a trigram says of case is one bit, whether any of its letters is large, so that
// searches with and without regard to case go by the same lists. Line ends and control characters have no code: no
// trigram spans them.
//
// Blocks are counted in groups of 64. The list of a trigram is a sequence of groups, each with the 64-bit mask of its
// blocks, in a form of variable length; lists that would be longer so are plain masks. To look for a literal is to
// intersect the lists of its trigrams, the shortest first.
//
// The index only ever leaves out what cannot match. Whether something matches is found out by reading it.
package index
