// The console. Pages work without this script, except for passkeys. It adds keyboard shortcuts, live lists and relative times.

import { copyable } from "./lib/code";
import { data } from "./lib/dom";
import { buildRules } from "./console/builder";
import { fillFromFiles } from "./console/files";
import { instantFilters } from "./console/filters";
import { finder } from "./console/finder";
import { keyboard } from "./console/keys";
import { labelValues } from "./console/labels";
import { follow, watchSession } from "./console/live";
import { keepNote } from "./console/notes";
import { confirmForm, invitation, signIn } from "./console/passkeys";
import { countSelected } from "./console/selection";
import { keepTimes } from "./console/times";
import { countDown } from "./console/undo";

const startingPause = 5_000; // ms before the health page loads again while a part of the service starts

const entry = document.querySelector<HTMLElement>("[data-sign-in]");
if (entry) signIn(entry);

const invited = document.querySelector<HTMLElement>("[data-invitation]");
if (invited) invitation(invited);

const shell = document.querySelector<HTMLElement>("[data-console]");
if (shell) {
  // Some forms answer at an address of their own, which cannot be read again.
  const own = /\/(assign|selected|settle|undo)$/;
  if (own.test(location.pathname)) history.replaceState(null, "", location.pathname.replace(own, "") + location.search);
  keyboard();
  finder();
  instantFilters();
  countSelected();
  keepTimes();
  fillFromFiles();
  keepNote();
  void buildRules();
  countDown();
  for (const secret of document.querySelectorAll<HTMLElement>("[data-secret]")) copyable(secret);
  document.querySelector(".beside .here")?.scrollIntoView({ block: "nearest" });
  labelValues(document);
  watchSession(shell);
  const confirm = data(shell, "confirm");
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-confirmed]")) confirmForm(form, confirm);
  // Live updates may replace the review form: attach to the new one as well.
  new MutationObserver(() => {
    labelValues(document);
    for (const form of document.querySelectorAll<HTMLFormElement>("form[data-confirmed]:not([data-wired])")) {
      form.setAttribute("data-wired", "");
      confirmForm(form, confirm);
    }
  }).observe(document.body, { childList: true, subtree: true });
  for (const form of document.querySelectorAll("form[data-confirmed]")) form.setAttribute("data-wired", "");
  const stream = data(shell, "stream");
  if (stream && document.querySelector("[data-live]")) follow(stream);
  if (document.querySelector("[data-starting]")) window.setTimeout(() => location.reload(), startingPause);
  (document.querySelector<HTMLElement>("[data-notice], [data-focus]") ?? document.querySelector<HTMLElement>(".given p"))?.focus();
}
