import type { GuardView } from './guard.ts'

// Repetition other than whole turns: failures and answers (spec R-PROG-7). Pure functions.

/** What a run has repeated since the last user input: part of `RunProgress`, JSON. */
export type RepetitionProgress = {
  /** Consecutive turns in which all calls of this file-editing tool failed; absent for none. */
  readonly edits?: { readonly tool: string; readonly turns: number }
  /** The number of turns per error, without masked parts, newest last. Absent for none. */
  readonly errors?: readonly { readonly hash: number; readonly turns: number }[]
  /** The figures of the last turn; absent if its calls did not fail repeatedly. */
  readonly newest?: { readonly failedEdits: number; readonly equalErrors: number }
  /** How often in a row the same answer was sent back; absent for none. */
  readonly answer?: { readonly hash: number; readonly times: number }
}

/** A call of a completed turn. */
export interface EndedCall {
  /** The tool name, if a failing call of this tool is a failed edit; absent otherwise. */
  readonly editedBy?: string
  /** A hash of its error; absent for a call that did not fail. */
  readonly error?: number
}

/** Maximum number of distinct errors that are counted. If an error reappears after this many others, its count starts again at one. */
const maxErrors = 8

/** The progress after the calls of a turn. User input between two turns ends a sequence of equal answers. */
export function afterCalls(
  before: RepetitionProgress | undefined,
  calls: readonly EndedCall[],
): RepetitionProgress | undefined {
  const hasFailed = calls.some(({ error }) => error !== undefined)
  if (before === undefined && !hasFailed) return undefined
  const edits = editsAfter(before?.edits, calls)
  const errors = errorsAfter(before?.errors ?? [], calls)
  const failedEdits = calls.some(({ editedBy }) => editedBy !== undefined) ? (edits?.turns ?? 0) : 0
  const seenErrors = new Set(calls.map(({ error }) => error))
  const equalErrors = Math.max(0, ...errors.flatMap(({ hash, turns }) => (seenErrors.has(hash) ? [turns] : [])))
  if (edits === undefined && errors.length === 0) return undefined
  return {
    ...(edits !== undefined && { edits }),
    ...(errors.length > 0 && { errors }),
    ...(hasFailed && { newest: { failedEdits, equalErrors } }),
  }
}

function editsAfter(before: RepetitionProgress['edits'], calls: readonly EndedCall[]): RepetitionProgress['edits'] {
  let edits = before
  const failed = new Map<string, boolean>()
  for (const { editedBy, error } of calls)
    if (editedBy !== undefined) failed.set(editedBy, (failed.get(editedBy) ?? true) && error !== undefined)
  for (const [tool, haveAllFailed] of failed) {
    if (haveAllFailed) edits = { tool, turns: before?.tool === tool ? before.turns + 1 : 1 }
    else if (edits?.tool === tool) edits = undefined
  }
  return edits
}

function errorsAfter(
  before: NonNullable<RepetitionProgress['errors']>,
  calls: readonly EndedCall[],
): NonNullable<RepetitionProgress['errors']> {
  let errors = before
  // Equal errors in one message count once: the model saw none of them before it made the other calls of the same message.
  for (const hash of new Set(calls.flatMap(({ error }) => (error === undefined ? [] : [error])))) {
    const turns = 1 + (errors.find((each) => each.hash === hash)?.turns ?? 0)
    errors = [...errors.filter((each) => each.hash !== hash), { hash, turns }]
  }
  return errors.slice(-maxErrors)
}

/** The progress after an answer without calls was sent back. */
export function afterAnswerSentBack(before: RepetitionProgress | undefined, hash: number): RepetitionProgress {
  const { newest: _, ...rest } = before ?? {}
  return { ...rest, answer: { hash, times: before?.answer?.hash === hash ? before.answer.times + 1 : 1 } }
}

/** The repetition figures for guards. */
export function repeatedIn(progress: RepetitionProgress | undefined): NonNullable<GuardView['repeated']> {
  if (progress === undefined) return noRepetition
  const { newest, answer } = progress
  return {
    failedEdits: newest?.failedEdits ?? 0,
    equalErrors: newest?.equalErrors ?? 0,
    equalAnswers: answer?.times ?? 0,
  }
}

const noRepetition: NonNullable<GuardView['repeated']> = Object.freeze({
  failedEdits: 0,
  equalErrors: 0,
  equalAnswers: 0,
})
