import { CODES } from './tables.js'

// Groups by finger, then space, backspace, shift and everything else.
const groups = ['LP', 'LR', 'LM', 'LI', 'RI', 'RM', 'RR', 'RP', 'SP', 'BS', 'SH', 'OT']
export const SPACE = 8
export const BACKSPACE = 9
export const SHIFT = 10
const OTHER = 11

const fingers = [
  'q a z 1 backquote', 'w s x 2', 'e d c 3', 'r f v t g b 4 5', 'y h n u j m 6 7', 'i k comma 8', 'o l period 9',
  'p semicolon slash quote bracket_left bracket_right backslash 0 minus equals', 'space', 'backspace delete', 'shift capslock',
]
const rows = ['1234567890', 'qwertyuiop', 'asdfghjkl', 'zxcvbnm']

const codes: Record<string, string> = CODES

/** The properties of a key that its classes depend on. */
export interface Key {
  name: string
  group: number
  groupName: string
  row: number
  hand: number // 0 left, 1 right, -1 neither
  letter: boolean
  punctuation: boolean
  capsLock: boolean
}

function newKey(name: string, group: number): Key {
  const single = name.length === 1
  const letter = single && name >= 'a' && name <= 'z'
  return {
    name, group, groupName: groups[group]!, letter,
    row: single ? rows.findIndex((keys) => keys.includes(name)) : -1,
    hand: group < 4 ? 0 : group < 8 ? 1 : -1,
    punctuation: group < SPACE && !letter,
    capsLock: name === 'capslock',
  }
}

const keys = new Map<string, Key>()
fingers.forEach((names, group) => names.split(' ').forEach((name) => keys.set(name, newKey(name, group))))
for (const name of Object.values(codes)) if (!keys.has(name)) keys.set(name, newKey(name, OTHER))
const other = newKey('other', OTHER)

/** Returns the key at a physical position (KeyboardEvent.code), regardless of the character that it types. */
export function keyOf(code: string): Key {
  return (Object.hasOwn(codes, code) && keys.get(codes[code]!)) || other
}

/** Returns the coarse group for which the spread of holds is computed. */
export function coarseGroup(k: Key): string {
  if (k.letter) return k.hand === 0 ? 'L' : 'R'
  if (k.group === SPACE) return 'SP'
  if (k.group === BACKSPACE) return 'BS'
  if (k.group === SHIFT) return 'SH'
  return k.punctuation ? 'PU' : 'OT'
}

/** Returns the coarse and the fine class of two consecutive keys. */
export function transition(a: Key, b: Key): [coarse: string, fine: string] {
  if (a.letter && b.letter) {
    const c = letterPair(a, b)
    return [c, c !== 'LLsamekey' && a.row !== b.row ? c + '_rowchg' : c]
  }
  let c = 'x_other'
  if (a.letter && b.group === SPACE) c = a.hand === 0 ? 'L_SP' : 'R_SP'
  else if (a.group === SPACE && b.letter) c = b.hand === 0 ? 'SP_L' : 'SP_R'
  c = editPair(a, b, c)
  return [c, c]
}

function letterPair(a: Key, b: Key): string {
  if (a.name === b.name) return 'LLsamekey'
  if (a.group === b.group) return 'LLsamefinger'
  if (a.hand !== b.hand) return a.hand === 0 ? 'alt_LR' : 'alt_RL'
  return 'same_' + (a.hand === 0 ? 'L' : 'R') + (Math.abs(a.group - b.group) > 1 ? '_far' : '_adj')
}

function editPair(a: Key, b: Key, c: string): string {
  const bsA = a.group === BACKSPACE
  const bsB = b.group === BACKSPACE
  if (a.punctuation && !bsB && b.group !== SHIFT) return 'PU_x'
  if (a.letter && b.punctuation) return 'let_PU'
  if (!bsA && b.group === SHIFT) return 'x_SH'
  if (a.group === SHIFT && b.letter) return 'SH_let'
  if (bsA && !bsB) return 'BS_let'
  if (bsA && bsB) return 'BS_BS'
  return bsB ? 'let_BS' : c
}
