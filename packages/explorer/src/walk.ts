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
  type Eventually,
  ledgerOf,
  settingsOf,
  type Iteration,
  foldRun,
  type EffectScope,
  type StepOptions,
  type StepEngine,
  type AnswerableStepEngine,
  type WaitOptions,
} from '@halting/core/steps'
import { after, inboxIdsIn, settingsOnRecord, type SettingsInForce } from './core-internals.ts'
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

/** Goes one path: the run, its replay, and kills with resume and replay. Throws where a promise is broken. */
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

/** Goes a path only to learn what is asked on it. */
export async function skimPath(scenario: Scenario, path: Path): Promise<void> {
  otherProgramOf(scenario, path)
  const world = createWorld(scenario, path, noSnapshots)
  await walk(world, startOf(scenario), { leaves: scenario.abandons === true })
}

/** The program that goes on after a kill; undefined for the same one. */
function otherProgramOf({ otherPrograms = {} }: Scenario, path: Path): OtherProgram | undefined {
  const names = Object.keys(otherPrograms)
  return names.length === 0 ? undefined : otherPrograms[path.choose('goes on with', ['the same program', ...names])]
}

function startOf(scenario: Scenario): RunState {
  return startRun({ prompt: scenario.prompt ?? 'do it' })
}

/** Nobody listens any more: what was told begins the transcript; there is one terminal, a valid transcript, and a replay that ends the same and tells all. */
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

/** What goes on after a kill. */
interface ResumePlan {
  readonly scenario: Scenario
  readonly path: Path
  readonly other: OtherProgram | undefined
  /** A service billed above a reservation on this path: what was killed may have it on record. */
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

interface Resumed {
  readonly walked: ExploredRun
  readonly world: World
  /** Nothing but the kill happened to it: it ends as it would have ended. */
  readonly hasSameFuture: boolean
}

/** The process ends after so many records; another one goes on from what is on record, as JSON. */
async function resumeAfterKill(
  onRecord: readonly StepRecord[],
  { scenario, path, other }: ResumePlan,
  { externalInputs: handedIn, wallAt }: ExploredRun,
  where: string,
): Promise<Resumed | undefined> {
  const folded = foldRun(onRecord)
  if (folded.kind === 'ended') return undefined
  const inbox = inboxAtKill(handedIn, onRecord)
  // The code that goes on is the code that ran: a part of the resumes is enough to see a write.
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
  // What works beside the main loop may have come further or less far when that goes on. What waits in the inbox may be taken earlier now, an abort may be lost with the process, and an unknown outcome is told as such: only then may the end be another.
  return {
    walked: run,
    world,
    hasSameFuture: scenario.background === undefined && inbox.waiting.length === 0 && openIntents(onRecord) === 0,
  }
}

/** The same program comes to the same. */
async function checkSame(
  { walked: run, world, hasSameFuture }: Resumed,
  next: ResumePlan,
  wholeRun: ExploredRun,
  lines: readonly string[],
  length: number,
  where: string,
): Promise<void> {
  const comparable = mayAskOtherwise(wholeRun, length) ? withoutCommitted : untimed
  if (hasSameFuture) assertSame(comparable(run.terminal), comparable(wholeRun.terminal), `${where}: the terminal`)
  // The same record has the same replay and the same what-if, which were looked at already.
  if (isSame(run.records, lines, length)) return checkSameEvents(run, wholeRun, where)
  checkWhatIf(run, next.scenario, { mayOverdraw: next.hasOverdrawn || world.mayOverdraw })
  await checkReplay(run, world, where)
}

/**
 * An abort is not on the record of the run itself yet, and agents work side by side. One that is answered from the record is elsewhere then than it
 * was beside a live one, so that the abort finds another request asked, which is charged as unknown. Everything else comes to the same.
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
  return untimed({ ...terminal, committedUsd: 0, totalTokens: 0 })
}

/** Another program comes to the same ending or to one of its own, and to the same again when it is killed too. */
async function checkOther(
  { walked: run }: Resumed,
  next: ResumePlan,
  other: OtherProgram,
  wholeRun: ExploredRun,
  length: number,
  where: string,
): Promise<void> {
  const { reason } = run.terminal
  // What cut the run short may be gone.
  if (other.endings !== 'any' && ![wholeRun.terminal.reason, 'completed', ...other.endings].includes(reason))
    fail(`${where}: it goes on with another program and ends as ${reason}: ${run.terminal.signal.message}`)
  const records = run.records.map((record) => JSON.parse(JSON.stringify(record)) as StepRecord)
  const more = records.length - length - 1
  if (more <= 0) return
  const second = length + 1 + (hashText(`${next.path.describe()} ${length}`) % more)
  const again = await resumeAfterKill(records.slice(0, second), next, run, `${where}, and after record ${second}`)
  // The time that was used until a kill counts at once in the process that comes after it.
  if (again?.hasSameFuture === true && again.walked.terminal.reason !== 'time_limit')
    assertSame(untimed(again.walked.terminal), untimed(run.terminal), `${where}, and after record ${second}`)
}

/** Whether the record is that of the uninterrupted run, from the kill on: before it, it is by construction. */
function isSame(records: readonly StepRecord[], lines: readonly string[], from: number): boolean {
  if (records.length !== lines.length) return false
  return records.slice(from).every((record, index) => JSON.stringify(record) === lines[from + index])
}

/** A resume that came to the same record told the same, from its open turn on. */
function checkSameEvents(resumed: ExploredRun, wholeRun: ExploredRun, where: string): void {
  assertSuffixOfEvents(wholeRun.events, resumed.events, `${where}: the events`)
}

const noExternalInputs: EarlierInputs = { labels: new Set(), waiting: [], idsTaken: [] }

/** What had been handed in when the process ended, and what of it no record shows as taken: it is handed in again. */
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
    // All that was set is taken together.
    // A retry that nobody recorded went with its process.
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
  /** What its records show as set. */
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
    // At a moment of the run, whatever of its events has been read by then.
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
    // What was billed above what it was reserved for nobody can take back.
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

interface Moments {
  readonly steps: MemorySteps
  readonly world: World
  readonly iterations: Iteration[]
}

/** An abort, a message, a stop or a setting may come before, in and after every await. What goes on record is frozen. */
function withMoments(inner: StepEngine, moments: Moments): AnswerableStepEngine {
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
    run<T>(key: string, effect: (scope: EffectScope) => Eventually<T>, options: StepOptions<T>) {
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
      return after(result, (step) => {
        // What came in during an effect came in, whether its record or the effect itself answers.
        if (step.replayed && !isUnfinished) world.moment(`in ${key}`, steps.records.length)
        world.moment(`after ${key}`, steps.records.length)
        world.snapshots.freeze(step)
        return step
      })
    },
    scope: (name) => withMoments(inner.scope(name), moments),
    beside: (name, prefix) => withMoments(inner.beside(name, prefix), moments),
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
      // At a limit the callback answers, or nobody does.
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
async function waitWithMoments<T>(key: string, { steps, world }: Moments, wait: () => Promise<T>): Promise<T> {
  world.moment(`before ${key}`, steps.records.length)
  const waiting = wait()
  world.moment(`in ${key}`, steps.records.length)
  const waited = await waiting
  world.moment(`after ${key}`, steps.records.length)
  return waited
}

/** Intents on record without a result, other than those of steps that may simply run again. */
function openIntents(records: readonly StepRecord[]): number {
  const open = new Set<string>()
  for (const record of records) {
    if (record.type === 'intent') open.add(record.key)
    if (record.type === 'result') open.delete(record.key)
  }
  return open.size
}

/** Work that had been speculated on before the kill is done again: the time it takes is not the same. */
function untimed(terminal: RunResult): unknown {
  const { summary, goal, ...rest } = terminal
  const checks = goal?.checks.map((check) => ({ ...check, durationMs: 0 }))
  return terminalOf({
    ...rest,
    durationMs: 0,
    summary: { ...summary, apiMs: 0 },
    ...(goal !== undefined && { goal: { ...goal, checks: checks ?? [] } }),
  })
}
