import {
  handlers,
  object,
  rpc,
  service,
  TerminalError,
  type Context,
  type ObjectContext,
  type ObjectSharedContext,
  type ServiceDefinition,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import {
  enter,
  leave,
  limit,
  newGate,
  passed,
  renew,
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
  readonly limits: GateLimits
  readonly inside: number
  readonly waiting: number
  readonly waitingSessions: number
  /** Since the beginning: how many were let in, and how many were given up because nobody renewed them. */
  readonly admitted: number
  readonly expired: number
}

const gateKey = 'gate'
/** When the gate is looked at by itself, at the earliest. */
const wakeKey = 'wake'

type GateHandlers = {
  /** What the provider allows. */
  readonly setLimits: (context: ObjectContext, limits: Partial<GateLimits>) => Promise<void>
  readonly enter: (context: ObjectContext, asking: Asking) => Promise<void>
  /** Somebody has asked, or waits no more. */
  readonly leave: (context: ObjectContext, gone: { readonly ticket: string; readonly tokens?: number }) => Promise<void>
  /** The worker of these is there. */
  readonly renew: (context: ObjectContext, tickets: readonly string[]) => Promise<void>
  readonly passTime: (context: ObjectContext) => Promise<void>
  readonly status: (context: ObjectSharedContext) => Promise<GateStatus>
}

export function gateDefinition(): VirtualObjectDefinition<typeof gateObject, GateHandlers> {
  const read = async (context: ObjectContext | ObjectSharedContext): Promise<Gate> =>
    (await context.get<Gate>(gateKey)) ?? newGate

  const change = async (context: ObjectContext, how: (gate: Gate, nowMs: number) => Passed): Promise<void> => {
    const nowMs = await context.date.now()
    const { gate, admitted, turnedAway, wakeMs } = how(await read(context), nowMs)
    context.set(gateKey, gate)
    for (const { awakeable } of admitted) context.resolveAwakeable(awakeable, true)
    for (const { awakeable } of turnedAway) context.resolveAwakeable(awakeable, false)
    const planned = await context.get<number>(wakeKey)
    if (wakeMs === undefined || (planned !== null && planned <= wakeMs)) return
    context.set(wakeKey, wakeMs)
    const delay = Math.max(1, wakeMs - gate.nowMs)
    context.objectSendClient<GateHandlers>({ name: gateObject }, context.key).passTime(rpc.sendOpts({ delay }))
  }

  return object({
    name: gateObject,
    options: { enableLazyState: true },
    handlers: {
      setLimits: (context: ObjectContext, limits: Partial<GateLimits>): Promise<void> =>
        change(context, (gate, nowMs) => limit(gate, nowMs, checkedLimits(limits))),
      enter: handlers.object.exclusive(
        { ingressPrivate: true },
        (context: ObjectContext, asking: Asking): Promise<void> =>
          change(context, (gate, nowMs) => enter(gate, nowMs, asking)),
      ),
      leave: (
        context: ObjectContext,
        { ticket, tokens }: { readonly ticket: string; readonly tokens?: number },
      ): Promise<void> => change(context, (gate, nowMs) => leave(gate, nowMs, ticket, tokens)),
      renew: (context: ObjectContext, tickets: readonly string[]): Promise<void> =>
        change(context, (gate, nowMs) => renew(gate, nowMs, tickets)),
      passTime: handlers.object.exclusive({ ingressPrivate: true }, (context: ObjectContext): Promise<void> => {
        // This is what was planned, whatever the clock of this worker says.
        context.clear(wakeKey)
        return change(context, (gate, nowMs) => passed(gate, nowMs))
      }),
      status: handlers.object.shared(async (context: ObjectSharedContext): Promise<GateStatus> => {
        const { limits, inside, waiting, order, admitted, expired } = await read(context)
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

export function passDefinition(): ServiceDefinition<typeof passService, PassHandlers> {
  return service({
    name: passService,
    handlers: {
      enter: async (context: Context, { gate, ticket, session, tokens }: PassRequest): Promise<boolean> => {
        const { id, promise } = context.awakeable<boolean>()
        context
          .objectSendClient<GateHandlers>({ name: gateObject }, gate)
          .enter({ ticket, session, tokens, awakeable: id })
        return promise
      },
    },
  })
}

function checkedLimits({
  requests = null,
  requestsPerMinute = null,
  tokensPerMinute = null,
}: Partial<GateLimits>): GateLimits {
  const limits: GateLimits = { requests, requestsPerMinute, tokensPerMinute }
  for (const [name, most] of Object.entries(limits))
    if (most !== null && !(typeof most === 'number' && most > 0))
      throw new TerminalError(`${name} is a number above 0, or null.`, { errorCode: 400 })
  return limits
}
