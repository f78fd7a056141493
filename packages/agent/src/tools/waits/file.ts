import type { Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '@halting/core/adapters'
import { inOneLine } from '../display-name.ts'
import { fileChange, fileState, unknownFileProblem } from './wait-texts.ts'
import type { WaitResult, WaitInput, Watched } from './watched.ts'

/** The state of a path: null if it does not exist. */
export type Seen = Pick<Stats, 'mtimeMs' | 'ctimeMs' | 'size' | 'ino'> | null

/** @throws errors of the system, except for a missing path. */
export type Poll = (path: string) => Promise<Seen>

const look: Poll = async (path) => {
  try {
    const seen = await lstat(path)
    // Checked after reading the state, to detect a link that was created in between.
    return (await hasLinkAbove(path)) ? null : seen
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}

/** Whether a folder in the path became a link since the path was judged: the link's target was not judged. */
async function hasLinkAbove(path: string): Promise<boolean> {
  const folder = dirname(path)
  return folder !== path && ((await lstat(folder)).isSymbolicLink() || (await hasLinkAbove(folder)))
}

/** Milliseconds between two polls: short at first. Network folders report no changes. */
const [shortestMs, longestMs] = [1_000, 5_000]

interface FileWait {
  /** The path in the call. */
  readonly named: string
  /** The real path, as judged. Links that are created later are not followed. */
  readonly real: string
  readonly change: NonNullable<WaitInput['change']>
  /** Start of the wait in milliseconds since 1970, if an earlier process began the wait: changes since then count. */
  readonly sinceMs: number | undefined
}

/**
 * Watches a file or folder. Polls run one at a time: a poll that never returns, for example on a lost network folder,
 * blocks neither the wait nor this program.
 */
export function watchFile(
  { named: namedPath, real, change, sinceMs }: FileWait,
  lookAt: Poll = look,
): Watched<Seen | Error> {
  const named = inOneLine(namedPath)
  let seen: Seen | undefined
  let problem: string | undefined
  const known = (): string => {
    if (problem !== undefined) return fileState(named, { problem })
    if (seen === undefined) return fileState(named, 'no answer')
    return fileState(named, seen === null ? 'missing' : { size: seen.size, changed: timeOf(seen) })
  }
  const currentResult = (): WaitResult => ({
    sentences: known(),
    details: { file_path: namedPath, exists: seen === undefined ? null : seen !== null },
  })
  return {
    what: fileChange(named, change),
    watch(met) {
      let isStopped = false
      let timer: NodeJS.Timeout | undefined
      let first: Seen | undefined
      const began = performance.now()
      const next = async (): Promise<void> => {
        try {
          const now = await lookAt(real)
          if (isStopped) return
          ;[seen, problem] = [now, undefined]
          const isFirst = first === undefined
          if (first === undefined) first = now
          if (isMet(change, { now, first, sinceMs: isFirst ? sinceMs : undefined })) return met(now)
        } catch (error) {
          if (isStopped) return
          // An error of the first poll is reported; later ones may be temporary.
          if (seen === undefined) return met(error instanceof Error ? error : new Error(String(error)))
          problem = codeOf(error) ?? unknownFileProblem
        }
        const waited = performance.now() - began
        timer = setTimeout(() => void next(), Math.min(longestMs, Math.max(shortestMs, waited / 20)))
      }
      void next()
      return () => {
        isStopped = true
        clearTimeout(timer)
      }
    },
    met(value) {
      // The tool turns the error into a result.
      if (value instanceof Error) throw value
      return currentResult()
    },
    unmet: currentResult,
  }
}

function isMet(
  change: FileWait['change'],
  { now, first, sinceMs }: { readonly now: Seen; readonly first: Seen; readonly sinceMs: number | undefined },
): boolean {
  if (change === 'exists') return now !== null
  if (change === 'gone') return now === null
  if (sinceMs !== undefined && now !== null && now.ctimeMs > sinceMs) return true
  if (now === null || first === null) return now !== first
  return (
    now.mtimeMs !== first.mtimeMs || now.ctimeMs !== first.ctimeMs || now.size !== first.size || now.ino !== first.ino
  )
}

function timeOf({ mtimeMs }: NonNullable<Seen>): string | null {
  const at = new Date(mtimeMs)
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}
