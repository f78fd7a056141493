import { limitQuestion } from '../frontends/limit-question.ts'
import { isRaisableLimit } from '@halting/core/adapters'
import { many, money, oneLine } from '../io/figures.ts'
import { revealHiddenInLine } from '../io/reveal-hidden.ts'
import { tableLines } from '../io/table.ts'
import { unreachableWorkerRemedy, unreachableWorkerText } from './unreachable-worker.ts'
import { releaseCommand } from './release.ts'
import { totalsOf, listedState, type ListedSession } from './session-pages.ts'

const titles = ['SESSION', 'AGE', 'TENANT', 'STATE', 'TURNS', 'COST'] as const

/** The first prompt of a session, and what it waits for. */
function detailLines(session: ListedSession, now: number): readonly string[] {
  return [...(session.title === undefined ? [] : [session.title]), ...waitLines(session, now)]
}

/** A table with one row per session; below each row its first prompt and what it waits for. IDs are never truncated, so that they can be copied. */
export function sessionTable(sessions: readonly ListedSession[], now: number, width: number): string {
  const hasTenants = sessions.some(({ tenant }) => tenant !== undefined)
  const withoutEmptyColumns = (cells: readonly string[]): readonly string[] =>
    hasTenants ? cells : cells.toSpliced(2, 1)
  const rows = sessions.map((session) => ({
    cells: withoutEmptyColumns(sessionCells(session, now)),
    lines: detailLines(session, now),
  }))
  const heads = withoutEmptyColumns(titles)
  const table = tableLines([heads, ...rows.map(({ cells }) => cells)], { columns: heads.map(() => ({})), indent: 0 })
  const below = (text: string): string => `  ${revealHiddenInLine(text, Math.max(20, width - 2))}`
  const lines = table.flatMap((line, index) => [line, ...(rows[index - 1]?.lines ?? []).map(below)])
  return lines.map((line) => `${line}\n`).join('')
}

function sessionCells(session: ListedSession, now: number): readonly string[] {
  const { sessionId, changedMs, tenant } = session
  const { turns, usd } = totalsOf(session)
  return [
    oneLine(sessionId, 200),
    ageText(changedMs, now),
    tenant === undefined ? '-' : oneLine(tenant, 40),
    stateText(session),
    String(turns),
    usd > 0 ? money(usd) : '-',
  ]
}

/** The facts of a table row in one line, for a list to choose from. */
export function sessionFacts(session: ListedSession, now: number): string {
  const { changedMs, tenant, title } = session
  const { turns, usd } = totalsOf(session)
  return [
    ...(title === undefined ? [] : [oneLine(title, 60)]),
    ageText(changedMs, now),
    ...(tenant === undefined ? [] : [oneLine(tenant, 40)]),
    many(turns, 'turn'),
    ...(usd > 0 ? [money(usd)] : []),
    stateText(session),
    ...waitLines(session, now).map((line) => revealHiddenInLine(line, 100)),
  ].join(', ')
}

/** The state of the session; if it is idle, how its last run ended. */
function stateText(session: ListedSession): string {
  const state = listedState(session)
  if (state !== 'idle' || session.state !== 'idle') return state
  return session.reason === undefined ? 'no runs' : oneLine(session.reason, 40)
}

/** What an operator or a user has to do for the session, one line each. */
function waitLines(session: ListedSession, now: number): readonly string[] {
  const { sessionId, state, reason, questions, limitQuestion: limit, pausedInvocation, setAside } = session
  if (setAside !== undefined) return [`is set aside: ${setAside}`, `release it with: ${releaseCommand(sessionId)}`]
  if (state === 'paused') return [`is paused: restate invocations resume ${pausedInvocation}`]
  if (session.awaited !== undefined)
    return [`${unreachableWorkerText(session.awaited, now)}: ${unreachableWorkerRemedy}`]
  if (listedState(session) !== 'waiting') return []
  const questionLines = questions.map(
    ({ callId, toolName, about }) =>
      `asks ${callId}${toolName === undefined ? '' : `: ${toolName} ${about ?? ''}`.trimEnd()}`,
  )
  if (questionLines.length > 0) return questionLines
  if (isRaisableLimit(limit?.limit)) return [`asks: ${limitQuestion(limit)}`]
  return reason === 'needs_approval' ? ['ended with a permission request: answer it with halting approve or deny'] : []
}

const second = 1_000
const units = [
  ['d', 86_400 * second],
  ['h', 3_600 * second],
  ['m', 60 * second],
  ['s', second],
] as const

/** Time since the last change: `45s`, `12m`, `3h`, `12d`. */
function ageText(changedMs: number | undefined, now: number): string {
  if (changedMs === undefined) return '-'
  const age = Math.max(0, now - changedMs)
  const [unit, ms] = units.find(([, each]) => age >= each) ?? ['s', second]
  return `${Math.floor(age / ms)}${unit}`
}
