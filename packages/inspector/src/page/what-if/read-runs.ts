import { signal, type ReadonlySignal } from '@preact/signals'
import type { GradedTrajectory } from '@halting/analysis'
import { withFigures } from '../data/figures.ts'
import { messageOf, rows, source } from '../data/store.ts'
import type { PastRun } from './folder.ts'

/** Progress of reading the sessions. */
export interface Reading {
  readonly kind: 'idle' | 'reading' | 'stopped' | 'done'
  readonly read: number
  readonly of: number
  readonly runs: readonly PastRun[]
  /** Runs for the calibration of limits: a run that a later one continues counts as part of that one. */
  readonly graded: readonly GradedTrajectory[]
  /** Number of copied runs, which are not included. */
  readonly copies: number
  /** Sessions that could not be read, and why. */
  readonly skipped: readonly string[]
}

const nothing: Reading = { kind: 'idle', read: 0, of: 0, runs: [], graded: [], copies: 0, skipped: [] }
const state = signal<Reading>(nothing)

/** What was read; kept when another view is shown. */
export const reading: ReadonlySignal<Reading> = state

let latestRead = 0

/** Reads all listed sessions, one after another, and stores only what limits need. */
export async function readAll(): Promise<void> {
  const own = ++latestRead
  const listed = rows.value
  const runs: PastRun[] = []
  const graded: GradedTrajectory[] = []
  const skipped: string[] = []
  let copies = 0
  state.value = { ...nothing, kind: 'reading', of: listed.length }
  let shownAt = performance.now()
  for (const [index, { key, title, problem }] of listed.entries()) {
    if (problem === undefined)
      try {
        const view = await withFigures(source(), await source().session(key), ['trajectory'])
        for (const [place, { trajectory, unpriced, isCopy, isContinued, graded: run }] of view.runs.entries()) {
          if (isCopy) {
            copies++
            continue
          }
          runs.push({ key, run: place + 1, title, trajectory, unpriced })
          if (!isContinued) graded.push({ ...run, trajectory, unpriced })
        }
      } catch (error) {
        skipped.push(`${title}: ${messageOf(error)}`)
      }
    else skipped.push(`${title}: ${problem}`)
    if (own !== latestRead) return
    const isLast = index === listed.length - 1
    // Updating the progress a few times per second is enough.
    if (!isLast && performance.now() - shownAt < 200) continue
    shownAt = performance.now()
    state.value = {
      kind: 'reading',
      read: index + 1,
      of: listed.length,
      runs: [],
      graded: [],
      copies,
      skipped: [...skipped],
    }
  }
  state.value = { kind: 'done', read: listed.length, of: listed.length, runs, graded, copies, skipped }
}

/** Stops reading. */
export function stopReading(): void {
  latestRead++
  state.value = { ...state.value, kind: 'stopped' }
}
