// Package id makes identifiers that sort by time, cannot be guessed, and are easy to type.
package id

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// Crockford's alphabet in lower case: in order, and without letters that look like digits.
var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// New returns an identifier with the prefix and an underscore before it: 48 bits of milliseconds and 52 random ones.
func New(prefix string) string {
	var b [15]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMilli())<<16)
	rand.Read(b[6:]) // never fails
	return prefix + "_" + encoding.EncodeToString(b[:])[:20]
}
