const MOST_SECONDS = 24 * 3600

/**
 * Returns the seconds that Retry-After asks for, at most a day; undefined if there is none. It may be a number of seconds or an HTTP date
 * (RFC 9110, section 10.2.3), which is compared with the response's own Date, if it has one, because clocks differ. now is in milliseconds.
 */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const value = headers.get('Retry-After')?.trim() ?? ''
  const seconds = /^\d+$/.test(value) ? Number(value) : (date(value) - (date(headers.get('Date') ?? '') || now)) / 1000
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), MOST_SECONDS)
}

/** Parses the three forms of an HTTP date, of which one does not name its zone. */
const date = (value: string): number => (/^[A-Z][a-z]+,? .*\d\d:\d\d:\d\d/.test(value) ? Date.parse(value.endsWith('GMT') ? value : value + ' GMT') : NaN)
