import { join } from 'node:path'
import { boundedText } from '@halting/policy/files'
import { messageOf } from '@halting/core/adapters'
import { nearest } from '../../flags/nearest.ts'
import { type Action, actionNames, actions } from './actions.ts'
import { parseKey, keyLabel } from './key-names.ts'

/** The keys of all actions; each key has one action. */
export interface Keybindings {
  readonly keysOf: Readonly<Record<Action, readonly string[]>>
  /** Problems in the user's file. */
  readonly warnings: readonly string[]
}

/**
 * Merges the default keys with those of the user's file (`{"queue": "alt+q", "tasks": ["ctrl+b", "f2"], "suspend": []}`).
 *
 * B1: a key in the file is removed from the action that had it by default.
 * B2: if two actions in the file use one key, the key is assigned to the first, with a warning.
 * B3: invalid entries are reported, and the others apply.
 */
export function bindingsOf(config: unknown, path: string): Keybindings {
  const warnings: string[] = []
  const assigned = new Map<Action, readonly string[]>()
  const owner = new Map<string, Action>()
  for (const [name, value] of entriesOf(config, path, warnings)) {
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
    // If none of the keys is valid, the default keys stay.
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
  // This cast is safe: there is a row for each action.
  return { keysOf: Object.fromEntries(rows) as Record<Action, readonly string[]>, warnings }
}

function entriesOf(config: unknown, path: string, warnings: string[]): readonly (readonly [string, unknown])[] {
  if (config === undefined) return []
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return Object.entries(config)
  warnings.push(`${path}: ignored, because it is not a JSON object such as {"queue": "alt+q"}.`)
  return []
}

function keysIn(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) && value.every((each): each is string => typeof each === 'string') ? value : undefined
}

/** Maximum size of the file; a file written by hand is never larger. */
const maxBytes = 1024 * 1024

/** Reads `keybindings.json` in the folder; the default keys if the file is missing. */
export async function readKeybindings(folder: string): Promise<Keybindings> {
  const path = join(folder, 'keybindings.json')
  const read = await boundedText(path, maxBytes)
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
