// The page on which a person sees how far their request is. It reads itself again when the stream says that something has changed.
import { find } from "./lib/dom";

/** Writes the times in the reader's language and time zone. */
function localTimes(within: ParentNode): void {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long", timeStyle: "short" });
  for (const time of within.querySelectorAll<HTMLTimeElement>("[data-time]")) time.textContent = format.format(new Date(time.dateTime));
}

/** Fetches a page as a document: Trusted Types would block parsing a string. */
function fetchPage(address: string): Promise<Document> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    request.timeout = 20_000;
    request.onload = () => {
      if (request.status === 200 && request.responseXML) resolve(request.responseXML);
      else reject(new Error(String(request.status)));
    };
    request.onerror = request.ontimeout = () => reject(new Error("unreachable"));
    request.send();
  });
}

/** Fetches the page again and puts its card in the place of this one. */
async function refresh(): Promise<void> {
  const fresh = await fetchPage(location.href);
  const card = fresh.querySelector<HTMLElement>("[data-live]");
  const old = find("[data-live]");
  if (!card) return;
  localTimes(card);
  if (old.isEqualNode(card)) return;
  old.replaceWith(document.importNode(card, true));
  find("[data-announce]").textContent = find("#heading").textContent;
  document.title = fresh.title;
  find("#status").dataset["state"] = fresh.querySelector<HTMLElement>("#status")?.dataset["state"] ?? "";
}

localTimes(document);
if (find("#status").dataset["state"] === "waiting") {
  const source = new EventSource(`${location.pathname}/events`);
  let opened = false;
  const soon = () => void refresh().catch(() => undefined);
  source.onopen = () => {
    document.documentElement.dataset["stream"] = "open";
    if (opened) soon(); // something may have been missed
    opened = true;
  };
  for (const type of ["changed", "resync"]) source.addEventListener(type, soon);
  window.addEventListener("pagehide", () => source.close());
}
