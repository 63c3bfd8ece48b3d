// Follows the reader's preference for dark or light.
const reference = document.querySelector("rapi-doc");
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => reference.setAttribute("theme", dark.matches ? "dark" : "light");
dark.addEventListener("change", follow);
follow();
