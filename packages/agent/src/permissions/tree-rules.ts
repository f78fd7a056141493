import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionRule } from './rule.ts'
import { couldFitBelow, ruleForPath } from './rule-book.ts'

const mostEntries = 3000
const read = { kind: 'read', toolName: 'Read' } as const
const edit = { kind: 'edit', toolName: 'Edit' } as const

/** Whether a folder holds, however deep, a file that a rule for paths is about; also when it holds too much to look at. */
export function holdsFitting(rules: readonly PermissionRule[], folder: string): boolean {
  const ofPaths = rules.filter(({ spec }) => spec.kind === 'path')
  const open = [folder]
  let left = mostEntries
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!couldFitBelow(ofPaths, next)) continue
    for (const name of namesIn(next)) {
      if ((left -= 1) < 0) return true
      const path = join(next, name)
      if (ruleForPath(ofPaths, read, path) !== undefined || ruleForPath(ofPaths, edit, path) !== undefined) return true
      open.push(path)
    }
  }
  return false
}

/** Links are not gone into: what they lead to is judged by its own name. */
function namesIn(folder: string): readonly string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder) : []
  } catch {
    return []
  }
}
