// Fills a text area from a file that the user chooses. The file itself is not sent.

/** Shows the controls that fill text areas, and fills them. Excel writes UTF-8 with a byte order mark, which is left out. */
export function fillFromFiles(): void {
  for (const control of document.querySelectorAll<HTMLInputElement>("input[data-fills]")) {
    control.parentElement?.removeAttribute("hidden");
    control.addEventListener("change", async () => {
      const area = document.getElementById(control.dataset.fills ?? "");
      const text = await control.files?.[0]?.text();
      if (area instanceof HTMLTextAreaElement && text !== undefined) area.value = text.replace(/^\uFEFF/, "");
    });
  }
}
