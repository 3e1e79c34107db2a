package approval

import (
	"errors"
	"fmt"
	"strings"
)

// The ways in which an answer can fail. Use errors.Is; an *AnsweredError and a *NotFoundError say more.
var (
	ErrAnswered  = errors.New("the question is answered already")
	ErrExpired   = errors.New("the question has expired: the call must be made again")
	ErrWithdrawn = errors.New("the question was withdrawn: the call that asked was cancelled")
	ErrNotFound  = errors.New("no such question")
	// ErrInvalid means that the question does not allow this answer; it is still pending.
	ErrInvalid = errors.New("invalid answer")
)

// errOwnCall is why whoever made a call cannot approve it.
var errOwnCall = fmt.Errorf("%w: whoever made the call cannot approve what must be asked; answer in a terminal or in the console", ErrInvalid)

// AnsweredError says that somebody was first, and carries that answer. It is ErrAnswered.
type AnsweredError struct {
	ID     string
	Answer Answer
}

// Error says who answered what.
func (e *AnsweredError) Error() string {
	word := "denied"
	if e.Answer.Approved {
		word = "approved"
	}
	by := ""
	if e.Answer.By != "" {
		by = " by " + e.Answer.By
	}
	return fmt.Sprintf("question %s is answered already: %s%s (%s) at %s",
		e.ID, word, by, e.Answer.Channel, e.Answer.At.Format("2006-01-02 15:04:05"))
}

// Unwrap returns ErrAnswered.
func (e *AnsweredError) Unwrap() error { return ErrAnswered }

// NotFoundError says that an ID names no question, or several, and which are near. It is ErrNotFound.
type NotFoundError struct {
	ID string
	// Ambiguous means that the ID is the start or the end of several.
	Ambiguous bool
	// Near are at most 5 IDs that may have been meant, newest first.
	Near []string
}

// Error names the ID and the nearest ones.
func (e *NotFoundError) Error() string {
	near := strings.Join(e.Near, ", ")
	switch {
	case e.Ambiguous:
		return fmt.Sprintf("question %q is not unique: it is a part of %s", e.ID, near)
	case near == "":
		return fmt.Sprintf("no question %q: there are none", e.ID)
	default:
		return fmt.Sprintf("no question %q: the nearest are %s", e.ID, near)
	}
}

// Unwrap returns ErrNotFound.
func (e *NotFoundError) Unwrap() error { return ErrNotFound }
