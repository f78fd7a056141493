import type { QueryOptions } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { ObjectContext } from '@restatedev/restate-sdk'
import { attempt, mailSignal } from '../../src/engine/attempt.ts'
import { isCut, type RenewAfter } from '../../src/engine/cluster-log.ts'
import { CarriedStateBuilder } from '../../src/service/carried-run.ts'
import { ClusterSession } from '../../src/service/cluster-session.ts'
import { Conversation } from '../../src/service/conversation.ts'
import { readRecordsPage } from '../../src/service/stored-records.ts'
import type { SessionRequest } from '../../src/service/messages.ts'
import { messageIdsIn, findOpenRun } from '../../src/service/sessions-of-process.ts'
import { readStatus } from '../../src/service/status.ts'
import { WorkRecord } from '../../src/service/work-record.ts'
import { SessionWork } from '../../src/service/work.ts'
import { FakeInvocation } from './fake-engine.ts'
import { MemoryState } from './memory-state.ts'
import { endsOf, sessionOf, type Played } from './play.ts'
import { noteOf, promptOf, type PlanWorld } from './plan.ts'
import { answerTo, type RandomSession } from './random-plan.ts'

/** When a process loses the session: after this many turns of the event loop, one number for each process; then never. */
export type Kills = readonly number[]

/**
 * Plays it on a fake engine of which only the order is real: each prompt is an invocation, and each input a message to it. `renewAfter`: another invocation continues after this
 * much.
 */
export async function playOnFake(
  { plan, prompts }: RandomSession,
  kills: Kills = [],
  optionsIn: (effects: readonly string[]) => Partial<QueryOptions> = () => ({}),
  renewAfter?: RenewAfter,
): Promise<PlayedOnFake> {
  const effects: string[] = []
  const killsLeft = [...kills]
  const state = new MemoryState()
  let invocations = 0
  let number = 0

  const request = (what: SessionRequest, id: string): string => JSON.stringify({ number: ++number, id, request: what })

  for (let run = 1; run <= prompts; run++) {
    const waiting = [request({ type: 'prompt', content: promptOf(run) }, `prompt-${run}`)]
    let invocation = new FakeInvocation()
    invocations++
    const waiters = new Map<string, () => void>()
    const tell = (message: string): void => {
      waiting.push(message)
      invocation.signal(mailSignal, message)
    }
    const mail = (what: SessionRequest, id: string): Promise<void> =>
      new Promise((resolve) => {
        waiters.set(id, resolve)
        tell(request(what, id))
      })
    const world: PlanWorld = {
      effect: (callId) => void effects.push(callId),
      billed: () => {},
      say: (kind, callId) => mail(saidBy(kind, callId), `note-${callId}`),
    }
    let mailed = [...waiting]
    for (;;) {
      const engine = invocation.attempt()
      // What an attempt writes without reaching its end, the next one writes again.
      const draft = state.copy()
      const conversation = await Conversation.read(draft, undefined)
      const { carried, texts } = conversation
      const { ended, open } = await conversation.records()
      const record = new WorkRecord(contextOf(draft), await readStatus(draft), {
        carried,
        run: new CarriedStateBuilder(carried, await conversation.agents()),
      })
      const kill = killsLeft.shift()
      if (kill !== undefined) void turns(kill).then(() => engine.kill())
      const lost = new Promise<'lost'>((resolve) => engine.gone.addEventListener('abort', () => resolve('lost')))
      const done = attempt({
        engine,
        texts,
        renewAfter,
        mail: mailed,
        begin({ records: found, log }) {
          const own = [...open, ...found]
          const journal = new ClusterSession({ sessionId: 'played', path: 'played', records: [...ended, ...own], log })
          const session = sessionOf(plan, world, { journal, options: optionsIn(effects) })
          const left = (): void => void session.close()
          engine.gone.addEventListener('abort', left)
          session.listen((event) => {
            if (event.type !== 'question') return
            const { callId } = event.question
            tell(request({ type: 'answer', callId, answer: answerTo(callId) }, `answer-${callId}`))
          })
          const work = new SessionWork({
            session,
            log,
            settled: record.settled,
            openRun: findOpenRun(own),
            onRecord: messageIdsIn([...ended, ...own]),
            unreported: [],
            spent: () => journal.spent,
            onEvent: () => {},
          })
          return {
            deliver(message) {
              work.deliver(message)
              waiters.get((JSON.parse(message) as { readonly id: string }).id)?.()
            },
            cancel: () => work.cancel(),
            run: () => work.run(),
          }
        },
        onBatch: (batch) => record.onBatch(batch),
      })
      const end = await Promise.race([done, lost])
      if (end === 'lost') continue
      const continues = isCut(end)
      await conversation.append(record.conversation, (put) => put(), continues ? record.handover : undefined)
      state.take(draft)
      const before = invocation
      if (continues) {
        invocation = new FakeInvocation()
        invocations++
        mailed = [...waiting]
      }
      before.end()
      if (!continues) break
    }
  }
  const records = await recordsOf(state)
  return { records, reasons: endsOf(records), effects, invocations }
}

export interface PlayedOnFake extends Played {
  readonly invocations: number
}

/** What the work uses of it. */
function contextOf(state: MemoryState): ObjectContext {
  return {
    key: 'played',
    get: (key: string) => state.get(key),
    set: (key: string, value: unknown) => state.set(key, value),
    objectSendClient: () => ({ wake() {} }),
  } as unknown as ObjectContext
}

async function recordsOf(state: MemoryState): Promise<readonly StepRecord[]> {
  const records: StepRecord[] = []
  for (;;) {
    const page = await readRecordsPage(state, records.length, undefined)
    if (page.records.length === 0) return records
    // Without a payload store nothing is stored elsewhere.
    records.push(...(page.records as readonly StepRecord[]))
  }
}

function saidBy(kind: 'Steer' | 'Stop' | 'Interrupt', callId: string): SessionRequest {
  if (kind === 'Steer') return { type: 'prompt', content: noteOf(callId) }
  return kind === 'Stop' ? { type: 'stop', message: 'enough' } : { type: 'interrupt' }
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise(setImmediate)
}
