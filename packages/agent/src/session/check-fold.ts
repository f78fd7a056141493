// A fold has the checksum of its line and of the lines before it. Whether it is one of these lines is looked at here: what is not is passed over.
import { isJsonObject } from '@halting/core/adapters'
import type { FoldItem, FoldLine } from './journal-fold.ts'

type Check = (value: unknown) => boolean

/** @throws TypeError for what no writer of folds writes. */
export function checkFold(value: unknown): FoldLine {
  if (!isJsonObject(value)) throw new TypeError('it is no object')
  for (const [field, check] of Object.entries(fields))
    if (!check(value[field])) throw new TypeError(`${field} is not what a fold says`)
  // Each of its fields was looked at.
  return value as unknown as FoldLine
}

/** How many lines end in these bytes. */
export function linesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++
  return count
}

const isPlace: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0
const isText: Check = (value) => typeof value === 'string'
const isAmount: Check = (value) => isJsonObject(value) && isFigure(value['nanos']) && isFigure(value['tokens'])
const isFigure: Check = (value) => Number.isFinite(value) && Number(value) >= 0
const isOpen: Check = (value) => isListOf(value, (each) => Array.isArray(each) && isText(each[0]) && isAmount(each[1]))
const isSpent: Check = (value) =>
  isJsonObject(value) && isJsonObject(value['']) && Object.values(value).every(isJsonObject)

function isListOf(value: unknown, check: Check): boolean {
  return Array.isArray(value) && value.every(check)
}

const isItem: Check = (value) => {
  if (!Array.isArray(value)) return false
  const [kind, first, ...more] = value as readonly unknown[]
  const check = items[String(kind) as FoldItem[0]] as
    | ((first: unknown, more: readonly unknown[]) => boolean)
    | undefined
  return check?.(first, more) === true
}

const items: { readonly [kind in FoldItem[0]]: (first: unknown, more: readonly unknown[]) => boolean } = {
  a: (id, more) => isText(id) && more.length === 2 && more.every(isPlace),
  r: (id, more) => isText(id) && more.length > 0 && more.length % 2 === 0 && more.every(isPlace),
  e: (entry) => isJsonObject(entry) && isText(entry['kind']) && isText(entry['id']),
  l: (at, more) => isPlace(at) && more.length === 1 && more.every(isPlace),
}

const fields: { readonly [field in keyof FoldLine]: Check } = {
  bytes: isPlace,
  crc: isPlace,
  lines: isPlace,
  items: (value) => isListOf(value, isItem),
  transition: isText,
  spent: isSpent,
  newest: (value) => value === null || isText(value),
  past: (value) =>
    isJsonObject(value) &&
    isAmount(value['settled']) &&
    isAmount(value['unknown']) &&
    isOpen(value['open']) &&
    isFigure(value['until']),
}
