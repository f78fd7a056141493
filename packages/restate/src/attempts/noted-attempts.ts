import type { Json } from '@halting/core'
import { attempt, type AttemptOptions, type AttemptTurn } from '../engine/attempt.ts'
import type { SessionServiceOptions } from '../service/session-options.ts'
import { NotedWork, NotedWorkOfProcess, type WorkToNote } from './noted-work.ts'

/** `holdUntil`: the session is open in this process until that settles. */
type OptionsOf<Turn extends AttemptTurn> = (holdUntil: (over: Promise<unknown>) => void) => AttemptOptions<Turn>
type AttemptAt = <Turn extends AttemptTurn>(work: Omit<WorkToNote, 'gone'>, optionsOf: OptionsOf<Turn>) => Promise<Json>

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

function notedOptions<Turn extends AttemptTurn>(noted: NotedWork, options: AttemptOptions<Turn>): AttemptOptions<Turn> {
  const { begin, onBatch } = options
  return {
    ...options,
    firstNote: () => noted.firstNote(),
    begin: async (found, turn) => {
      await noted.begin(found.gone)
      return begin(found, turn)
    },
    onBatch: (batch) => {
      noted.onBatch(batch)
      onBatch?.(batch)
    },
    onMakeWay: (makeWay) => noted.onMakeWay(makeWay),
    leavesAtRest: () => noted.leavesAtRest,
  }
}
