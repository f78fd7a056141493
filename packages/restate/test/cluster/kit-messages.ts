import type { StepRecord } from '@halting/core/steps'

/** Messages of a worker of the kit. `id`: an attempt of the worker at a session. */
export type KitNews =
  | { readonly type: 'opened'; readonly key: string; readonly id: number; readonly records: readonly StepRecord[] }
  | { readonly type: 'flushed'; readonly id: number; readonly flush: number }
  | { readonly type: 'lost'; readonly id: number }
  | { readonly type: 'failed'; readonly key: string; readonly code: string | null; readonly message: string }

/** Messages to the worker. */
export type KitOrder =
  | { readonly type: 'append'; readonly id: number; readonly record: StepRecord }
  | { readonly type: 'flush'; readonly id: number; readonly flush: number }
  /** The attempt is over, and the engine begins another. */
  | { readonly type: 'leave'; readonly id: number }
  /** The session is over. */
  | { readonly type: 'finish'; readonly id: number }
  /** From now on records of this session claim to be written by a later version. */
  | { readonly type: 'later'; readonly key: string }
