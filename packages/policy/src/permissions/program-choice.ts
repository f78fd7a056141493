import { lstatSync, readFileSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { bothEnds, homeFolder, isInside } from '../files/paths.ts'
import type { Effect, Outside } from '../shell/effects.ts'
import type { Whereabouts } from './places.ts'
import type { RuleBook } from './rule-book.ts'
import {
  fileMayChooseProgram,
  lineMayWriteChoice,
  programInProject,
  unknownFolder,
  variableInProject,
} from './command-texts.ts'

/** Why a file of the project may select another program than the person's. */
export function programChoiceProblem(
  { by, neverBy, outside }: Extract<Effect, { kind: 'chosen' }>,
  whereabouts: Whereabouts,
  lineWrites: boolean,
  book: RuleBook,
): string | undefined {
  if (whereabouts.isUnknown) return unknownFolder
  if (lineWrites && by.length + neverBy.length > 0) return lineMayWriteChoice
  for (const folder of new Set(whereabouts.directories.flatMap(bothEnds).flatMap(foldersAbove))) {
    const name =
      neverBy.find((each) => isThere(join(folder, each))) ??
      by.find((each) => isThere(join(folder, each)) && !namesVersionsOnly(join(folder, each)))
    if (name !== undefined) return fileMayChooseProgram(join(folder, name))
  }
  return outside === undefined
    ? undefined
    : insideProblem(outside, [...book.directories, ...whereabouts.directories], book)
}

/** Why a part of the program may be in a folder of the session. */
function insideProblem(
  { programs, variables }: Outside,
  directories: readonly string[],
  { env }: RuleBook,
): string | undefined {
  const roots = directories.flatMap(bothEnds)
  const isOutside = (path: string): boolean =>
    isAbsolute(path) && bothEnds(path).every((end) => !roots.some((root) => isInside(end, root)))
  const variable = variables.find((name) => {
    const places = (name === 'HOME' ? homeFolder(env) : (env[name] ?? '')).split(delimiter)
    // An empty entry means the current folder, except for man, where it means the default of the system.
    const named = places.length === 1 || name === 'MANPATH' ? places.filter(Boolean) : places
    return !named.every(isOutside)
  })
  if (variable !== undefined) return variableInProject(variable)
  const places = (env['PATH'] ?? '').split(delimiter)
  const own = programs.find((name) => {
    const place = places.find((each) => !isAbsolute(each) || isThere(join(each, name)))
    return place !== undefined && !isOutside(join(place, name))
  })
  return own === undefined ? undefined : programInProject(own)
}

function foldersAbove(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...foldersAbove(parent)]
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

const maxBytes = 10_000

/** Whether the file contains only names and version numbers: no path, no URL, no template, no escape. */
function namesVersionsOnly(path: string): boolean {
  try {
    if (lstatSync(path).size > maxBytes) return false
    const text = readFileSync(path, 'latin1')
    return /^[\w\s.,="'[\]#+*^~<>-]*$/.test(text) && !/\.\.|path|ref/i.test(text)
  } catch {
    return false
  }
}
