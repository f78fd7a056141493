import type { JsonObject } from '@halting/core'
import { RestatePromise, type ObjectSharedContext } from '@restatedev/restate-sdk'
import { atEngineTime } from '../http/engine-clock.ts'
import { badInput, checkId, checkFields } from './check-input.ts'
import { maxWaitMs } from './messages.ts'
import { emptyMailbox } from './mailbox.ts'
import type { MailboxStatus, Watch, WatchResult } from './names.ts'
import { fullStatus, sessionVersion, stalledVersion, type FullStatus, type MailboxState } from './full-status.ts'
import type { Stall } from './stall.ts'
import { readStatus, type SessionStatus } from './status.ts'

/** What `waitForChange` uses of the objects. Each is called once or twice, in the same order in every attempt. */
export interface LongPollPorts {
  /**
   * According to this process. Another process may continue the call, so the result must not affect which calls are made
   * to the engine, only how long a call waits.
   */
  readonly stalled: () => Stall | undefined
  readonly session: () => Promise<SessionStatus>
  readonly mailbox: () => Promise<MailboxState>
  /** Registers with the mailbox, if that is still in the state of this version. */
  readonly watch: (watch: Omit<Watch, 'awakeable'>) => Promise<WatchResult>
  /** Cancels the registration. */
  readonly unwatch: (by: string) => Promise<void>
  /** Resolves with the state of the mailbox when it wakes the watcher, and with undefined after this time. */
  readonly woken: (ms: number) => Promise<MailboxState | undefined>
}

const atOnceMs = 1
const nothingAsked = emptyMailbox.next

/**
 * A long poll: answers at once if the session is not in the state that the caller has seen (`since`), and otherwise when something changes or after `waitMs`.
 * G1: a change after `watch` wakes it.
 * G2: so does a change between the read and `watch`, because the work compares what the caller has seen. No change is missed except one of `stalled`, which the next call sees.
 */
export async function waitForChange(input: unknown, id: () => string, ports: LongPollPorts): Promise<FullStatus> {
  const { since = '', by, waitMs } = parseLongPollQuery(input)
  const [seenSession = '', seenMailbox = '', seenStall = ''] = since.split('/')
  const answer = (session: SessionStatus, mailbox: MailboxState): FullStatus =>
    fullStatus({ session, mailbox, stalled: ports.stalled() })
  const before = await ports.session()
  if (sessionVersion(before) !== seenSession || waitMs === 0) return answer(before, await ports.mailbox())
  const { records, live } = before
  const name = by ?? id()
  const { isWatching, ...mailbox } = await ports.watch({
    by: name,
    ifStill: seenMailbox,
    seen: { records, ...(live !== undefined && { live }) },
  })
  if (!isWatching) return answer(await ports.session(), mailbox)
  const woken = await ports.woken(stalledVersion(ports.stalled()) === seenStall ? waitMs : atOnceMs)
  if (woken !== undefined) return answer(await ports.session(), woken)
  // Watching a session that does not exist must leave no state behind.
  if (mailbox.asked === nothingAsked) await ports.unwatch(name)
  // The watcher was not woken, so the caller already has this status. A change whose wake-up is still on its way is returned by the next call.
  return answer(before, mailbox)
}

interface LongPollQuery {
  readonly since?: string | undefined
  readonly by?: string | undefined
  readonly waitMs: number
}

function parseLongPollQuery(input: unknown): LongPollQuery {
  const { since, by, waitMs = maxWaitMs }: JsonObject = checkFields(input, ['since', 'by', 'waitMs'])
  if (since !== undefined && typeof since !== 'string') throw badInput('since must be the version of your last status.')
  if (typeof waitMs !== 'number' || !Number.isSafeInteger(waitMs) || waitMs < 0)
    throw badInput(`waitMs must be a whole number of milliseconds from 0 to ${maxWaitMs}.`)
  return {
    since,
    waitMs: Math.min(waitMs, maxWaitMs),
    ...(by !== undefined && { by: checkId(by) }),
  }
}

export interface SessionMailbox {
  status(id: string): Promise<MailboxStatus>
  watch(watch: Watch): Promise<WatchResult>
  unwatch(by: string): Promise<void>
}

/** Implements the ports on the engine. */
export function longPollPorts(
  context: ObjectSharedContext,
  mailbox: SessionMailbox,
  stalledOf: ((sessionId: string) => Stall | undefined) | undefined,
): LongPollPorts {
  const { id: awakeable, promise } = context.awakeable<MailboxState | undefined>()
  return {
    stalled: () => stalledOf?.(context.key),
    session: () => readStatus(context),
    mailbox: () => mailbox.status(''),
    watch: (watch) => mailbox.watch({ ...watch, awakeable }),
    unwatch: (by) => mailbox.unwatch(by),
    woken: async (ms) =>
      (await RestatePromise.race([promise, atEngineTime(() => context.sleep(ms)).map(() => undefined)])) ?? undefined,
  }
}
