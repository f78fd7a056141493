// Who of all the fleet may ask a model now, under one key of a provider. Times are milliseconds since 1970, as whoever calls has them.

/** What a provider allows under one key. Null for no limit. */
export interface GateLimits {
  /** Requests at once. */
  readonly requests: number | null
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
}

/** Somebody who wants to ask a model. */
export interface Asking {
  /** Names the request, once and for all. */
  readonly ticket: string
  readonly session: string
  /** What it may come to. */
  readonly tokens: number
  /** How whoever waits is told. */
  readonly awakeable: string
}

interface Waiting extends Asking {
  /** By then it was renewed, or nobody waits any more. */
  readonly untilMs: number
}

interface Admitted {
  readonly ticket: string
  readonly session: string
  readonly tokens: number
  readonly untilMs: number
}

/** What may be taken at once. Below zero where more was taken than was said. */
interface Bucket {
  readonly left: number
  readonly atMs: number
}

/** What stands at a gate. JSON. */
export interface Gate {
  readonly limits: GateLimits
  readonly inside: readonly Admitted[]
  /** In the order in which they came. */
  readonly waiting: readonly Waiting[]
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
export interface Passed {
  readonly gate: Gate
  /** They may ask now. */
  readonly admitted: readonly Asking[]
  /** They wait no more: they left, or were given up. */
  readonly turnedAway: readonly Asking[]
  /** When something changes by itself at the earliest: somebody is given up, or there is room for the next. Undefined while nobody waits or is inside. */
  readonly wakeMs: number | undefined
}

/** A ticket that nobody renews for so long is given up: its worker is gone. */
export const ticketMs = 30_000

/**
 * Somebody comes.
 * G1: no more are inside than the limit says, unless it was lowered. G2: in any time no more come in than the buckets hold and what flows in meanwhile. G3: the session
 * that waits longest since its last turn is next, and nobody overtakes it: one by one, however many requests another has. G4: a ticket comes in once.
 */
export function enter(gate: Gate, nowMs: number, asking: Asking): Passed {
  const isKnown = [...gate.inside, ...gate.waiting].some(({ ticket }) => ticket === asking.ticket)
  if (isKnown) return passed(gate, nowMs)
  const waiting = [...gate.waiting, { ...asking, untilMs: nowMs + ticketMs }]
  const order = gate.order.includes(asking.session) ? gate.order : [...gate.order, asking.session]
  return passed({ ...gate, waiting, order }, nowMs)
}

/** Somebody has asked, or waits no more. `tokens`: what it came to, where that is known. */
export function leave(gate: Gate, nowMs: number, ticket: string, tokens?: number): Passed {
  const inside = gate.inside.find((each) => each.ticket === ticket)
  const gone = gate.waiting.filter((each) => each.ticket === ticket)
  const now = refilled(gate, nowMs)
  const more = inside === undefined || tokens === undefined ? 0 : inside.tokens - tokens
  return passed(
    {
      ...withoutWaiting(now, gone),
      inside: now.inside.filter((each) => each !== inside),
      tokens: now.tokens && { ...now.tokens, left: now.tokens.left + more },
    },
    nowMs,
    gone,
  )
}

/** The workers of these tickets are there. Gives in `gate` what it knows of them. */
export function renew(gate: Gate, nowMs: number, tickets: readonly string[]): Passed {
  const renewed = new Set(tickets)
  const later = <T extends { readonly ticket: string; readonly untilMs: number }>(each: T): T =>
    renewed.has(each.ticket) ? { ...each, untilMs: Math.max(each.untilMs, nowMs + ticketMs) } : each
  return passed({ ...gate, inside: gate.inside.map(later), waiting: gate.waiting.map(later) }, nowMs)
}

/** Other limits. Who is inside stays. */
export function limit(gate: Gate, nowMs: number, limits: GateLimits): Passed {
  const bucket = (before: Bucket | null, most: number | null, mostBefore: number | null): Bucket | null => {
    if (most === null) return null
    // What was taken stays taken.
    const taken = before === null || mostBefore === null ? 0 : mostBefore - before.left
    return { left: most - taken, atMs: now.nowMs }
  }
  const now = refilled(gate, nowMs)
  return passed(
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
export function passed(before: Gate, nowMs: number, left: readonly Asking[] = []): Passed {
  const now = refilled(before, nowMs)
  const lost = now.waiting.filter(({ untilMs }) => untilMs <= now.nowMs)
  const inside = now.inside.filter(({ untilMs }) => untilMs > now.nowMs)
  const expired = now.expired + lost.length + now.inside.length - inside.length
  let gate: Gate = { ...withoutWaiting(now, lost), inside, expired }
  const admitted: Asking[] = []
  for (let next = nextOf(gate); next !== undefined && roomAtMs(gate, next) <= gate.nowMs; next = nextOf(gate)) {
    admitted.push(next)
    gate = withAdmitted(gate, next)
  }
  return { gate, admitted, turnedAway: [...left, ...lost], wakeMs: wakeAtMs(gate) }
}

/** The first request of the session whose turn it is. */
function nextOf({ order: [session], waiting }: Gate): Waiting | undefined {
  return waiting.find((each) => each.session === session)
}

function withAdmitted(gate: Gate, next: Waiting): Gate {
  const { ticket, session, tokens } = next
  const waiting = gate.waiting.filter((each) => each !== next)
  const [, ...others] = gate.order
  return {
    ...gate,
    waiting,
    order: waiting.some((each) => each.session === session) ? [...others, session] : others,
    inside: [...gate.inside, { ticket, session, tokens, untilMs: gate.nowMs + ticketMs }],
    requests: gate.requests && { ...gate.requests, left: gate.requests.left - 1 },
    tokens: gate.tokens && { ...gate.tokens, left: gate.tokens.left - tokens },
    admitted: gate.admitted + 1,
  }
}

function withoutWaiting(gate: Gate, gone: readonly Waiting[]): Gate {
  if (gone.length === 0) return gate
  const waiting = gate.waiting.filter((each) => !gone.includes(each))
  const order = gate.order.filter((session) => waiting.some((each) => each.session === session))
  return { ...gate, waiting, order }
}

/** When there is room for it; Infinity while that hangs on somebody who is inside. */
function roomAtMs({ limits, inside, requests, tokens, nowMs }: Gate, { tokens: wanted }: Asking): number {
  if (limits.requests !== null && inside.length >= limits.requests) return Infinity
  return Math.max(
    heldAtMs(requests, limits.requestsPerMinute, 1, nowMs),
    heldAtMs(tokens, limits.tokensPerMinute, wanted, nowMs),
  )
}

/** When a bucket holds so much. What is more than it can hold waits until it is full. */
function heldAtMs(bucket: Bucket | null, perMinute: number | null, wanted: number, nowMs: number): number {
  if (bucket === null || perMinute === null) return nowMs
  const missing = Math.min(wanted, perMinute) - bucket.left
  return missing <= 0 ? nowMs : bucket.atMs + Math.ceil((missing * 60_000) / perMinute)
}

/** Time goes on, never back, whoever's clock tells it. */
function refilled(gate: Gate, toldMs: number): Gate {
  const nowMs = Math.max(gate.nowMs, toldMs)
  const { limits, requests, tokens } = gate
  return {
    ...gate,
    nowMs,
    requests: filled(requests, limits.requestsPerMinute, nowMs),
    tokens: filled(tokens, limits.tokensPerMinute, nowMs),
  }
}

function filled(bucket: Bucket | null, perMinute: number | null, nowMs: number): Bucket | null {
  if (bucket === null || perMinute === null) return bucket
  const left = Math.min(perMinute, bucket.left + ((nowMs - bucket.atMs) * perMinute) / 60_000)
  return { left, atMs: nowMs }
}

function wakeAtMs(gate: Gate): number | undefined {
  const next = nextOf(gate)
  const room = next === undefined ? Infinity : roomAtMs(gate, next)
  const earliest = Math.min(room, ...[...gate.inside, ...gate.waiting].map(({ untilMs }) => untilMs))
  return earliest === Infinity ? undefined : earliest
}
