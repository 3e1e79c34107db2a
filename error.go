package tongs

import (
	"errors"
	"fmt"
	"strings"
)

// Code says what kind of failure a call met. The set is closed: surfaces map each one.
type Code string

// The codes.
const (
	CodeInvalidArgs        Code = "INVALID_ARGS"
	CodeUnknownTool        Code = "UNKNOWN_TOOL"
	CodeInvalidPath        Code = "INVALID_PATH"
	CodeFileNotFound       Code = "FILE_NOT_FOUND"
	CodeAlreadyExists      Code = "ALREADY_EXISTS"
	CodePermissionDenied   Code = "PERMISSION_DENIED"
	CodeNotEmpty           Code = "NOT_EMPTY"
	CodeBinaryFile         Code = "BINARY_FILE"
	CodeTooLarge           Code = "TOO_LARGE"
	CodeStaleFile          Code = "STALE_FILE"
	CodeNoMatch            Code = "NO_MATCH"
	CodeAmbiguousMatch     Code = "AMBIGUOUS_MATCH"
	CodeTimeout            Code = "TIMEOUT"
	CodeCancelled          Code = "CANCELLED"
	CodeExecutionError     Code = "EXECUTION_ERROR"
	CodeDenied             Code = "DENIED"            // a person said no
	CodeBlocked            Code = "BLOCKED"           // a rule said no
	CodeApprovalRequired   Code = "APPROVAL_REQUIRED" // nobody to ask, or not answered yet
	CodeNetworkError       Code = "NETWORK_ERROR"
	CodeRateLimited        Code = "RATE_LIMITED"
	CodeConfigError        Code = "CONFIG_ERROR"
	CodeSandboxUnavailable Code = "SANDBOX_UNAVAILABLE"
	CodeLLMAssistRequired  Code = "LLM_ASSIST_REQUIRED"
	CodeInternal           Code = "INTERNAL"
)

// Codes returns every code, in the order of the documentation.
func Codes() []Code {
	return []Code{
		CodeInvalidArgs, CodeUnknownTool, CodeInvalidPath, CodeFileNotFound, CodeAlreadyExists, CodePermissionDenied,
		CodeNotEmpty, CodeBinaryFile, CodeTooLarge, CodeStaleFile, CodeNoMatch, CodeAmbiguousMatch, CodeTimeout,
		CodeCancelled, CodeExecutionError, CodeDenied, CodeBlocked, CodeApprovalRequired, CodeNetworkError,
		CodeRateLimited, CodeConfigError, CodeSandboxUnavailable, CodeLLMAssistRequired, CodeInternal,
	}
}

// Refused reports whether the code means that the call was not allowed, rather than that it failed.
func (c Code) Refused() bool {
	return c == CodeDenied || c == CodeBlocked || c == CodeApprovalRequired
}

// Error is a failure that the model should see. Its message says what was wrong, with the value, and what to do next.
// A tool returns one for what a caller can mend; any other error it returns is a fault of ours and becomes INTERNAL.
type Error struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
	cause   error
}

// Errorf returns an Error with a formatted message. A %w operand becomes what Unwrap returns.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// With returns a copy of the error with one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = make(map[string]any, len(e.Details)+1)
	for k, v := range e.Details {
		c.Details[k] = v
	}
	c.Details[key] = value
	return &c
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause, which may be nil.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of the first *Error in err's chain, CodeInternal for any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Need is returned by a running tool, or by what its Env gave it, when it met something that nobody decided: the
// engine plans again with these effects added, decides, asks where it must, and runs the tool once more.
type Need struct {
	Effects []Effect
	// Reason tells a person why it came up: "src/a.go changed since it was planned".
	Reason string
	// Direct says that the program cannot be run on a copy of the files, so that the call must be decided before it runs.
	Direct bool
	// Lasting says that the effects were decided as ones that can be undone, and that they cannot.
	Lasting bool
}

// Error describes what is missing.
func (n *Need) Error() string {
	what := make([]string, len(n.Effects))
	for i, e := range n.Effects {
		what[i] = e.String()
	}
	return fmt.Sprintf("undecided: %s (%s)", strings.Join(what, ", "), n.Reason)
}
