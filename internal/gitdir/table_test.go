package gitdir

import (
	"strings"
	"testing"
)

func TestNoVariableIsInTwoClasses(t *testing.T) {
	seen := map[string]Class{}
	for class, names := range classes {
		for name := range strings.FieldsSeq(names) {
			if other, twice := seen[name]; twice {
				t.Errorf("%s is in the classes %d and %d", name, class, other)
			}
			if name != strings.ToLower(name) {
				t.Errorf("%s is not in lower case", name)
			}
			seen[name] = class
		}
	}
}
