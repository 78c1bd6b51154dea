package probing

import (
	"testing"

	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// TestStarts leaves out the mark at a function's start, and finds nothing in what is no code or lies in no function.
func TestStarts(t *testing.T) {
	k := release(t, "6.1.0", "", function{"unreadable", 0x390, "\x06"})
	for name, want := range map[string]int{"plain": 5, "marked": 2, "unreadable": 0, "nothing": 0} {
		at := linuxtest.Text + uint64(0x200000)
		if s, ok := k.image.Symbol(name); ok {
			at = s.Addr
		}
		starts := k.Starts(at)
		for i, s := range starts {
			if k.Code(s)[0] == k.arch.fill[0] { // what follows the function is filled
				starts = starts[:i]
				break
			}
		}
		require.Equal(t, len(starts), want, "instructions of %s", name)
	}
}

// TestNewer compares releases by their first two numbers.
func TestNewer(t *testing.T) {
	for release, want := range map[string]bool{"6.8.9": false, "6.9.0-rc1": true, "6.10.1": true, "5.10.0": false, "7.0.0": true, "6": false, "": false, "x.9": false} {
		require.Equal(t, newer(release, 6, 9), want, "whether %q is of 6.9 or later", release)
	}
}
