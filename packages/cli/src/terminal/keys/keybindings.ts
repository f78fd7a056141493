import { join } from 'node:path'
import { boundedText } from '@halting/policy/files'
import { messageOf } from '@halting/core/adapters'
import { nearest } from '../../flags/nearest.ts'
import { type Action, actionNames, actions } from './actions.ts'
import { parseKey, keyLabel } from './key-names.ts'

/** Which keys do what: every key does one thing. */
export interface Keybindings {
  readonly keysOf: Readonly<Record<Action, readonly string[]>>
  /** What a person should know of their file. */
  readonly warnings: readonly string[]
}

/**
 * The keys with those of a person's file (`{"queue": "alt+q", "tasks": ["ctrl+b", "f2"], "suspend": []}`).
 *
 * B1: a key of the file is taken from the action that had it: no key does two things.
 * B2: of two actions of the file that want one key, the first has it, and it is told.
 * B3: what is wrong in the file is told, and the rest of it counts.
 */
export function bindingsOf(given: unknown, path: string): Keybindings {
  const warnings: string[] = []
  const assigned = new Map<Action, readonly string[]>()
  const owner = new Map<string, Action>()
  for (const [name, value] of entriesOf(given, path, warnings)) {
    const action = actionNames.find((known) => known === name)
    if (action === undefined) {
      const suggestion = nearest(name, actionNames)
      warnings.push(
        `${path}: unknown action "${name}".${suggestion === undefined ? '' : ` Did you mean ${suggestion}?`}`,
      )
      continue
    }
    const keys = keysIn(value)
    if (keys === undefined) {
      warnings.push(`${path}: "${name}" must be a key such as "ctrl+t", or a list of keys.`)
      continue
    }
    const accepted: string[] = []
    for (const text of keys) {
      const read = parseKey(text)
      if (read.kind === 'wrong') {
        warnings.push(`${path}: ignored "${text}" for ${name}: ${read.why}.`)
        continue
      }
      const other = owner.get(read.key)
      if (other !== undefined && other !== action) {
        warnings.push(`${path}: ignored ${keyLabel(read.key)} for ${name}: it is already assigned to ${other}.`)
        continue
      }
      owner.set(read.key, action)
      if (!accepted.includes(read.key)) accepted.push(read.key)
    }
    // Where nothing of it could be read, what there was stays.
    if (accepted.length > 0 || keys.length === 0) assigned.set(action, accepted)
  }
  const rows = actionNames.map((action): [Action, readonly string[]] => {
    const keys = assigned.get(action) ?? actions[action].keys.filter((key) => !owner.has(key))
    if (keys.length === 0 && !assigned.has(action))
      warnings.push(
        `${path}: ${action} has no key now: ${actions[action].keys.map(keyLabel).join(', ')} is assigned to another action.`,
      )
    return [action, keys]
  })
  // True: a row for each action.
  return { keysOf: Object.fromEntries(rows) as Record<Action, readonly string[]>, warnings }
}

function entriesOf(given: unknown, path: string, warnings: string[]): readonly (readonly [string, unknown])[] {
  if (given === undefined) return []
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return Object.entries(given)
  warnings.push(`${path}: ignored, because it is not a JSON object such as {"queue": "alt+q"}.`)
  return []
}

function keysIn(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) && value.every((each): each is string => typeof each === 'string') ? value : undefined
}

/** Nobody writes more by hand. */
const largestBytes = 1024 * 1024

/** Reads `keybindings.json` of the folder; the defaults where there is none. */
export async function readKeybindings(folder: string): Promise<Keybindings> {
  const path = join(folder, 'keybindings.json')
  const read = await boundedText(path, largestBytes)
  if (read.kind !== 'text') {
    const { keysOf } = bindingsOf(undefined, path)
    const warnings = read.kind === 'absent' ? [] : [`${path} ${read.why}. Using the default keys.`]
    return { keysOf, warnings }
  }
  try {
    return bindingsOf(JSON.parse(read.text), path)
  } catch (thrown) {
    const { keysOf } = bindingsOf(undefined, path)
    return {
      keysOf,
      warnings: [`${path}: not valid JSON (${messageOf(thrown)}). Using the default keys.`],
    }
  }
}
