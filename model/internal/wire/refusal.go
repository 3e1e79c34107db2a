package wire

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/model"
)

// problem is what the providers say of an error, in the forms that occur: {"error": {...}}, {"error": "..."},
// {"message": "..."}, [{"error": {...}}].
type problem struct {
	Type, Code, Message string
	// Wait is how long to wait, where the body says so.
	Wait time.Duration
	// Daily says that it is the quota of a day that is used up.
	Daily bool
}

// overloaded is the status of Anthropic's own for a provider that has too much to do.
const overloaded = 529

// statuses are what the kinds of error in a stream would have been as a status, by the words of any provider.
var statuses = map[string]int{
	"overloaded_error": overloaded, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
	"invalid_request_error": 400, "authentication_error": 401, "permission_error": 403, "not_found_error": 404, "request_too_large": 413, "billing_error": 402,
	"rate_limit_exceeded": 429, "server_error": 500, "internal_error": 500, "insufficient_quota": 429,
	"RESOURCE_EXHAUSTED": 429, "UNAVAILABLE": 503, "INTERNAL": 500, "DEADLINE_EXCEEDED": 504, "INVALID_ARGUMENT": 400,
}

// final are the kinds of error that waiting does not mend, whatever their status.
var final = map[string]bool{
	"insufficient_quota": true, "billing_error": true, "billing_hard_limit_reached": true, "insufficient_credits": true,
	"insufficient_balance": true, "quota_exceeded": true, "access_terminated": true,
}

// usedUp are the words of providers that do not name the kind. Gemini says the first ones of a minute's quota, too, and then says
// how long to wait.
var usedUp = regexp.MustCompile(`(?i)exceeded your current quota|insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|` +
	`(out of|no more|used all (available|your)) credits|billing hard limit|monthly (spending|usage) limit`)

var tooLong = regexp.MustCompile(`(?i)context[_ ]length|context window|maximum context|prompt is too long|too many (input )?tokens|input token count.*exceeds|` +
	`exceed(s|ed)? (the )?(model's |available )?(max|maximum|limit|context)[^.]{0,40}(token|context|length|size)|` +
	`string_above_max_length|request_too_large`)

// Refusal makes an error of a status and a body.
func (c *Client) Refusal(status int, header http.Header, body []byte) *model.Error {
	p := parse(body)
	return c.refuse(status, header, p)
}

// Broken makes an error of an error event within a stream.
func (c *Client) Broken(data []byte) *model.Error {
	return c.refuse(http.StatusOK, nil, parse(data))
}

func (c *Client) refuse(status int, header http.Header, p problem) *model.Error {
	if status == http.StatusOK {
		status = 0
		for _, word := range []string{p.Type, p.Code} {
			if s, ok := statuses[word]; ok {
				status = s
				break
			}
		}
		if n, err := strconv.Atoi(p.Code); err == nil && n >= 400 && n < 600 {
			status = n
		}
	}
	e := &model.Error{Provider: c.Provider, Status: status, Message: c.Clean(p.Message)}
	if p.Message == "" {
		e.Message = strings.ToLower(http.StatusText(status))
	}
	e.TooLong = (status == 0 || status == 400 || status == 413 || status == 422) && tooLong.MatchString(p.Type+" "+p.Code+" "+p.Message)
	switch status {
	case 0, 408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, overloaded:
		e.Retry = !e.TooLong && !p.final(header)
	}
	if e.After = RetryAfter(header, time.Now()); e.After == 0 {
		e.After = p.Wait
	}
	return e
}

// final reports whether waiting does not mend the problem: money or a day's quota is used up.
func (p problem) final(header http.Header) bool {
	if final[p.Type] || final[p.Code] || p.Daily {
		return true
	}
	return usedUp.MatchString(p.Message) && p.Wait == 0 && RetryAfter(header, time.Now()) == 0
}

// RetryAfter returns how long the headers ask to wait: Retry-After in seconds or as a date, or retry-after-ms. It is
// zero where they do not say, and never more than a day.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	const day = 24 * time.Hour
	clamp := func(d time.Duration) time.Duration { return max(0, min(d, day)) }
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e9 {
		return clamp(time.Duration(ms * float64(time.Millisecond)))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if s >= 0 && s < 1e6 {
			return clamp(time.Duration(s * float64(time.Second)))
		}
		return 0
	}
	if at, err := http.ParseTime(value); err == nil {
		return clamp(at.Sub(now))
	}
	return 0
}

func parse(body []byte) problem {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var whole struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    any             `json:"code"`
		Type    string          `json:"type"`
	}
	if json.Unmarshal(body, &whole) != nil {
		return problem{Message: string(body)}
	}
	p := problem{Message: whole.Message, Code: text(whole.Code), Type: whole.Type}
	var in struct {
		Type     string `json:"type"`
		Code     any    `json:"code"`
		Status   string `json:"status"`
		Message  string `json:"message"`
		Metadata struct {
			Raw string `json:"raw"`
		} `json:"metadata"`
		Details []struct {
			Delay      string `json:"retryDelay"`
			Violations []struct {
				Quota string `json:"quotaId"`
			} `json:"violations"`
		} `json:"details"`
	}
	var plain string
	switch {
	case json.Unmarshal(whole.Error, &plain) == nil && plain != "":
		p.Message = plain
	case json.Unmarshal(whole.Error, &in) == nil:
		p = problem{Message: in.Message, Code: text(in.Code), Type: in.Type}
		if in.Status != "" {
			p.Type = in.Status
		}
		if in.Metadata.Raw != "" {
			p.Message += ": " + in.Metadata.Raw
		}
		for _, d := range in.Details {
			if wait, err := time.ParseDuration(d.Delay); err == nil && wait > 0 {
				p.Wait = min(wait, 24*time.Hour)
			}
			for _, v := range d.Violations {
				p.Daily = p.Daily || strings.Contains(v.Quota, "PerDay")
			}
		}
	}
	if p.Message == "" {
		p.Message = string(body)
	}
	return p
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.Itoa(int(v))
	}
	return ""
}
