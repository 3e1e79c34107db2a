package model

// Price is what a million tokens cost, in whatever currency its owner counts. Tongs knows no prices: whoever wants a cost
// says what it is made of.
type Price struct {
	Input  float64 `json:"input" yaml:"input"`
	Output float64 `json:"output" yaml:"output"`
	// CacheRead and CacheWrite nil are as Input.
	CacheRead  *float64 `json:"cacheRead,omitempty" yaml:"cache_read,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty" yaml:"cache_write,omitempty"`
}

// Cost returns what the usage cost.
func (p Price) Cost(u Usage) float64 {
	read, write := p.Input, p.Input
	if p.CacheRead != nil {
		read = *p.CacheRead
	}
	if p.CacheWrite != nil {
		write = *p.CacheWrite
	}
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	return (float64(fresh)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write + float64(u.Output)*p.Output) / 1e6
}
