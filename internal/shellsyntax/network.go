package shellsyntax

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

func lookupNetwork(name string) handler {
	switch name {
	case "curl":
		return curlProgram
	case "wget":
		return wgetProgram
	case "ssh", "mosh", "autossh":
		return sshProgram
	case "scp", "sftp", "nc", "ncat", "netcat", "ping", "ping6", "dig", "nslookup", "host", "whois", "traceroute", "nmap",
		"openssl",
		"rclone", "aws", "gcloud", "gsutil", "az", "kubectl", "gh", "glab", "http", "https", "xh", "aria2c", "lftp", "websocat",
		"s_client", "socat", "telnet", "ftp", "tftp", "rlogin", "rsh", "mail", "mailx", "mutt", "sendmail", "msmtp", "swaks",
		"lynx", "w3m", "links", "elinks", "twine":
		return networkProgram
	case "rsync":
		return rsyncProgram
	}
	return nil
}

// network adds a network effect; an empty host is one that is not known.
func (a *analyser) network(host string, sends bool, why string) {
	a.effect(tongs.Effect{Kind: tongs.EffectNetwork, Host: host, Unknown: host == "", Sends: sends, Why: why})
	a.markRisky(why)
}

// urlHost returns the host of a URL as effects name it.
func urlHost(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if p := u.Port(); p != "" && !(u.Scheme == "https" && p == "443" || u.Scheme == "http" && p == "80") {
		return host + ":" + p
	}
	return host
}

const curlOptions = options(`s S f L i I k v g G O J/writes # N 4 6 0 1 2 3 a/run n/cred h V q silent show-error fail
 location include head insecure verbose globoff get remote-name remote-header-name/writes progress-bar no-buffer
 ipv4 ipv6 http1.1 http2 http3 compressed create-dirs fail-with-body no-progress-meter tlsv1.2 tlsv1.3 netrc/cred
 help version m: max-time: connect-timeout: retry: retry-delay: retry-max-time: retry-all-errors A: user-agent: e:
 referer: w: write-out: r: range: max-redirs: limit-rate: X:/method request:/method o:/write output:/write
 output-dir:/dir d:/send data:/send data-raw:/send data-binary:/send data-urlencode:/send data-ascii:/send
 json:/send F:/send form:/send form-string:/send T:/send upload-file:/send H:/header header:/header u:/cred
 user:/cred b:/cred cookie:/cred c:/write cookie-jar:/write E:/cred cert:/cred key:/cred oauth2-bearer:/cred
 cacert:/read capath:/read D:/write dump-header:/write trace:/write trace-ascii:/write stderr:/write url: x:/run
 proxy:/run K:/run config:/run resolve:/run connect-to:/run unix-socket:/run interface:/run doh-url:/run
 preproxy:/run socks5:/run proto: proto-default:/run libcurl:/write etag-save:/write etag-compare:/read hsts:/write
 alt-svc:/write`)

func curlProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	g := curlOptions.parse(words[1:], false)
	a.follow(c, st, "curl", curlOptions, g, false)
	sends, urls := false, g.operands
	for _, o := range g.options {
		v := o.value()
		switch o.role {
		case "send":
			sends = true
			at := strings.LastIndexAny(v.text, "@<")
			if o.name == "T" || o.name == "upload-file" {
				a.path(st, tongs.EffectRead, v)
			} else if at >= 0 || !v.exact() {
				a.path(st, tongs.EffectRead, v.after(at+1))
			}
		case "cred":
			sends = true
		case "header":
			sends = sends || !plainHeader(v)
		case "method":
			sends = sends || !v.exact() || v.text != "GET" && v.text != "HEAD"
		}
		if o.name == "url" {
			urls = append(urls, v)
		}
	}
	if len(urls) == 0 {
		a.network("", sends, "curl reaches a host that is only known when it runs")
	}
	for _, u := range urls {
		a.reach("curl", u, sends)
		if g.has("O", "remote-name") {
			a.saved(st, u)
		}
	}
}

// plainHeader reports whether a header carries nothing that is worth keeping.
func plainHeader(h arg) bool {
	name, _, _ := strings.Cut(strings.ToLower(h.text), ":")
	switch strings.TrimSpace(name) {
	case "accept", "accept-encoding", "accept-language", "cache-control", "user-agent", "if-none-match",
		"if-modified-since", "range":
		return h.exact()
	}
	return false
}

// reach adds the effect of a request to a URL.
func (a *analyser) reach(program string, w arg, sends bool) {
	text := w.text
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	scheme := ""
	if err == nil {
		scheme = strings.ToLower(u.Scheme)
	}
	switch {
	case err != nil || scheme != "http" && scheme != "https":
		a.network("", true, program+" uses an address that is not plain: "+w.src)
		a.unknown(tongs.EffectRead, program+" may read what "+w.src+" names")
	case !validHost(u.Hostname()), !w.exact() && !strings.Contains(strings.TrimPrefix(text, u.Scheme+"://"), "/"),
		w.many &&
			!w.glob:
		a.network("", sends, program+" reaches a host that is only known when it runs: "+w.src)
	default:
		// What a computed path or query says is data that leaves.
		a.network(urlHost(u), sends || u.User != nil || !w.exact(), "")
	}
}

// saved adds the write of a file named as the URL ends.
func (a *analyser) saved(st *state, w arg) {
	u, err := url.Parse(w.text)
	if err != nil || !w.exact() || path.Base(u.Path) == "/" || path.Base(u.Path) == "." {
		a.unknown(tongs.EffectWrite, "the name of what is saved is only known when it runs")
		return
	}
	a.path(st, tongs.EffectWrite, exactly(path.Base(u.Path)))
}

const wgetOptions = options(`q v nv S c N nc 4 6 quiet verbose no-verbose continue timestamping spider
 no-check-certificate O:/write output-document:/write P:/dir directory-prefix:/dir o:/write output-file:/write
 a:/write append-output:/write U: user-agent: T: timeout: t: tries: w: wait: max-redirect: no-clobber https-only
 show-progress help version V h`)

func wgetProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	g := wgetOptions.parse(words[1:], false)
	a.follow(c, st, "wget", wgetOptions, g, false)
	sends := len(g.strange) > 0
	for _, u := range g.operands {
		a.reach("wget", u, sends)
		if !g.has("O", "output-document", "spider") {
			if g.has("P", "directory-prefix") {
				a.unknown(tongs.EffectWrite, "the name of what is saved is only known when it runs")
			} else {
				a.saved(st, u)
			}
		}
	}
	if len(g.operands) == 0 {
		a.network("", sends, "wget reaches a host that is only known when it runs")
	}
}

// sshProgram follows a command on another machine, which nobody here can judge.
func sshProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	a.network("", true, "ssh talks to another machine")
	a.poison("what ssh runs on the other machine, and by its configuration on this one, cannot be told")
}

func networkProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	a.network("", true, words[0].text+" talks to other machines")
	switch baseName(words[0].text) {
	case "nc", "ncat", "netcat", "scp", "sftp", "lftp", "openssl", "websocat", "nmap", "socat", "telnet", "ftp", "tftp", "rlogin", "rsh",
		"mail", "mailx", "mutt", "sendmail", "lynx", "w3m", "links", "elinks":
		a.poison("what " + words[0].text + " does besides cannot be told")
	}
}

// senders are the subcommands by which builders and package managers send what is in the workspace to others.
var senders = map[string]string{
	"npm": "publish login adduser token unpublish deprecate", "yarn": "publish npm\x00publish npm\x00login", "pnpm": "publish login",
	"bun": "publish", "deno": "publish deploy", "cargo": "publish login owner yank", "gem": "push yank owner signin",
	"poetry": "publish", "uv": "publish", "docker": "push login", "podman": "push login", "dotnet": "nuget\x00push",
	"mix": "hex.publish", "mvn": "deploy", "gradle": "publish", "rake": "release",
}

// sends adds the network effect of a subcommand that sends something.
func (a *analyser) sends(words []arg) {
	var said []string
	for _, w := range words[1:] {
		if w.exact() && !strings.HasPrefix(w.text, "-") && len(said) < 2 {
			said = append(said, w.text)
		}
	}
	name := baseName(words[0].text)
	for i := range said {
		if sub := strings.Join(said[:i+1], "\x00"); slices.Contains(strings.Fields(senders[name]), sub) {
			a.network("", true, name+" "+strings.Join(said[:i+1], " ")+" sends data")
			return
		}
	}
}

const rsyncOptions = options(`a v r l p t g o D z n P h i u c x H A X S W q e:/run rsh:/run rsync-path:/run archive
 verbose recursive links perms times compress dry-run progress partial human-readable itemize-changes update
 checksum stats delete/deletes delete-after/deletes delete-before/deletes delete-excluded/deletes
 remove-source-files/deletes exclude: include: exclude-from:/read include-from:/read files-from:/list f: filter:
 log-file:/write backup b backup-dir:/write suffix: max-size: min-size: bwlimit: timeout: info: numeric-ids
 copy-links L relative R ignore-existing existing size-only no-perms no-owner no-group chmod: quiet version help`)

func rsyncProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	g := rsyncOptions.parse(words[1:], false)
	a.follow(c, st, "rsync", rsyncOptions, g, false)
	for i, w := range g.operands {
		switch {
		case strings.Contains(w.text, ":") || !w.exact() && !w.below:
			a.network("", true, "rsync may talk to another machine: "+w.src)
		case i == len(g.operands)-1 && i > 0:
			a.path(st, tongs.EffectWrite, w)
			a.unknown(tongs.EffectWrite, "rsync writes files that are only known when it runs below "+w.src)
		default:
			a.path(st, tongs.EffectRead, w)
		}
	}
}
