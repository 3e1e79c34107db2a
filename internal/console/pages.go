package console

import (
	"html/template"
	"net/http"
)

// page is one screen. Its template is assets/pages/NAME.html, its module assets/js/NAME.js.
type page struct {
	Path, Name, Title string
	// Hint says in a few words what it is for.
	Hint string
}

// pages lists every screen, in the order of the navigation.
func pages() []page {
	return []page{
		{"/", "live", "Live", "what agents do now, and did"},
		{"/approvals", "approvals", "Approvals", "what waits for your answer"},
		{"/tools", "tools", "Tools", "what agents can do; try it"},
		{"/policy", "policy", "Policy", "what decides; test and propose rules"},
		{"/sessions", "sessions", "Sessions", "what agents said and did, by session"},
		{"/statistics", "statistics", "Statistics", "numbers of the last hour, day and week"},
	}
}

// allRoutes lists every request of the API.
func (s *Server) allRoutes() []route {
	var all []route
	for _, list := range [][]route{s.baseRoutes(), s.callRoutes(), s.approvalRoutes(), s.toolRoutes(), s.policyRoutes(), s.sessionRoutes(), s.statsRoutes()} {
		all = append(all, list...)
	}
	return all
}

// shown is what a template is given.
type shown struct {
	Page      page
	Pages     []page
	Assets    string
	Workspace string
	Version   string
	// Styled says that the page has a sheet of its own, assets/NAME.css.
	Styled bool
	// Modules are the scripts that its own one imports.
	Modules []string
}

func (s *Server) servePage(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.logins.valid(r); !ok {
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		s.render(w, p)
	}
}

// loginPage is shown to those who are not logged in.
var loginPage = page{"/login", "login", "Log in", ""}

func (s *Server) render(w http.ResponseWriter, p page) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, styled := s.assets.served[p.Name+".css"]
	data := shown{Styled: styled, Page: p, Pages: s.pages, Assets: s.assets.prefix, Version: s.opt.Version, Workspace: s.opt.Workspace}
	data.Modules = s.assets.modules(p.Name)
	if p == loginPage {
		data.Workspace, data.Version = "", ""
	}
	// Nothing can be told to the browser once a part is written; what a template can fail of, a test renders.
	_ = s.assets.templates[p.Name].ExecuteTemplate(w, "layout", data)
}

// templates parses the layout with each page.
func parseTemplates(list []page) (map[string]*template.Template, error) {
	parsed := map[string]*template.Template{}
	for _, p := range list {
		t, err := template.ParseFS(embedded, "assets/layout.html", "assets/pages/"+p.Name+".html")
		if err != nil {
			return nil, err
		}
		parsed[p.Name] = t
	}
	return parsed, nil
}
