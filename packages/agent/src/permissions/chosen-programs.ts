import { lstatSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bothEnds } from '../paths.ts'
import type { Effect } from '../shell/effects.ts'
import type { Whereabouts } from './places.ts'

/** Why a program may be another one than that of the person: a file of the project chooses it. */
export function chosenProblem(
  { by, neverBy }: Extract<Effect, { kind: 'chosen' }>,
  whereabouts: Whereabouts,
  lineWrites: boolean,
): string | undefined {
  if (whereabouts.isUnknown) return 'in which folder it runs is known only then'
  if (lineWrites) return 'the line may write a file that chooses which program runs'
  for (const folder of new Set(whereabouts.directories.flatMap(bothEnds).flatMap(foldersAbove))) {
    const name =
      neverBy.find((each) => isThere(join(folder, each))) ??
      by.find((each) => isThere(join(folder, each)) && !namesVersionsOnly(join(folder, each)))
    if (name !== undefined) return `${join(folder, name)} may choose which program runs`
  }
  return undefined
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

const mostBytes = 10_000

/** Names and numbers of versions: no path, nothing to fetch from elsewhere, no template, no escape. */
function namesVersionsOnly(path: string): boolean {
  try {
    if (lstatSync(path).size > mostBytes) return false
    const text = readFileSync(path, 'latin1')
    return /^[\w\s.,="'[\]#+*^~<>-]*$/.test(text) && !/\.\.|path|ref/i.test(text)
  } catch {
    return false
  }
}
