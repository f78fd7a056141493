// Holds rules of docs/spec: R-POIS-1 to R-POIS-4: detects the session that kills its workers, whatever else is at work there.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  accompanyAttempt,
  beginAttempt,
  excuseAttempt,
  iterationsOfProgress,
  maxDeaths,
  noAttempts,
  confirmProgress,
  releaseAttempts,
  type Attempts,
  type BeginAttempt,
  type AttemptRecord,
} from '../../src/attempts/deaths.ts'
import { Isolation, type IsolationSlot } from '../../src/attempts/isolation.ts'

const noted = (attempt: string, process = attempt): AttemptRecord => ({ attempt, process, worker: null, atMs: 0 })
const asked = (attempt: string, more: Partial<BeginAttempt> = {}): BeginAttempt => ({
  turn: 1,
  attempt: noted(attempt),
  laps: 0,
  isAtRest: false,
  first: null,
  isAlone: false,
  ...more,
})

/** The verdicts of these attempts, in order. */
function verdictsOf(...begins: readonly BeginAttempt[]): readonly string[] {
  let attempts = noAttempts
  return begins.map((begin) => {
    const outcome = beginAttempt(attempts, begin)
    attempts = outcome.attempts
    return outcome.begun.type
  })
}

test('the third death in a row without progress sets a session aside until it is released', () => {
  const alone = { isAlone: true }
  const first = noted('a')
  expect(verdictsOf(asked('b', { first }), asked('c'), asked('c', alone), asked('d'), asked('d', alone))).toEqual([
    'go',
    'alone',
    'go',
    'set_aside',
    'set_aside',
  ])
  let { attempts } = beginAttempt(noAttempts, asked('b', { first }))
  for (const name of ['c', 'c', 'd']) ({ attempts } = beginAttempt(attempts, asked(name, alone)))
  expect(attempts.deaths.map(({ attempt }) => attempt)).toEqual(['a', 'b', 'c'])
  attempts = releaseAttempts(attempts)
  expect(
    beginAttempt(attempts, asked('e', { first })).begun,
    'the first attempt is not found dead again',
  ).toMatchObject({
    type: 'go',
    deaths: [],
  })
})

test('an attempt that rested, was excused, or belongs to this process or an earlier turn is not a death', () => {
  const { attempts } = beginAttempt(noAttempts, asked('a'))
  const deathsOf = (before: Attempts, begin: BeginAttempt) => beginAttempt(before, begin).attempts.deaths.length
  expect(deathsOf(attempts, asked('b'))).toBe(1)
  expect(deathsOf(attempts, asked('b', { isAtRest: true }))).toBe(0)
  expect(deathsOf(attempts, asked('b', { attempt: noted('b', 'a') }))).toBe(0)
  expect(deathsOf(attempts, asked('b', { turn: 2 }))).toBe(0)
  expect(deathsOf(excuseAttempt(attempts, 1, 'a'), asked('b'))).toBe(0)
  expect(deathsOf(excuseAttempt(noAttempts, 1, 'a'), asked('b', { first: noted('a') })), 'excused before').toBe(0)
  const found = beginAttempt(attempts, asked('b')).attempts
  expect(excuseAttempt(found, 1, 'a').deaths, 'it was cut off, and lives').toEqual([])
})

test('enough iterations of progress clear the deaths, and fewer do not', () => {
  const { attempts } = beginAttempt(beginAttempt(noAttempts, asked('a')).attempts, asked('b'))
  const deathsAfter = (laps: number) => beginAttempt(attempts, asked('c', { laps })).attempts.deaths.length
  expect([0, iterationsOfProgress - 1, iterationsOfProgress].map(deathsAfter)).toEqual([2, 2, 1])
  expect(confirmProgress(attempts, 'b').deaths).toEqual([])
  expect(confirmProgress(attempts, 'a').deaths, 'of another attempt nothing is known').toHaveLength(1)
})

test('a death while other sessions were running decides nothing and doubles the next period alone', () => {
  let { attempts } = beginAttempt(noAttempts, asked('b', { first: noted('a') }))
  const alone = (name: string) => beginAttempt(attempts, asked(name, { isAlone: true }))
  const before = alone('c').begun
  attempts = accompanyAttempt(alone('c').attempts, 'c')
  const after = alone('d').begun
  expect([before.type, after.type]).toEqual(['go', 'go'])
  expect(after.deaths).toHaveLength(maxDeaths - 1)
  const times = [before, after].map((begun) => (begun.type === 'go' ? begun.aloneMs : 0))
  expect(times[1]).toBe((times[0] ?? 0) * 2)
  const released = beginAttempt(releaseAttempts(attempts), asked('e')).begun
  expect(released.type === 'go' && released.aloneMs).toBe(times[0])
})

interface AtWork {
  readonly process: Process
  readonly place: IsolationSlot
  readonly attempt: string
  readonly provenAt: number
}

class Process {
  readonly isolation = new Isolation()
  readonly over = new AbortController()
  readonly id: string

  constructor(id: string) {
    this.id = id
  }
}

/** A model of workers that restart when they die, and of sessions, some of which kill their worker. */
class Model {
  readonly processes: Process[]
  readonly sessions: {
    attempts: Attempts
    laps: number
    isBeginning: boolean
    isSetAside: boolean
    atWork: AtWork | undefined
  }[]
  deaths = 0
  #names = 0

  constructor(processes: number, sessions: number) {
    this.processes = Array.from({ length: processes }, () => new Process(`p${this.#names++}`))
    this.sessions = Array.from({ length: sessions }, () => ({
      attempts: noAttempts,
      laps: 0,
      isBeginning: false,
      isSetAside: false,
      atWork: undefined,
    }))
  }

  async begin(index: number, at: number): Promise<void> {
    const session = this.sessions[index]
    const process = this.processes[at % this.processes.length]
    if (session === undefined || process === undefined) return
    if (session.isBeginning || session.isSetAside || session.atWork !== undefined) return
    session.isBeginning = true
    const { isolation, over } = process
    const attempt = `a${this.#names++}`
    const ask = (isAlone: boolean) => {
      const { laps } = session
      const outcome = beginAttempt(
        session.attempts,
        asked(attempt, { attempt: noted(attempt, process.id), laps, isAlone }),
      )
      session.attempts = outcome.attempts
      return outcome.begun
    }
    try {
      let place = await isolation.enter(over.signal)
      let begun = ask(false)
      if (begun.type === 'alone') {
        place.leave()
        place = await isolation.enterAlone(over.signal)
        begun = ask(true)
      }
      if (begun.type === 'set_aside') {
        session.isSetAside = true
        place.leave()
      } else if (!over.signal.aborted) {
        const provenAt = place.isAlone ? (begun.deaths.at(-1)?.laps ?? 0) + iterationsOfProgress : Infinity
        session.atWork = { process, place, attempt, provenAt }
      }
    } catch {
      // The process died while it waited.
    } finally {
      session.isBeginning = false
    }
  }

  lap(index: number): void {
    const session = this.sessions[index]
    if (session?.atWork === undefined) return
    session.laps++
    const { attempt, place, provenAt } = session.atWork
    if (session.laps >= provenAt) {
      session.attempts = confirmProgress(session.attempts, attempt)
      place.share()
    }
    if (place.yieldRequested.aborted) this.leave(index)
  }

  leave(index: number): void {
    const session = this.sessions[index]
    if (session?.atWork === undefined) return
    const { attempt, place } = session.atWork
    session.attempts = excuseAttempt(session.attempts, 1, attempt)
    session.atWork = undefined
    place.leave()
  }

  accompany(index: number): void {
    const session = this.sessions[index]
    if (session?.atWork?.place.isAlone !== true) return
    session.attempts = accompanyAttempt(session.attempts, session.atWork.attempt)
    session.atWork.place.share()
  }

  /** The session kills its process, with everything at work there. */
  kill(index: number): void {
    const process = this.sessions[index]?.atWork?.process
    if (process === undefined) return
    this.deaths++
    process.over.abort(new Error('ended'))
    for (const session of this.sessions) if (session.atWork?.process === process) session.atWork = undefined
    this.processes[this.processes.indexOf(process)] = new Process(`p${this.#names++}`)
  }
}

const settled = (): Promise<void> => new Promise(setImmediate)

test('only a session that kills its workers is set aside, in any order of begins, progress, departures and deaths', async () => {
  const action = fc.record({
    what: fc.constantFrom('begin', 'all', 'all', 'lap', 'kill', 'kill', 'leave', 'accompany'),
    session: fc.nat(5),
    process: fc.nat(2),
  })
  const course = fc.record({
    processes: fc.integer({ min: 1, max: 3 }),
    culprits: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 2 }),
    actions: fc.array(action, { minLength: 10, maxLength: 60 }),
  })
  await fc.assert(
    fc.asyncProperty(course, async ({ processes, culprits, actions }) => {
      const model = new Model(processes, 6)
      for (const { what, session, process } of actions) {
        if (what === 'all') for (const index of model.sessions.keys()) void model.begin(index, process)
        else if (what === 'begin') void model.begin(session, process)
        else if (what === 'kill') model.kill(culprits[session % culprits.length] ?? 0)
        else model[what](session)
        await settled()
        for (const at of model.processes) {
          const inside = model.sessions.filter(({ atWork }) => atWork?.process === at)
          const alone = inside.filter(({ atWork }) => atWork?.place.isAlone === true)
          expect(alone.length === 0 || inside.length === 1, 'who is alone is alone').toBe(true)
        }
      }
      const setAside = model.sessions.flatMap(({ isSetAside }, index) => (isSetAside ? [index] : []))
      expect(setAside.filter((index) => !culprits.includes(index))).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('a session that kills its worker at each attempt is set aside after three deaths, and all others continue', async () => {
  const course = fc.record({ sessions: fc.integer({ min: 2, max: 9 }), culprit: fc.nat(8), lapsBefore: fc.nat(1) })
  await fc.assert(
    fc.asyncProperty(course, async ({ sessions, culprit: drawn, lapsBefore }) => {
      const culprit = drawn % sessions
      const model = new Model(1, sessions)
      for (let round = 0; round < 200 && model.sessions.some(({ laps }, at) => at !== culprit && laps < 30); round++) {
        for (let index = 0; index < sessions; index++) void model.begin(index, 0)
        await settled()
        for (let index = 0; index < sessions; index++) if (index !== culprit && round % 2 === 0) model.lap(index)
        if (lapsBefore > 0 && round % 3 === 0) model.lap(culprit)
        if (round % 3 === 1) model.kill(culprit)
      }
      const others = model.sessions.filter((_, index) => index !== culprit)
      expect(others.every(({ laps, isSetAside }) => laps >= 30 && !isSetAside)).toBe(true)
      expect(model.sessions[culprit]?.isSetAside).toBe(true)
      expect(model.deaths).toBe(maxDeaths)
    }),
    { numRuns: 30 },
  )
})
