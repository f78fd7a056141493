import { lstatSync, readlinkSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { allEntries } from '../files/first-entries.ts'
import { isDirectory, isInside, realPath } from '../files/paths.ts'
import type { PermissionRule } from './rule.ts'
import { couldMatchBelow, patternForPath } from './rule-book.ts'
import { linkToRuledFile, movedLinkLeadsElsewhere, tooManyFiles } from './command-texts.ts'

const readAccess = { kind: 'read', toolName: 'Read' } as const
const editAccess = { kind: 'edit', toolName: 'Edit' } as const

/** A symbolic link. */
interface Link {
  /** Its text. */
  readonly target: string
  /** Its target. */
  readonly end: string
}

const maxEntries = 5000

/** Every link at or below a path; undefined if there are too many files, or a name that is not UTF-8. */
function linksBelow(path: string): readonly Link[] | undefined {
  const links: Link[] = []
  const open = [path]
  let left = maxEntries
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if ((left -= 1) < 0) return undefined
    try {
      const stats = lstatSync(next)
      if (stats.isSymbolicLink()) {
        links.push({ target: readlinkSync(next), end: realPath(next) })
      } else if (stats.isDirectory()) {
        const entries = allEntries(next, left)
        if (entries === undefined) return undefined
        for (const { name } of entries) open.push(join(next, name))
      }
    } catch {
      // The folder is missing or not readable, so the command cannot read it either.
    }
  }
  return links
}

/** Why moving something needs approval: links in it would then lead elsewhere, or to files of rules. */
export function relocateProblem(path: string, rules: readonly PermissionRule[]): string | undefined {
  const links = linksBelow(path)
  if (links === undefined) return tooManyFiles(path)
  const real = realPath(path)
  const moving = links.find(({ target, end }) => !isAbsolute(target) && (end === real || !isInside(end, real)))
  if (moving !== undefined) return movedLinkLeadsElsewhere(path)
  return links.some(({ end }) => isAbout(rules, end)) ? linkToRuledFile : undefined
}

function isAbout(rules: readonly PermissionRule[], end: string): boolean {
  return (
    patternForPath(rules, readAccess, end) !== undefined ||
    patternForPath(rules, editAccess, end) !== undefined ||
    (isDirectory(end) && couldMatchBelow(rules, end))
  )
}
