// Package insight reads the log of calls for people: how often tools are called, how long they take and what becomes of
// the calls, how often each rule decides, what a session did, and which decisions a proposed rule would have changed.
//
// It changes nothing. Statistics are of facts ([audit.Fact]), which a durable log keeps ready; a replay decides logged
// calls again from what was recorded of them, and says of which it cannot.
package insight

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Millis is a duration that is a number of milliseconds in JSON.
type Millis time.Duration

// MarshalJSON implements json.Marshaler.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(float64(m)/float64(time.Microsecond)) / 1000)
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Millis) UnmarshalJSON(data []byte) error {
	var ms float64
	if err := json.Unmarshal(data, &ms); err != nil {
		return err
	}
	*m = Millis(math.Round(ms * float64(time.Millisecond)))
	return nil
}

// String returns the duration with as many digits as a person wants.
func (m Millis) String() string {
	d := time.Duration(m)
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(max(unit/100, 1)).String()
		}
	}
	return d.String()
}

// Window is a span of time, divided into buckets for charts.
type Window struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Bucket is the width of a bucket; buckets begin at whole multiples of it.
	Bucket Millis `json:"bucketMs"`
}

// maxBuckets is how many whole buckets a window of [Last] has at most.
const maxBuckets = 60

// Last returns the window of the given length that ends now, in at most 60 whole buckets and one begun: an hour by the
// minute, a day by the hour, a week by six hours.
func Last(length time.Duration, now time.Time) Window {
	const day = 24 * time.Hour
	w := Window{Since: now.Add(-length), Until: now}
	for _, b := range []time.Duration{
		time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour,
		day, 7 * day, 28 * day, 364 * day,
	} {
		if w.Bucket = Millis(b); length <= maxBuckets*b {
			break
		}
	}
	return w
}

// starts returns the beginnings of the buckets.
func (w Window) starts() []time.Time {
	width := time.Duration(w.Bucket)
	if width <= 0 || !w.Until.After(w.Since) {
		return nil
	}
	var list []time.Time
	for t := w.Since.Truncate(width); t.Before(w.Until) && len(list) < 100*maxBuckets; t = t.Add(width) {
		list = append(list, t)
	}
	return list
}

// percentile returns the nearest-rank percentile of durations that it sorts, 0 where there are none.
func percentile(list []time.Duration, p int) Millis {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return Millis(list[max(0, (len(list)*p+99)/100-1)])
}
