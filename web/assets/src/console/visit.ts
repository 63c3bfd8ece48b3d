/** Opens this page again with GET. Unlike a reload it never sends a form again. */
export function reopenPage(): void {
  location.assign(location.pathname + location.search);
}
