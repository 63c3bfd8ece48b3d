// Gives the contract to RapiDoc, and follows the reader's preference for dark or light.
const reference = document.querySelector("rapi-doc");
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => reference.setAttribute("theme", dark.matches ? "dark" : "light");
dark.addEventListener("change", follow);
follow();

// RapiDoc takes the members of a media type's example for examples of their own, and stumbles over those that are null: it
// gets each as the only one of its examples.
function named(node) {
  if (node === null || typeof node !== "object") return;
  if (node.schema && "example" in node && !("in" in node)) {
    node.examples = { example: { value: node.example } };
    delete node.example;
  }
  for (const [key, value] of Object.entries(node)) if (key !== "examples" && key !== "example") named(value);
}

async function load() {
  const answer = await fetch("/docs/openapi.json");
  const contract = await answer.json();
  named(contract.paths);
  named(contract.components.responses);
  await customElements.whenDefined("rapi-doc");
  await reference.loadSpec(contract);
}
load();
