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
import { requireProof } from '../access/guard.ts'
import { isJsonObject } from '@halting/core/adapters'
import { badInput } from '../service/check-input.ts'
import {
  enter,
  leave,
  setLimits,
  newGate,
  hasTickets,
  advance,
  renew,
  tick,
  tickMs,
  type GateRequest,
  type Gate,
  type GateLimits,
  type GateChange,
} from './gate.ts'

/** Name of the object that admits requests to a model. Its key stands for an API key of a provider. */
export const gateObject = 'halting_gate'
/** Name of the service in which a request waits at a gate. */
export const passService = 'halting_pass'

/** A request to pass a gate. */
export type PassRequest = Omit<GateRequest, 'awakeable'> & { readonly gate: string }

/** State of a gate, for operators. */
export interface GateStatus {
  /** What the gate allows. */
  readonly limits: GateLimits
  /** Requests that were admitted and have not left. */
  readonly inside: number
  /** Requests that wait. */
  readonly waiting: number
  /** Sessions whose requests wait. */
  readonly waitingSessions: number
  /** Requests admitted since the gate was created. */
  readonly admitted: number
  /** Requests dropped because nobody renewed them. */
  readonly expired: number
}

const gateKey = 'gate'
/** When the next request is admissible, at the earliest. */
const wakeKey = 'wake'
/** Set while a check for expired tickets is scheduled. */
const tickKey = 'tick'

type GateHandlers = {
  /** Sets what the provider allows. An omitted limit is lifted. */
  readonly setLimits: (context: ObjectContext, limits: Partial<GateLimits>) => Promise<void>
  readonly enter: (context: ObjectContext, request: GateRequest) => Promise<void>
  /** Called when a request has ended, or no longer waits. */
  readonly leave: (context: ObjectContext, gone: { readonly ticket: string; readonly tokens?: number }) => Promise<void>
  /** Called when the worker of these tickets is alive. */
  readonly renew: (context: ObjectContext, tickets: readonly string[]) => Promise<void>
  readonly tick: (context: ObjectContext) => Promise<void>
  /** Notifies the gate that it is at least this late: the engine has waited until then, whatever the clocks of workers report. */
  readonly passTime: (context: ObjectContext, plannedMs: number) => Promise<void>
  readonly status: (context: ObjectSharedContext) => Promise<GateStatus>
}

async function readGate(context: ObjectContext | ObjectSharedContext): Promise<Gate> {
  return (await context.get<Gate>(gateKey)) ?? newGate
}

/** Changes the gate, answers the requests that were admitted or turned away, and schedules its next calls to itself. */
async function changeGate(context: ObjectContext, change: (gate: Gate, nowMs: number) => GateChange): Promise<void> {
  const nowMs = await engineTime(context)
  const { gate, admitted, turnedAway, wakeMs } = change(await readGate(context), nowMs)
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
    options: { enableLazyState: true, ...requireProof(tokens, ['enter', 'tick', 'passTime']) },
    handlers: {
      setLimits: async (context: ObjectContext, input: Partial<GateLimits>): Promise<void> => {
        const limits = checkLimits(input)
        return changeGate(context, (gate, nowMs) => setLimits(gate, nowMs, limits))
      },
      enter: handlers.object.exclusive(
        { ingressPrivate: true },
        (context: ObjectContext, request: GateRequest): Promise<void> =>
          changeGate(context, (gate, nowMs) => enter(gate, nowMs, request)),
      ),
      leave: async (
        context: ObjectContext,
        input: { readonly ticket: string; readonly tokens?: number },
      ): Promise<void> => {
        const { ticket, tokens } = checkLeave(input)
        return changeGate(context, (gate, nowMs) => leave(gate, nowMs, ticket, tokens))
      },
      renew: async (context: ObjectContext, tickets: readonly string[]): Promise<void> => {
        if (!Array.isArray(tickets) || !tickets.every(isName)) throw badInput('Give a list of tickets.')
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
          return changeGate(context, (gate, nowMs) => advance(gate, Math.max(nowMs, plannedMs)))
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
  /** Waits until the gate admits the ticket; false if the ticket was dropped. */
  readonly enter: (context: Context, request: PassRequest) => Promise<boolean>
}

export function passDefinition(tokens?: readonly string[]): ServiceDefinition<typeof passService, PassHandlers> {
  return service({
    name: passService,
    options: requireProof(tokens),
    handlers: {
      enter: async (context: Context, input: PassRequest): Promise<boolean> => {
        const { gate, ...request } = checkPass(input)
        const { id, promise } = context.awakeable<boolean>()
        context.objectSendClient<GateHandlers>({ name: gateObject }, gate).enter({ ...request, awakeable: id })
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

/** Input from the ingress may be anything. @throws TerminalError 400 */
function checkPass(input: unknown): PassRequest {
  const { gate, ticket, session, tokens, by } = isJsonObject(input) ? input : {}
  if (!isName(gate) || !isName(ticket) || !isName(session) || !isAmount(tokens))
    throw badInput('Give { gate, ticket, session, tokens }.')
  const request = { gate, ticket, session, tokens }
  if (by === undefined) return request
  const { process, atMs } = isJsonObject(by) ? by : {}
  if (!isName(process) || !isAmount(atMs)) throw badInput('The field by needs { process, atMs }.')
  return { ...request, by: { process, atMs } }
}

/** @throws TerminalError 400 */
function checkLeave(input: unknown): { readonly ticket: string; readonly tokens?: number } {
  const { ticket, tokens } = isJsonObject(input) ? input : {}
  if (!isName(ticket) || (tokens !== undefined && !isAmount(tokens)))
    throw badInput('Give { ticket }, and { tokens } if known.')
  return { ticket, ...(tokens !== undefined && { tokens }) }
}

/** @throws TerminalError 400 */
function checkLimits(input: unknown): GateLimits {
  if (!isJsonObject(input)) throw badInput('Give { requests, requestsPerMinute, tokensPerMinute }.')
  const limitOf = (name: keyof GateLimits): number | null => {
    const value = input[name] ?? null
    if (value === null || (isAmount(value) && value > 0)) return value
    throw badInput(`${name} must be a number above 0, or null.`)
  }
  const requests = limitOf('requests')
  if (requests !== null && !Number.isInteger(requests)) throw badInput('requests must be a whole number, or null.')
  return { requests, requestsPerMinute: limitOf('requestsPerMinute'), tokensPerMinute: limitOf('tokensPerMinute') }
}
