import { AgentState } from '../../agent-state.ts'

/** What the loop handed out and may not change any more. */
export interface Snapshots {
  /** Freezes a value and all that can be reached from it: whoever writes to it later throws. */
  freeze(value: unknown): void
  /** Freezes what was handed out, and remembers how it looked. */
  handedOut(to: string, value: unknown): void
  /** What looks otherwise than when it was handed out. */
  changed(): readonly string[]
}

interface HandedOut {
  readonly to: string
  readonly value: unknown
  readonly looked: string
}

export function createSnapshots(): Snapshots {
  const all: HandedOut[] = []
  return {
    freeze: deepFreeze,
    handedOut(to, value) {
      deepFreeze(value)
      all.push({ to, value, looked: looksOf(value) })
    },
    changed: () =>
      all.flatMap(({ to, value, looked }) => {
        const looks = looksOf(value)
        return looks === looked ? [] : [`what was handed to ${to} changed later:\n  ${looked}\n  ${looks}`]
      }),
  }
}

/** Looks at nothing. */
export const noSnapshots: Snapshots = Object.freeze({ freeze() {}, handedOut() {}, changed: () => [] })

/**
 * How a value looks to whoever reads it. A class that keeps its own to itself cannot be frozen from outside; what it says of itself can be compared.
 * Of a transcript the length: its entries are held against what was told of them.
 */
function looksOf(value: unknown): string {
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
