// Says times anew as they pass, in the words that the server uses (words.go).

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** A number of seconds in its largest unit. */
export function span(seconds: number): string {
  if (seconds < minute) return `${Math.floor(seconds)} s`;
  if (seconds < hour) return `${Math.floor(seconds / minute)} min`;
  if (seconds < 10 * hour) {
    return `${Math.floor(seconds / hour)} h ${String(Math.floor((seconds % hour) / minute)).padStart(2, "0")} min`;
  }
  if (seconds < 4 * day) return `${Math.floor(seconds / hour)} h`;
  return `${Math.floor(seconds / day)} days`;
}

function say(): void {
  for (const element of document.querySelectorAll<HTMLTimeElement>("time[data-time]")) {
    const away = (Date.parse(element.dateTime) - Date.now()) / 1000;
    if (!Number.isFinite(away)) continue;
    const words = away < 0 ? `${span(-away)} ago` : `in ${span(away)}`;
    if (element.textContent !== words) element.textContent = words;
  }
}

/** Keeps the page's times true. */
export function keepTimes(): void {
  setInterval(say, 10_000);
}
