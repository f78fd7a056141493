import { ranksBelow, type Ranking, type Transition } from '../../allowance.ts'
import { Ledger } from '../../budget/ledger.ts'
import type { LoopEvent } from '../../events.ts'
import { after, type Eventually } from '../../eventually.ts'
import { loop } from '../../iterate.ts'
import type { Json } from '../../json.ts'
import { ledgerOf, settingsOf, type LoopOptions } from '../../options.ts'
import { replay } from '../../resume.ts'
import { startRun } from '../../start.ts'
import type { RunState } from '../../state.ts'
import { createMemorySteps, type MemorySteps, type StepRecord } from '../../steps/memory.ts'
import { foldRun } from '../../steps/resume.ts'
import type { EffectScope, StepOptions, Steps } from '../../steps/steps.ts'
import type { Terminal, TerminalReason } from '../../stop/terminal.ts'
import { transcriptProblems } from '../validate-transcript.ts'
import type { Path } from './choices.ts'
import { createWorld, type HandedIn, type Scenario, type World } from './world.ts'

/** What one run on a path came to. */
interface Walked {
  readonly terminal: Terminal
  readonly state: RunState
  readonly events: readonly LoopEvent[]
  readonly records: readonly StepRecord[]
  readonly effects: ReadonlyMap<string, number>
  readonly handedIn: readonly HandedIn[]
  /** The consumer left before the end. */
  readonly left: boolean
}

export interface PathReport {
  readonly terminal: TerminalReason
  readonly transitions: readonly Transition[]
  readonly kills: number
  readonly records: number
}

/** Goes one path: the run, its replay, and a kill after every record with resume and replay. Throws where a promise is broken. */
export async function walkPath(scenario: Scenario, path: Path, kill = true): Promise<PathReport> {
  const world = createWorld(scenario, path)
  const leaves = (event: number): boolean =>
    scenario.abandons === true && path.choose(`leave after event ${event}`, [false, true])
  const whole = await walk(world, startRun({ prompt: scenario.prompt ?? 'do it' }), { leaves })
  if (whole.left) return abandoned(whole, world)
  checkRun(whole, world)
  await checkReplay(whole.records, whole.events, whole.terminal, world.options)
  const kills = kill ? await killEverywhere(scenario, path, whole) : 0
  const transitions = whole.events.flatMap((event) => (event.type === 'lap' ? [event.transition] : []))
  return { terminal: whole.terminal.reason, transitions, kills, records: whole.records.length }
}

/** Nobody listens any more: there is no event to look at, but one terminal, a valid transcript, and a replay that ends the same. */
async function abandoned(whole: Walked, world: World): Promise<PathReport> {
  const { terminal, records } = whole
  checkTranscript(whole, 'the abandoned run')
  if (records.filter((record) => record.type === 'end' && record.scope === '').length !== 1)
    fail('the abandoned run has no ending on record')
  const replayed = await replay(records, world.options)
  assertSame(terminalOf(replayed.terminal), terminalOf(terminal), 'the terminal of the abandoned run')
  return { terminal: terminal.reason, transitions: [], kills: 0, records: records.length }
}

async function killEverywhere(scenario: Scenario, path: Path, whole: Walked): Promise<number> {
  const lines = whole.records.map((record) => JSON.stringify(record))
  const records = lines.map((line) => JSON.parse(line) as StepRecord)
  for (let length = 1; length < records.length; length++) {
    await killAfter(records.slice(0, length), lines, scenario, path, whole)
  }
  return records.length - 1
}

/** The process ends after so many records; another one goes on from what is on record, as JSON. */
async function killAfter(
  onRecord: readonly StepRecord[],
  lines: readonly string[],
  scenario: Scenario,
  path: Path,
  whole: Walked,
): Promise<void> {
  const folded = foldRun(onRecord)
  if (folded.kind === 'ended') return
  const inbox = inboxAtKill(whole.handedIn, onRecord)
  const world = createWorld(scenario, path.again(), inbox)
  const ledger = ledgerOf(settingsOf(world.options))
  ledger.restore(folded.spent.settled, folded.spent.unknown)
  const steps = createMemorySteps({ past: folded.past, replay: folded.replay, clock: world.clock })
  const resumed = await walk(world, folded.state, { steps, ledger, resumed: true })
  const where = `killed after record ${onRecord.length} of ${whole.records.length}`
  checkRun(resumed, world, where)
  checkEffects(onRecord, resumed.effects, where)
  // What waits in the inbox may be taken earlier now, an abort may be lost with the process, and an unknown outcome is told as such: only then may the end be another.
  const sameFuture = inbox.waiting.length === 0 && openIntents(onRecord) === 0
  if (sameFuture) assertSame(untimed(resumed.terminal), untimed(whole.terminal), `${where}: the terminal`)
  // The same record has the same replay, which was looked at already.
  if (isSame(resumed.records, lines, onRecord.length)) return checkTold(resumed, whole, where)
  await checkReplay(resumed.records, resumed.events, resumed.terminal, world.options, where)
}

/** Whether the record is that of the uninterrupted run, from the kill on: before it, it is by construction. */
function isSame(records: readonly StepRecord[], lines: readonly string[], from: number): boolean {
  if (records.length !== lines.length) return false
  return records.slice(from).every((record, index) => JSON.stringify(record) === lines[from + index])
}

/** A resume that came to the same record told the same, from its open turn on. */
function checkTold(resumed: Walked, whole: Walked, where: string): void {
  assertTold(resumed.events, whole.events.slice(whole.events.length - resumed.events.length), `${where}: the events`)
}

const nothingHandedIn = { labels: new Set<string>(), waiting: [] }

/** What had been handed in when the process ended, and what of it no record shows as taken: it is handed in again. */
function inboxAtKill(
  handedIn: readonly HandedIn[],
  records: readonly StepRecord[],
): { readonly labels: ReadonlySet<string>; readonly waiting: readonly HandedIn[] } {
  if (handedIn.length === 0) return nothingHandedIn
  const before = handedIn.filter((each) => each.records <= records.length)
  const taken = { steer: 0, follow_up: 0, stop: 0, abort: 0 }
  for (const record of records) {
    if (/"abort(ed)?"/.test(JSON.stringify(record))) taken.abort++
    if (record.type !== 'control') continue
    for (const { kind } of record.control.messages ?? []) taken[kind]++
    taken.stop += record.control.signals?.length ?? 0
  }
  return { labels: new Set(before.map(({ label }) => label)), waiting: before.filter(({ what }) => taken[what]-- <= 0) }
}

interface WalkOptions {
  readonly steps?: MemorySteps
  readonly ledger?: Ledger
  readonly resumed?: boolean
  readonly leaves?: (event: number) => boolean
}

async function walk(world: World, start: RunState, walkOptions: WalkOptions): Promise<Walked> {
  const steps = walkOptions.steps ?? createMemorySteps({ clock: world.clock })
  const ledger = walkOptions.ledger ?? ledgerOf(settingsOf(world.options))
  const running = loop(
    start,
    { ...world.options, steps: withMoments(steps, steps, world) },
    { inbox: world.inbox, ledger, resumed: walkOptions.resumed ?? false },
  )
  const events: LoopEvent[] = []
  let left = false
  for await (const event of running) {
    if (!isLive(event)) events.push(event)
    if (walkOptions.leaves?.(events.length) === true && event.type !== 'run_end') {
      left = true
      break
    }
    const { available } = ledger.figures()
    if (available.nanos < 0 || available.tokens < 0) fail('the ledger went below zero')
  }
  const { terminal, state } = await running.ended
  return { terminal, state, events, records: steps.records, effects: world.effects, handedIn: world.handedIn, left }
}

/** An abort, a message or a stop may come before, in and after every await. */
function withMoments(inner: Steps, steps: MemorySteps, world: World): Steps {
  return {
    get replaying() {
      return inner.replaying
    },
    begin: (start) => inner.begin(start),
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
        return step
      })
    },
    scope: (name) => withMoments(inner.scope(name), steps, world),
    lap: (lap) => inner.lap(lap),
    control: (key, poll) => inner.control(key, poll),
    async sleep(key, ms, options) {
      const sleeping = inner.sleep(key, ms, options)
      world.moment(`in ${key}`, steps.records.length)
      await sleeping
      world.moment(`after ${key}`, steps.records.length)
    },
    wait: (key, options) => inner.wait(key, options),
    end: (terminal) => inner.end(terminal),
  }
}

function checkRun(walked: Walked, world: World, where = 'the run'): void {
  const { terminal, events } = walked
  const ends = events.filter((event) => event.type === 'run_end')
  if (ends.length !== 1 || events.at(-1)?.type !== 'run_end') fail(`${where} has ${ends.length} endings`)
  if (world.problems.length > 0)
    fail(`${where}: the model was shown what the API refuses: ${world.problems.join('; ')}`)
  checkTranscript(walked, where)
  if (terminal.reason === 'error' && terminal.error?.code === 'internal')
    fail(`${where} broke: ${terminal.error.message}`)
  let last: Ranking | undefined
  for (const event of events) {
    if (event.type !== 'lap') continue
    if (!ranksBelow(event.after, event.before))
      fail(`${where}: ${event.transition} does not lower the ranking: ${String(event.before)} → ${String(event.after)}`)
    if (last !== undefined && String(last) !== String(event.before))
      fail(`${where}: the ranking changed between laps: ${String(last)} → ${String(event.before)}`)
    last = event.after
  }
}

function checkTranscript({ terminal, state }: Pick<Walked, 'terminal' | 'state'>, where: string): void {
  const next = startRun({ transcript: state.transcript, prompt: 'and now?' }).transcript.messages()
  const problems = transcriptProblems(next)
  if (problems.length > 0)
    fail(`${where} ended as ${terminal.reason} with a transcript that the API refuses: ${problems.join('; ')}`)
}

async function checkReplay(
  records: readonly StepRecord[],
  told: readonly LoopEvent[],
  terminal: Terminal,
  options: LoopOptions,
  where = 'the run',
): Promise<void> {
  const replayed = await replay(records, options)
  assertSame(terminalOf(replayed.terminal), terminalOf(terminal), `${where}: the terminal of its replay`)
  const events = replayed.events.filter((event) => !isLive(event))
  // A resume tells what came since the last lap; a replay tells all.
  assertTold(events.slice(events.length - told.length), told, `${where}: the events of its replay`)
}

/** No effect with a side effect runs twice: one that is on record as begun is not begun again. */
function checkEffects(onRecord: readonly StepRecord[], effects: ReadonlyMap<string, number>, where: string): void {
  const begun = new Set(onRecord.flatMap((record) => (record.type === 'intent' ? [record.key] : [])))
  for (const [idempotencyKey, times] of effects) {
    const key = idempotencyKey.slice(idempotencyKey.indexOf('/') + 1)
    if (times > 1) fail(`${where}: ${key} ran ${times} times`)
    if (begun.has(key)) fail(`${where}: ${key} had begun before and ran again`)
  }
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

function isLive(event: LoopEvent): boolean {
  if (event.type === 'agent') return isLive(event.event)
  return event.type === 'model_update' || event.type === 'tool_update' || event.type === 'background'
}

function terminalOf(terminal: Terminal): unknown {
  const { error, ...rest } = terminal
  return { ...rest, error: error?.message }
}

/** Work that had been speculated on before the kill is done again: the time it takes is not the same. */
function untimed(terminal: Terminal): unknown {
  const { summary, ...rest } = terminal
  return terminalOf({ ...rest, durationMs: 0, summary: { ...summary, apiMs: 0 } })
}

function assertSame(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) fail(`${what} differs:\n  ${a}\n  ${b}`)
}

/** Agents that run side by side tell in an order that nobody promises; each by itself is in order. */
function inOrder(events: readonly LoopEvent[]): readonly LoopEvent[] {
  const ordered: LoopEvent[] = []
  let agents: Extract<LoopEvent, { readonly type: 'agent' }>[] = []
  const flush = (): void => {
    ordered.push(...agents.toSorted((a, b) => (a.callId < b.callId ? -1 : a.callId > b.callId ? 1 : 0)))
    agents = []
  }
  for (const event of events) {
    if (event.type === 'agent') agents.push(event)
    else {
      flush()
      ordered.push(event)
    }
  }
  flush()
  return ordered
}

function assertTold(actual: readonly LoopEvent[], expected: readonly LoopEvent[], what: string): void {
  const [a, b] = [inOrder(actual), inOrder(expected)]
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    if (lineOf(a[index]) !== lineOf(b[index])) assertSame(a[index], b[index], `${what}, number ${index},`)
  }
}

/** The events of the uninterrupted run are held against those of every resume: each is written once. */
const linesOfEvents = new WeakMap<LoopEvent, string>()

function lineOf(event: LoopEvent | undefined): string {
  if (event === undefined) return ''
  const known = linesOfEvents.get(event)
  if (known !== undefined) return known
  const line = JSON.stringify(event)
  linesOfEvents.set(event, line)
  return line
}

function fail(message: string): never {
  throw new Error(message)
}
