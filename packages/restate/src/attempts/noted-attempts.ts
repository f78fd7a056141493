import type { Json } from '@halting/core'
import { attempt, type AttemptOptions } from '../engine/attempt.ts'
import type { SessionServiceOptions } from '../service/session-options.ts'
import { NotedWork, NotedWorkOfProcess, type WorkToNote } from './noted-work.ts'

/** `holdUntil`: the session is open in this process until that settles. */
type OptionsOf = (holdUntil: (over: Promise<unknown>) => void) => AttemptOptions
type AttemptAt = (work: Omit<WorkToNote, 'gone'>, optionsOf: OptionsOf) => Promise<Json>

/** Attempts in this process, of which others are told in case that they end it; without a way to the engine they are not. */
export function notedAttempts({ ingress, ...options }: SessionServiceOptions): AttemptAt {
  if (ingress === undefined) return (_, optionsOf) => attempt(optionsOf(() => {}))
  const process = new NotedWorkOfProcess({ ...options, ingress })
  return async (work, optionsOf) => {
    const given = optionsOf((over) => noted.holdUntil(over))
    const noted = new NotedWork(process, { ...work, gone: given.engine.gone })
    try {
      const end = await attempt(notedOptions(noted, given))
      noted.done()
      return end
    } catch (error) {
      await noted.failed()
      throw error
    }
  }
}

function notedOptions(noted: NotedWork, options: AttemptOptions): AttemptOptions {
  const { begin, onBatch, wantsRoom } = options
  return {
    ...options,
    firstNote: () => noted.firstNote(),
    begin: async (found) => {
      await noted.begin(found.gone)
      return begin(found)
    },
    onBatch: (batch) => {
      noted.onBatch(batch)
      onBatch?.(batch)
    },
    onMakeWay: (makeWay) => noted.onMakeWay(makeWay),
    wantsRoom: () => noted.wantsRoom || wantsRoom?.() === true,
  }
}
