package shellsyntax

import "mvdan.cc/sh/v3/syntax"

// reader describes a program that reads its operands. An option that is not in its table may be one that runs or writes
// something, and is asked about.
type reader struct {
	options options
	// skip is how many operands come before the paths, unless one of the options in unless is given.
	skip   int
	unless string
	// none is the path that is read where no operand is given; empty is the standard input.
	none string
	// names is set where the operands are names or text that is not opened.
	names bool
	// pure is set where no option reads, writes or runs anything.
	pure bool
	// response is set where @FILE stands for options that are in that file.
	response bool
}

const (
	grepOptions = `e: regexp: f:/read file:/read A: B: C: m: # after-context: before-context: context? max-count: label:
 include: exclude: exclude-from:/read exclude-dir: binary-files: d: directories: D: devices: r R recursive
 dereference-recursive E F G P I L T U V Z a b c h i l n o q s v w x z y H N basic-regexp binary byte-offset color? colour?
 count extended-regexp files-with-matches files-without-match fixed-strings group-separator: help ignore-case
 initial-tab invert-match line-buffered line-number line-regexp no-filename no-group-separator no-ignore-case no-messages
 null null-data only-matching perl-regexp quiet silent text version with-filename word-regexp`
	lsOptions = `I: ignore: hide: w: width: T: tabsize: block-size: time-style: quoting-style: indicator-style: all almost-all
 author classify? color? colour? context dereference dereference-command-line dereference-command-line-symlink-to-dir
 directory dired escape file-type format: full-time group-directories-first help hide-control-chars human-readable
 hyperlink? ignore-backups inode kibibytes literal no-group numeric-uid-gid quote-name recursive reverse
 show-control-chars si size sort: time: version zero 1 A B C D F G H L N Q R S U X Z a b c d f g h i k l m n o p q r s t u
 v x @ O e`
	sumOptions = `b c/counts t w z binary check/counts ignore-missing quiet status strict tag text warn zero help version l:
 length: a: algorithm: untagged debug`
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
	"cat": {options: `A E T b e n s t u v number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank
 help version`},
	"tac": {options: "b r s: before regex separator: help version"},
	"nl": {options: `b: d: f: h: i: l: n: p s: v: w: body-numbering: section-delimiter: footer-numbering: header-numbering:
 line-increment: join-blank-lines: number-format: no-renumber number-separator: starting-line-number: number-width: help
 version`},
	"rev":  {options: "h V help version"},
	"zcat": {options: "f q v l t force quiet verbose list test help version"}, "bzcat": {options: "f q v s"},
	"xzcat": {options: "f q v"},
	"head":  {options: "n: c: # q v z lines: bytes: quiet silent verbose zero-terminated help version"},
	"tail": {options: `n: c: s: # f F q v z r lines: bytes: follow? sleep-interval: pid: max-unchanged-stats: quiet silent
 verbose retry zero-terminated help version`},
	"wc":  {options: "c m l L w bytes chars lines max-line-length words total: files0-from:/counts help version"},
	"ls":  {options: lsOptions, none: "."},
	"dir": {options: lsOptions, none: "."}, "vdir": {options: lsOptions, none: "."},
	"stat": {options: "c: f t L x s r n q format: printf: cached: dereference file-system terse help version"},
	"file": {options: `F: m:/read magic-file:/read f:/list files-from:/list P: e: C/writes compile/writes b brief i mime
 mime-type mime-encoding k L h N n p r s z Z 0 d v extension`},
	"du": {options: `d: max-depth: B: block-size: t: threshold: X:/read exclude-from:/read exclude: files0-from:/counts
 time-style: 0 D H L P S a b c h k l m s x all apparent-size bytes count-links dereference dereference-args
 human-readable inodes no-dereference null one-file-system separate-dirs si summarize time? total help version`, none: "."},
	"df": {options: `B: block-size: t: type: x: exclude-type: output? H P T a h i k l v m g all human-readable inodes local
 no-sync portability print-type si sync total help version`},
	"tree": {options: `L: P: I: o:/write fromfile/list H: T: charset: filelimit: timefmt: sort? gitfile:/read
 infofile:/read R/writes a d l f x p s h u g D F q N Q r t c U v i A S n C J X noreport prune gitignore dirsfirst
 filesfirst ignore-case matchdirs inodes device du si help version`, none: "."},
	"md5sum": {options: sumOptions}, "sha1sum": {options: sumOptions}, "sha224sum": {options: sumOptions},
	"sha256sum": {options: sumOptions}, "sha384sum": {options: sumOptions}, "sha512sum": {options: sumOptions},
	"b2sum": {options: sumOptions}, "cksum": {options: sumOptions}, "sum": {options: "r s sysv help version"},
	"shasum": {options: "a: algorithm: b c/counts check/counts t U 0 p s w binary text portable status warn help version"},
	"md5":    {options: "p q r s: x"},
	"cut": {options: `b: c: d: f: n s z w bytes: characters: delimiter: fields: complement only-delimited output-delimiter:
 zero-terminated help version`},
	"paste": {options: "d: s z delimiters: serial zero-terminated help version"},
	"comm":  {options: "1 2 3 i z check-order nocheck-order output-delimiter: total zero-terminated help version"},
	"join": {options: `t: e: 1: 2: j: a: v: o: i z check-order header ignore-case nocheck-order zero-terminated help
 version`},
	"fold": {options: "w: b s # width: bytes spaces help version"},
	"fmt": {options: `w: p: g: c s t u # width: prefix: goal: crown-margin split-only tagged-paragraph uniform-spacing help
 version`},
	"expand": {options: "t: i # tabs: initial help version"}, "unexpand": {options: "t: a tabs: all first-only help version"},
	"column": {options: `c: s: o: N: R: T: E: H: W: r: p: i: n: O: l: J L d e t x h V table-columns: separator:
 output-separator: table-right: table-name: output-width: table json keep-empty-lines fillrows table-columns-limit:
 table-header-repeat table-hide: table-noextreme: table-noheadings table-order: table-truncate: table-wrap: tree:
 tree-id: tree-parent: help version`},
	"pr": {options: `l: w: W: h: o: N: D: n? s? e? i? S? # a c d f F J m r t T v across columns: date-format: double-space
 first-line-number: form-feed header: indent: join-lines length: merge no-file-warnings number-lines? omit-header
 omit-pagination page-width: pages: show-control-chars show-nonprinting width: help version`},
	"tsort": {options: "help version"},
	"diff": {options: `U: C: W: x: X:/read I: F: L: S: D: # width: exclude: exclude-from:/read ignore-matching-lines:
 show-function-line: label: starting-file: ifdef: from-file:/read to-file:/read tabsize: horizon-lines: B E N T Z a b c d e
 i l/run n p q r s t u v w y brief color? context? ed expand-tabs help ignore-all-space ignore-blank-lines ignore-case
 ignore-file-name-case ignore-space-change ignore-tab-expansion ignore-trailing-space initial-tab left-column
 line-format: old-line-format: new-line-format: unchanged-line-format: old-group-format: new-group-format:
 changed-group-format: unchanged-group-format: minimal new-file no-dereference no-ignore-file-name-case normal
 paginate/run palette: rcs recursive report-identical-files show-c-function side-by-side speed-large-files
 strip-trailing-cr suppress-blank-empty suppress-common-lines text unidirectional-new-file unified? version`},
	"cmp":   {options: "i: n: b l s v x z ignore-initial: bytes: print-bytes quiet silent verbose help version"},
	"grep":  {options: grepOptions, skip: 1, unless: "e regexp f file"},
	"egrep": {options: grepOptions, skip: 1, unless: "e regexp f file"},
	"fgrep": {options: grepOptions, skip: 1, unless: "e regexp f file"},
	"rg":    {options: rgOptions, skip: 1, unless: "e regexp f file files type-list", none: "."},
	"sort":  {options: sortOptions},
	"shuf": {options: `e i: n: o:/write r z input-range: head-count: output:/write random-source:/read repeat echo help
 version`},
	"iconv":  {options: "f: t: o:/write output:/write from-code: to-code: c s l list verbose"},
	"base64": {options: "w: d D i: decode ignore-garbage wrap: help version"},
	"base32": {options: "w: d i decode ignore-garbage wrap: help version"},
	"od": {options: `A: j: N: t: w? S: a b c d f i l o s v x address-radix: skip-bytes: read-bytes: format: endian:
 output-duplicates strings? traditional width? help version`},
	"hexdump": {options: `n: s: e: f:/read L? C V b c d h o v x canonical color? format: format-file:/read length: no-squeezing
 one-byte-char one-byte-octal skip: two-bytes-decimal two-bytes-hex two-bytes-octal help version`},
	"strings": {options: `n: t: e: T: s: U: # a d f h o v V w all bytes: data encoding: help include-all-whitespace
 output-separator: print-file-name radix: target: unicode: version`, response: true},
	"nm": {options: `f: t: X: A B C? D P S U: V W a e g h j l n o p r s u debug-syms defined-only demangle? dynamic extern-only
 format: help ifunc-chars: just-symbols line-numbers no-demangle no-sort no-weak numeric-sort portability print-armap
 print-file-name print-size quiet radix: reverse-sort size-sort special-syms synthetic target: undefined-only unicode:
 version with-symbol-versions plugin:/run`, response: true},
	"readelf": {options: `x: p: R: A C? D H I L S T U: V W a c d e g h l n r s t u v w? z all arch-specific archive-index
 debug-dump? decompress demangle? dwarf-depth: dwarf-start: dyn-syms dynamic file-header headers help hex-dump:
 histogram lint lto-syms no-demangle notes program-headers relocated-dump: relocs section-details section-groups
 section-headers sections segments P/list process-links/list silent-truncation string-dump: sym-base: symbols syms unicode: unwind use-dynamic
 version version-info wide`, response: true},
	"size": {options: "A B G d o x t f h v V common format: help radix: target: totals version", response: true},
	"jq": {
		options: `f:/read from-file:/read L:/read indent: arg:: argjson:: slurpfile::/read rawfile::/read n r c s S e j a M C
 R h V tab unbuffered stream stream-errors seq sort-keys null-input raw-input raw-output raw-output0 join-output
 compact-output slurp ascii-output color-output monochrome-output exit-status args jsonargs help version`, skip: 1,
		unless: "f from-file",
	},
	"less": {options: lessOptions}, "more": {options: "d l e f p c s u n: #"},
	"bat": {options: batOptions}, "batcat": {options: batOptions},
	"basename": {names: true, pure: true, options: "s: suffix:"}, "dirname": {names: true, pure: true}, "realpath": {names: true, pure: true},
	"readlink": {names: true, pure: true},
	"tr":       {names: true, pure: true}, "which": {names: true, pure: true}, "seq": {names: true, pure: true, options: "s: f: w"}, "expr": {names: true, pure: true},
	"factor": {names: true, pure: true},
	"whoami": {names: true, pure: true}, "id": {names: true, pure: true}, "uname": {names: true, pure: true}, "uptime": {names: true, pure: true}, "nproc": {names: true, pure: true},
	"tty": {names: true, pure: true}, "groups": {names: true, pure: true}, "printenv": {names: true, pure: true}, "locale": {names: true, pure: true},
	"getconf": {names: true, pure: true}, "sleep": {names: true, pure: true}, "yes": {names: true, pure: true}, "true": {names: true, pure: true}, "false": {names: true, pure: true},
	"cal": {names: true, pure: true}, "free": {names: true, pure: true}, "ps": {names: true, pure: true}, "logname": {names: true, pure: true}, "echo": {names: true, pure: true},
	"printf": {names: true, pure: true}, "pwd": {names: true, pure: true}, "test": {names: true, pure: true}, "[": {names: true, pure: true}, "numfmt": {names: true, pure: true},
	"date": {names: true, options: `d: date: f:/list file:/list r:/read reference:/read s:/run set:/run I? iso-8601? R u
 utc universal rfc-email rfc-3339: debug help version j v:`},
	"hostname": {
		names: true, options: "f i I s d A fqdn short long ip-address all-ip-addresses F:/run b/run file:/run",
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
