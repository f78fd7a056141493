import { endings, type MessageContent } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { accountOf, type Account } from '../account/account.ts'
import { isCopiedRun } from '../account/copied-run.ts'
import type { StepRecord } from '@halting/core/steps'
import { plainText } from './session-transcript.ts'
import type { InspectedSession } from './inspected-session.ts'
import type { SessionRow } from './types.ts'

/** Longer titles are cut: a list shows a line. */
const longestTitle = 300

/** What else is of a row, and may be anything in a file. */
const longestText = 4_096
const longestName = 200
const mostNames = 100

/** One session in a list of many: its copies of runs count elsewhere. @throws ConfigurationError for what are no records of runs. */
export function rowOf(session: InspectedSession): SessionRow {
  const { runs, unpriced } = session
  const accounts = runs.map(accountOf)
  const copied = runs.map(isCopiedRun)
  const of = <Value>(all: readonly Value[]): readonly Value[] => all.filter((_, index) => copied[index] === false)
  return { ...about(session, accounts), ...figuresOf(of(accounts), of(unpriced)) }
}

/** The row of a session that is shown alone: with the figures of all of its runs, whose accounts these are. */
export function rowWith(session: InspectedSession, accounts: readonly Account[]): SessionRow {
  return { ...about(session, accounts), ...figuresOf(accounts, session.unpriced) }
}

type Figures = 'turns' | 'tokens' | 'costUsd' | 'unpriced' | 'activeMs' | 'calls' | 'failedCalls'

/** What runs came to. */
function figuresOf(accounts: readonly Account[], unpriced: readonly (readonly string[])[]): Pick<SessionRow, Figures> {
  const sum = (of: (account: Account) => number): number => accounts.reduce((total, account) => total + of(account), 0)
  const tools = accounts.flatMap((account) => account.tools.filter(({ tool }) => tool !== null))
  return {
    turns: sum(({ totals, carried }) => totals.turns - carried.turns),
    tokens: sum(({ totals, carried }) => totals.tokens - carried.tokens),
    costUsd: sum(({ totals, carried }) => totals.committedUsd - carried.costUsd),
    unpriced: namesOf(unpriced.flat()),
    activeMs: sum(({ totals, carried }) => totals.activeMs - carried.activeMs),
    calls: tools.reduce((total, { calls }) => total + calls, 0),
    failedCalls: tools.reduce((total, { failed }) => total + failed, 0),
  }
}

/** What a session is, whichever of its runs count. */
function about(session: InspectedSession, accounts: readonly Account[]): Omit<SessionRow, Figures> {
  const { key, sessionId, program, title, cwd, path, changedAt, isLive, runs } = session
  const ending = accounts.at(-1)?.ending?.reason ?? null
  return {
    key,
    sessionId: sessionId.slice(0, longestName),
    program,
    title: (title === '' ? firstPrompt(runs[0] ?? []) : title).slice(0, longestTitle),
    cwd: cwd.slice(0, longestText),
    path,
    changedAt,
    isLive,
    ending,
    exitCode: ending === null ? null : endings[ending].exitCode,
    models: namesOf(runs.flatMap(modelsIn)),
    runs: runs.length,
    copiedRuns: runs.filter(isCopiedRun).length,
  }
}

/** The row of one that cannot be read. */
export function unreadRow(
  {
    key,
    sessionId,
    program,
    path,
    changedAt,
  }: Pick<SessionRow, 'key' | 'sessionId' | 'program' | 'path' | 'changedAt'>,
  problem: string,
): SessionRow {
  return {
    key,
    sessionId,
    program,
    path,
    changedAt,
    title: '',
    cwd: '',
    isLive: false,
    ending: null,
    exitCode: null,
    models: [],
    runs: 0,
    copiedRuns: 0,
    turns: 0,
    tokens: 0,
    costUsd: 0,
    unpriced: [],
    activeMs: 0,
    calls: 0,
    failedCalls: 0,
    problem,
  }
}

/** The first that a person asked in a run. */
export function firstPrompt(records: readonly StepRecord[]): string {
  const first = records[0]
  if (first?.type !== 'start') return ''
  const said = first.start.added.find((entry) => entry.kind === 'user' && entry.origin === 'prompt')
  const content: MessageContent = said?.kind === 'user' ? said.message.content : ''
  return plainText(content).replaceAll(/\s+/g, ' ').trim()
}

function namesOf(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => name.slice(0, longestName)))].slice(0, mostNames)
}

function modelsIn(records: readonly StepRecord[]): readonly string[] {
  const models = new Set<string>()
  for (const record of records) {
    if (record.type !== 'result' || !isJsonObject(record.value) || !isJsonObject(record.value['charge'])) continue
    const { model } = record.value['charge']
    if (typeof model === 'string' && model !== '') models.add(model)
  }
  return [...models]
}
