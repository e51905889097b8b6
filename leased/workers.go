package leased

import "context"

// MostWorkers is how many instances share the changes at most, where the work is handed out to them.
const MostWorkers = 100

// Workers are the numbers of the workers that what waits asks for, one for each perWorker changes, and how many they
// are. What others hold counts, too: who holds it may be one of those that are asked again. Where the tables are not
// there yet, none is asked for: a tick makes them.
//
// The numbers only keep one instance from two ticks of one number at a time: each worker takes what is free.
func (f *Feed) Workers(ctx context.Context, perWorker int) (numbers []int, of int, err error) {
	told, err := f.cfg.Changes.Show(ctx)
	if f.cfg.Changes.IsMissing(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	n := int64(perWorker)
	for range min((told.Waiting+n-1)/n, MostWorkers) {
		numbers = append(numbers, len(numbers))
	}
	return numbers, len(numbers), nil
}
