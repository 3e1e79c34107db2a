package main

// reasons say in one line why a goal is missed, by the name of the measure or of what misses it. The report names those
// that are no longer needed.
var reasons = map[string]string{}
