package gitdir

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Consistent reports whether what an index says beside its entries agrees with them: git commits the trees that it remembers
// there without looking at the entries, and may read entries at places that are named there. Before is the index that it comes
// after, nil for none: what git only keeps if it is asked to must have been there.
func Consistent(data, before []byte) bool {
	x, err := parseIndex(data)
	if err != nil {
		return false
	}
	for name, content := range x.extensions {
		ok := true
		switch name {
		case "TREE":
			ok = x.rightTrees(content)
		case "EOIE":
			ok = len(content) == 4+x.hash && int(binary.BigEndian.Uint32(content)) == x.end
		case "IEOT":
			ok = x.rightBlocks(content)
		case "REUC": // what conflicts were, which git offers to restore
		case "UNTR", "FSMN":
			ok = hasExtension(before, name)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

func hasExtension(data []byte, name string) bool {
	x, err := parseIndex(data)
	if err != nil {
		return false
	}
	_, ok := x.extensions[name]
	return ok
}

// rightBlocks reports whether the blocks that git may read at the same time are the entries, one after another.
func (x *index) rightBlocks(content []byte) bool {
	if x.version == 4 || len(content)%8 != 4 || binary.BigEndian.Uint32(content) != 1 {
		return false // names of version 4 begin anew with each block
	}
	next := 0
	for at := 4; at < len(content); at += 8 {
		offset, count := int(binary.BigEndian.Uint32(content[at:])), int(binary.BigEndian.Uint32(content[at+4:]))
		if next >= len(x.starts) || x.starts[next] != offset || count > len(x.starts)-next {
			return false
		}
		next += count
	}
	return next == len(x.starts)
}

// maxName bounds the names of entries, and so how deep directories are.
const maxName = 4096

// tree is the tree object that the entries below a directory make.
type tree struct {
	id    string
	count int
}

// rightTrees reports whether the trees that an index remembers are those of its entries.
func (x *index) rightTrees(content []byte) bool {
	if slices.ContainsFunc(x.entries, func(e Entry) bool { return len(e.Name) > maxName }) || len(content) == 0 || content[0] != 0 {
		return false // the first is the top, which has no name
	}
	trees := map[string]tree{}
	x.treeOf("", x.entries, trees)
	rest, ok := x.rightTree("", content[1:], trees)
	return ok && len(rest) == 0
}

// treeOf adds the trees of the entries, whose names begin with prefix, and returns that of all of them.
func (x *index) treeOf(prefix string, entries []Entry, trees map[string]tree) tree {
	var content bytes.Buffer
	for at := 0; at < len(entries); {
		e := entries[at]
		name, _, deeper := strings.Cut(e.Name[len(prefix):], "/")
		if !deeper {
			at++
			fmt.Fprintf(&content, "%o %s\x00", e.Mode, name)
			id, _ := hex.DecodeString(e.ID)
			content.Write(id)
			continue
		}
		below := prefix + name + "/"
		end := at
		for end < len(entries) && strings.HasPrefix(entries[end].Name, below) {
			end++
		}
		sub := x.treeOf(below, entries[at:end], trees)
		fmt.Fprintf(&content, "40000 %s\x00", name)
		id, _ := hex.DecodeString(sub.id)
		content.Write(id)
		at = end
	}
	t := tree{x.sum(append([]byte("tree "+strconv.Itoa(content.Len())+"\x00"), content.Bytes()...)), len(entries)}
	trees[prefix] = t
	return t
}

func (x *index) sum(data []byte) string {
	if x.hash == sha256.Size {
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(data)
	return hex.EncodeToString(sum[:])
}

// rightTree reads what is remembered of the directory with the prefix, and of those below it: how many entries it has, how many
// directories follow, the tree, and these directories after their names. A count of -1 is that of a directory whose tree is not
// known.
func (x *index) rightTree(prefix string, content []byte, trees map[string]tree) (rest []byte, ok bool) {
	head, rest, _ := bytes.Cut(content, []byte{'\n'})
	first, second, _ := strings.Cut(string(head), " ")
	count, err := strconv.Atoi(first)
	subs, err2 := strconv.Atoi(second)
	if err != nil || err2 != nil || len(prefix) > maxName {
		return nil, false
	}
	if count >= 0 {
		known, there := trees[prefix]
		if len(rest) < x.hash || !there || known.count != count || known.id != hex.EncodeToString(rest[:x.hash]) {
			return nil, false
		}
		rest = rest[x.hash:]
	}
	for range subs {
		name, below, named := bytes.Cut(rest, []byte{0})
		if !named || len(name) == 0 || bytes.IndexByte(name, '/') >= 0 {
			return nil, false
		}
		if rest, ok = x.rightTree(prefix+string(name)+"/", below, trees); !ok {
			return nil, false
		}
	}
	return rest, true
}
