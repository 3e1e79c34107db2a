package console

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// contentPolicy lets pages load what this server has, and nothing else: no inline script or style, no other address.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
}

// host reports whether the server goes by the name that a request is for. One that only leads here, by an entry of somebody
// else's name server, is not its own.
func (s *Server) host(r *http.Request) bool {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && addr.Network() == "unix" {
		return true // where a name means nothing
	}
	name := r.Host
	if only, _, err := net.SplitHostPort(name); err == nil {
		name = only
	}
	name = strings.Trim(name, "[]")
	return loopback(name) || slices.ContainsFunc(s.opt.Hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, name) || strings.EqualFold(allowed, r.Host)
	})
}

func loopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// ownPage reports whether a request is not one that another web page made.
func ownPage(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	return !slices.ContainsFunc(r.Header.Values("Origin"), func(origin string) bool {
		u, err := url.Parse(origin)
		return err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
	})
}

// browser names the program that made a request, for people: "Firefox". It is that program's own word.
func browser(r *http.Request) string {
	agent := r.UserAgent()
	for _, known := range []struct{ mark, name string }{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	} {
		if !strings.Contains(agent, known.mark) {
			continue
		}
		if strings.Contains(agent, "Mobile") {
			return known.name + " on a phone"
		}
		return known.name
	}
	return "console"
}
