/** Throws a TypeError that names the first required option which is missing. */
export function requireGiven(where: string, given: object, required: readonly string[]): void {
  const options: Readonly<Record<string, unknown>> = { ...given }
  for (const name of required) if (options[name] === undefined || options[name] === null) throw new TypeError(`${where}: the option ${name} is required`)
}

/**
 * Throws a TypeError with the name of an option that is not known, because a misspelt option would silently have no effect. An own member
 * counts also if its value is undefined.
 */
export function refuseUnknown(where: string, given: object | null | undefined, known: readonly string[]): void {
  for (const name of Object.keys(given ?? {})) if (!known.includes(name)) throw new TypeError(`${where}: the option ${name} is not known; known are ${known.join(', ')}`)
}
