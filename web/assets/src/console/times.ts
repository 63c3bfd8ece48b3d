// Keeps relative times up to date, in the format of the server (words.go), and adds the reader's own time to the exact one.

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Formats seconds in their largest unit. */
export function span(seconds: number): string {
  if (seconds < minute) return `${Math.floor(seconds)} s`;
  if (seconds < hour) return `${Math.floor(seconds / minute)} min`;
  if (seconds < 10 * hour) {
    return `${Math.floor(seconds / hour)} h ${String(Math.floor((seconds % hour) / minute)).padStart(2, "0")} min`;
  }
  if (seconds < 4 * day) return `${Math.floor(seconds / hour)} h`;
  return `${Math.floor(seconds / day)} days`;
}

function update(): void {
  for (const element of document.querySelectorAll<HTMLTimeElement>("time[data-time]")) {
    const left = (Date.parse(element.dateTime) - Date.now()) / 1000;
    if (!Number.isFinite(left)) continue;
    const words = left < 0 ? `${span(-left)} ago` : `in ${span(left)}`;
    if (element.textContent !== words) element.textContent = words;
  }
}

const local = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

/** Adds the local time with its zone to the exact time in UTC that a time shows on hover and on focus, once. */
function addLocal(): void {
  for (const element of document.querySelectorAll<HTMLTimeElement>("time[data-time]:not([data-local])")) {
    const at = Date.parse(element.dateTime);
    if (!Number.isFinite(at)) continue;
    element.dataset.local = "";
    element.title = `${element.title} = ${local.format(at)}`;
  }
}

/** Updates the page's relative times every ten seconds. */
export function keepTimes(): void {
  addLocal();
  setInterval(() => {
    update();
    addLocal();
  }, 10_000);
}
