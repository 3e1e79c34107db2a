package state

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// KeyName is the name of the file with the key that open questions are sealed with. A copy of the database without it
// holds none of their arguments.
const KeyName = "tongs.key"

const keySize = 32

// errUnsealed is what a text is that was not sealed with this key, for this purpose.
var errUnsealed = errors.New("it was not sealed with the key in " + KeyName + ", or was changed since")

// seal encrypts what must not be in the database in clear. It is safe for concurrent use.
type seal struct {
	path string

	mu   sync.Mutex
	aead cipher.AEAD // nil until it is needed
}

func newSeal(dbPath string) *seal { return &seal{path: filepath.Join(filepath.Dir(dbPath), KeyName)} }

// close encrypts text; only open with the same purpose gets it back.
func (s *seal) close(purpose string, text []byte) ([]byte, error) {
	aead, err := s.key()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(text)+aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return aead.Seal(nonce, nonce, text, []byte(purpose)), nil
}

// open decrypts what close returned, and fails with errUnsealed for anything else.
func (s *seal) open(purpose string, sealed []byte) ([]byte, error) {
	aead, err := s.key()
	if err != nil {
		return nil, err
	}
	n := aead.NonceSize()
	if len(sealed) < n {
		return nil, errUnsealed
	}
	text, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(purpose))
	if err != nil {
		return nil, errUnsealed
	}
	return text, nil
}

// key reads the key, and makes it where there is none.
func (s *seal) key() (cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aead != nil {
		return s.aead, nil
	}
	key, err := s.readKey()
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	s.aead, err = cipher.NewGCM(block)
	return s.aead, err
}

func (s *seal) readKey() ([]byte, error) {
	f, _, err := sqlitefile.OpenPrivate(s.path, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	unlock, err := lockFile(f) // another process may be making it
	if err != nil {
		return nil, fmt.Errorf("state file %s: %w", s.path, err)
	}
	defer unlock()
	key, err := io.ReadAll(io.LimitReader(f, keySize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("state file %s cannot be read: %w", s.path, err)
	case len(key) == keySize:
		return key, nil
	case len(key) > 0:
		return nil, fmt.Errorf("state file %s is not a key of Tongs: remove it; questions that are open now are then lost", s.path)
	}
	key = make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	if _, err = f.Write(key); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("state file %s cannot be written: %w", s.path, err)
	}
	return key, nil
}
