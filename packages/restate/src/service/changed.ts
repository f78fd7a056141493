import type { JsonObject } from '@halting/core'
import { RestatePromise, type ObjectSharedContext } from '@restatedev/restate-sdk'
import { atEngineTime } from '../http/engine-clock.ts'
import { badInput, checkedId, checkedInput } from './checked.ts'
import { longestWaitMs } from './messages.ts'
import { emptyMailbox } from './mailbox.ts'
import type { MailboxStatus, Watch, Watched } from './names.ts'
import { fullStatus, sessionVersion, stalledVersion, type FullStatus, type MailboxState } from './full-status.ts'
import type { Stalled } from './stalled.ts'
import { readStatus, type SessionStatus } from './status.ts'

/** What `whenChanged` needs of the objects. Each is asked once or twice, in the same order in each attempt. */
export interface ChangedPorts {
  /** As far as this process knows. What it knows changes nothing of what the engine is asked, but for a time: another process may continue the call. */
  readonly stalled: () => Stalled | undefined
  readonly session: () => Promise<SessionStatus>
  readonly mailbox: () => Promise<MailboxState>
  /** Registers with the mailbox, where that is still in the state of this version. */
  readonly watch: (watch: Omit<Watch, 'awakeable'>) => Promise<Watched>
  /** Takes that back. */
  readonly unwatch: (by: string) => Promise<void>
  /** Resolves with the state of the mailbox when somebody wakes it, and with undefined after this time. */
  readonly woken: (ms: number) => Promise<MailboxState | undefined>
}

const atOnceMs = 1
const nothingAsked = emptyMailbox.next

/**
 * A long poll: answers at once where the session is not in the state that the caller has seen (`since`), else when something changes or after `waitMs`.
 * G1: a change after `watch` wakes it. G2: one between what is read and `watch` does, too: the work compares what the caller has seen. So no change is missed, except of
 * `stalled`, which the next call sees.
 */
export async function whenChanged(given: unknown, id: () => string, ports: ChangedPorts): Promise<FullStatus> {
  const { since = '', by, waitMs } = checkedChanged(given)
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
  // Whoever watches sessions that are not there, or no more, leaves nothing of them behind.
  if (mailbox.asked === nothingAsked) await ports.unwatch(name)
  // Nobody woke it: what it has read is what the caller has seen. A change whose wake is under way is seen by the next call.
  return answer(before, mailbox)
}

interface Changed {
  readonly since?: string | undefined
  readonly by?: string | undefined
  readonly waitMs: number
}

function checkedChanged(given: unknown): Changed {
  const { since, by, waitMs = longestWaitMs }: JsonObject = checkedInput(given, ['since', 'by', 'waitMs'])
  if (since !== undefined && typeof since !== 'string')
    throw badInput('since is the version of the last status that you have.')
  if (typeof waitMs !== 'number' || !Number.isSafeInteger(waitMs) || waitMs < 0)
    throw badInput(`waitMs is a number of milliseconds: 0 to ${longestWaitMs}.`)
  return {
    since,
    waitMs: Math.min(waitMs, longestWaitMs),
    ...(by !== undefined && { by: checkedId(by) }),
  }
}

export interface SessionMailbox {
  status(id: string): Promise<MailboxStatus>
  watch(watch: Watch): Promise<Watched>
  unwatch(by: string): Promise<void>
}

/** On the engine. */
export function changedPorts(
  context: ObjectSharedContext,
  mailbox: SessionMailbox,
  stalledOf: ((sessionId: string) => Stalled | undefined) | undefined,
): ChangedPorts {
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
