package forge

// executable says that a mode tells whether a file can be run.
const executable = false
