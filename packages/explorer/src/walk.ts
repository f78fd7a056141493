import {
  type IterationReason,
  type RunEvent,
  streamRun,
  type Json,
  replay,
  startRun,
  type RunState,
  type RunResult,
  type EndingReason,
  type StepRecord,
  createMemorySteps,
  type MemorySteps,
} from '@halting/core'
import { hashText } from '@halting/core/adapters'
import {
  type Ledger,
  type MaybePromise,
  ledgerOf,
  settingsOf,
  type Iteration,
  foldRun,
  type SideEffectScope,
  type StepOptions,
  type StepEngine,
  type AnswerableStepEngine,
  type WaitOptions,
} from '@halting/core/steps'
import { andThen, inboxIdsIn, settingsOnRecord, type SettingsInForce } from './core-internals.ts'
import {
  checkEffects,
  checkOpenFigures,
  checkReplay,
  checkRun,
  checkSnapshots,
  checkTranscript,
  checkWhatIf,
  terminalOf,
} from './checks.ts'
import type { ExploredRun } from './explored-run.ts'
import type { Path } from './choices.ts'
import type { Kills } from './kills.ts'
import type { OtherProgram } from './other-programs.ts'
import { createSnapshots, noSnapshots } from './snapshots.ts'
import { assertMessages, assertSame, assertSuffixOfEvents, fail, isLive, messageEntries } from './assert-same-events.ts'
import { createWorld, type ExternalInput, type EarlierInputs, type Scenario, type World } from './world.ts'

export interface PathReport {
  readonly terminal: EndingReason
  readonly transitions: readonly IterationReason[]
  readonly kills: number
}

/** Walks one path: the run, its replay, and kills with resume and replay. Throws if a promise is broken. */
export async function walkPath(
  scenario: Scenario,
  path: Path,
  kills: Kills,
  keep?: (records: readonly StepRecord[]) => Promise<readonly StepRecord[]>,
): Promise<PathReport> {
  const other = otherProgramOf(scenario, path)
  const world = createWorld(scenario, path, createSnapshots())
  const wholeRun = await walk(world, startOf(scenario), { leaves: scenario.abandons === true })
  if (wholeRun.hasLeft) return checkAbandoned(wholeRun, world)
  checkRun(wholeRun, world)
  checkEffects([], wholeRun.effects, 'the run')
  await checkReplay(wholeRun, world)
  checkWhatIf(wholeRun, scenario, world)
  if (keep !== undefined)
    await checkReplay({ ...wholeRun, records: await keep(wholeRun.records) }, world, 'what was kept')
  const killed = await killAll({ scenario, path, other, hasOverdrawn: world.mayOverdraw }, wholeRun, kills)
  const transitions = wholeRun.events.flatMap((event) => (event.type === 'lap' ? [event.transition] : []))
  return { terminal: wholeRun.terminal.reason, transitions, kills: killed }
}

/** Walks a path only to find out its labels. */
export async function skimPath(scenario: Scenario, path: Path): Promise<void> {
  otherProgramOf(scenario, path)
  const world = createWorld(scenario, path, noSnapshots)
  await walk(world, startOf(scenario), { leaves: scenario.abandons === true })
}

/** The program that continues after a kill; undefined for the same one. */
function otherProgramOf({ otherPrograms = {} }: Scenario, path: Path): OtherProgram | undefined {
  const names = Object.keys(otherPrograms)
  return names.length === 0 ? undefined : otherPrograms[path.choose('goes on with', ['the same program', ...names])]
}

function startOf(scenario: Scenario): RunState {
  return startRun({ prompt: scenario.prompt ?? 'do it' })
}

/**
 * Checks a run whose consumer has left. The emitted messages are the beginning of the transcript. There is one ending, a valid transcript, and a replay that ends the same and
 * emits everything.
 */
async function checkAbandoned(wholeRun: ExploredRun, world: World): Promise<PathReport> {
  const { terminal, records } = wholeRun
  const entries = wholeRun.state.transcript.since(0)
  checkTranscript(wholeRun, 'the abandoned run')
  checkSnapshots(world, 'the abandoned run')
  const emitted = messageEntries(wholeRun.events)
  assertMessages(emitted, entries.slice(0, emitted.length), 'the abandoned run')
  if (records.filter((record) => record.type === 'end' && record.scope === '').length !== 1)
    fail('the abandoned run has no ending on record')
  const replayed = await replay(records, world.options)
  assertSame(terminalOf(replayed.terminal), terminalOf(terminal), 'the terminal of the abandoned run')
  assertMessages(messageEntries(replayed.events), entries, 'the replay of the abandoned run')
  return { terminal: terminal.reason, transitions: [], kills: 0 }
}

/** How a run continues after a kill. */
interface ResumePlan {
  readonly scenario: Scenario
  readonly path: Path
  readonly other: OtherProgram | undefined
  /** A service billed above a reservation on this path, and the killed process may have that on record. */
  readonly hasOverdrawn: boolean
}

async function killAll(next: ResumePlan, wholeRun: ExploredRun, kills: Kills): Promise<number> {
  let lines: readonly string[] | undefined
  let records: readonly StepRecord[] = []
  let killed = 0
  for (const [index, record] of wholeRun.records.slice(0, -1).entries()) {
    const length = index + 1
    if (!kills(next.path, record, length)) continue
    lines ??= wholeRun.records.map((each) => JSON.stringify(each))
    if (records.length === 0) records = lines.map((line) => JSON.parse(line) as StepRecord)
    const where = `killed after record ${length} of ${records.length}`
    const resumed = await resumeAfterKill(records.slice(0, length), next, wholeRun, where)
    killed++
    if (resumed === undefined) continue
    if (next.other === undefined) await checkSame(resumed, next, wholeRun, lines, length, where)
    else await checkOther(resumed, next, next.other, wholeRun, length, where)
  }
  return killed
}

interface ResumedRun {
  readonly walked: ExploredRun
  readonly world: World
  /** Nothing but the kill happened to it, so it must end as it would have ended. */
  readonly hasSameFuture: boolean
}

/** Ends the process after some records. Another one resumes from the records, as JSON. */
async function resumeAfterKill(
  onRecord: readonly StepRecord[],
  { scenario, path, other }: ResumePlan,
  { externalInputs: handedIn, wallAt }: ExploredRun,
  where: string,
): Promise<ResumedRun | undefined> {
  const folded = foldRun(onRecord)
  if (folded.kind === 'ended') return undefined
  const inbox = inboxAtKill(handedIn, onRecord)
  // All resumes run the same code, so checking a part of them is enough to detect a write.
  const snapshots = onRecord.length % 8 === 0 ? createSnapshots() : noSnapshots
  const world = createWorld(scenario, path.again(), snapshots, { ...inbox, wallAt: wallAt.slice(0, onRecord.length) })
  if (other !== undefined) {
    world.options = { ...world.options, ...other.options(world.options) }
    // What the old program left open was not reserved under the limits of the new one.
    world.mayOverdraw = openIntents(onRecord) > 0
    world.isOtherProgram = true
  }
  const ledger = ledgerOf(settingsOf(world.options))
  ledger.restore(folded.spent.settled, folded.spent.unknown)
  const steps = createMemorySteps({
    past: folded.past,
    replay: folded.replay,
    agents: folded.agents,
    clock: world.clock,
    onRecord: () => world.wallAt.push(world.clock.now()),
  })
  const inForce = settingsOnRecord(folded.replay, folded.state.spent.settings, world.options)
  const { recordedUntil } = folded
  const committedBefore = folded.spent.settled.nanos
  const resumeOptions = { steps, ledger, resumed: true, recordedUntil, inForce, committedBefore }
  const run = await walk(world, folded.state, resumeOptions)
  checkRun(run, world, where)
  checkEffects(onRecord, run.effects, where)
  checkOpenFigures(onRecord, where)
  // Background work may have progressed more or less when it is resumed. Waiting messages may be taken earlier, an abort may be lost with the process, and an unknown outcome is
  // reported as such. Only in these cases may the ending differ.
  return {
    walked: run,
    world,
    hasSameFuture: scenario.background === undefined && inbox.waiting.length === 0 && openIntents(onRecord) === 0,
  }
}

/** The same program must reach the same result. */
async function checkSame(
  { walked: run, world, hasSameFuture }: ResumedRun,
  next: ResumePlan,
  wholeRun: ExploredRun,
  lines: readonly string[],
  length: number,
  where: string,
): Promise<void> {
  const comparable = mayAskOtherwise(wholeRun, length) ? withoutCommitted : withoutTimes
  if (hasSameFuture) assertSame(comparable(run.terminal), comparable(wholeRun.terminal), `${where}: the terminal`)
  // The same record has the same replay and what-if, which were checked before.
  if (isSame(run.records, lines, length)) return checkSameEvents(run, wholeRun, where)
  checkWhatIf(run, next.scenario, { mayOverdraw: next.hasOverdrawn || world.mayOverdraw })
  await checkReplay(run, world, where)
}

/**
 * True if the abort is not on record in the run itself yet and agents run concurrently. An agent that is replayed is at another point than a live one, so the abort interrupts
 * another request, which is charged as unknown. Everything else stays the same.
 */
function mayAskOtherwise({ externalInputs: handedIn, records }: ExploredRun, length: number): boolean {
  if (!handedIn.some(({ what }) => what === 'abort')) return false
  const agents = new Set<string>()
  for (const record of records.slice(0, length)) {
    const [agent] = 'key' in record ? (/agent:\d+:\d+:/.exec(record.key) ?? []) : []
    if (agent !== undefined) agents.add(agent)
    else if (record.type === 'control' && record.control.abort !== undefined) return false
  }
  return agents.size > 1
}

function withoutCommitted(terminal: RunResult): unknown {
  return withoutTimes({ ...terminal, committedUsd: 0, totalTokens: 0 })
}

/** Another program reaches the same ending or one of its own, and does so again when it is killed, too. */
async function checkOther(
  { walked: run }: ResumedRun,
  next: ResumePlan,
  other: OtherProgram,
  wholeRun: ExploredRun,
  length: number,
  where: string,
): Promise<void> {
  const { reason } = run.terminal
  // What cut the run short may be gone.
  if (other.endings !== 'any' && ![wholeRun.terminal.reason, 'completed', ...other.endings].includes(reason))
    fail(`${where}: it continues with another program and ends as ${reason}: ${run.terminal.signal.message}`)
  const records = run.records.map((record) => JSON.parse(JSON.stringify(record)) as StepRecord)
  const more = records.length - length - 1
  if (more <= 0) return
  const second = length + 1 + (hashText(`${next.path.describe()} ${length}`) % more)
  const again = await resumeAfterKill(records.slice(0, second), next, run, `${where}, and after record ${second}`)
  // The time used until a kill counts at once in the process after it.
  if (again?.hasSameFuture === true && again.walked.terminal.reason !== 'time_limit')
    assertSame(withoutTimes(again.walked.terminal), withoutTimes(run.terminal), `${where}, and after record ${second}`)
}

/** Whether the records equal those of the uninterrupted run from the kill on. Before it, they do by construction. */
function isSame(records: readonly StepRecord[], lines: readonly string[], from: number): boolean {
  if (records.length !== lines.length) return false
  return records.slice(from).every((record, index) => JSON.stringify(record) === lines[from + index])
}

/** A resume with the same record emitted the same events, from its open turn on. */
function checkSameEvents(resumed: ExploredRun, wholeRun: ExploredRun, where: string): void {
  assertSuffixOfEvents(wholeRun.events, resumed.events, `${where}: the events`)
}

const noExternalInputs: EarlierInputs = { labels: new Set(), waiting: [], idsTaken: [] }

/** Inputs from before the end of the process, and those of them that no record shows as taken: they are sent again. */
function inboxAtKill(handedIn: readonly ExternalInput[], records: readonly StepRecord[]): EarlierInputs {
  if (handedIn.length === 0) return noExternalInputs
  const before = handedIn.filter((each) => each.records <= records.length)
  const taken = { stop: 0, abort: 0 }
  let lastSet = -1
  for (const [index, record] of records.entries()) {
    if (/"abort(ed)?"/.test(JSON.stringify(record))) taken.abort++
    if (record.type !== 'control') continue
    taken.stop += record.control.signals?.length ?? 0
    if (record.control.settings !== undefined) lastSet = index
  }
  const idsTaken = inboxIdsIn(records)
  const waits = ({ what, label, records: then }: ExternalInput): boolean => {
    if (what === 'steer' || what === 'follow_up') return !idsTaken.includes(label)
    // All settings are taken together.
    // A retry that is not on record went with its process.
    if (what === 'retry') return false
    return what === 'settings' ? then > lastSet : taken[what]-- <= 0
  }
  return { labels: new Set(before.map(({ label }) => label)), waiting: before.filter(waits), idsTaken }
}

interface WalkOptions {
  readonly steps?: MemorySteps
  readonly ledger?: Ledger
  readonly resumed?: boolean
  readonly recordedUntil?: number
  /** The settings that its records show. */
  readonly inForce?: SettingsInForce | null
  /** The consumer may leave. */
  readonly leaves?: boolean
  readonly committedBefore?: number
}

async function walk(world: World, start: RunState, walkOptions: WalkOptions): Promise<ExploredRun> {
  const { resumed = false, recordedUntil = 0, inForce, leaves = false, committedBefore = 0 } = walkOptions
  const { clock, wallAt } = world
  const steps = walkOptions.steps ?? createMemorySteps({ clock, onRecord: () => wallAt.push(clock.now()) })
  const ledger = walkOptions.ledger ?? ledgerOf(settingsOf(world.options))
  const iterations: Iteration[] = []
  const running = streamRun(
    start,
    { ...world.options, steps: withMoments(steps, { steps, world, iterations }) },
    { inbox: world.inbox, ledger, resumed, recordedUntil, ...(inForce !== undefined && { inForce }) },
  )
  const reader = running[Symbol.asyncIterator]()
  const events: RunEvent[] = []
  let left = false
  const { available: atFirst } = ledger.figures()
  const hasSetLimits = start.spent.settings?.limits !== undefined || Math.min(atFirst.nanos, atFirst.tokens) < 0
  const { limits } = ledger
  if (leaves) {
    // At some moment of the run, whichever of its events were read by then.
    world.onLeave = () => {
      left = true
      void reader.return?.()
    }
  }
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
    const event = next.value
    world.snapshots.freeze(event)
    if (!isLive(event)) events.push(event)
    // A limit that was set may be below what is spent.
    if (hasSetLimits || ledger.limits !== limits) continue
    // A bill above its reservation cannot be undone.
    if (world.mayOverdraw) continue
    const { available } = ledger.figures()
    if (!(available.nanos >= 0 && available.tokens >= 0)) fail('the ledger went below zero')
  }
  const { terminal, state } = await running.ended
  const { effects, externalInputs: handedIn } = world
  return {
    start,
    terminal,
    state,
    events,
    records: steps.records,
    iterations,
    effects,
    externalInputs: handedIn,
    wallAt,
    resumed,
    hasLeft: left,
    committedBefore,
  }
}

interface MomentContext {
  readonly steps: MemorySteps
  readonly world: World
  readonly iterations: Iteration[]
}

/** Lets an abort, a message, a stop or a setting arrive before, in and after every await. Everything that is recorded is frozen. */
function withMoments(inner: StepEngine, moments: MomentContext): AnswerableStepEngine {
  const { steps, world, iterations } = moments
  return {
    get replaying() {
      return inner.replaying
    },
    peek: (key) => inner.peek(key),
    abandon: (prefix) => inner.abandon(prefix),
    begin(start) {
      world.snapshots.freeze(start)
      return inner.begin(start)
    },
    run<T>(key: string, effect: (scope: SideEffectScope) => MaybePromise<T>, options: StepOptions<T>) {
      world.moment(`before ${key}`, steps.records.length)
      let isUnfinished = false
      const result = inner.run(
        key,
        (scope) => {
          const work = effect(scope)
          world.moment(`in ${key}`, steps.records.length)
          return work
        },
        { ...options, ...(options.onUnfinished !== 'rerun' && { onUnfinished: noting(options.onUnfinished) }) },
      )
      function noting(meaning: (intent: Json) => T) {
        return (intent: Json): T => {
          isUnfinished = true
          return meaning(intent)
        }
      }
      return andThen(result, (step) => {
        // What arrived during an effect did arrive, whether the record or the effect answers.
        if (step.replayed && !isUnfinished) world.moment(`in ${key}`, steps.records.length)
        world.moment(`after ${key}`, steps.records.length)
        world.snapshots.freeze(step)
        return step
      })
    },
    scope: (name) => withMoments(inner.scope(name), moments),
    concurrent: (name, prefix) => withMoments(inner.concurrent(name, prefix), moments),
    lap(lap) {
      world.snapshots.freeze(lap)
      iterations.push(lap)
      inner.lap(lap)
    },
    control: (key, poll, options) => inner.control(key, poll, options),
    async sleep(key, ms, options) {
      const sleeping = inner.sleep(key, ms, options)
      world.moment(`in ${key}`, steps.records.length)
      await sleeping
      world.moment(`after ${key}`, steps.records.length)
    },
    wait<T>(key: string, options: WaitOptions) {
      if (key.endsWith('.service')) return waitWithMoments(key, moments, () => inner.wait<T>(key, options))
      const isAtLimit = key.includes('/limit_answer:')
      // At a limit, the callback answers or nobody does.
      if (!isAtLimit) steps.answer(key, world.approval(key))
      const waiting = inner.wait<T>(key, options)
      if (isAtLimit) world.moment(`in ${key}`, steps.records.length)
      return waiting
    },
    answer: (key, value) => steps.answer(key, value),
    end: (end) => inner.end(end),
  }
}

/** The same around a wait for a service. */
async function waitWithMoments<T>(key: string, { steps, world }: MomentContext, wait: () => Promise<T>): Promise<T> {
  world.moment(`before ${key}`, steps.records.length)
  const waiting = wait()
  world.moment(`in ${key}`, steps.records.length)
  const waited = await waiting
  world.moment(`after ${key}`, steps.records.length)
  return waited
}

/** Number of intents on record without a result, except those of steps that may simply run again. */
function openIntents(records: readonly StepRecord[]): number {
  const open = new Set<string>()
  for (const record of records) {
    if (record.type === 'intent') open.add(record.key)
    if (record.type === 'result') open.delete(record.key)
  }
  return open.size
}

/** Speculative work from before the kill is repeated, so its duration differs. */
function withoutTimes(terminal: RunResult): unknown {
  const { summary, goal, ...rest } = terminal
  const checks = goal?.checks.map((check) => ({ ...check, durationMs: 0 }))
  return terminalOf({
    ...rest,
    durationMs: 0,
    summary: { ...summary, apiMs: 0 },
    ...(goal !== undefined && { goal: { ...goal, checks: checks ?? [] } }),
  })
}
