package worker

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

// conversation is what was said, as it is sent: results that are too old to be sent whole are shortened. What is kept in
// the session is whole.
type conversation struct {
	messages []model.Message
	// budget is how many tokens may be sent; fixed how many the instructions and the tools take.
	budget, fixed int64
	// ratio corrects the estimate by what the provider counted.
	ratio float64
	// cut is how many of the messages are shortened.
	cut int
}

// A token is about four bytes of text; a picture about 1500 tokens.
const (
	bytesPerToken = 4
	pictureTokens = 1500
	// keepShort is how many bytes of a shortened result are sent.
	keepShort = 240
)

// add adds a message. One that follows another of the same side becomes part of it, as providers want it.
func (c *conversation) add(m model.Message) {
	last := len(c.messages) - 1
	if last < 0 || c.messages[last].Role != m.Role {
		c.messages = append(c.messages, m)
		return
	}
	c.messages[last].Parts = slices.Concat(c.messages[last].Parts, m.Parts)
}

// learn corrects the estimate by what a turn really took.
func (c *conversation) learn(estimate, counted int64) {
	if estimate > 1000 && counted > 0 {
		c.ratio = min(4, max(1, float64(counted)/(float64(estimate)/max(1, c.ratio))))
	}
}

// fit returns the messages to send, within the budget as far as shortening old results can do that, and about how many
// tokens they take. Shortening frees more than it must, so that what is sent stays the same for some turns: providers
// charge less for what they saw before.
func (c *conversation) fit() ([]model.Message, int64) {
	size := c.size(c.cut)
	if size <= c.budget {
		return c.shortened(c.cut), size
	}
	for last := max(0, len(c.messages)-2); c.cut < last && size > c.budget*6/10; {
		c.cut++
		size = c.size(c.cut)
	}
	if size > c.budget { // even the newest results are too much
		c.cut = len(c.messages)
		size = c.size(c.cut)
	}
	return c.shortened(c.cut), size
}

// shrink makes the budget smaller than what was found too long, and reports whether that can help.
func (c *conversation) shrink() bool {
	before := c.size(c.cut)
	c.budget = before * 6 / 10
	_, now := c.fit()
	return now < before
}

func (c *conversation) size(cut int) int64 {
	n := c.fixed
	for i, m := range c.messages {
		for _, p := range m.Parts {
			n += tokens(part(p, i < cut))
		}
	}
	return int64(float64(n) * max(1, c.ratio))
}

func (c *conversation) shortened(cut int) []model.Message {
	list := slices.Clone(c.messages)
	for i := range list[:min(cut, len(list))] {
		parts := slices.Clone(list[i].Parts)
		for k := range parts {
			parts[k] = part(parts[k], true)
		}
		list[i].Parts = parts
	}
	return list
}

// part returns a part as it is sent.
func part(p model.Part, short bool) model.Part {
	if !short || p.Result == nil || len(p.Result.Text) <= 2*keepShort && len(p.Result.Images) == 0 {
		return p
	}
	r := *p.Result
	r.Text, r.Images = shorten(r.Text), nil
	return model.Part{Result: &r}
}

var spilled = regexp.MustCompile(`/spill/[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]*[A-Za-z0-9_-])?`)

// shorten keeps the start of an old result, and where all of it is.
func shorten(text string) string {
	if len(text) <= 2*keepShort {
		return text
	}
	head := strings.ToValidUTF8(text[:keepShort], "")
	var where []string
	for _, at := range spilled.FindAllString(text, -1) {
		if !slices.Contains(where, at) && len(where) < 8 {
			where = append(where, at)
		}
	}
	how := "make the call again if it is needed"
	if len(where) > 0 {
		how = "the whole output is in " + strings.Join(where, ", ")
	}
	return fmt.Sprintf("%s\n[%d more bytes of this old result are left out; %s]", head, len(text)-len(head), how)
}

func tokens(p model.Part) int64 {
	n := len(p.Text)
	switch {
	case p.Thinking != nil:
		n += len(p.Thinking.Text) + len(p.Thinking.Opaque)
	case p.Image != nil:
		return pictureTokens
	case p.Call != nil:
		n += len(p.Call.Name) + len(p.Call.Args) + len(p.Call.Opaque)
	case p.Result != nil:
		n += len(p.Result.Text) + len(p.Result.Images)*pictureTokens*bytesPerToken
	}
	return int64(n)/bytesPerToken + 4
}

// toolTokens is about how many tokens the definitions of tools take.
func toolTokens(specs []*tongs.Spec) (n int64) {
	for _, s := range specs {
		input, _ := json.Marshal(s.Input)
		n += int64(len(s.Name)+len(s.Description)+len(input))/bytesPerToken + 8
	}
	return n
}
