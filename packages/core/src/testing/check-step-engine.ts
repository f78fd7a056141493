import { HaltingError, messageOf } from '../values/errors.ts'
import type { StepRecord } from '../steps/step-record.ts'
import { Transcript } from '../conversation/transcript.ts'
import {
  DriverProcess,
  endOfRun,
  nothingOutside,
  oversizedText,
  type CheckedSession,
  type Ended,
  type Outside,
  type ProcessOptions,
} from './step-engine-child.ts'
import { runChecks, type Checks, type Report, type StepEngineProblem } from './run-checks.ts'

/** The store of one session, initially empty. Its data outlives the processes that open it. */
export interface CheckedStore {
  /** Opens the session in a new process. Rejects with a `HaltingError` for data that it cannot read. */
  open(): Promise<CheckedSession>
  /** Marks the data as written by a later version of the engine. No process has it open. */
  writeAsLaterVersion(): Promise<void>
}

type Make = () => CheckedStore | Promise<CheckedStore>

/** Options of `checkStepEngine`. */
export interface StepEngineCheckOptions {
  /** Maximum duration of one check in milliseconds; an engine that never answers is reported. Default: a minute. */
  readonly longestCheckMs?: number
}

/**
 * Checks the contract of a step engine through its public methods. Records are read completely and in order, flushed
 * records survive a kill, and a run that is killed between any two records ends, and no side effect happens twice.
 * `make` returns a new, empty store each time. Returns the problems: empty for a conforming engine.
 */
export async function checkStepEngine(
  make: Make,
  { longestCheckMs = 60_000 }: StepEngineCheckOptions = {},
): Promise<readonly StepEngineProblem[]> {
  return runChecks(checks, make, longestCheckMs)
}

const checks: Checks<CheckedStore> = {
  'kill between every two records': async (make, report) => {
    const whole = await runUninterrupted(make)
    for (let killAfter = 0; killAfter < whole.appended.length; killAfter++) {
      const reportAt = (problem: string): void => report(`Killed after ${killAfter} records: ${problem}`)
      const store = await make()
      const outside = nothingOutside()
      const { appended, flushed } = await runOnce(store, outside, { killAfter })
      const found = await store.open()
      const records = found.open ?? []
      checkRecords(records, appended, flushed, reportAt)
      const replies = records.filter(isReply).length
      const before = outside.asked.length
      const ended = await runToEnd(store, outside, {}, found)
      for (const turn of outside.asked.slice(before))
        if (turn < replies) reportAt(`the recorded reply of turn ${turn + 1} was requested again.`)
      checkEnd(ended, outside, reportAt)
    }
  },

  'counts of effects and order of results': async (make, report) => {
    const { store, outside, ended } = await runUninterrupted(make)
    checkEnd(ended, outside, report)
    if (outside.effects.join() !== 'p1,p2,p3')
      report(`The calls took effect as ${outside.effects.join()}, not as p1,p2,p3.`)
    const order = [...ended.results.keys()].join()
    if (order !== 'l1,l2,l3,p1,l4,p2,p3') report(`The results are in the order ${order}, not in that of the calls.`)
    const found = await store.open()
    if (found.open !== undefined) report('The run has ended but is still open.')
    const messages = found.transcript.messages()
    if (canonical(messages) !== canonical(ended.messages))
      report('The transcript of the session differs from the conversation.')
    await found.close()
  },

  'oversized result': async (make, report) => {
    const store = await make()
    const script = [{ toolCalls: [{ name: 'Big', id: 'b1' }] }, { toolCalls: [{ name: 'Pay', id: 'p1' }] }]
    // Killed after the result is recorded, and before the run is over.
    const { appended } = await runOnce(store, nothingOutside(), { script, killAfter: 8 })
    const found = await store.open()
    checkRecords(found.open ?? [], appended, 0, report)
    const ended = await runToEnd(store, nothingOutside(), { script }, found)
    if (ended.results.get('b1') !== JSON.stringify(oversizedText)) report('A result of 2.5 MB was not read completely.')
    const again = await store.open()
    if (canonical(again.transcript.messages()) !== canonical(ended.messages))
      report('It is not complete in the session.')
    await again.close()
  },

  'cancel in mid-call': async (make, report) => {
    const stopped = { abortAt: 'p1' }
    const whole = await runUninterrupted(make, stopped)
    const { reason } = whole.ended.terminal
    if (reason === 'completed') report('An abort was ignored.')
    for (let killAfter = 0; killAfter < whole.appended.length; killAfter++) {
      const store = await make()
      const outside = nothingOutside()
      const reportAt = (problem: string): void => report(`Killed after ${killAfter} records: ${problem}`)
      const { appended, flushed } = await runOnce(store, outside, { ...stopped, killAfter })
      const found = await store.open()
      checkRecords(found.open ?? [], appended, flushed, reportAt)
      const hasAbort = found.open?.some(({ type }) => type === 'control') === true
      const ended = await runToEnd(store, outside, {}, found)
      if (hasAbort && ended.terminal.reason !== reason)
        reportAt(`a recorded abort ended the run as ${ended.terminal.reason}, not as ${reason}.`)
      checkOutside(outside, reportAt)
    }
  },

  'message from outside': async (make, report) => {
    const text = 'Mind this.'
    const steered = { steerAt: { callId: 'p1', text } }
    const count = ({ messages }: Ended): number => JSON.stringify(messages).split(text).length - 1
    const whole = await runUninterrupted(make, steered)
    if (count(whole.ended) !== 1) report('A submitted message did not reach the model exactly once.')
    for (let killAfter = 0; killAfter < whole.appended.length; killAfter++) {
      const store = await make()
      const outside = nothingOutside()
      const reportAt = (problem: string): void => report(`Killed after ${killAfter} records: ${problem}`)
      const { appended, flushed } = await runOnce(store, outside, { ...steered, killAfter })
      const found = await store.open()
      checkRecords(found.open ?? [], appended, flushed, reportAt)
      const isRecorded = found.open?.some(({ type }) => type === 'control') === true
      const ended = await runToEnd(store, outside, steered, found)
      if (isRecorded && count(ended) !== 1) reportAt('a recorded message did not reach the model exactly once.')
      checkEnd(ended, outside, reportAt)
    }
  },

  'approval twice': async (make, report) => {
    const script = [{ toolCalls: [{ name: 'Pay', id: 'p1' }] }]
    for (const answersCome of ['early', 'late'] as const) {
      const answered = { script, answers: ['allow', 'deny'], answersCome } as const
      const whole = await runUninterrupted(make, answered)
      const check = ({ results }: Ended, outside: Outside, reportAt: Report): void => {
        const result = results.get('p1') ?? ''
        if (!isReportedCorrectly(result, 'p1', outside))
          reportAt(`the first answer allowed the call, but its result is ${result}.`)
        checkOutside(outside, reportAt)
      }
      check(whole.ended, whole.outside, report)
      for (let killAfter = 0; killAfter < whole.appended.length; killAfter++) {
        const store = await make()
        const outside = nothingOutside()
        await runOnce(store, outside, { ...answered, killAfter })
        const ended = await runToEnd(store, outside, answered)
        check(ended, outside, (problem) => report(`Killed after ${killAfter} records: ${problem}`))
      }
    }
  },

  'wrong version': async (make, report) => {
    const store = await make()
    await runOnce(store, nothingOutside(), { killAfter: 6 })
    await store.writeAsLaterVersion()
    await refused(
      async () => {
        await runToEnd(store, nothingOutside())
      },
      report,
      'Data of a later version was accepted.',
    )
  },

  mismatch: async (make, report) => {
    const store = await make()
    const whole = await runUninterrupted(make)
    // The first reply of the run is recorded, and nothing after it.
    const killAfter = whole.appended.findIndex(isReply) + 1
    await runOnce(store, nothingOutside(), { killAfter })
    const found = await store.open()
    const before = canonical(found.open)
    if (found.open?.some(isReply) !== true) {
      await found.close()
      // An engine that stores nothing unflushed has no recorded reply at this point.
      return
    }
    const { terminal } = await runToEnd(store, nothingOutside(), { before: another }, found)
    if (terminal.error?.code !== 'step_mismatch')
      report(`The record of another conversation ended the run as ${terminal.error?.code ?? terminal.reason}.`)
    const again = await store.open()
    if (canonical(again.open) !== before) report('A mismatch wrote to the session.')
    await again.close()
  },
}

const another = Transcript.of([
  { kind: 'user', id: 'another', message: { role: 'user', content: 'Another.' }, origin: 'prompt' },
])

interface Once {
  readonly ended: Ended | undefined
  readonly appended: readonly StepRecord[]
  readonly flushed: number
}

async function runOnce(store: CheckedStore, outside: Outside, options: ProcessOptions): Promise<Once> {
  const worker = new DriverProcess(await store.open(), outside, options)
  const ended = await worker.run()
  return { ended, appended: worker.appended, flushed: worker.flushed }
}

/** A run that one process completes. Another is started whenever the store takes the session from that process. */
async function runUninterrupted(
  make: Make,
  options: ProcessOptions = {},
): Promise<{ readonly store: CheckedStore; readonly outside: Outside; readonly ended: Ended } & Once> {
  for (;;) {
    const store = await make()
    const outside = nothingOutside()
    const once = await runOnce(store, outside, options)
    if (once.ended !== undefined) return { ...once, ended: once.ended, store, outside }
  }
}

/**
 * Starts processes for a session until one completes the run, since a store may take the session from any of them.
 * `found`: the state in which the first of them finds the session.
 */
async function runToEnd(
  store: CheckedStore,
  outside: Outside,
  options: ProcessOptions = {},
  found?: CheckedSession,
): Promise<Ended> {
  let session = found ?? (await store.open())
  for (;;) {
    const worker = new DriverProcess(session, outside, options)
    const ended = await worker.run()
    if (ended !== undefined) return ended
    session = await store.open()
    const last = worker.appended.at(-1)
    if (last?.type !== 'end' || session.open !== undefined) continue
    await session.close()
    return endOfRun(last.terminal, session.transcript.messages(), outside)
  }
}

/** The stored records are those that were appended, in order, including everything flushed. */
function checkRecords(
  found: readonly StepRecord[],
  appended: readonly StepRecord[],
  flushed: number,
  report: Report,
): void {
  if (found.length < flushed) report(`${flushed} records were flushed, but ${found.length} were read.`)
  const wrong = found.findIndex((record, index) => canonical(record) !== canonical(appended[index]))
  if (wrong >= 0) report(`Record ${wrong} was read differently than it was appended.`)
}

function checkEnd(ended: Ended, outside: Outside, report: Report): void {
  if (ended.terminal.reason !== 'completed') {
    report(`The run ended as ${ended.terminal.reason}: ${ended.terminal.error?.message ?? ''}`)
    return
  }
  for (const id of ['p1', 'p2', 'p3']) {
    const result = ended.results.get(id) ?? ''
    if (!isReportedCorrectly(result, id, outside)) report(`The model received a wrong result of ${id}: ${result}`)
  }
  checkOutside(outside, report)
}

/** Whether the model received the call's actual result if it took effect, or an unknown outcome. */
function isReportedCorrectly(result: string, id: string, { effects }: Outside): boolean {
  return result.includes('is unknown') || (result === `"paid by ${id}"` && effects.includes(id))
}

function checkOutside({ effects, problems }: Outside, report: Report): void {
  for (const problem of problems) report(problem)
  const twice = effects.find((id, index) => effects.indexOf(id) !== index)
  if (twice !== undefined) report(`${twice} took effect twice.`)
}

async function refused(attempt: () => Promise<void>, report: Report, problem: string): Promise<void> {
  try {
    await attempt()
  } catch (error) {
    if (!(error instanceof HaltingError))
      report(`It was refused with ${messageOf(error)}, which is not a HaltingError.`)
    return
  }
  report(problem)
}

function isReply(record: StepRecord): boolean {
  return record.type === 'result' && record.key.startsWith('run1/model:')
}

/** The same text for the same value, regardless of the order of its fields. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_field, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    ) ?? 'undefined'
  )
}
