package ignore

import "sync"

// MaxFile is the size beyond which an ignore file is not read: nobody writes such a file by hand.
const MaxFile = 4 << 20

// maxCached bounds the content that a cache remembers.
const maxCached = 16 << 20

// Cache remembers compiled lists by what is in the file, so that it never has to know whether a file changed, and
// equal files are one list. Its zero value is ready for use.
type Cache struct {
	mu    sync.Mutex
	lists map[string]*List
	size  int
}

// Parse is [Parse], remembered. A nil cache remembers nothing.
func (c *Cache) Parse(content []byte, fold bool) *List {
	if c == nil {
		return Parse(content, fold)
	}
	key := "-" + string(content)
	if fold {
		key = "f" + key[1:]
	}
	c.mu.Lock()
	l, ok := c.lists[key]
	c.mu.Unlock()
	if ok {
		return l
	}
	l = Parse(content, fold)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.lists[key]; ok {
		return known // somebody else was faster; one list stays one list
	}
	if c.lists == nil || c.size+len(key) > maxCached {
		c.lists, c.size = map[string]*List{}, 0
	}
	c.lists[key] = l
	c.size += len(key)
	return l
}
