import { isJsonObject } from '@halting/core/adapters'

/** What a tool that waits tells when it begins to (spec R-WAIT-17). */
export interface ToolWait {
  /** Behind "waits for". */
  readonly what: string
  /** When it waits no longer, in milliseconds since 1970. */
  readonly untilMs: number
  /** How long that was from then, in milliseconds. */
  readonly leftMs: number
}

/** The wait that news of a call tell of; undefined where they tell of none. */
export function toolWaitIn(data: unknown): ToolWait | undefined {
  if (!isJsonObject(data)) return undefined
  const { waitsFor: what, untilMs, leftMs } = data
  if (typeof what !== 'string' || typeof untilMs !== 'number' || typeof leftMs !== 'number') return undefined
  return { what, untilMs, leftMs }
}

/** `waits for bash_1 to end, at most until 14:05`, by the clock of this machine. */
export function toolWaitText({ what, untilMs }: ToolWait): string {
  const until = new Date(untilMs)
  const [hours, minutes] = [until.getHours(), until.getMinutes()].map((part) => String(part).padStart(2, '0'))
  return `waits for ${what}, at most until ${hours}:${minutes}`
}
