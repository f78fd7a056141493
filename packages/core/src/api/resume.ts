import type { RunEvent } from '../state/events.ts'
import { ConfigurationError } from '../values/errors.ts'
import { createInbox, inboxIdsOf } from '../steps/inbox.ts'
import { streamRun, type RunStream, type RunSurroundings } from './iterate.ts'
import { contextOf, ledgersOf, settingsOf, type RunOptions } from './options.ts'
import { runOptionsOf } from './prompt-options.ts'
import { contextWithSettings } from '../run/context-with-settings.ts'
import { settingsAfter, type SettingsInForce } from '../state/settings-change.ts'
import { startOfRecord } from '../steps/check-records.ts'
import { DurableStepEngine, type AnswerableStepEngine, type StepEngineOptions } from '../steps/durable-step-engine.ts'
import type { StepStore, StepRecord } from '../steps/step-record.ts'
import { createMemorySteps, type MemorySteps } from '../steps/memory-steps.ts'
import { foldRun, inboxIdsIn, recordedStart } from '../steps/fold.ts'
import type { RunResult } from '../endings/run-result.ts'
import { Transcript } from '../conversation/transcript.ts'
import type { AgentResult } from '../state/agent-figures.ts'
import { isJsonObject } from '../values/json.ts'
import type { ExternalInput } from '../steps/external-input.ts'

/** A resumed run, and the step engine that contains its whole record. */
export interface Resumed {
  /** The run, from the end of its record. */
  readonly loop: RunStream
  /** The engine with the whole record. */
  readonly steps: MemorySteps
}

/**
 * Continues a run whose process ended unexpectedly. Past turns make no requests again. The open turn is replayed from
 * the record as far as possible. New hooks and limits take effect from the first live step.
 * @throws ConfigurationError when the run has ended (to continue it, start a new run: `startRun` with `carry`), and for
 * records that do not belong to one run.
 */
export function resume(records: readonly StepRecord[], options: RunOptions, before?: Transcript): Resumed
/** Continues a run with the caller's own log, which already contains these records. New records are appended to it. */
export function resume(
  records: readonly StepRecord[],
  options: RunOptions,
  before: Transcript | undefined,
  log: StepStore,
): Omit<Resumed, 'steps'> & {
  /** The engine that appends to the log. */
  readonly steps: AnswerableStepEngine
}
export function resume(
  records: readonly StepRecord[],
  options: RunOptions,
  before: Transcript = Transcript.empty(),
  log?: StepStore,
): Omit<Resumed, 'steps'> & {
  /** The engine that appends to the log. */
  readonly steps: AnswerableStepEngine
} {
  return resumeOn(records, runOptionsOf(options), before, ({ past, ...open }) =>
    log === undefined ? createMemorySteps({ ...open, past }) : new DurableStepEngine({ ...open, log }),
  )
}

/** The start state of the step engine for a resumed run. */
export interface OpenTurn extends Omit<StepEngineOptions, 'log'> {
  /** Records from before the open turn, including those of `agents`. */
  readonly past: readonly StepRecord[]
}

/** Continues a run with a step engine from `make`. An owner of several runs shares their inbox and ledgers. */
export function resumeOn(
  records: readonly StepRecord[],
  options: RunOptions,
  before: Transcript,
  make: (turn: OpenTurn) => AnswerableStepEngine,
  owner: Pick<RunSurroundings, 'inbox' | 'ledger' | 'sessionLedger' | 'orphanedTools'> = {},
): Omit<Resumed, 'steps'> & { readonly steps: AnswerableStepEngine } {
  const folded = foldRun(records, before)
  if (folded.kind === 'ended') {
    throw new ConfigurationError(`This run has ended (${folded.terminal.reason}). Start a new one over its transcript.`)
  }
  const inForce = settingsOnRecord(folded.replay, folded.state.spent.settings, options)
  const clock = options.clock === undefined ? {} : { clock: options.clock }
  const { sessionId } = folded.state.run
  const { past, replay: open, agents, recordedUntil } = folded
  const steps = make({ ...clock, past, replay: open, agents, sessionId, recordedUntil })
  const inbox = owner.inbox ?? createInbox(() => [...inboxIdsOf(folded.state.transcript), ...inboxIdsIn(folded.replay)])
  const { ledger, sessionLedger } =
    owner.ledger === undefined
      ? ledgersOf(settingsOf(options), options.spentBeforeUsd)
      : { ledger: owner.ledger, sessionLedger: owner.sessionLedger }
  ledger.restore(folded.spent.settled, folded.spent.unknown)
  const { state } = folded
  const context: RunSurroundings = {
    ...owner,
    resumed: true,
    recordedUntil,
    ledger,
    ...(sessionLedger !== undefined && { sessionLedger }),
    inbox,
    inForce,
    endedAgents: endedAgentsIn(folded.replay),
  }
  return { loop: streamRun(state, { ...options, steps }, context), steps }
}

/** The replayed events of a recorded run, and its result. */
export interface Replayed {
  /** The events of the run, except live events that side effects emit. */
  readonly events: readonly RunEvent[]
  /** How the run ended. */
  readonly terminal: RunResult
}

/**
 * Replays a record without side effects: runs the same loop with recorded results only.
 * @throws ConfigurationError for records that do not belong to one run.
 */
export async function replay(
  records: readonly StepRecord[],
  runOptions: RunOptions,
  before: Transcript = Transcript.empty(),
): Promise<Replayed> {
  const options = runOptionsOf(runOptions)
  const begin = startOfRecord(records)
  settingsOnRecord(records, begin.start.spent.settings, options)
  const steps = createMemorySteps({
    replay: records.filter((record) => record !== begin),
    recordedOnly: true,
    clock: frozenClock,
  })
  const start = recordedStart(begin, before)
  const events: RunEvent[] = [{ type: 'run_start', run: start.run, model: options.model.id }]
  for (const entry of begin.start.added.slice(begin.start.history ?? 0)) events.push({ type: 'message', entry })
  const { signal: _signal, ...rest } = options
  // Tasks after a run started only after the original run, not after a replay.
  const replayed = streamRun(
    start,
    { ...rest, steps, clock: frozenClock, postRun: [] },
    { resumed: true, replayed: true },
  )
  for await (const event of replayed) events.push(event)
  return { events, terminal: (await replayed.ended).terminal }
}

/**
 * The settings that a person changed according to the records, without the changes that only subagents applied.
 * @throws ConfigurationError when a model was selected that the options do not have. This happens before anything is
 * written.
 */
export function settingsOnRecord(
  records: readonly StepRecord[],
  before: SettingsInForce | null,
  options: RunOptions,
): SettingsInForce | null {
  const context = contextOf(options)
  let inForce = before
  for (const record of records) {
    if (record.type !== 'control' || record.control.settings === undefined) continue
    inForce = settingsAfter(inForce, record.control.settings, false)
    contextWithSettings(context, inForce)
  }
  return inForce
}

/** The clock of a replay, which never waits. */
const frozenClock = Object.freeze({ now: () => 0, after: () => () => {} })

/** The background agents whose ends are recorded, because they ended by themselves or were stopped with the run. */
function endedAgentsIn(records: readonly StepRecord[]): ReadonlyMap<string, AgentResult> {
  const ended = new Map<string, AgentResult>()
  for (const { agents = [], tasks = [], left = [] } of records.flatMap(endsIn))
    for (const end of agents) {
      const { id } = end
      const task = tasks.find((each) => each.id === id)
      const { how, description = '', status = 'completed', result } = left.find((each) => each.id === id) ?? {}
      const resultField = result === undefined ? {} : { result }
      const stopped = { type: 'ended', id, status: how === 'ended' ? status : 'stopped', summary: description } as const
      ended.set(id, { task: task ?? { ...stopped, ...resultField }, end })
    }
  return ended
}

function endsIn(record: StepRecord): readonly ExternalInput[] {
  if (record.type === 'control') return [record.control]
  const isStop = record.type === 'result' && record.key.endsWith('/background:stop') && isJsonObject(record.value)
  // This step records agents in the format of a control record.
  return isStop ? [record.value] : []
}
