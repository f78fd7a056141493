// A fold has a checksum for its line and the preceding lines. This checks its structure; an invalid fold is ignored.
import { isJsonObject } from '@halting/core/adapters'
import type { FoldItem, FoldLine } from './fold.ts'

type Check = (value: unknown) => boolean

/** @throws TypeError if the value is not a valid fold. */
export function checkFold(value: unknown): FoldLine {
  if (!isJsonObject(value)) throw new TypeError('it is not an object')
  for (const [field, check] of Object.entries(fields))
    if (!check(value[field])) throw new TypeError(`${field} is invalid in a fold`)
  // Each field was checked.
  return value as unknown as FoldLine
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

/** Checked without allocations: a long session has thousands. Message offsets are checked when they are read. */
const isItem: Check = (value) => {
  if (!Array.isArray(value)) return false
  const item = value as readonly unknown[]
  switch (item[0] as FoldItem[0]) {
    case 'a':
      return typeof item[1] === 'string' && item.length === 4
    case 'r':
      return typeof item[1] === 'string' && item.length > 2 && item.length % 2 === 0
    case 'A':
      return isId(item[1]) && item.length === 5 && isPlace(item[2])
    case 'R':
      return isId(item[1]) && item.length > 2 && item.length % 3 === 2 && areNames(item)
    case 'e':
      return isJsonObject(item[1]) && isText(item[1]['kind']) && isText(item[1]['id'])
    case 'l':
      return item.length >= 3 && item.length <= 4 && item.slice(1).every(isPlace)
  }
  return false
}

const isId: Check = (value) => typeof value === 'string' || isPlace(value)

function areNames(item: readonly unknown[]): boolean {
  for (let at = 2; at < item.length; at += 3) if (!isPlace(item[at])) return false
  return true
}

const fields: { readonly [field in keyof FoldLine]: Check } = {
  bytes: isPlace,
  crc: isPlace,
  lines: isPlace,
  items: (value) => isListOf(value, isItem),
  transition: isText,
  spent: isSpent,
  newest: (value) => value === null || isText(value) || isPlace(value),
  past: (value) =>
    isJsonObject(value) &&
    isAmount(value['settled']) &&
    isAmount(value['unknown']) &&
    isOpen(value['open']) &&
    isFigure(value['until']),
}
