package clock

import "time"

const secondsOfDay = 86400

// Date returns the date of a day of the Gregorian calendar. Day 0 is 1 January 1970. No clock of the host is read.
func Date(day int64) (year, month, dayOfMonth int) {
	t := time.Unix(day*secondsOfDay, 0).UTC()
	return t.Year(), int(t.Month()), t.Day()
}

// Day returns the day of a date. Months that there are not, which a guest may write, count as the nearest one there is:
// the first, or the one behind the last.
func Day(year, month, dayOfMonth int) int64 {
	return time.Date(year, time.Month(min(max(month, 1), 13)), dayOfMonth, 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay
}
