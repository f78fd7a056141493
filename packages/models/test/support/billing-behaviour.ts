import * as fc from 'fast-check'
import type { UsageReporting } from './billing-wire.ts'

/** Names of the tools that the tests give to a run. */
type ToolName = 'read' | 'write' | 'agent'

/** How a started reply ends: complete, or broken at some event in one of the usual ways. */
export type Ending =
  | { readonly how: 'whole' }
  /** `at`: the share of its events that are sent before. */
  | { readonly how: 'drop' | 'truncate' | 'stall' | 'error_event'; readonly at: number }

export interface ReplyBehaviour {
  readonly kind: 'reply'
  readonly what: 'text' | 'calls' | 'cut' | 'pause' | 'refusal'
  readonly calls: readonly ToolName[]
  /** Bytes of its text or of its input; fewer if the cap leaves less room. */
  readonly bytes: number
  /** The share of the remaining cap that hidden tokens use. */
  readonly hidden: number
  readonly isThinking: boolean
  /** Searches of the service itself, if the request allows them, and the share of the window that each fills. */
  readonly searches: number
  readonly found: number
  readonly usage: UsageReporting
  readonly thoughtIsApart: boolean
  readonly ending: Ending
  readonly cache: 'kept' | 'forgotten' | 'none'
  readonly isWrittenForAnHour: boolean
}

/** A page, or JSON: in the form of a gateway, or in that of model services. */
export type GatewayBody = 'page' | 'message' | 'error'

/**
 * The behaviour of a service for one request. All except `refused` bill the whole reply, whether or not anyone receives
 * it.
 */
export type Behaviour =
  | ReplyBehaviour
  | { readonly kind: 'refused'; readonly status: 400 | 401 | 413 | 429 | 500 | 529 }
  /** An intermediary gave up while the service continued; or the service sends an error with status 200. */
  | {
      readonly kind: 'gateway'
      readonly status: 502 | 504
      readonly says: GatewayBody
      readonly reply: ReplyBehaviour
    }
  | { readonly kind: 'error_in_200' | 'silent'; readonly reply: ReplyBehaviour }

/** How this service counts. Each value is random per run, and never above the upper bounds. */
export interface Terms {
  /** Tokens per thousand bytes, at most one per byte. */
  readonly permille: number
  /** Tokens that it adds to every request. */
  readonly base: number
  /** Tokens around each message, and around each of its blocks. */
  readonly messageFrame: number
  readonly blockFrame: number
}

export const anyTerms: fc.Arbitrary<Terms> = fc.record({
  permille: fc.oneof(fc.constant(1_000), fc.integer({ min: 1, max: 1_000 })),
  base: fc.nat(900),
  messageFrame: fc.nat(8),
  blockFrame: fc.nat(8),
})

const anywhere: fc.Arbitrary<number> = fc.double({ min: 0, max: 1, noNaN: true })
const share: fc.Arbitrary<number> = fc.oneof(fc.constant(0), fc.constant(1), anywhere)
/** Often near the end, where a reply is complete but its cost is not reported yet. */
const place: fc.Arbitrary<number> = fc.oneof(share, fc.double({ min: 0.7, max: 1, noNaN: true }))

const ending: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 16, arbitrary: fc.constant<Ending>({ how: 'whole' }) },
  { weight: 3, arbitrary: fc.record({ how: fc.constantFrom('drop', 'truncate', 'error_event'), at: place }) },
  { weight: 1, arbitrary: fc.record({ how: fc.constant('stall'), at: place }) },
)

const reply: fc.Arbitrary<ReplyBehaviour> = fc.record({
  kind: fc.constant('reply'),
  what: weighted<ReplyBehaviour['what']>({ calls: 12, text: 3, cut: 2, pause: 2, refusal: 1 }),
  calls: fc.array(weighted<ToolName>({ read: 2, write: 2, agent: 3 }), { minLength: 1, maxLength: 3 }),
  bytes: fc.nat(600),
  hidden: share,
  isThinking: fc.boolean(),
  searches: fc.nat(3),
  found: share,
  usage: weighted<ReplyBehaviour['usage']>({
    reported: 10,
    running: 3,
    with_reason: 2,
    absent: 1,
    zero: 1,
    no_prompt: 1,
    start_only: 1,
  }),
  thoughtIsApart: fc.boolean(),
  ending,
  cache: weighted<ReplyBehaviour['cache']>({ kept: 4, forgotten: 1, none: 1 }),
  isWrittenForAnHour: fc.boolean(),
})

const once = (behaviour: Behaviour): readonly Behaviour[] => [behaviour]

// Three in a row activate the fallback model.
const thrice = fc.constant<readonly Behaviour[]>(Array.from({ length: 3 }, () => ({ kind: 'refused', status: 529 })))

const failure: fc.Arbitrary<readonly Behaviour[]> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(400 as const, 401 as const, 413 as const, 429 as const, 500 as const)
      .map((status) => once({ kind: 'refused', status })),
  },
  { weight: 2, arbitrary: thrice },
  fc
    .tuple(fc.constantFrom(502 as const, 504 as const), fc.constantFrom<GatewayBody>('page', 'message', 'error'), reply)
    .map(([status, says, made]) => once({ kind: 'gateway', status, says, reply: made })),
  reply.map((made) => once({ kind: 'error_in_200', reply: made })),
  reply.map((made) => once({ kind: 'silent', reply: made })),
)

/** The behaviour of a service for consecutive requests. */
export const anyBehaviours: fc.Arbitrary<readonly Behaviour[]> = fc
  .array(fc.oneof({ weight: 6, arbitrary: reply.map(once) }, { weight: 1, arbitrary: failure }), {
    minLength: 1,
    maxLength: 12,
  })
  .map((each) => each.flat())

/** The behaviour after all random ones: a short answer, so that every run ends. */
export const lastBehaviour: ReplyBehaviour = {
  kind: 'reply',
  what: 'text',
  calls: [],
  bytes: 40,
  hidden: 0,
  isThinking: false,
  searches: 0,
  found: 0,
  usage: 'reported',
  thoughtIsApart: false,
  ending: { how: 'whole' },
  cache: 'kept',
  isWrittenForAnHour: false,
}

function weighted<T extends string | number>(weights: Readonly<Record<T, number>>): fc.Arbitrary<T> {
  const entries = Object.entries<number>(weights)
  return fc.oneof(
    ...entries.map(([name, weight]) => {
      const value = /^\d+$/.test(name) ? Number(name) : name
      // A key of `weights`. Numbers were converted to strings as keys.
      return { weight, arbitrary: fc.constant(value as T) }
    }),
  )
}
