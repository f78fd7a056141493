import { endings, type EndingReason, type MessageContent } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { redactedValue } from '@halting/core/redact'
import { carriedInto, cappedBy, type Account } from '../account/account.ts'
import { isCopiedRun } from '../account/copied-run.ts'
import { recordedProgress } from '../account/recorded-progress.ts'
import { recordedSteps, type RecordedSteps } from '../account/recorded-steps.ts'
import { startOfRecord, type StepRecord } from '@halting/core/steps'
import { plainText } from './session-transcript.ts'
import type { InspectedSession } from './inspected-session.ts'
import type { SessionRow } from './types.ts'

/** Maximum length of a title, because a list shows it on one line. */
const maxTitleLength = 300

/** Bounds of other texts of a row, because a file may contain anything. */
const maxTextLength = 4_096
const maxNameLength = 200
const maxNames = 100

/**
 * The row of a session in a list. Copied runs are not counted.
 * @throws ConfigurationError for records that are not those of runs.
 */
export function rowOf(session: InspectedSession): SessionRow {
  const { runs, unpriced } = session
  const figures = runs.map((records, index) => ({ ...figuresIn(records), unpriced: unpriced[index] ?? [] }))
  const { ending, models, prompt } = rowTextsOf(runs)
  return rowFrom(session, { ending, models, prompt, runs: figures })
}

/** Figures of a run, without what it carried over from an earlier one. */
export interface RunFigures {
  /** Whether it is a copy, which counts only in its original session. */
  readonly isCopy: boolean
  /** Turns. */
  readonly turns: number
  /** Input and output tokens. */
  readonly tokens: number
  /** US dollars, including those charged at worst case. */
  readonly costUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
  /** Tool calls. */
  readonly calls: number
  /** Calls that failed. */
  readonly failedCalls: number
}

/** The data from which a row is built, other than its file. */
export interface RowParts {
  /** Why its last run ended; null for one that has not ended. */
  readonly ending: EndingReason | null
  /** Ids of the models that it used. */
  readonly models: readonly string[]
  /** Its first prompt on one line; '' for none. */
  readonly prompt: string
  /** Figures of each run, and its models without a price. */
  readonly runs: readonly (RunFigures & {
    /** Models without a price. */
    readonly unpriced: readonly string[]
  })[]
}

/**
 * Figures of a run, from its records.
 * @throws ConfigurationError for records that are not those of one run.
 */
export function figuresIn(records: readonly StepRecord[]): RunFigures {
  const recorded = recordedSteps(records)
  const failedCalls = recorded.calls.filter(({ status }) => status !== 'done' && status !== 'open').length
  return figuresWith(records, { recorded, calls: recorded.calls.length, failedCalls })
}

/** Returns the same figures as the function above, when the calls have already been counted. For an ended run, its first and last records are enough. */
export function figuresWith(
  records: readonly StepRecord[],
  { recorded, calls, failedCalls }: Pick<RunFigures, 'calls' | 'failedCalls'> & { readonly recorded: RecordedSteps },
): RunFigures {
  const { totals } = recordedProgress(records, recorded)
  const carried = cappedBy(carriedInto(startOfRecord(records)), totals)
  return {
    isCopy: isCopiedRun(records),
    turns: totals.turns - carried.turns,
    tokens: totals.tokens - carried.tokens,
    costUsd: totals.committedUsd - carried.costUsd,
    activeMs: totals.activeMs - carried.activeMs,
    calls,
    failedCalls,
  }
}

/** The texts of a row, redacted by `redact`. */
export function rowTextsOf(
  runs: readonly (readonly StepRecord[])[],
  redact: (text: string) => string = (text) => text,
): Omit<RowParts, 'runs'> {
  const end = runs.at(-1)?.find((record) => record.type === 'end' && record.scope === '')
  return {
    ending: end?.type === 'end' ? end.terminal.reason : null,
    models: [...new Set(runs.flatMap(modelsIn))].map((model) => redact(model)),
    prompt: firstPrompt(runs[0] ?? [], redact),
  }
}

/** Fields of a row that are not in the records. */
type RowSource = Pick<SessionRow, 'key' | 'sessionId' | 'program' | 'title' | 'cwd' | 'path' | 'changedAt' | 'isLive'>

/** Builds a row. */
export function rowFrom(session: RowSource, { ending, models, prompt, runs }: RowParts): SessionRow {
  const counted = runs.filter(({ isCopy }) => !isCopy)
  const sum = (of: (run: RunFigures) => number): number => counted.reduce((total, run) => total + of(run), 0)
  return {
    ...rowFieldsFrom(session, { ending, models, prompt }),
    runs: runs.length,
    copiedRuns: runs.length - counted.length,
    turns: sum(({ turns }) => turns),
    tokens: sum(({ tokens }) => tokens),
    costUsd: sum(({ costUsd }) => costUsd),
    unpriced: namesOf(counted.flatMap(({ unpriced }) => unpriced)),
    activeMs: sum(({ activeMs }) => activeMs),
    calls: sum(({ calls }) => calls),
    failedCalls: sum(({ failedCalls }) => failedCalls),
  }
}

/** The row of a session that is shown on its own, including copied runs. `accounts` are those of its runs. */
export function rowWith(session: InspectedSession, accounts: readonly Account[]): SessionRow {
  return { ...rowFields(session, accounts), ...figuresOf(accounts, session.unpriced) }
}

type Figures = 'turns' | 'tokens' | 'costUsd' | 'unpriced' | 'activeMs' | 'calls' | 'failedCalls'

/** Sums of runs. */
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

/** Fields that do not depend on which runs count. */
function rowFields(session: InspectedSession, accounts: readonly Account[]): Omit<SessionRow, Figures> {
  const { runs } = session
  const ending = accounts.at(-1)?.ending?.reason ?? null
  const parts = { ending, models: runs.flatMap(modelsIn), prompt: firstPrompt(runs[0] ?? []) }
  return { ...rowFieldsFrom(session, parts), runs: runs.length, copiedRuns: runs.filter(isCopiedRun).length }
}

function rowFieldsFrom(
  { key, sessionId, program, title, cwd, path, changedAt, isLive }: RowSource,
  { ending, models, prompt }: Omit<RowParts, 'runs'>,
): Omit<SessionRow, Figures | 'runs' | 'copiedRuns'> {
  return {
    key,
    sessionId: sessionId.slice(0, maxNameLength),
    program,
    title: (title === '' ? prompt : title).slice(0, maxTitleLength),
    cwd: cwd.slice(0, maxTextLength),
    path,
    changedAt,
    isLive,
    ending,
    exitCode: ending === null ? null : endings[ending].exitCode,
    models: namesOf(models),
  }
}

/** The row of a session that cannot be read. */
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

/** The first prompt of a person in a run. */
export function firstPrompt(records: readonly StepRecord[], redact: (text: string) => string = (text) => text): string {
  const first = records[0]
  if (first?.type !== 'start') return ''
  const prompt = first.start.added.find((entry) => entry.kind === 'user' && entry.origin === 'prompt')
  const content: MessageContent = prompt?.kind === 'user' ? prompt.message.content : ''
  return plainText(redactedValue(content, redact)).replaceAll(/\s+/g, ' ').trim()
}

function namesOf(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => name.slice(0, maxNameLength)))].slice(0, maxNames)
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
