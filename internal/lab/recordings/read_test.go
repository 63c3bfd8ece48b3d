package recordings_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
)

func write(t testing.TB, name, body string) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err := zip.Write([]byte(body))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func TestFindTellsFormatsByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep"), 0o755))
	for _, name := range []string{"a.keystrokes.csv.gz", "deep/b.pointer.csv.gz", "c.vectors.csv.gz", "README.md", "d.csv.gz"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	sets, err := recordings.Find(dir)
	require.NoError(t, err)
	require.Len(t, sets, 3)
	require.Equal(t, "a", sets[0].Name)
	require.Equal(t, recordings.Pointer, sets[2].Kind)
	_, err = recordings.Find(filepath.Join(dir, "absent"))
	require.Error(t, err)
}

func TestReadsEachFormat(t *testing.T) {
	t.Parallel()
	keys, err := recordings.ReadKeystrokes(write(t, "k", "user,session,key,press_ms,release_ms\nu,1,b,50,90\nu,1,a,0,40\nu,2,c,0,10\n"))
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.Equal(t, []features.KeyEvent{{Key: "a", Press: 0, Release: 40}, {Key: "b", Press: 50, Release: 90}}, keys[0].Events)

	moves, err := recordings.ReadPointer(write(t, "p", "label,split,user,session,t_ms,event,button,x,y\nbot,test,u,1,5,press,right,3,4\n"))
	require.NoError(t, err)
	require.Equal(t, "bot", moves[0].Label)
	require.Equal(t, features.PointerEvent{T: 5, X: 3, Y: 4, Kind: features.PointerPress, Right: true}, moves[0].Events[0])

	vectors, err := recordings.ReadVectors(write(t, "v", "user,session,rep,H.a,DD.a.b\nu,1,3,80,120\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"H.a", "DD.a.b"}, vectors.Features)
	require.Equal(t, []float64{80, 120}, vectors.Rows[0].Values)
}

func TestReadNamesTheLineAtFault(t *testing.T) {
	t.Parallel()
	_, err := recordings.ReadPointer(write(t, "p", "user,session,t_ms,event,button,x,y\nu,1,5,wink,,3,4\n"))
	require.ErrorIs(t, err, recordings.ErrFormat)
	require.ErrorContains(t, err, "line 2")
	path := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(path, []byte("not gzip"), 0o600))
	_, err = recordings.ReadKeystrokes(path)
	require.ErrorIs(t, err, recordings.ErrFormat)
}

func FuzzReaders(f *testing.F) {
	f.Add([]byte("user,session,key,press_ms,release_ms\nu,1,b,50,90\n"))
	f.Add([]byte("user,session,rep,H.a\nu,1,2,3\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		path := write(t, "x", string(body))
		_, _ = recordings.ReadKeystrokes(path)
		_, _ = recordings.ReadPointer(path)
		_, _ = recordings.ReadVectors(path)
	})
}
