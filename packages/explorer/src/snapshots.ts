import { AgentState } from '@halting/core'

/** Values that the loop handed out, and must not change from then on. */
export interface Snapshots {
  /** Freezes a value and all that can be reached from it: whoever writes to it later throws. */
  freeze(value: unknown): void
  /** Freezes what was handed out, and remembers how it looked. */
  track(to: string, value: unknown): void
  /** The values that look different from when they were handed out, in words. */
  changed(): readonly string[]
}

interface TrackedValue {
  readonly to: string
  readonly value: unknown
  readonly serialized: string
}

export function createSnapshots(): Snapshots {
  const all: TrackedValue[] = []
  return {
    freeze: deepFreeze,
    track(to, value) {
      deepFreeze(value)
      all.push({ to, value, serialized: serialize(value) })
    },
    changed: () =>
      all.flatMap(({ to, value, serialized: looked }) => {
        const serialized = serialize(value)
        return serialized === looked ? [] : [`what was handed to ${to} changed later:\n  ${looked}\n  ${serialized}`]
      }),
  }
}

/** Looks at nothing. */
export const noSnapshots: Snapshots = Object.freeze({ freeze() {}, track() {}, changed: () => [] })

/**
 * How a value looks to its reader. Private fields cannot be frozen from outside, so what an object tells of itself is compared.
 * Of a transcript only the length counts: its entries are compared with the messages that were told.
 */
function serialize(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) =>
    key === 'transcript' && Array.isArray(part) ? part.length : part,
  )
}

const frozen = new WeakSet<object>()

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || frozen.has(value)) return
  frozen.add(value)
  // An abort signal lives on.
  if ('addEventListener' in value) return
  if (value instanceof AgentState) deepFreeze(value.execution())
  for (const part of Object.values(value)) deepFreeze(part)
  Object.freeze(value)
}
