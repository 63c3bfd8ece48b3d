/** The arguments of a call are not plain JSON data, so that what is authorized would not be what runs. */
export class ArgumentsError extends Error {
  override readonly name = 'ArgumentsError'
}

/** One form of names that differ in case only. */
const fold = (name: string): string => name.toUpperCase().toLowerCase()

/**
 * Copies plain JSON data, reading each member once. Refuses what JSON would change or read differently (getters, toJSON, classes, Date,
 * NaN), a member named __proto__, and members whose names differ in case only. Members that are undefined are omitted.
 */
export function plain(v: unknown, at = 'arguments'): unknown {
  if (v === null || typeof v === 'boolean' || typeof v === 'string') return v
  if (typeof v === 'number' && Number.isFinite(v)) return v
  if (typeof v !== 'object') throw new ArgumentsError(`${at} is not JSON: ${typeof v}`)
  const list = Array.isArray(v)
  if (!isBase(list ? prototypeOf(prototypeOf(v)) : prototypeOf(v))) throw new ArgumentsError(`${at} is not a plain ${list ? 'list' : 'object'}`)
  const members = Object.getOwnPropertyDescriptors(v) as Record<PropertyKey, PropertyDescriptor>
  if (list) return Array.from({ length: v.length }, (_, i) => plain(data(members[i], `${at}[${i}]`), `${at}[${i}]`))
  const out: Record<string, unknown> = {}
  const names = new Set<string>()
  for (const name of Reflect.ownKeys(members)) {
    if (typeof name !== 'string' || name === '__proto__' || names.has(fold(name))) {
      throw new ArgumentsError(`${at} has the member ${JSON.stringify(String(name))}, which is not allowed, or is there in two spellings`)
    }
    names.add(fold(name))
    const value = data(members[name], `${at}.${name}`)
    if (value !== undefined) out[name] = plain(value, `${at}.${name}`)
  }
  return out
}

const prototypeOf = (v: object | null): object | null => (v && Object.getPrototypeOf(v)) as object | null

/** Reports whether a prototype is the end of its chain, in any realm, and adds no members. */
const isBase = (prototype: object | null): boolean => prototype === null || (prototypeOf(prototype) === null && Object.keys(prototype).length === 0)

/** Returns the value of a member that has one, and is not computed when it is read. */
function data(member: PropertyDescriptor | undefined, at: string): unknown {
  if (!member || !('value' in member) || !member.enumerable) throw new ArgumentsError(`${at} is not a data member`)
  return member.value as unknown
}
