import type { SessionSummary } from '@halting/analysis/sessions'
import { columnsOf, wrapToColumns } from '../io/columns.ts'
import { many, money, oneLine } from '../io/figures.ts'

/** The JSON of a session summary. */
export function sessionJson(summary: SessionSummary): { readonly [field: string]: unknown } {
  const { sessionId, cwd, path, changedAt, title, firstPrompt, runs, turns, costUsd, ended, problem, heldBy } = summary
  return {
    session_id: sessionId,
    cwd: cwd ?? null,
    path,
    changed_at: changedAt.toISOString(),
    ...(title !== undefined && { title }),
    first_prompt: firstPrompt,
    runs,
    num_turns: turns,
    total_cost_usd: costUsd,
    ended,
    ...(problem !== undefined && { problem }),
    ...(heldBy !== undefined && { held_by: heldBy }),
  }
}

/** Two lines per session, or three on a narrow terminal: ID, time, figures and ending; then the first prompt. */
export function sessionLines(summaries: readonly SessionSummary[], width: number): string {
  return summaries
    .map((summary) => {
      const lines = [...headLines(summary, width), ...aboutLines(summary, width)]
      return lines.map((line) => `${line}\n`).join('')
    })
    .join('')
}

/** One line if it fits. IDs are never truncated, so that they can be copied. */
function headLines(summary: SessionSummary, width: number): readonly string[] {
  const figures = figuresOf(summary)
  const line = `${summary.sessionId}  ${figures}`
  return columnsOf(line) <= width ? [line] : [summary.sessionId, `  ${oneLine(figures, width - 2)}`]
}

function figuresOf({ changedAt, turns, costUsd, ended, heldBy, problem }: SessionSummary): string {
  const when = changedAt.toISOString().slice(0, 16).replace('T', ' ')
  if (problem !== undefined) return `${when}  cannot be read`
  const figures = [many(turns, 'turn'), ...(costUsd > 0 ? [money(costUsd)] : []), endingText(ended, heldBy)]
  return `${when}  ${figures.join(', ')}`
}

function endingText(ended: string, heldBy: number | undefined): string {
  if (heldBy !== undefined) return `still running in process ${heldBy}`
  return ended === 'open' ? 'did not end' : ended
}

/** A prompt is truncated to one line; the reason why a file cannot be read is not truncated. */
function aboutLines({ title, firstPrompt, problem }: SessionSummary, width: number): readonly string[] {
  if (problem !== undefined)
    return wrapToColumns(oneLine(problem, Infinity), width - 2)
      .split('\n')
      .map((line) => `  ${line}`)
  return [`  ${oneLine(title ?? (firstPrompt === '' ? '(no prompt)' : firstPrompt), width - 2)}`]
}
