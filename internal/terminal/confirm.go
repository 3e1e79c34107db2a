package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// Confirm has a person type a word that is made up now and shown only on this terminal. It keeps out what only pipes
// text into a terminal, not a program that reads the screen: docs/cli.md says what that means.
func (t *Terminal) Confirm(ctx context.Context, what string) error {
	word := strings.ToLower(rand.Text()[:4])
	prompt := fmt.Sprintf("To %s, type %s and press Enter: ", what, newPalette().title.Render(word))
	typed, err := t.line(ctx, prompt, "")
	switch {
	case errors.Is(err, errBack), errors.Is(err, ErrCancelled), err == nil && strings.TrimSpace(typed) == "":
		return errors.New("nothing was changed")
	case err != nil:
		return err
	case strings.TrimSpace(strings.ToLower(typed)) != word:
		return fmt.Errorf("%q is not %q; nothing was changed", typed, word)
	}
	return nil
}
