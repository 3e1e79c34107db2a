package text

import "fmt"

// Size writes a number of bytes for people: "1 byte", "3.2 kB".
func Size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := float64(n), 0
	for v >= 1000 && unit < 4 {
		v /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %s", v, [...]string{"", "kB", "MB", "GB", "TB"}[unit])
}
