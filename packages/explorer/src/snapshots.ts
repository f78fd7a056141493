import { AgentState } from '@halting/core'

/** Values that the loop handed out, and that must not change from then on. */
export interface Snapshots {
  /** Freezes a value and everything reachable from it: later writes throw. */
  freeze(value: unknown): void
  /** Freezes a value that was handed out, and remembers its content. */
  track(to: string, value: unknown): void
  /** Describes the values that have changed since they were handed out. */
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

/** Tracks nothing. */
export const noSnapshots: Snapshots = Object.freeze({ freeze() {}, track() {}, changed: () => [] })

/**
 * The content of a value as a reader sees it. Private fields cannot be frozen from outside, so their serialized form is compared. Of a transcript only the length counts, because
 * its entries are compared with the emitted messages.
 */
function serialize(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) =>
    key === 'transcript' && Array.isArray(part) ? part.length : part,
  )
}

const frozenObjects = new WeakSet<object>()

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || frozenObjects.has(value)) return
  frozenObjects.add(value)
  // An abort signal must stay usable.
  if ('addEventListener' in value) return
  if (value instanceof AgentState) deepFreeze(value.execution())
  for (const part of Object.values(value)) deepFreeze(part)
  Object.freeze(value)
}
