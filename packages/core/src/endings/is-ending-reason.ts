import type { EndingReason } from './ending.ts'
import { endings } from './table.ts'

/** Whether an external value, such as one from a file, is the reason of an ending. */
export function isEndingReason(value: unknown): value is EndingReason {
  return typeof value === 'string' && Object.hasOwn(endings, value)
}
