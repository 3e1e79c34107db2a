package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits bound what tools return, how long they take and what commands use up.
type Limits struct {
	ReadLines   int64 // lines of one read_file
	LineLength  int64 // characters of one line
	ReadBytes   int64 // bytes of text of one read_file
	CountBytes  int64 // size up to which read_file counts the lines of a file
	RawBytes    int64 // bytes that read_file shows as base64 where the call names no limit
	RawMax      int64 // bytes that read_file shows as base64 at most
	ImageBytes  int64 // size up to which read_file attaches an image
	EditBytes   int64 // size up to which a file can be edited
	ListEntries int64 // entries of list_directory where the call names no limit
	ListMax     int64 // entries of list_directory at most
	GlobResults int64 // paths of glob where the call names no limit
	GlobMax     int64 // paths of glob at most
	GrepMatches int64 // matches of grep where the call names no limit
	GrepMax     int64 // matches of grep at most
	GrepLength  int64 // characters of one line that grep shows

	SearchResults   int64         // places of search_code where the call names no limit
	SearchMax       int64         // places of search_code at most
	SearchFileBytes int64         // size up to which search_code looks at a file
	SearchWords     int64         // memory for the words that search_code knows
	SearchIndex     int64         // memory for the index of searches, in a process that lives on
	SearchIdle      time.Duration // how long an index that nobody searches is kept

	StreamBytes     int64 // bytes shown of one output stream, such as a command's stdout
	ContentBytes    int64 // bytes of a result's content
	ValueBytes      int64 // bytes of a result's structured value
	AttachmentBytes int64 // bytes of an attachment that travels with the result
	SpillBytes      int64 // bytes kept of one output that did not fit
	WebBytes        int64 // bytes of one fetched body
	WebFree         int64 // bytes that the address and headers of a free GET carry
	WebFreeTotal    int64 // bytes that those of a session carry to one site
	SQLRows         int64 // rows of sql_query where the call names no limit
	SQLMax          int64 // rows of sql_query at most
	SQLBytes        int64 // bytes of the rows of sql_query
	SQLFileBytes    int64 // size of an SQLite file, with its journals

	ShellTimeout      time.Duration // a command, where the call names no timeout
	ShellTimeoutMax   time.Duration // a command at most
	CodeTimeout       time.Duration // run_code, where the call names no timeout
	CodeTimeoutMax    time.Duration // run_code at most
	ForgeTimeout      time.Duration // a custom tool
	ProjectTimeout    time.Duration // run_tests, format_code and install_package, where the call names no timeout
	ProjectTimeoutMax time.Duration // the same at most
	WebTimeout        time.Duration // web_fetch and web_search, where the call names no timeout
	WebTimeoutMax     time.Duration // web_fetch at most
	SQLTimeout        time.Duration // sql_query, where the call names no timeout
	SQLTimeoutMax     time.Duration // sql_query at most

	CommandCPU         time.Duration // processor time of a command, all its processes together
	CommandMemory      int64         // memory of a command, all its processes together
	CommandProcesses   int64         // processes and threads of a command
	CommandFileSize    int64         // size of a file that a command writes
	CommandDisk        int64         // bytes by which a command may make the workspace grow
	CommandFiles       int64         // files by which it may
	CommandTmp         int64         // size of a command's /tmp
	CommandDescriptors int64         // open files of one of its processes
	CommandOutput      int64         // output of a command until it is killed

	JournalBytes  int64 // what is kept of changed files so that they can be undone
	UndoableFiles int64 // files that one call may change or remove and still count as undoable
	UndoableBytes int64 // their size
	UndoableHour  int64 // files that calls may so change or remove in an hour

	Jobs     int64 // background jobs of a session that run at a time
	JobsMax  int64 // those of all sessions
	JobBytes int64 // bytes of a job's latest output in memory
}

// Retention says how long things are kept. Zero means forever.
type Retention struct {
	Rows      time.Duration // the log of calls
	Spills    time.Duration // output that did not fit
	Questions time.Duration // questions that are over
	Grants    time.Duration // approvals remembered for a session
	Sessions  time.Duration // what tools remember of a session, after its last change
	Changes   time.Duration // what undo needs
}

// unit is how a setting is written and shown.
type unit int

const (
	count unit = iota
	size
	seconds
	days
)

// setting describes one number of a file.
type setting struct {
	key      string
	unit     unit
	def      int64
	min, max int64
}

const day = 24 * time.Hour

// limitSettings are the keys of limits, in the order they are shown.
var limitSettings = []setting{
	{"readLines", count, 2000, 1, 1e6},
	{"lineLength", count, 2000, 80, 1e6},
	{"readBytes", size, 100_000, 1000, 64 << 20},
	{"countBytes", size, 64 << 20, 1, 1 << 40},
	{"rawBytes", size, 64 << 10, 1, 1 << 30},
	{"rawMax", size, 1 << 20, 1, 1 << 30},
	{"imageBytes", size, 5 << 20, 1, 1 << 30},
	{"editBytes", size, 32 << 20, 1000, 1 << 30},
	{"listEntries", count, 200, 1, 1e5},
	{"listMax", count, 500, 1, 1e5},
	{"globResults", count, 100, 1, 1e5},
	{"globMax", count, 500, 1, 1e5},
	{"grepMatches", count, 100, 1, 1e5},
	{"grepMax", count, 1000, 1, 1e5},
	{"grepLength", count, 300, 20, 1e5},
	{"searchResults", count, 20, 1, 1e4},
	{"searchMax", count, 100, 1, 1e4},
	{"searchFileBytes", size, 1 << 20, 1000, 1 << 30},
	{"searchWords", size, 256 << 20, 1 << 20, 1 << 40},
	{"searchIndex", size, 512 << 20, 1 << 20, 1 << 40},
	{"searchIdle", seconds, int64(20 * time.Minute), int64(time.Second), int64(30 * day)},
	{"streamBytes", size, 30_000, 1000, 64 << 20},
	{"contentBytes", size, 120_000, 1000, 64 << 20},
	{"valueBytes", size, 4 << 20, 1000, 1 << 30},
	{"attachmentBytes", size, 8 << 20, 1000, 1 << 30},
	{"spillBytes", size, 4 << 30, 1000, 1 << 40},
	{"webBytes", size, 5 << 20, 1000, 1 << 30},
	{"webFree", size, 512, 1, 8000},
	{"webFreeTotal", size, 8 << 10, 1, 1 << 30},
	{"sqlRows", count, 100, 1, 1e6},
	{"sqlMax", count, 1000, 1, 1e6},
	{"sqlBytes", size, 100_000, 1000, 64 << 20},
	{"sqlFileBytes", size, 512 << 20, 1 << 20, 1 << 40},
	{"shellTimeout", seconds, int64(120 * time.Second), int64(time.Second), int64(day)},
	{"shellTimeoutMax", seconds, int64(600 * time.Second), int64(time.Second), int64(day)},
	{"codeTimeout", seconds, int64(60 * time.Second), int64(time.Second), int64(day)},
	{"codeTimeoutMax", seconds, int64(600 * time.Second), int64(time.Second), int64(day)},
	{"forgeTimeout", seconds, int64(30 * time.Second), int64(time.Second), int64(day)},
	{"projectTimeout", seconds, int64(300 * time.Second), int64(time.Second), int64(day)},
	{"projectTimeoutMax", seconds, int64(1800 * time.Second), int64(time.Second), int64(day)},
	{"webTimeout", seconds, int64(30 * time.Second), int64(time.Second), int64(day)},
	{"webTimeoutMax", seconds, int64(120 * time.Second), int64(time.Second), int64(day)},
	{"sqlTimeout", seconds, int64(30 * time.Second), int64(time.Second), int64(day)},
	{"sqlTimeoutMax", seconds, int64(300 * time.Second), int64(time.Second), int64(day)},
	{"commandCPU", seconds, int64(time.Hour), int64(time.Second), int64(30 * day)},
	{"commandMemory", size, 2 << 30, 16 << 20, 1 << 44},
	{"commandProcesses", count, 256, 8, 1e6},
	{"commandFileSize", size, 2 << 30, 1 << 10, 1 << 44},
	{"commandDisk", size, 4 << 30, 1 << 10, 1 << 44},
	{"commandFiles", count, 500_000, 1, 1e9},
	{"commandTmp", size, 1 << 30, 1 << 20, 1 << 44},
	{"commandDescriptors", count, 4096, 64, 1 << 20},
	{"commandOutput", size, 1 << 30, 1000, 1 << 44},
	{"journalBytes", size, 4 << 30, 16 << 20, 1 << 44},
	{"undoableFiles", count, 100, 1, 1e6},
	{"undoableBytes", size, 64 << 20, 1, 1 << 40},
	{"undoableHour", count, 1000, 1, 1e6},
	{"jobs", count, 8, 1, 1000},
	{"jobsMax", count, 64, 1, 10_000},
	{"jobBytes", size, 256 << 10, 1000, 64 << 20},
}

// ofState is the limit for the user's whole state, which no workspace may set.
const ofState = "journalBytes"

// usualAndMost are keys of which the first is what a call gets that asks for nothing, and the second the most that it can
// ask for.
var usualAndMost = [][2]string{
	{"rawBytes", "rawMax"},
	{"listEntries", "listMax"},
	{"globResults", "globMax"},
	{"grepMatches", "grepMax"},
	{"searchResults", "searchMax"},
	{"shellTimeout", "shellTimeoutMax"},
	{"codeTimeout", "codeTimeoutMax"},
	{"projectTimeout", "projectTimeoutMax"},
	{"webTimeout", "webTimeoutMax"},
	{"sqlRows", "sqlMax"},
	{"sqlTimeout", "sqlTimeoutMax"},
	{"jobs", "jobsMax"},
}

var retentionSettings = []setting{
	{"rows", days, int64(90 * day), 0, math.MaxInt64},
	{"spills", days, int64(7 * day), 0, math.MaxInt64},
	{"questions", days, int64(30 * day), 0, math.MaxInt64},
	{"grants", days, int64(7 * day), 0, math.MaxInt64},
	{"sessions", days, int64(30 * day), 0, math.MaxInt64},
	{"changes", days, int64(30 * day), 0, math.MaxInt64},
}

// fields returns where the value of each key of limitSettings is kept.
func (l *Limits) fields() map[string]*int64 {
	return map[string]*int64{
		"readLines": &l.ReadLines, "lineLength": &l.LineLength, "readBytes": &l.ReadBytes, "countBytes": &l.CountBytes,
		"rawBytes": &l.RawBytes, "rawMax": &l.RawMax, "imageBytes": &l.ImageBytes, "editBytes": &l.EditBytes,
		"listEntries": &l.ListEntries, "listMax": &l.ListMax, "globResults": &l.GlobResults, "globMax": &l.GlobMax,
		"grepMatches": &l.GrepMatches, "grepMax": &l.GrepMax, "grepLength": &l.GrepLength,
		"searchResults": &l.SearchResults, "searchMax": &l.SearchMax, "searchFileBytes": &l.SearchFileBytes,
		"searchWords": &l.SearchWords, "searchIndex": &l.SearchIndex, "searchIdle": (*int64)(&l.SearchIdle),
		"streamBytes": &l.StreamBytes, "contentBytes": &l.ContentBytes, "valueBytes": &l.ValueBytes,
		"attachmentBytes": &l.AttachmentBytes, "spillBytes": &l.SpillBytes, "webBytes": &l.WebBytes,
		"webFree": &l.WebFree, "webFreeTotal": &l.WebFreeTotal,
		"shellTimeout": (*int64)(&l.ShellTimeout), "shellTimeoutMax": (*int64)(&l.ShellTimeoutMax),
		"codeTimeout": (*int64)(&l.CodeTimeout), "codeTimeoutMax": (*int64)(&l.CodeTimeoutMax),
		"forgeTimeout": (*int64)(&l.ForgeTimeout), "webTimeout": (*int64)(&l.WebTimeout),
		"webTimeoutMax":  (*int64)(&l.WebTimeoutMax),
		"projectTimeout": (*int64)(&l.ProjectTimeout), "projectTimeoutMax": (*int64)(&l.ProjectTimeoutMax),
		"sqlTimeout": (*int64)(&l.SQLTimeout), "sqlTimeoutMax": (*int64)(&l.SQLTimeoutMax),
		"sqlRows": &l.SQLRows, "sqlMax": &l.SQLMax, "sqlBytes": &l.SQLBytes, "sqlFileBytes": &l.SQLFileBytes,
		"commandCPU": (*int64)(&l.CommandCPU), "commandMemory": &l.CommandMemory, "commandProcesses": &l.CommandProcesses,
		"commandFileSize": &l.CommandFileSize, "commandDisk": &l.CommandDisk, "commandFiles": &l.CommandFiles,
		"commandTmp": &l.CommandTmp, "commandDescriptors": &l.CommandDescriptors, "commandOutput": &l.CommandOutput,
		"journalBytes": &l.JournalBytes, "undoableFiles": &l.UndoableFiles, "undoableBytes": &l.UndoableBytes,
		"undoableHour": &l.UndoableHour,
		"jobs":         &l.Jobs, "jobsMax": &l.JobsMax, "jobBytes": &l.JobBytes,
	}
}

func (r *Retention) fields() map[string]*int64 {
	return map[string]*int64{
		"rows": (*int64)(&r.Rows), "spills": (*int64)(&r.Spills), "questions": (*int64)(&r.Questions),
		"grants": (*int64)(&r.Grants), "sessions": (*int64)(&r.Sessions), "changes": (*int64)(&r.Changes),
	}
}

// show spells a value as a file would.
func (s setting) show(n int64) string {
	switch s.unit {
	case size:
		for _, u := range []struct {
			name string
			n    int64
		}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
			if n >= u.n && n%u.n == 0 {
				return fmt.Sprintf("%d%s", n/u.n, u.name)
			}
		}
		return strconv.FormatInt(n, 10)
	case seconds:
		return strings.TrimSuffix(strconv.FormatFloat(time.Duration(n).Seconds(), 'f', -1, 64), ".0") + "s"
	case days:
		if n == 0 {
			return "forever"
		}
		if n%int64(day) == 0 {
			return fmt.Sprintf("%dd", n/int64(day))
		}
		return time.Duration(n).String()
	default:
		return strconv.FormatInt(n, 10)
	}
}

// parse reads a value as a file spells it.
func (s setting) parse(text string) (int64, error) {
	var n int64
	var err error
	switch s.unit {
	case size:
		n, err = parseSize(text)
	case seconds:
		n, err = parseSeconds(text)
	case days:
		n, err = parseAge(text)
	default:
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			err = fmt.Errorf("want a whole number")
		}
	}
	if err != nil {
		return 0, err
	}
	if n < s.min || n > s.max {
		return 0, fmt.Errorf("want %s to %s", s.show(s.min), s.show(s.max))
	}
	return n, nil
}

// scaled reads a whole number with one of the units after it.
func scaled(text string, units map[string]int64) (int64, bool) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	factor, known := units[strings.TrimSpace(text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n < 0 || n > math.MaxInt64/factor {
		return 0, false
	}
	return n * factor, true
}

func parseSize(text string) (int64, error) {
	n, ok := scaled(text, map[string]int64{
		"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	})
	if !ok {
		return 0, fmt.Errorf("want a number of bytes, or one with KiB, MiB or GiB")
	}
	return n, nil
}

func parseSeconds(text string) (int64, error) {
	n, ok := scaled(text, map[string]int64{"": int64(time.Second), "s": int64(time.Second), "m": int64(time.Minute), "h": int64(time.Hour)})
	if !ok {
		return 0, fmt.Errorf("want a number of seconds, or one with s, m or h")
	}
	return n, nil
}

func parseAge(text string) (int64, error) {
	if text == "forever" {
		return 0, nil
	}
	n, ok := scaled(text, map[string]int64{"h": int64(time.Hour), "d": int64(day), "w": int64(7 * day)})
	if !ok || n == 0 {
		return 0, fmt.Errorf("want a time like 12h, 30d or 8w, or forever")
	}
	return n, nil
}

func (l *layer) numbers(v value, settings []setting) map[string]located[int64] {
	found := map[string]located[int64]{}
	readers := map[string]func(value){}
	for _, s := range settings {
		readers[s.key] = func(v value) {
			text, ok := l.scalar(v)
			if !ok {
				return
			}
			n, err := s.parse(text)
			if err != nil {
				l.fail(v.pos, "%s is %s; %v", v.name(), quote(text), err)
				return
			}
			found[s.key] = located[int64]{n, l.origin(v.pos)}
		}
	}
	l.object(v, readers)
	return found
}

func (l *layer) readLimits(v value) { l.limits = l.numbers(v, limitSettings) }

func (l *layer) readRetention(v value) { l.retention = l.numbers(v, retentionSettings) }

// defaults fills the fields with the defaults of their settings.
func defaults(fields map[string]*int64, settings []setting) {
	for _, s := range settings {
		*fields[s.key] = s.def
	}
}
