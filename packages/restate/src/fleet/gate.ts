// Who of all the fleet may ask a model now, under one key of a provider. Times are milliseconds since 1970, as whoever calls has them.

/** What a provider allows under one key. Null for no limit. */
export interface GateLimits {
  /** Requests at once. */
  readonly requests: number | null
  /** Requests that begin within one minute. */
  readonly requestsPerMinute: number | null
  /** Tokens of the requests that begin within one minute. */
  readonly tokensPerMinute: number | null
}

/** Somebody who wants to ask a model. */
export interface GateRequest {
  /** Names the request, once and for all. */
  readonly ticket: string
  readonly session: string
  /** What it may come to. */
  readonly tokens: number
  /** How whoever waits is told. */
  readonly awakeable: string
  /** The process that asks, and when by its clock, where a session asks in one process at a time. */
  readonly by?: { readonly process: string; readonly atMs: number }
}

interface WaitingRequest extends GateRequest {
  /** How often in a row it was looked for and nobody had renewed it. */
  readonly missed: number
}

type AdmittedRequest = Omit<WaitingRequest, 'awakeable'>

/** What may be taken at once. Below zero where more was taken than was said. */
interface Bucket {
  readonly left: number
  readonly atMs: number
}

/** What stands at a gate. JSON. */
export interface Gate {
  readonly limits: GateLimits
  readonly inside: readonly AdmittedRequest[]
  /** In the order in which they came. */
  readonly waiting: readonly WaitingRequest[]
  /** Sessions that wait, whose turn is next first. */
  readonly order: readonly string[]
  readonly requests: Bucket | null
  readonly tokens: Bucket | null
  /** The latest time that anybody told. */
  readonly nowMs: number
  /** For operators: how many were let in since the beginning, and how many were lost inside or waiting. */
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

/** What is to be done after a change. */
export interface GateChange {
  readonly gate: Gate
  /** They may ask now. */
  readonly admitted: readonly GateRequest[]
  /** They wait no more: they left, or were given up. */
  readonly turnedAway: readonly GateRequest[]
  /** When there is room for the next by itself; undefined where that hangs on somebody who is inside, or nobody waits. */
  readonly wakeMs: number | undefined
}

/** So often it is looked for tickets that nobody renews: as the engine counts time, in which workers have no part. */
export const tickMs = 10_000
/** So often workers renew theirs. */
export const renewMs = 5_000
/** After so many looks a worker that said nothing is gone. One look may come before the workers, when the engine was away. */
const maxMissed = 2

/**
 * Somebody comes.
 * G1: no more are inside than the limit says, unless it was lowered. G2: in any time no more come in than the buckets hold and what flows in meanwhile. G3: the session
 * that waits longest since its last turn is next, and nobody overtakes it: one by one, however many requests another has. G4: a ticket comes in once. G5: what a
 * session had in a process that it has left is given up when it asks in the next one. G6: no clock gives anybody up, and
 * no time in which the engine was away.
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

/** Whether a ticket is of a process that its session has left by now: one request is older than the other. */
function isSupersededBy(request: GateRequest, { session, by }: AdmittedRequest): boolean {
  if (session !== request.session || by === undefined || request.by === undefined) return false
  return by.process !== request.by.process && by.atMs < request.by.atMs
}

/** Somebody has asked, or waits no more. `tokens`: what it came to, where that is known. */
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

/** The workers of these tickets are there. */
export function renew(gate: Gate, nowMs: number, tickets: readonly string[]): GateChange {
  const renewed = new Set(tickets)
  const resetMissed = <T extends AdmittedRequest>(each: T): T =>
    renewed.has(each.ticket) ? { ...each, missed: 0 } : each
  return advance({ ...gate, inside: gate.inside.map(resetMissed), waiting: gate.waiting.map(resetMissed) }, nowMs)
}

/** It is looked for those whom nobody renews. */
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

/** Whether it has to be looked for them. */
export function hasTickets({ inside, waiting }: Gate): boolean {
  return inside.length > 0 || waiting.length > 0
}

/** Other limits. Who is inside stays. */
export function setLimits(gate: Gate, nowMs: number, limits: GateLimits): GateChange {
  const bucket = (before: Bucket | null, most: number | null, mostBefore: number | null): Bucket | null => {
    if (most === null) return null
    // What was taken stays taken.
    const taken = before === null || mostBefore === null ? 0 : mostBefore - before.left
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

/** Time has passed. */
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

/** When there is room for it; Infinity while that hangs on somebody who is inside. */
function admissibleAtMs({ limits, inside, requests, tokens, nowMs }: Gate, { tokens: wanted }: GateRequest): number {
  if (limits.requests !== null && inside.length >= limits.requests) return Infinity
  return Math.max(
    availableAtMs(requests, limits.requestsPerMinute, 1, nowMs),
    availableAtMs(tokens, limits.tokensPerMinute, wanted, nowMs),
  )
}

/** When a bucket holds so much. What is more than it can hold waits until it is full. */
function availableAtMs(bucket: Bucket | null, perMinute: number | null, wanted: number, nowMs: number): number {
  if (bucket === null || perMinute === null) return nowMs
  const missing = Math.min(wanted, perMinute) - bucket.left
  return missing <= 0 ? nowMs : bucket.atMs + Math.ceil((missing * 60_000) / perMinute)
}

/** Time goes on, never back, whoever's clock tells it. */
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
