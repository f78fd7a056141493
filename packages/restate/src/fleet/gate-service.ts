import {
  handlers,
  object,
  rpc,
  service,
  type Context,
  type ObjectContext,
  type ObjectSharedContext,
  type ServiceDefinition,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import { atEngineTime, engineTime } from '../http/engine-clock.ts'
import { guarded } from '../access/guard.ts'
import { isJsonObject } from '@halting/core/adapters'
import { badInput } from '../service/checked.ts'
import {
  enter,
  leave,
  limit,
  newGate,
  hasTickets,
  passed,
  renew,
  tick,
  tickMs,
  type Asking,
  type Gate,
  type GateLimits,
  type Passed,
} from './gate.ts'

/** Who may ask a model now; its key stands for a key of a provider. */
export const gateObject = 'halting_gate'
/** Where one waits at a gate. */
export const passService = 'halting_pass'

/** What somebody comes with. */
export type PassRequest = Omit<Asking, 'awakeable'> & { readonly gate: string }

/** What stands at a gate, for whoever runs the fleet. */
export interface GateStatus {
  /** What the gate allows. */
  readonly limits: GateLimits
  /** Requests that are inside. */
  readonly inside: number
  /** Requests that wait. */
  readonly waiting: number
  /** Sessions whose requests wait. */
  readonly waitingSessions: number
  /** Since the beginning: how many were let in, and how many were given up because nobody renewed them. */
  readonly admitted: number
  /** How many were given up because nobody renewed them. */
  readonly expired: number
}

const gateKey = 'gate'
/** When there is room by itself, at the earliest. */
const wakeKey = 'wake'
/** It will be looked for tickets that nobody renews. */
const tickKey = 'tick'

type GateHandlers = {
  /** What the provider allows. A limit that is left out is lifted. */
  readonly setLimits: (context: ObjectContext, limits: Partial<GateLimits>) => Promise<void>
  readonly enter: (context: ObjectContext, asking: Asking) => Promise<void>
  /** Somebody has asked, or waits no more. */
  readonly leave: (context: ObjectContext, gone: { readonly ticket: string; readonly tokens?: number }) => Promise<void>
  /** The worker of these is there. */
  readonly renew: (context: ObjectContext, tickets: readonly string[]) => Promise<void>
  readonly tick: (context: ObjectContext) => Promise<void>
  /** It is at least so late: whatever the clocks of workers say, the engine has waited until then. */
  readonly passTime: (context: ObjectContext, plannedMs: number) => Promise<void>
  readonly status: (context: ObjectSharedContext) => Promise<GateStatus>
}

async function readGate(context: ObjectContext | ObjectSharedContext): Promise<Gate> {
  return (await context.get<Gate>(gateKey)) ?? newGate
}

/** Changes the gate, answers the requests that were admitted or turned away, and schedules its next calls to itself. */
async function changeGate(context: ObjectContext, how: (gate: Gate, nowMs: number) => Passed): Promise<void> {
  const nowMs = await engineTime(context)
  const { gate, admitted, turnedAway, wakeMs } = how(await readGate(context), nowMs)
  context.set(gateKey, gate)
  for (const { awakeable } of admitted) context.resolveAwakeable(awakeable, true)
  for (const { awakeable } of turnedAway) context.resolveAwakeable(awakeable, false)
  const self = context.objectSendClient<GateHandlers>({ name: gateObject }, context.key)
  if (hasTickets(gate) && (await context.get<boolean>(tickKey)) !== true) {
    context.set(tickKey, true)
    atEngineTime(() => self.tick(rpc.sendOpts({ delay: tickMs })))
  }
  const planned = await context.get<number>(wakeKey)
  if (wakeMs === undefined || (planned !== null && planned <= wakeMs)) return
  context.set(wakeKey, wakeMs)
  const delay = Math.max(1, wakeMs - gate.nowMs)
  atEngineTime(() => self.passTime(wakeMs, rpc.sendOpts({ delay })))
}

export function gateDefinition(tokens?: readonly string[]): VirtualObjectDefinition<typeof gateObject, GateHandlers> {
  return object({
    name: gateObject,
    options: { enableLazyState: true, ...guarded(tokens, ['enter', 'tick', 'passTime']) },
    handlers: {
      setLimits: async (context: ObjectContext, given: Partial<GateLimits>): Promise<void> => {
        const limits = checkedLimits(given)
        return changeGate(context, (gate, nowMs) => limit(gate, nowMs, limits))
      },
      enter: handlers.object.exclusive(
        { ingressPrivate: true },
        (context: ObjectContext, asking: Asking): Promise<void> =>
          changeGate(context, (gate, nowMs) => enter(gate, nowMs, asking)),
      ),
      leave: async (
        context: ObjectContext,
        given: { readonly ticket: string; readonly tokens?: number },
      ): Promise<void> => {
        const { ticket, tokens } = checkedLeaving(given)
        return changeGate(context, (gate, nowMs) => leave(gate, nowMs, ticket, tokens))
      },
      renew: async (context: ObjectContext, tickets: readonly string[]): Promise<void> => {
        if (!Array.isArray(tickets) || !tickets.every(isName)) throw badInput('Give the tickets, as a list.')
        return changeGate(context, (gate, nowMs) => renew(gate, nowMs, tickets))
      },
      tick: handlers.object.exclusive({ ingressPrivate: true }, (context: ObjectContext): Promise<void> => {
        context.clear(tickKey)
        return changeGate(context, tick)
      }),
      passTime: handlers.object.exclusive(
        { ingressPrivate: true },
        (context: ObjectContext, plannedMs: number): Promise<void> => {
          context.clear(wakeKey)
          return changeGate(context, (gate, nowMs) => passed(gate, Math.max(nowMs, plannedMs)))
        },
      ),
      status: handlers.object.shared(async (context: ObjectSharedContext): Promise<GateStatus> => {
        const { limits, inside, waiting, order, admitted, expired } = await readGate(context)
        return {
          limits,
          inside: inside.length,
          waiting: waiting.length,
          waitingSessions: order.length,
          admitted,
          expired,
        }
      }),
    },
  })
}

type PassHandlers = {
  /** Waits until the gate lets the ticket in; false where it was given up. */
  readonly enter: (context: Context, request: PassRequest) => Promise<boolean>
}

export function passDefinition(tokens?: readonly string[]): ServiceDefinition<typeof passService, PassHandlers> {
  return service({
    name: passService,
    options: guarded(tokens),
    handlers: {
      enter: async (context: Context, given: PassRequest): Promise<boolean> => {
        const { gate, ...asking } = checkedPass(given)
        const { id, promise } = context.awakeable<boolean>()
        context.objectSendClient<GateHandlers>({ name: gateObject }, gate).enter({ ...asking, awakeable: id })
        return promise
      },
    },
  })
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
}

/** What comes over the ingress may be anything. @throws TerminalError 400 */
function checkedPass(given: unknown): PassRequest {
  const { gate, ticket, session, tokens, by } = isJsonObject(given) ? given : {}
  if (!isName(gate) || !isName(ticket) || !isName(session) || !isAmount(tokens))
    throw badInput('One comes to a gate by { gate, ticket, session, tokens }.')
  const asking = { gate, ticket, session, tokens }
  if (by === undefined) return asking
  const { process, atMs } = isJsonObject(by) ? by : {}
  if (!isName(process) || !isAmount(atMs)) throw badInput('A process comes to a gate by { process, atMs }.')
  return { ...asking, by: { process, atMs } }
}

/** @throws TerminalError 400 */
function checkedLeaving(given: unknown): { readonly ticket: string; readonly tokens?: number } {
  const { ticket, tokens } = isJsonObject(given) ? given : {}
  if (!isName(ticket) || (tokens !== undefined && !isAmount(tokens)))
    throw badInput('One leaves a gate by { ticket }, with { tokens } where that is known.')
  return { ticket, ...(tokens !== undefined && { tokens }) }
}

/** @throws TerminalError 400 */
function checkedLimits(given: unknown): GateLimits {
  if (!isJsonObject(given)) throw badInput('Give { requests, requestsPerMinute, tokensPerMinute }.')
  const most = (name: keyof GateLimits): number | null => {
    const value = given[name] ?? null
    if (value === null || (isAmount(value) && value > 0)) return value
    throw badInput(`${name} is a number above 0, or null.`)
  }
  const requests = most('requests')
  if (requests !== null && !Number.isInteger(requests)) throw badInput('requests is a whole number, or null.')
  return { requests, requestsPerMinute: most('requestsPerMinute'), tokensPerMinute: most('tokensPerMinute') }
}
