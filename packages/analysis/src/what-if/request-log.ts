import type { PastPayment } from './trajectory.ts'

/** A request of one of many runs, for standing budgets. Times are milliseconds since 1970, costs nano-dollars. */
export interface LoggedRequest {
  readonly run: number
  /** Index of the turn, and index of the request among the payments of the turn. */
  readonly turn: number
  readonly place: number
  readonly model: number
  readonly beganAt: number
  readonly endedAt: number
  readonly nanos: number
  readonly outputTokens: number
  readonly isAtWorst: boolean
  /** Whether it is the turn's own request: if it exceeds a budget, the run ends. */
  readonly isOwn: boolean
  /** Whether bounds are recorded; otherwise its actual cost is used. */
  readonly hasBounds: boolean
  readonly leastNanos: number
  readonly maxNanos: number
  readonly usefulTokens: number
  readonly capTokens: number
}

/** Number of values per request. */
const fieldsPerRequest = 13
const [ownBit, worstBit, boundsBit] = [1, 2, 4]

/** The requests of many runs, stored as numbers only: about a hundred bytes each. */
export class RequestLog {
  readonly #parts: Float64Array[] = []
  #count = 0

  /** Adds the requests of one run. */
  add(requests: readonly LoggedRequest[]): void {
    if (requests.length === 0) return
    const part = new Float64Array(requests.length * fieldsPerRequest)
    for (const [index, request] of requests.entries()) part.set(numbersOf(request), index * fieldsPerRequest)
    this.#parts.push(part)
    this.#count += requests.length
  }

  /** All requests in the order in which they began; ties in the order in which they were added. */
  *inOrder(): Iterable<LoggedRequest> {
    const all = new Float64Array(this.#count * fieldsPerRequest)
    let length = 0
    for (const part of this.#parts) {
      all.set(part, length)
      length += part.length
    }
    this.#parts.splice(0, Infinity, all)
    const began = (index: number): number => all[index * fieldsPerRequest] ?? 0
    const order = Uint32Array.from({ length: this.#count }, (_, index) => index)
    order.sort((a, b) => began(a) - began(b) || a - b)
    for (const index of order) yield requestOf(all.subarray(index * fieldsPerRequest, (index + 1) * fieldsPerRequest))
  }
}

function numbersOf(request: LoggedRequest): readonly number[] {
  const { beganAt, endedAt, nanos, leastNanos, maxNanos, outputTokens, usefulTokens, capTokens } = request
  const { run, turn, place, model, isOwn, isAtWorst, hasBounds } = request
  const bits = (isOwn ? ownBit : 0) | (isAtWorst ? worstBit : 0) | (hasBounds ? boundsBit : 0)
  const costs = [nanos, leastNanos, maxNanos, outputTokens, usefulTokens, capTokens]
  return [beganAt, endedAt, ...costs, run, turn, place, model, bits]
}

function requestOf(numbers: Float64Array): LoggedRequest {
  const at = (index: number): number => numbers[index] ?? 0
  const bits = at(12)
  return {
    beganAt: at(0),
    endedAt: at(1),
    nanos: at(2),
    leastNanos: at(3),
    maxNanos: at(4),
    outputTokens: at(5),
    usefulTokens: at(6),
    capTokens: at(7),
    run: at(8),
    turn: at(9),
    place: at(10),
    model: at(11),
    isOwn: (bits & ownBit) !== 0,
    isAtWorst: (bits & worstBit) !== 0,
    hasBounds: (bits & boundsBit) !== 0,
  }
}

/** Pairs that map the clock of a run to the time of day: active milliseconds of the run, and milliseconds since 1970. */
export type RunClock = readonly (readonly [ms: number, moment: number])[]

/** The time of day at an active millisecond of a run; undefined when no time is recorded. */
export function momentOf(clock: RunClock, ms: number): number | undefined {
  // Called for every request of many sessions; usually there is one pair.
  let index = 0
  while (index + 1 < clock.length && (clock[index + 1]?.[0] ?? Infinity) <= ms) index++
  const point = clock[index]
  const moment = point === undefined ? NaN : point[1] + ms - point[0]
  // A file may contain anything.
  return moment >= 0 && moment <= latestMoment ? moment : undefined
}

/** JavaScript dates end shortly after this. */
const latestMoment = 8e15

/** One request of a run; undefined for one that cannot cost anything. */
export function loggedRequest(
  payment: PastPayment,
  where: Pick<LoggedRequest, 'run' | 'turn' | 'place' | 'model'>,
  clock: RunClock,
): LoggedRequest | undefined {
  const { beganMs, endMs, nanos, outputTokens, isAtWorst, of, bounds } = payment
  const endedAt = momentOf(clock, endMs)
  const maxNanos = bounds?.most.nanos ?? nanos
  if (endedAt === undefined || endedAt < endMs - beganMs || Math.max(maxNanos, nanos) <= 0) return undefined
  const { run, turn, place, model } = where
  return {
    run,
    turn,
    place,
    model,
    beganAt: endedAt - Math.max(0, endMs - beganMs),
    endedAt,
    nanos,
    outputTokens,
    isAtWorst,
    isOwn: of === 'run',
    hasBounds: bounds !== null,
    leastNanos: bounds?.least.nanos ?? nanos,
    maxNanos,
    usefulTokens: bounds?.usefulTokens ?? 0,
    capTokens: bounds?.capTokens ?? 0,
  }
}
