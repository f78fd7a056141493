import { isJsonObject } from '@halting/core/adapters'
import { patchToolName } from '@halting/policy/files'
import { runInNewContext } from 'node:vm'

/** Only letters, digits and `_- ,|`: a list of names. */
const isList = /^[\w\- ,|]*$/

/** Why a matcher cannot be read; undefined for one that can. */
export function problemOfMatcher(matcher: string): string | undefined {
  if (matcher === '*' || isList.test(matcher)) return undefined
  try {
    void new RegExp(matcher)
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}

/** Absent, "" or "*": all. Letters, digits and `_- ,|` alone: one of these names. Anything else is a regular expression, at any place. */
export function matches(matcher: string, name: string): boolean {
  if (matcher === '' || matcher === '*') return true
  // The tool that starts agents was called Task first.
  const names = name === 'Agent' ? [name, 'Task'] : [name]
  if (!isList.test(matcher)) return names.some((one) => finds(matcher, one))
  const listed = matcher.split(/[|,]/).map((one) => one.trim())
  return names.some((one) => listed.includes(one))
}

/**
 * What matchers are held against for a call: a command that Wait runs again and again is one of Bash, too, so that no guard of commands is got around.
 * Without an input, for any call of the tool. A patch edits and writes files: matchers for Edit and Write fit it.
 */
export function matchedNames(tool: string, input?: unknown): readonly string[] {
  const mayRunCommand = tool === 'Wait' && (input === undefined || (isJsonObject(input) && 'command' in input))
  if (tool === patchToolName) return [tool, 'Edit', 'Write']
  return mayRunCommand ? [tool, 'Bash'] : [tool]
}

const patternMs = 100
const found = new Map<string, boolean>()

/** An expression of somebody else, held against a name of somebody else: one that would take for ever fits, as one that cannot be read does. */
function finds(pattern: string, name: string): boolean {
  if (isQuick(pattern)) return problemOfMatcher(pattern) !== undefined || new RegExp(pattern).test(name)
  const key = JSON.stringify([pattern, name])
  const known = found.get(key)
  if (known !== undefined) return known
  if (found.size > 1_000) found.clear()
  const fits = inTime(pattern, name)
  found.set(key, fits)
  return fits
}

/** At most two repetitions, none of a group: it goes back over a name a few times at most. */
function isQuick(pattern: string): boolean {
  return (pattern.match(/[*+{?]/g) ?? []).length <= 2 && !/\)[*+{?]/.test(pattern)
}

function inTime(pattern: string, name: string): boolean {
  try {
    // A context of its own is what can be stopped.
    return runInNewContext('new RegExp(pattern).test(name)', { pattern, name }, { timeout: patternMs }) === true
  } catch {
    return true
  }
}
