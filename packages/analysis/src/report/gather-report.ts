import { isAbsolute, relative } from 'node:path'
import { HaltingError } from '@halting/core'
import type { GradingSources } from '../grades/graded-runs.ts'
import type { AnySession } from '../sessions/read-session.ts'
import type { ManySessions } from '../sessions/session-files.ts'
import { writerOf } from '../sessions/writer-of.ts'
import { terminalOf } from '../why/terminal-of.ts'
import { Collector } from './collect.ts'
import type { Period } from './days.ts'
import type { Report } from './report-model.ts'

/** What a report covers. */
export interface ReportScope {
  /** In words: `of this folder`. */
  readonly of: string
  /** Only runs that began in this time. */
  readonly period: Period
  /** Only sessions that worked in this folder or below it; '' for any. */
  readonly below: string
  /** Sessions of files may be written by a process at this moment; those of a cluster have none. */
  readonly hasWriters: boolean
  /** The present moment, in milliseconds since 1970. */
  readonly now: number
  /** Grades of the person, and the repositories of folders. Default: nobody graded a run, and each folder counts by itself. */
  readonly grading?: GradingSources
}

/** Reads sessions one after another and sums them up. Of each only its sums stay in memory. Sessions that cannot be read are listed in the report. */
export async function gatherReport(
  { names, read }: ManySessions<AnySession>,
  { of, period, below, hasWriters, now, grading }: ReportScope,
): Promise<Report> {
  const collector = new Collector(period, grading)
  const skipped: string[] = []
  for (const name of names) {
    try {
      const session = await read(name)
      if (below !== '' && !isBelow(session.cwd, below)) continue
      const isOpenHere =
        hasWriters && session.foreign === undefined && terminalOf(session.runs.at(-1) ?? []) === undefined
      const heldBy = isOpenHere ? writerOf(name) : undefined
      collector.add(session, { file: name, heldBy })
    } catch (error) {
      if (!(error instanceof HaltingError)) throw error
      skipped.push(error.message)
    }
  }
  return collector.told(of, skipped, now)
}

/** Whether a path is a folder, or in it. */
export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return path !== '' && !isAbsolute(way) && way !== '..' && !/^\.\.[/\\]/.test(way)
}
