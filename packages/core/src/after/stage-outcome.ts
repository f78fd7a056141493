import { fieldsOf } from '../values/given.ts'
import { jsonObjectOf, type JsonObject } from '../values/json.ts'
import { headOf } from '../values/text.ts'
import type { StageMessage } from './stage.ts'
import type { StageReason } from '../steps/stage-record.ts'

/** How a stage ended, and what it has to tell. */
export interface StageEnding {
  readonly reason: StageReason
  readonly message: string
  readonly details?: JsonObject
  readonly tells: readonly StageMessage[]
}

const longestMessage = 1_000
const mostTells = 20
const mostBytes = 16_000

export function endingOf(reason: StageReason, message: string): StageEnding {
  return { reason, message: headOf(message, longestMessage), tells: [] }
}

/** What a stage gave, bounded; plain JavaScript may give anything. */
export function givenOutcome(given: unknown): StageEnding {
  try {
    return read(given)
  } catch {
    return endingOf('failed', 'What it gave cannot be read.')
  }
}

function read(given: unknown): StageEnding {
  // A stage of plain JavaScript that gives nothing has done its work.
  if (given === undefined || given === null) return endingOf('completed', '')
  const { kind, message, details, tells } = fieldsOf(given) ?? {}
  const text = typeof message === 'string' ? message : ''
  if (kind === 'skipped') return endingOf('skipped', text)
  if (kind !== 'done') return endingOf('failed', "A stage must give { kind: 'done' } or { kind: 'skipped' }.")
  const told = Array.isArray(tells) ? tells.slice(0, mostTells).flatMap(tellOf) : []
  const ending = { ...endingOf('completed', text), tells: told }
  if (details === undefined) return ending
  const facts = jsonObjectOf(details)
  return isShort(facts) ? { ...ending, details: facts } : ending
}

/** The types are those of the messages that a stage may tell. */
const types: ReadonlySet<unknown> = new Set<StageMessage['type']>(['prompt_suggestion', 'system'])
const subtypes: ReadonlySet<unknown> = new Set(['informational', 'hook_summary'])

function tellOf(given: unknown): readonly StageMessage[] {
  const message = jsonObjectOf(given)
  const { type, subtype } = message
  if (!types.has(type) || (type === 'system' && !subtypes.has(subtype)) || !isShort(message)) return []
  // Its type is one of those; what else it holds is JSON.
  return [message as unknown as StageMessage]
}

function isShort(value: JsonObject): boolean {
  return JSON.stringify(value).length <= mostBytes
}
