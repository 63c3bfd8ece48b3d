// Fetching a page of the console as a document. Trusted Types would block parsing a string.

import { reopenPage } from "./visit";

/** Fetches a page. A refresh, which the user did not ask for, does not extend the session. */
export function fetchPage(address: string, refresh = false): Promise<Document> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    if (refresh) request.setRequestHeader("X-Console-Refresh", "1");
    request.timeout = 20_000;
    request.onload = () => {
      if (new URL(request.responseURL, location.href).pathname.endsWith("/sign-in")) reopenPage();
      else if (request.status === 200 && request.responseXML) resolve(request.responseXML);
      else reject(new Error(String(request.status)));
    };
    request.onerror = request.ontimeout = () => reject(new Error("unreachable"));
    request.send();
  });
}

/** Reads this page again at its present address. Resolves to undefined if the address changed meanwhile; the code that changed it reads the new one. */
export async function readAgain(refresh = false): Promise<Document | undefined> {
  const address = location.href;
  const page = await fetchPage(address, refresh);
  return location.href === address ? page : undefined;
}
