package command

import "mvdan.cc/sh/v3/syntax"

// reader describes a program that reads its operands.
type reader struct {
	options options
	// skip is how many operands come before the paths, unless one of the options in unless is given.
	skip   int
	unless string
	// none is the path that is read where no operand is given; empty is the standard input.
	none string
	// names is set where the operands are names or text that is not opened.
	names bool
	// strict is set where an option that is not in the table may be one that runs or writes something.
	strict bool
}

const (
	grepOptions = `e: regexp: f:/read file:/read A: B: C: m: # after-context: before-context: context? max-count: label:
 include: exclude: exclude-from:/read exclude-dir: binary-files: d: directories: D: devices: r R recursive
 dereference-recursive`
	sortOptions = `b d f g i M h n R r V c C m s u z k: t: S: T:/write o:/write parallel: batch-size: key:
 field-separator: buffer-size: temporary-directory:/write output:/write compress-program:/run files0-from:/list
 random-source:/read ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting
 month-sort human-numeric-sort numeric-sort random-sort reverse sort: version-sort check? merge stable unique
 zero-terminated debug help version`
	rgOptions = `e: regexp: f:/read file:/read A: B: C: m: g: glob: iglob: t: T: type: type-not: type-add: j: threads:
 pre:/run pre-glob: hostname-bin:/run i s S w v c l n N o r: q u U x F P a L p . H I 0 hidden no-ignore
 no-ignore-vcs files json stats column heading no-heading vimgrep color: colors: context: max-depth: d:
 max-filesize: sort: sortr: multiline multiline-dotall count count-matches files-with-matches files-without-match
 ignore-case smart-case word-regexp line-regexp fixed-strings line-number no-line-number only-matching replace:
 passthru pretty quiet trim type-list no-messages null follow ignore-file:/read path-separator: encoding: E: engine:
 pcre2 debug unrestricted with-filename no-filename invert-match case-sensitive after-context: before-context:
 max-count: max-columns: M: crlf text binary one-file-system no-config glob-case-insensitive include-zero no-unicode
 auto-hybrid-regex version help V h`
	lessOptions = `N n R r S s i I F X e E M m f g G q Q u w z: x: b: h: j: p: P: o:/write O:/write k:/run t:/run T:/run
 # LINE-NUMBERS RAW-CONTROL-CHARS chop-long-lines quit-if-one-screen no-init ignore-case quit-at-eof help version`
	batOptions = `p A n l: r: H: m: f d S u plain? number show-all language: line-range: highlight-line: style: theme:
 color: paging: P pager:/run decorations: wrap: tabs: terminal-width: file-name: map-syntax: list-languages
 list-themes force-colorization no-config no-pager unbuffered help version V`
)

// readers are the programs that read what they are given and write nothing but their output.
var readers = map[string]reader{
	"cat": {}, "tac": {}, "nl": {options: "b: d: f: h: i: l: n: s: v: w:"}, "rev": {}, "zcat": {}, "bzcat": {},
	"xzcat": {},
	"head":  {options: "n: c: lines: bytes: #"},
	"tail":  {options: "n: c: lines: bytes: s: sleep-interval: pid: max-unchanged-stats: #"},
	"wc":    {options: "files0-from:/counts"},
	"ls": {
		options: "I: ignore: hide: w: width: T: tabsize: block-size: time-style: quoting-style: indicator-style:",
		none:    ".",
	},
	"dir": {none: "."}, "vdir": {none: "."},
	"stat": {options: "c: format: printf:"},
	"file": {options: `F: m:/read magic-file:/read f:/list files-from:/list P: e: C/writes compile/writes b brief i mime
 mime-type mime-encoding k L h N n p r s z Z 0 d v extension`, strict: true},
	"du": {options: `d: max-depth: B: block-size: t: threshold: X:/read exclude-from:/read exclude: files0-from:/counts
 time-style:`, none: "."},
	"df": {options: "B: block-size: t: type: x: exclude-type: output?"},
	"tree": {options: `L: P: I: o:/write fromfile/list H: T: charset: filelimit: timefmt: sort? gitfile:/read
 infofile:/read R/writes a d l f x p s h u g D F q N Q r t c U v i A S n C J X noreport prune gitignore dirsfirst
 filesfirst ignore-case matchdirs inodes device du si help version`, none: ".", strict: true},
	"md5sum": {}, "sha1sum": {}, "sha224sum": {}, "sha256sum": {}, "sha384sum": {}, "sha512sum": {}, "b2sum": {},
	"cksum": {}, "sum": {},
	"shasum": {options: "a:"}, "md5": {},
	"cut":    {options: "b: c: d: f: bytes: characters: delimiter: fields: output-delimiter:"},
	"paste":  {options: "d: delimiters:"},
	"comm":   {options: "output-delimiter:"},
	"join":   {options: "t: e: 1: 2: j: a: v: o:"},
	"fold":   {options: "w: width:"},
	"fmt":    {options: "w: p: g: width: prefix: goal:"},
	"expand": {options: "t: tabs:"}, "unexpand": {options: "t: tabs:"},
	"column": {options: `c: s: o: N: R: T: E: H: W: r: p: i: n: table-columns: separator: output-separator: table-right:
 table-name:`},
	"pr":    {options: "l: w: W: h: o: n? s? e? i? #"},
	"tsort": {},
	"diff": {options: `U: C: W: x: X:/read I: F: L: S: D: # width: exclude: exclude-from:/read ignore-matching-lines:
 show-function-line: label: starting-file: ifdef: from-file:/read to-file:/read tabsize: horizon-lines:`},
	"cmp":  {options: "i: n: ignore-initial: bytes:"},
	"grep": {options: grepOptions, skip: 1, unless: "e regexp f file"}, "egrep": {
		options: grepOptions, skip: 1,
		unless: "e regexp f file",
	},
	"fgrep": {options: grepOptions, skip: 1, unless: "e regexp f file"},
	"rg":    {options: rgOptions, skip: 1, unless: "e regexp f file files type-list", none: ".", strict: true},
	"sort":  {options: sortOptions, strict: true},
	"shuf": {
		options: "e i: n: o:/write r z input-range: head-count: output:/write random-source:/read repeat echo",
		strict:  true,
	},
	"iconv":  {options: "f: t: o:/write output:/write from-code: to-code: c s l list verbose", strict: true},
	"base64": {options: "w: wrap:"}, "base32": {options: "w: wrap:"},
	"od":      {options: "A: j: N: t: w? S: address-radix: skip-bytes: read-bytes: format:"},
	"hexdump": {options: "n: s: e: f:/read"},
	"strings": {options: "n: t: e: T: s: U: bytes: radix: encoding: target: #"},
	"nm":      {}, "readelf": {options: "x: p: R:"}, "size": {},
	"jq": {
		options: `f:/read from-file:/read L:/read indent: arg:: argjson:: slurpfile::/read rawfile::/read`, skip: 1,
		unless: "f from-file",
	},
	"less": {options: lessOptions, strict: true}, "more": {options: "d l e f p c s u n: #", strict: true},
	"bat": {options: batOptions, strict: true}, "batcat": {options: batOptions, strict: true},
	"basename": {names: true, options: "s: suffix:"}, "dirname": {names: true}, "realpath": {names: true},
	"readlink": {names: true},
	"tr":       {names: true}, "which": {names: true}, "seq": {names: true, options: "s: f: w"}, "expr": {names: true},
	"factor": {names: true},
	"whoami": {names: true}, "id": {names: true}, "uname": {names: true}, "uptime": {names: true}, "nproc": {names: true},
	"tty": {names: true}, "groups": {names: true}, "printenv": {names: true}, "locale": {names: true},
	"getconf": {names: true}, "sleep": {names: true}, "yes": {names: true}, "true": {names: true}, "false": {names: true},
	"cal": {names: true}, "free": {names: true}, "ps": {names: true}, "logname": {names: true}, "echo": {names: true},
	"printf": {names: true}, "pwd": {names: true}, "test": {names: true}, "[": {names: true}, "numfmt": {names: true},
	"date": {names: true, options: `d: date: f:/list file:/list r:/read reference:/read s:/run set:/run I? iso-8601? R u
 utc universal rfc-email rfc-3339: debug help version j v:`, strict: true},
	"hostname": {
		names: true, options: "f i I s d A fqdn short long ip-address all-ip-addresses F:/run b/run file:/run",
		strict: true,
	},
}

// wrapper describes a program that runs the command given to it.
type wrapper struct {
	options options
	// skip is how many operands come before the command.
	skip int
	// assigns is set where assignments may come before the command.
	assigns bool
	// self is set where the wrapper changes what the command may do, and so needs a word of its own.
	self bool
	// shell is set where the words are put together and given to a shell; exec names the options that prevent it.
	shell bool
	exec  string
}

var wrappers = map[string]wrapper{
	"timeout": {options: "k: kill-after: s: signal: foreground preserve-status v verbose f p", skip: 1},
	"nice":    {options: "n: adjustment: #"},
	"ionice":  {options: "c: n: t p:/stop P:/stop u:/stop class: classdata: ignore"},
	"nohup":   {}, "setsid": {options: "c f w ctty fork wait"},
	"stdbuf":    {options: "i: o: e: input: output: error:"},
	"time":      {options: "a p v q f: o:/write append portability verbose quiet format: output:/write"},
	"chrt":      {options: "a b d f i o r R T: P: D: p/stop m/stop all-tasks batch fifo idle other rr", skip: 1},
	"taskset":   {options: "a c p/stop cpu-list all-tasks", skip: 1},
	"chronic":   {options: "v e"},
	"unbuffer":  {options: "p"},
	"catchsegv": {}, "fakeroot": {self: true, options: "l:/run lib:/run f:/run faked:/run u i:/read s:/write b: h v"},
	"sudo": {options: `A b E H n k K P S B u: g: h: p: r: t: T: U: C: R:/run D:/dir v/stop V/stop l/stop e/run s/run
 i/run user: group: host: prompt: chroot:/run chdir:/dir preserve-env? non-interactive background set-home stdin
 login/run shell/run edit/run reset-timestamp remove-timestamp validate/stop list/stop`, assigns: true, self: true},
	"doas":   {options: "n s/run L/stop C:/run u: a:", self: true},
	"pkexec": {options: "user: disable-internal-agent keep-cwd", self: true},
	"runuser": {
		options: "u: g: G: user: group: c:/script command:/script l/run login/run s:/run shell:/run m p",
		self:    true,
	},
	"su":     {options: "c:/script command:/script l login m p s:/run shell:/run g: G: P f", skip: 1, self: true},
	"chroot": {options: "userspec: groups: skip-chdir", skip: 1, self: true},
	"unshare": {options: `m? u? i? n? p? U? C? T? f r c mount? uts? ipc? net? pid? user? cgroup? time? fork map-root-user
 map-current-user map-users: map-groups: map-user: map-group: mount-proc? R:/run root:/run w: wd: S: G: setuid:
 setgid: kill-child? keep-caps`, self: true},
	"nsenter": {options: `a t: m? u? i? n? p? C? U? T? S: G: F r? w? e/run all target: mount? uts? ipc? net? pid? cgroup?
 user? time? setuid: setgid: no-fork root? wd? env/run preserve-credentials`, self: true},
	"strace": {options: `a: b: e: I: o:/write O: P: s: S: u: X: U: c C d D f F h i k n N q r t T v V w x y Y z Z E:/env
 p:/stop follow-forks output:/write trace: summary`, self: true},
	"ltrace": {options: "a: A: e: F:/run l: n: o:/write s: u: x: b c C f i L r S t T V p:/stop D:", self: true},
	"watch": {
		options: `n: interval: d? differences? t c e g b x p w no-title color errexit chgexit beep exec precise
 no-wrap`,
		shell: true, exec: "x exec",
	},
	"systemd-run": {options: `user scope wait pipe pty t P q quiet G collect unit: p:/run property:/run E:/env
 setenv:/env`, self: true},
	"setpriv": {options: `reuid: regid: clear-groups keep-groups init-groups groups: no-new-privs inh-caps:
 ambient-caps: bounding-set: reset-env`, self: true},
	"prlimit": {options: `c? d? e? f? i? l? m? n? q? r? s? t? u? v? x? y? p:/stop pid:/stop core? data? nofile?
 nproc? as? cpu? fsize?`, self: false},
	"cpulimit":         {options: "l: p:/stop P: e:/stop i z b q f m v limit:"},
	"dbus-run-session": {}, "xvfb-run": {
		self:    true,
		options: "a auto-servernum e:/write error-file:/write n: s: server-args: l w:",
	},
	"caffeinate": {options: "d i m s u t: w:"},
}

// shellKind is how a shell reads a command.
type shellKind struct {
	lang syntax.LangVariant
	// sure is set where the shell reads it as the parser does; posix where it may be any of several shells.
	sure, posix bool
}

var shells = map[string]shellKind{
	"bash": {lang: syntax.LangBash, sure: true}, "sh": {lang: syntax.LangPOSIX, sure: true, posix: true},
	"dash": {lang: syntax.LangPOSIX, sure: true, posix: true}, "ash": {lang: syntax.LangPOSIX, sure: true, posix: true},
	"rbash": {lang: syntax.LangBash}, "zsh": {lang: syntax.LangBash}, "ksh": {lang: syntax.LangBash},
	"mksh": {lang: syntax.LangBash},
	"fish": {lang: syntax.LangBash}, "csh": {lang: syntax.LangBash}, "tcsh": {lang: syntax.LangBash},
}
