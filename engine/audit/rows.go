package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
)

// Assemble puts entries, newest first, together to the rows that fit the filter, newest first.
func Assemble(entries iter.Seq2[Entry, error], f Filter) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		a := assembly{filter: f, parts: map[int64]*parts{}}
		found := 0
		for e, err := range entries {
			if err != nil {
				yield(Row{}, err)
				return
			}
			row, ok, err := a.add(&e)
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !ok {
				continue
			}
			found++
			if !yield(row, nil) || f.Limit > 0 && found >= f.Limit {
				return
			}
		}
	}
}

// parts are the later entries of a row whose opening one was not met yet.
type parts struct {
	intent, closing json.RawMessage
	earlier         []json.RawMessage // newest first
}

type assembly struct {
	filter Filter
	parts  map[int64]*parts
}

// add takes the next older entry and returns the row that it completes, if that fits.
func (a *assembly) add(e *Entry) (row Row, fits bool, err error) {
	if a.filter.Before > 0 && e.Row >= a.filter.Before {
		return row, false, nil
	}
	switch e.Kind {
	case EntryIntent, EntryClose:
		p := a.parts[e.Row]
		if p == nil {
			p = &parts{}
			a.parts[e.Row] = p
		}
		switch {
		case e.Kind == EntryClose:
			p.closing = e.Data
		case p.intent == nil: // newest first: the last intent is the one that counts
			p.intent = e.Data
		case a.filter.Intents:
			p.earlier = append(p.earlier, e.Data)
		}
		return row, false, nil
	case EntryOpen:
	default:
		return row, false, nil
	}
	p := a.parts[e.Row]
	delete(a.parts, e.Row)
	if !a.mayFit(e.Data) {
		return row, false, nil
	}
	if row, err = a.row(e, p); err != nil {
		return row, false, fmt.Errorf("audit entry %d: %w", e.Seq, err)
	}
	return row, a.filter.fits(&row), nil
}

// mayFit is a cheap look at an opening entry, to decode only those that can fit.
func (a *assembly) mayFit(data []byte) bool {
	for _, s := range []string{a.filter.Call, a.filter.Session} {
		if s == "" {
			continue
		}
		quoted, err := json.Marshal(s)
		if err == nil && !bytes.Contains(data, quoted) {
			return false
		}
	}
	return true
}

func (a *assembly) row(e *Entry, p *parts) (row Row, err error) {
	if err = json.Unmarshal(e.Data, &row); err != nil {
		return row, err
	}
	row.Seq = e.Seq
	if p != nil && p.intent != nil {
		if err = json.Unmarshal(p.intent, &row.Intent); err != nil {
			return row, err
		}
		if row.Earlier, err = p.intents(); err != nil {
			return row, err
		}
	}
	if p != nil && p.closing != nil {
		return row, json.Unmarshal(p.closing, &row.Close)
	}
	row.Interrupted = !Alive(row.PID, row.Started)
	return row, nil
}

// intents are the earlier ones, oldest first.
func (p *parts) intents() (list []Intent, err error) {
	for _, data := range slices.Backward(p.earlier) {
		var in Intent
		if err := json.Unmarshal(data, &in); err != nil {
			return nil, err
		}
		list = append(list, in)
	}
	return list, nil
}

func (f *Filter) fits(r *Row) bool {
	return (f.Call == "" || f.Call == r.Call) && (f.Session == "" || f.Session == r.Session) &&
		(f.Tool == "" || f.Tool == r.Tool || r.Intent != nil && f.Tool == r.Intent.Tool) &&
		(f.Outcome == "" || f.Outcome == r.Outcome()) &&
		(f.Code == "" || r.Close != nil && f.Code == r.Close.Code) &&
		(f.Since.IsZero() || !r.Started.Before(f.Since))
}
