package targets

import (
	"bytes"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// Every image of every target has what Go code looks up in it, and one without a symbol is refused by that
// symbol's name.
func TestImagesAreComplete(t *testing.T) {
	for _, target := range List() {
		for _, w := range target.Images {
			b, err := workloads.Open(w.Name)
			require.NoError(t, err)
			if err := complete(load(t, w.Name, b)); err != nil {
				t.Error(err)
			}
			b = bytes.Replace(b, []byte("barrier_wait\x00"), []byte("barrier_wAit\x00"), -1)
			err = complete(load(t, w.Name, b))
			want := "image " + w.Name + " is not complete: no symbol barrier_wait, which measuring needs"
			require.Error(t, err, want, "without barrier_wait")
		}
	}
}

func load(t *testing.T, name string, b []byte) *image.Image {
	t.Helper()
	im := require.Must(image.Load(name, b))(t)
	return im
}
