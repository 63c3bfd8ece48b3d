import { SCHEMAS } from './schemas.js'

/** The part of JSON Schema that responses are checked against. $ref is a name of SCHEMAS. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/**
 * Describes where and how v violates the schema, without quoting v; undefined if it does not. Fields that the schema does not
 * name are allowed, because a later version of the service may add some.
 */
export function fault(schema: Schema, v: unknown, at = 'the response'): string | undefined {
  if (schema.$ref) return fault(SCHEMAS[schema.$ref]!, v, at)
  if (schema.anyOf) return schema.anyOf.some((s) => !fault(s, v, at)) ? undefined : `${at} matches none of the contract's alternatives`
  if (schema.type && ![schema.type].flat().some((type) => isType(type, v))) return `${at} is not of type ${[schema.type].flat().join(' or ')}`
  if (schema.enum && !schema.enum.includes(v)) return `${at} is not one of the contract's values`
  if (schema.const !== undefined && v !== schema.const) return `${at} is not the contract's value`
  if (typeof v === 'string') return schema.format === 'date-time' && !isTime(v) ? `${at} is not an RFC 3339 time` : undefined
  if (typeof v === 'number') return v < (schema.minimum ?? v) || v > (schema.maximum ?? v) ? `${at} is out of range` : undefined
  if (Array.isArray(v)) return schema.items && first(v.map((item, i) => [schema.items!, item, `${at}[${i}]`]))
  return v === null || typeof v !== 'object' ? undefined : faultOfObject(schema, v as Record<string, unknown>, at)
}

function faultOfObject(schema: Schema, v: Record<string, unknown>, at: string): string | undefined {
  const missing = schema.required?.find((name) => !Object.hasOwn(v, name))
  if (missing !== undefined) return `${at}.${missing} is missing`
  const named = schema.properties ?? {}
  const parts = Object.keys(named).filter((name) => Object.hasOwn(v, name)).map((name): Part => [named[name]!, v[name], `${at}.${name}`])
  if (schema.additionalProperties) {
    for (const name of Object.keys(v)) if (!Object.hasOwn(named, name)) parts.push([schema.additionalProperties, v[name], `${at}.*`])
  }
  return first(parts)
}

type Part = [schema: Schema, v: unknown, at: string]

function first(parts: Part[]): string | undefined {
  for (const part of parts) {
    const found = fault(...part)
    if (found) return found
  }
  return undefined
}

function isType(type: string, v: unknown): boolean {
  switch (type) {
    case 'null': return v === null
    case 'array': return Array.isArray(v)
    case 'object': return v !== null && typeof v === 'object' && !Array.isArray(v)
    case 'integer': return Number.isSafeInteger(v)
    case 'number': return Number.isFinite(v)
    default: return typeof v === type
  }
}

const isTime = (text: string): boolean => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text) && !Number.isNaN(Date.parse(text))

/** Parses JSON and refuses duplicate names in an object: parsers differ on which of two values counts. */
export function parseJSON(text: string): unknown {
  const v: unknown = JSON.parse(text)
  if (hasDuplicateName(text)) throw new SyntaxError('an object has a duplicate name')
  return v
}

/** Reports whether an object in text, which is valid JSON, has a duplicate name. */
function hasDuplicateName(text: string): boolean {
  const open: (Set<string> | undefined)[] = [] // the names of each open object; undefined for an array
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (c === '{') open.push(new Set())
    else if (c === '[') open.push(undefined)
    else if (c === '}' || c === ']') open.pop()
    else if (c === '"') {
      const start = i++
      while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1
      const names = open.at(-1)
      if (!names || !isName(text, i + 1)) continue
      const name = JSON.parse(text.slice(start, i + 1)) as string
      if (names.has(name)) return true
      names.add(name)
    }
  }
  return false
}

/** Reports whether a colon follows, so that the string before position i is a name. */
function isName(text: string, i: number): boolean {
  while (text[i] === ' ' || text[i] === '\n' || text[i] === '\r' || text[i] === '\t') i++
  return text[i] === ':'
}
