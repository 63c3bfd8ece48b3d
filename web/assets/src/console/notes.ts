// Keeps the note of a review in this tab until the review is made: a session that ends leads to the sign-in page.

const prefix = "note:";

function field(): HTMLTextAreaElement | null {
  return document.querySelector("form[data-review] textarea");
}

/** Stores what is written in the note of the open hold, and fills it in when the page is opened again. */
export function keepNote(): void {
  const settled = new URLSearchParams(location.search).get("of");
  if (settled) sessionStorage.removeItem(prefix + settled);
  const key = prefix + (document.querySelector<HTMLElement>("[data-case]")?.dataset["case"] ?? "");
  const note = field();
  if (note && note.value === "") note.value = sessionStorage.getItem(key) ?? "";
  document.addEventListener("input", (event) => {
    if (event.target === field()) sessionStorage.setItem(key, field()?.value ?? "");
  });
  // A rejection needs a note, an approval does not: the field is required only once Reject is pressed.
  document.addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("[data-approve], [data-reject]") : null;
    const written = field();
    if (pressed && written) written.required = pressed.matches("[data-reject]");
  }, true);
  document.querySelector('form[action="/console/sign-out"]')?.addEventListener("submit", () => sessionStorage.clear());
}
