package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
)

// Stream yields the rows of any log that fit the filter, newest first.
func Stream(ctx context.Context, log Log, f Filter) iter.Seq2[Row, error] {
	if s, ok := log.(Streamer); ok {
		return s.Stream(ctx, f)
	}
	return func(yield func(Row, error) bool) {
		rows, err := log.Rows(ctx, f)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Collect returns the rows as a slice, never nil, or the first error.
func Collect(rows iter.Seq2[Row, error]) ([]Row, error) {
	list := []Row{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// Export writes the rows that fit the filter as JSON, one a line, newest first.
func Export(ctx context.Context, log Log, f Filter, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for row, err := range Stream(ctx, log, f) {
		if err != nil {
			return err
		}
		if err := enc.Encode(&row); err != nil {
			return fmt.Errorf("export of audit row %d: %w", row.Seq, err)
		}
	}
	return nil
}
