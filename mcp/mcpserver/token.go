package mcpserver

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs/internal/owned"
)

// tokenFile is the name of the file with the token, in the state directory.
const tokenFile = "mcp-token"

// Token returns the token that is kept in the state directory, and makes one where there is none. Only its owner can
// read the file.
func Token(stateDir string) (string, error) {
	path := filepath.Join(stateDir, tokenFile)
	token, err := readToken(path)
	if !errors.Is(err, os.ErrNotExist) {
		return token, err
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	// The first of several that start at the same time wins.
	err = owned.Create(path, []byte(base64.RawURLEncoding.EncodeToString(raw)+"\n"), 0o600)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return readToken(path)
}

func readToken(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file; remove it, and a new token is made", path)
	}
	if err := readableByOwner(path, info); err != nil {
		return "", err
	}
	data, err := owned.ReadFile(path, owned.User(), 4096)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 32 || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s does not hold a token of at least 32 characters; remove it, and a new one is made", path)
	}
	return token, nil
}
