package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
)

// Provider searches the web. Implementations are safe for concurrent use.
type Provider interface {
	// Name is how people know it.
	Name() string
	// URL is the address that it is asked at.
	URL() *url.URL
	// Search asks through client. It returns at most as many results as the query wants, the best first.
	Search(ctx context.Context, client tongs.HTTP, q Query) ([]Found, error)
}

// Query is what is looked for.
type Query struct {
	Text string
	Max  int
	// Site is a host that results must be of; Freshness is day, week, month or year. Both may be empty.
	Site, Freshness string
}

// withSite is the text of a query for providers that know sites as a word of it.
func (q Query) withSite() string {
	if q.Site == "" {
		return q.Text
	}
	return "site:" + q.Site + " " + q.Text
}

// Found is one result.
type Found struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
	Date    string `json:"date,omitempty"`
}

// SearchInput are the arguments of web_search.
type SearchInput struct {
	Query      string `json:"query" jsonschema:"What to look for." minLength:"1" maxLength:"400" alias:"q"`
	NumResults int    `json:"numResults,omitempty" jsonschema:"How many." default:"5" min:"1" max:"20" alias:"num_results,limit,count"`
	Site       string `json:"site,omitempty" jsonschema:"Only results of this host." maxLength:"253"`
	Freshness  string `json:"freshness,omitempty" jsonschema:"At most this old." enum:"day,week,month,year"`
}

// SearchOutput is the value of web_search.
type SearchOutput struct {
	Results  []Found `json:"results"`
	Provider string  `json:"provider"`

	query   string
	remarks []string
}

// Present lists the results.
func (o *SearchOutput) Present(r *tongs.Result) {
	r.Title = fmt.Sprintf("%d results for %q", len(o.Results), short(o.query))
	var b strings.Builder
	for i, f := range o.Results {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, f.Title, f.URL)
		if f.Date != "" {
			fmt.Fprintf(&b, "   %s\n", f.Date)
		}
		if f.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", f.Snippet)
		}
	}
	if len(o.Results) == 0 {
		b.WriteString("Nothing was found; use other words.\n")
	}
	for _, remark := range o.remarks {
		b.WriteString("[" + remark + "]\n")
	}
	r.Content = strings.TrimRight(b.String(), "\n")
	r.SetMeta("provider", o.Provider)
}

func (s *set) searchTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[SearchInput, SearchOutput]{
		Spec: tongs.Spec{
			Name: SearchTool, Title: "Search the web", Toolset: Toolset,
			Description: "Searches the web: titles, addresses and snippets of pages.",
			Needs:       tongs.Network, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, OpenWorld: true, Idempotent: true},
		},
		Plan: s.planSearch,
		Run:  s.search,
	})
}

// errNoProvider says how to get one.
var errNoProvider = tongs.Errorf(tongs.CodeConfigError, `no search provider is configured. Set BRAVE_API_KEY (https://brave.com/search/api) or TAVILY_API_KEY (https://tavily.com),
or run "docker run -p 8888:8080 searxng/searxng" with json among its search.formats, and set toolsets.web.search: [{provider: searxng, url: "http://localhost:8888"}]`)

func (s *set) planSearch(_ context.Context, _ *tongs.View, in SearchInput) (*tongs.Plan, error) {
	if len(s.opt.Providers) == 0 {
		if s.opt.Unavailable != nil {
			return nil, s.opt.Unavailable
		}
		return nil, errNoProvider
	}
	if err := checkSite(in.Site); err != nil {
		return nil, err
	}
	target, err := egress.TargetOf(s.opt.Providers[0].URL())
	if err != nil {
		return nil, err
	}
	effect := target.Effect()
	found := s.secrets().find(part{"the query", in.Query}, part{"the site", in.Site})
	plan := &tongs.Plan{
		Message: fmt.Sprintf("Search for %q at %s", s.secrets().text(short(in.Query)), s.opt.Providers[0].Name()),
		Kind:    tongs.KindRead,
	}
	plan.Effects = []tongs.Effect{effect}
	if len(found) > 0 {
		plan.Kind = tongs.KindWrite
		plan.Effects = s.effectsToAsk(secretsLeave + strings.Join(found, ", "))
	}
	return plan, nil
}

// effectsToAsk are the effects of a search that must be asked about: whoever may be asked in place of the first provider is named.
func (s *set) effectsToAsk(why string) (effects []tongs.Effect) {
	for _, p := range s.opt.Providers {
		target, err := egress.TargetOf(p.URL())
		if err != nil {
			continue // nor can it be asked
		}
		effect := target.Effect()
		effect.MustAsk, effect.Why = true, why
		effects = append(effects, effect)
	}
	return effects
}

func checkSite(site string) error {
	if site == "" {
		return nil
	}
	if strings.ContainsAny(site, " /:\"'") {
		return tongs.Errorf(tongs.CodeInvalidArgs, "site %q is not a host; write it like example.com", short(site))
	}
	return nil
}

// search asks the providers until one answers.
func (s *set) search(ctx context.Context, env *tongs.Env, in SearchInput) (SearchOutput, error) {
	q := Query{Text: strings.TrimSpace(in.Query), Max: in.NumResults, Site: in.Site, Freshness: in.Freshness}
	out := SearchOutput{query: in.Query}
	var failures []string
	var last error
	for _, p := range s.opt.Providers {
		found, err := p.Search(egress.WithTimeout(ctx, s.opt.Timeout), env.HTTP, q)
		if ctx.Err() != nil {
			return SearchOutput{}, context.Cause(ctx)
		}
		if err == nil {
			out.Results, out.Provider = normalised(found, q.Max), p.Name()
			out.remarks = failures
			s.learnResults(ctx, env, out.Results)
			return out, nil
		}
		last = worseFailure(last, err)
		failures = append(failures, fmt.Sprintf("%s failed: %s", p.Name(), message(err)))
	}
	if last == nil {
		return SearchOutput{}, errNoProvider
	}
	if len(failures) == 1 {
		return SearchOutput{}, last
	}
	failure := tongs.Errorf(tongs.CodeOf(last), "every search provider failed: %s", strings.Join(failures, "; "))
	return SearchOutput{}, failure
}

// learnResults notes the addresses that were found: fetching one carries nothing out but the choice.
func (s *set) learnResults(ctx context.Context, env *tongs.Env, list []Found) {
	var found []*url.URL
	for _, r := range list {
		if u, err := url.Parse(r.URL); err == nil {
			found = append(found, u)
		}
	}
	s.ledger.learn(named(ctx, env.State), found...)
}

// worseFailure is the failure that a caller should hear of: one that waiting mends before one that it does not.
func worseFailure(a, b error) error {
	if a == nil || tongs.CodeOf(b) == tongs.CodeRateLimited && tongs.CodeOf(a) != tongs.CodeRateLimited {
		return b
	}
	return a
}

func message(err error) string {
	if told, ok := errors.AsType[*tongs.Error](err); ok {
		return told.Message
	}
	return err.Error()
}

// normalised gives results one form, each page once.
func normalised(found []Found, most int) []Found {
	seen := map[string]bool{}
	list := []Found{}
	for _, f := range found {
		u, err := url.Parse(strings.TrimSpace(f.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			continue
		}
		key := pageKey(u)
		if seen[key] || len(list) == most {
			continue
		}
		seen[key] = true
		list = append(list, Found{
			Title: short(plainSnippet(f.Title)), URL: u.String(), Snippet: cutSnippet(plainSnippet(f.Snippet)), Date: day(f.Date),
		})
	}
	return list
}

// pageKey is the same for addresses of the same page.
func pageKey(u *url.URL) string {
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "utm_") || name == "gclid" || name == "fbclid" || name == "ref" {
			query.Del(name)
		}
	}
	return strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimRight(u.EscapedPath(), "/") + "?" + query.Encode()
}

// plainSnippet takes the marks of providers out of a text.
func plainSnippet(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return oneLine(clean(s))
	}
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return oneLine(clean(s))
	}
	strip(doc)
	return oneLine(textOf(doc))
}

const maxSnippet = 500

func cutSnippet(s string) string {
	if at := runeAt(s, maxSnippet); at < len(s) {
		return s[:at] + "..."
	}
	return s
}

// day is a date without its time, as it is where it cannot be read.
func day(s string) string {
	s = strings.TrimSpace(s)
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", time.RFC1123, time.RFC1123Z, "January 2, 2006", "Jan 2, 2006",
	} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.Format("2006-01-02")
		}
	}
	return oneLine(clean(short(s)))
}

const providerBytes = 2 << 20

// ask makes a request of a provider and reads the JSON that it answers. Neither key nor query is in an error.
func ask(client tongs.HTTP, name string, req *http.Request, into any) error {
	req.Header.Set("User-Agent", UserAgent)
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := readBody(res, providerBytes)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return providerError(name, res, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return tongs.Errorf(tongs.CodeNetworkError, "%s answered with something that is not the JSON that it documents", name)
	}
	return nil
}

// providerError says what a provider refused, in our codes.
func providerError(name string, res *http.Response, body []byte) error {
	switch code := res.StatusCode; {
	case code == http.StatusTooManyRequests || code == 432 || code == 433:
		err := tongs.Errorf(tongs.CodeRateLimited, "%s has had enough requests for now (%d)", name, code)
		if after, ok := egress.RetryAfter(res.Header, time.Now()); ok {
			err.Message += fmt.Sprintf("; ask again in %s", after)
			return err.With("retryAfter", int(after.Seconds()))
		}
		return err
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusPaymentRequired,
		code == http.StatusUnprocessableEntity && strings.Contains(string(body), "SUBSCRIPTION_TOKEN"):
		return tongs.Errorf(tongs.CodeConfigError, "%s does not accept the key, or the way it is asked (%d); check its configuration",
			name, code)
	case code >= 500:
		return tongs.Errorf(tongs.CodeNetworkError, "%s is not able to answer now (%d)", name, code)
	default:
		return tongs.Errorf(tongs.CodeNetworkError, "%s refused the request (%d)", name, code)
	}
}
