package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"kprobesim/distro/probing"
	"kprobesim/results/outdir"
)

// journal is the file of --answers: a line that says what is asked, and a line for each round that was answered. A nil journal
// keeps nothing.
type journal struct {
	file   string
	Key    string `json:"key"` // follows from kernel, machine, parameters and places
	Rounds int    `json:"rounds"`
}

// entry is the line of a round.
type entry struct {
	Round   int   `json:"round"`
	Answers []int `json:"answers"` // four times the error number, and marks
}

// Marks of an answer.
const (
	keptFtrace    = 1
	keptOptimized = 2
)

// open reads the answers by rounds, and makes the file if there is none. A last line without an end is dropped: its writing
// was interrupted.
func (j *journal) open() (map[int][]probing.Answer, error) {
	if j == nil {
		return nil, nil
	}
	head, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	head = append(head, '\n')
	b, err := os.ReadFile(j.file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, outdir.WriteFile(j.file, head)
	case err != nil:
		return nil, err
	case !bytes.HasPrefix(b, head):
		return nil, fmt.Errorf("%s is no file of answers to these places by this kernel: name another file, or remove it", j.file)
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	kept, err := readEntries(whole[len(head):])
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): remove it, and ask again", j.file, err)
	}
	if len(whole) < len(b) {
		err = outdir.WriteFile(j.file, whole)
	}
	return kept, err
}

func readEntries(b []byte) (map[int][]probing.Answer, error) {
	kept := map[int][]probing.Answer{}
	for line := range bytes.Lines(b) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		answers := make([]probing.Answer, len(e.Answers))
		for i, n := range e.Answers {
			answers[i] = probing.Answer{Errno: n / 4, Ftrace: n&keptFtrace != 0, Optimized: n&keptOptimized != 0}
		}
		kept[e.Round] = answers
	}
	return kept, nil
}

// add writes the line of a round.
func (j *journal) add(round int, answers []probing.Answer) error {
	if j == nil {
		return nil
	}
	e := entry{round, make([]int, len(answers))}
	for i, a := range answers {
		e.Answers[i] = 4 * a.Errno
		if a.Ftrace {
			e.Answers[i] |= keptFtrace
		}
		if a.Optimized {
			e.Answers[i] |= keptOptimized
		}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(j.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
