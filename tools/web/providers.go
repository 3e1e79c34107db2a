package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
)

// The names of the providers, as configuration knows them.
const (
	NameSearXNG = "searxng"
	NameBrave   = "brave"
	NameTavily  = "tavily"
)

// NewProvider makes a provider by its name. The address may be empty where the provider has one of its own; the key where
// it needs none.
func NewProvider(name, address, key string) (Provider, error) {
	own := map[string]string{NameBrave: "https://api.search.brave.com", NameTavily: "https://api.tavily.com"}
	if address == "" {
		address = own[name]
	}
	if address == "" {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the search provider %s needs a url", name)
	}
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the url of the search provider %s is not an http or https address without a user",
			name)
	}
	if own[name] != "" && key == "" {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the search provider %s needs a key", name)
	}
	switch name {
	case NameSearXNG:
		return &searXNG{u}, nil
	case NameBrave:
		return &brave{u, key}, nil
	case NameTavily:
		return &tavily{u, key}, nil
	}
	return nil, tongs.Errorf(tongs.CodeConfigError, "search provider %q is not one of %s, %s, %s",
		name, NameSearXNG, NameBrave, NameTavily)
}

// searXNG is a search engine of one's own, which asks others.
type searXNG struct{ base *url.URL }

func (s *searXNG) Name() string  { return "SearXNG" }
func (s *searXNG) URL() *url.URL { return s.base }

func (s *searXNG) Search(ctx context.Context, client tongs.HTTP, q Query) ([]Found, error) {
	values := url.Values{"q": {q.withSite()}, "format": {"json"}}
	if q.Freshness != "" {
		values.Set("time_range", q.Freshness)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath("search").String()+"?"+values.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []struct {
			Title, URL, Content string
			PublishedDate       string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := ask(client, s.Name(), req, &answer); err != nil {
		if tongs.CodeOf(err) == tongs.CodeConfigError {
			return nil, tongs.Errorf(tongs.CodeConfigError, "SearXNG refused to answer in JSON; add json to search.formats in its settings.yml")
		}
		return nil, err
	}
	var found []Found
	for _, r := range answer.Results {
		found = append(found, Found{r.Title, r.URL, r.Content, r.PublishedDate})
	}
	return found, nil
}

type brave struct {
	base *url.URL
	key  string
}

func (b *brave) Name() string  { return "Brave" }
func (b *brave) URL() *url.URL { return b.base }

func (b *brave) Search(ctx context.Context, client tongs.HTTP, q Query) ([]Found, error) {
	values := url.Values{"q": {q.withSite()}, "count": {strconv.Itoa(q.Max)}, "text_decorations": {"false"}}
	if q.Freshness != "" {
		values.Set("freshness", "p"+q.Freshness[:1])
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base.JoinPath("res/v1/web/search").String()+"?"+values.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", b.key)
	var answer struct {
		Web struct {
			Results []struct {
				Title, URL, Description, Age string
				PageAge                      string `json:"page_age"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := ask(client, b.Name(), req, &answer); err != nil {
		return nil, err
	}
	var found []Found
	for _, r := range answer.Web.Results {
		date := r.PageAge
		if date == "" {
			date = r.Age
		}
		found = append(found, Found{r.Title, r.URL, r.Description, date})
	}
	return found, nil
}

type tavily struct {
	base *url.URL
	key  string
}

func (t *tavily) Name() string  { return "Tavily" }
func (t *tavily) URL() *url.URL { return t.base }

func (t *tavily) Search(ctx context.Context, client tongs.HTTP, q Query) ([]Found, error) {
	query := map[string]any{"query": q.Text, "max_results": q.Max, "search_depth": "basic"}
	if q.Site != "" {
		query["include_domains"] = []string{q.Site}
	}
	if q.Freshness != "" {
		query["time_range"] = q.Freshness
	}
	body, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base.JoinPath("search").String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+t.key)
	var answer struct {
		Results []struct {
			Title, URL, Content string
			PublishedDate       string `json:"published_date"`
		} `json:"results"`
	}
	if err := ask(client, t.Name(), req, &answer); err != nil {
		return nil, err
	}
	var found []Found
	for _, r := range answer.Results {
		found = append(found, Found{r.Title, r.URL, r.Content, r.PublishedDate})
	}
	return found, nil
}
