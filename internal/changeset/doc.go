// Package changeset is about what a program did to a tree while that was held back in a layer, as sandbox.Policy.Overlay
// does: it reads the layer into a [Set] of changes, shows them, tells where the tree changed meanwhile, and commits all
// or some of them as one transaction of a journal.
//
// A set is read when the program and everything that it started is gone. The layer stays where it is until [Set.Drop],
// and what is committed is read from it.
//
// # What is kept of a change
//
// Content, permissions and the time of modification of files, permissions of directories, targets of links, and owners
// where this process may set them; where the layer is on the file system of the tree, files are moved from it, with their
// holes and extended attributes. A file that the program opened for writing and left as it was, with the same bytes
// and the same permissions, is no change, whatever its time. Hard links between files become files of their own, and
// between file systems holes are filled and extended attributes are lost: [Change.Note] says so. Sockets, FIFOs and
// devices cannot be kept: see [Change.Refused].
//
// # Conflicts
//
// Somebody may change the tree while the program runs. Whatever of it has a stamp of change that is later than the
// start of the program is a conflict for the changes that would replace or remove it, and so is a directory that was
// exchanged for another. Nothing is overwritten then: the commit is refused as a whole, with the paths. The same is
// looked at again once everything that goes has been put aside into the journal, so that there is no moment in which it
// goes unnoticed.
package changeset
