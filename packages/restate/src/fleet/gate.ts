// Admits requests of the whole fleet to a model, under one API key of a provider. Times are milliseconds since 1970, by the clock of the caller.

/** Limits of a provider under one key. Null for no limit. */
export interface GateLimits {
  /** Concurrent requests. */
  readonly requests: number | null
  /** Requests that begin within one minute. */
  readonly requestsPerMinute: number | null
  /** Tokens of the requests that begin within one minute. */
  readonly tokensPerMinute: number | null
}

/** A request for admission. */
export interface GateRequest {
  /** Id of the request. */
  readonly ticket: string
  readonly session: string
  /** Maximum number of tokens that it may use. */
  readonly tokens: number
  /** Awakeable that answers the caller. */
  readonly awakeable: string
  /** The process that sends the request, and the time by its clock. Present if a session sends requests in one process at a time. */
  readonly by?: { readonly process: string; readonly atMs: number }
}

interface WaitingRequest extends GateRequest {
  /** Number of consecutive checks that found it not renewed. */
  readonly missed: number
}

type AdmittedRequest = Omit<WaitingRequest, 'awakeable'>

/** The amount that may be used at once. Negative if more was used than announced. */
interface Bucket {
  readonly left: number
  readonly atMs: number
}

/** State of a gate. JSON. */
export interface Gate {
  readonly limits: GateLimits
  readonly inside: readonly AdmittedRequest[]
  /** In order of arrival. */
  readonly waiting: readonly WaitingRequest[]
  /** Sessions that wait, the next one first. */
  readonly order: readonly string[]
  readonly requests: Bucket | null
  readonly tokens: Bucket | null
  /** The latest time that any caller gave. */
  readonly nowMs: number
  /** For operators: how many were admitted in all, and how many expired. */
  readonly admitted: number
  readonly expired: number
}

export const newGate: Gate = Object.freeze({
  limits: { requests: null, requestsPerMinute: null, tokensPerMinute: null },
  inside: [],
  waiting: [],
  order: [],
  requests: null,
  tokens: null,
  nowMs: 0,
  admitted: 0,
  expired: 0,
})

/** The new state, and what to do after a change. */
export interface GateChange {
  readonly gate: Gate
  /** Requests that may proceed now. */
  readonly admitted: readonly GateRequest[]
  /** Requests that no longer wait: they left or were dropped. */
  readonly turnedAway: readonly GateRequest[]
  /** When the next request becomes admissible by the passing of time. Undefined if that depends on a request inside, or if none waits. */
  readonly wakeMs: number | undefined
}

/** Interval of the check for expired tickets, by the engine's clock, independent of workers. */
export const tickMs = 10_000
/** How often workers renew their tickets. */
export const renewMs = 5_000
/** Checks without a renewal after which a worker is gone. After an outage of the engine, one check may come before the workers. */
const maxMissed = 2

/**
 * Adds a request. G1: no more are inside than the limit allows, unless it was lowered. G2: within any time, no more are
 * admitted than the buckets hold and refill. G3: the session that has waited longest since its last turn is next, and no
 * other overtakes it: one request each, however many it has. G4: a ticket is admitted once. G5: tickets of a session in
 * a process that it has left are dropped when it sends a request in the next process. G6: neither clocks nor an outage
 * of the engine drop a ticket.
 */
export function enter(before: Gate, nowMs: number, request: GateRequest): GateChange {
  const all = refill(before, nowMs)
  const isKnown = [...all.inside, ...all.waiting].some(({ ticket }) => ticket === request.ticket)
  if (isKnown) return advance(all, nowMs)
  const gone = all.waiting.filter((each) => isSupersededBy(request, each))
  const inside = all.inside.filter((each) => !isSupersededBy(request, each))
  const gate = removeWaiting(all, gone)
  const waiting = [...gate.waiting, { ...request, missed: 0 }]
  const order = gate.order.includes(request.session) ? gate.order : [...gate.order, request.session]
  const expired = gate.expired + gone.length + all.inside.length - inside.length
  return advance({ ...gate, inside, waiting, order, expired }, nowMs, gone)
}

/** Whether the ticket belongs to a process that its session has left: its request is older. */
function isSupersededBy(request: GateRequest, { session, by }: AdmittedRequest): boolean {
  if (session !== request.session || by === undefined || request.by === undefined) return false
  return by.process !== request.by.process && by.atMs < request.by.atMs
}

/** Removes a request that has ended, or no longer waits. `tokens`: the tokens that it used, if known. */
export function leave(gate: Gate, nowMs: number, ticket: string, tokens?: number): GateChange {
  const inside = gate.inside.find((each) => each.ticket === ticket)
  const gone = gate.waiting.filter((each) => each.ticket === ticket)
  const now = refill(gate, nowMs)
  const more = inside === undefined || tokens === undefined ? 0 : inside.tokens - tokens
  return advance(
    {
      ...removeWaiting(now, gone),
      inside: now.inside.filter((each) => each !== inside),
      tokens: now.tokens && { ...now.tokens, left: now.tokens.left + more },
    },
    nowMs,
    gone,
  )
}

/** Renews these tickets, whose workers are alive. */
export function renew(gate: Gate, nowMs: number, tickets: readonly string[]): GateChange {
  const renewed = new Set(tickets)
  const resetMissed = <T extends AdmittedRequest>(each: T): T =>
    renewed.has(each.ticket) ? { ...each, missed: 0 } : each
  return advance({ ...gate, inside: gate.inside.map(resetMissed), waiting: gate.waiting.map(resetMissed) }, nowMs)
}

/** Drops tickets that were not renewed. */
export function tick(before: Gate, nowMs: number): GateChange {
  const missedOnceMore = <T extends AdmittedRequest>(each: T): T => ({ ...each, missed: each.missed + 1 })
  const isThere = ({ missed }: AdmittedRequest): boolean => missed < maxMissed
  const inside = before.inside.map(missedOnceMore).filter(isThere)
  const all = before.waiting.map(missedOnceMore)
  const waiting = all.filter(isThere)
  const gone = all.filter((each) => !isThere(each))
  const expired = before.expired + gone.length + before.inside.length - inside.length
  return advance({ ...removeWaiting({ ...before, waiting: all }, gone), inside, waiting, expired }, nowMs, gone)
}

/** Whether there are tickets to check. */
export function hasTickets({ inside, waiting }: Gate): boolean {
  return inside.length > 0 || waiting.length > 0
}

/** Changes the limits. Requests inside stay. */
export function setLimits(gate: Gate, nowMs: number, limits: GateLimits): GateChange {
  const bucket = (before: Bucket | null, most: number | null, maxBefore: number | null): Bucket | null => {
    if (most === null) return null
    // Tokens that were already used remain counted.
    const taken = before === null || maxBefore === null ? 0 : maxBefore - before.left
    return { left: most - taken, atMs: now.nowMs }
  }
  const now = refill(gate, nowMs)
  return advance(
    {
      ...now,
      limits,
      requests: bucket(now.requests, limits.requestsPerMinute, gate.limits.requestsPerMinute),
      tokens: bucket(now.tokens, limits.tokensPerMinute, gate.limits.tokensPerMinute),
    },
    nowMs,
  )
}

/** Admits what can be admitted at this time. */
export function advance(before: Gate, nowMs: number, turnedAway: readonly GateRequest[] = []): GateChange {
  let gate = refill(before, nowMs)
  const admitted: GateRequest[] = []
  for (
    let next = nextRequest(gate);
    next !== undefined && admissibleAtMs(gate, next) <= gate.nowMs;
    next = nextRequest(gate)
  ) {
    admitted.push(next)
    gate = admit(gate, next)
  }
  return { gate, admitted, turnedAway, wakeMs: nextWakeMs(gate) }
}

/** The first request of the session whose turn it is. */
function nextRequest({ order: [session], waiting }: Gate): WaitingRequest | undefined {
  return waiting.find((each) => each.session === session)
}

function admit(gate: Gate, next: WaitingRequest): Gate {
  const { awakeable: _awakeable, ...admitted } = next
  const waiting = gate.waiting.filter((each) => each !== next)
  const [, ...others] = gate.order
  return {
    ...gate,
    waiting,
    order: waiting.some((each) => each.session === next.session) ? [...others, next.session] : others,
    inside: [...gate.inside, { ...admitted, missed: 0 }],
    requests: gate.requests && { ...gate.requests, left: gate.requests.left - 1 },
    tokens: gate.tokens && { ...gate.tokens, left: gate.tokens.left - next.tokens },
    admitted: gate.admitted + 1,
  }
}

function removeWaiting(gate: Gate, gone: readonly WaitingRequest[]): Gate {
  if (gone.length === 0) return gate
  const waiting = gate.waiting.filter((each) => !gone.includes(each))
  const order = gate.order.filter((session) => waiting.some((each) => each.session === session))
  return { ...gate, waiting, order }
}

/** When the request is admissible; Infinity if that depends on a request inside. */
function admissibleAtMs({ limits, inside, requests, tokens, nowMs }: Gate, { tokens: wanted }: GateRequest): number {
  if (limits.requests !== null && inside.length >= limits.requests) return Infinity
  return Math.max(
    availableAtMs(requests, limits.requestsPerMinute, 1, nowMs),
    availableAtMs(tokens, limits.tokensPerMinute, wanted, nowMs),
  )
}

/** When a bucket has enough. A request that exceeds its capacity waits until it is full. */
function availableAtMs(bucket: Bucket | null, perMinute: number | null, wanted: number, nowMs: number): number {
  if (bucket === null || perMinute === null) return nowMs
  const missing = Math.min(wanted, perMinute) - bucket.left
  return missing <= 0 ? nowMs : bucket.atMs + Math.ceil((missing * 60_000) / perMinute)
}

/** Refills the buckets. Time never decreases, whichever clock reports it. */
function refill(gate: Gate, callerMs: number): Gate {
  const nowMs = Math.max(gate.nowMs, callerMs)
  const { limits, requests, tokens } = gate
  return {
    ...gate,
    nowMs,
    requests: refillBucket(requests, limits.requestsPerMinute, nowMs),
    tokens: refillBucket(tokens, limits.tokensPerMinute, nowMs),
  }
}

function refillBucket(bucket: Bucket | null, perMinute: number | null, nowMs: number): Bucket | null {
  if (bucket === null || perMinute === null) return bucket
  const left = Math.min(perMinute, bucket.left + ((nowMs - bucket.atMs) * perMinute) / 60_000)
  return { left, atMs: nowMs }
}

function nextWakeMs(gate: Gate): number | undefined {
  const next = nextRequest(gate)
  const room = next === undefined ? Infinity : admissibleAtMs(gate, next)
  return room === Infinity ? undefined : room
}
