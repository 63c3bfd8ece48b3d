/** Opens this page anew. Unlike a reload this never sends a form again, where the page is the answer to one. */
export function visitAgain(): void {
  location.assign(location.pathname + location.search);
}
