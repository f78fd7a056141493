import { StopSignal } from '../endings/signal.ts'
import { StopSignals } from '../endings/signals.ts'
import { remindersOf, signalOf } from './call-guard.ts'
import { checkParts } from './check-guards.ts'
import {
  conditionFigures,
  defaultCheckpoints,
  type CancellationPoint,
  type Guard,
  type GuardBounds,
  type GuardRemaining,
  type GuardView,
} from './guard.ts'

/**
 * Stops when any of the guards stops. Each guard is called at its own cancellation points. If several guards raise a
 * signal, the most urgent signal counts.
 */
export function any(...guards: readonly Guard[]): Guard {
  checkParts('any', guards)
  return {
    name: `any(${namesOf(guards)})`,
    checkpoints: checkpointsOf(guards),
    looksAtTurns: guards.some((guard) => guard.looksAtTurns === true),
    bounds: lowest(guards),
    evaluate(view) {
      const applicable = guards.filter((guard) => (guard.checkpoints ?? defaultCheckpoints).includes(view.checkpoint))
      return signalsOf(applicable, view).highest() ?? undefined
    },
    reminds: (view) => guards.flatMap((guard) => remindersOf(guard, view)),
    // The guard nearest to its limit fires first.
    remaining: (view) => sortedByShare(reportedFigures(guards, view)).at(-1),
  }
}

/** Stops when all of the guards would stop. The signal has the most urgent reason and all messages. Without guards it never stops. */
export function all(...guards: readonly Guard[]): Guard {
  checkParts('all', guards)
  const name = `all(${namesOf(guards)})`
  return {
    name,
    checkpoints: checkpointsOf(guards),
    looksAtTurns: guards.some((guard) => guard.looksAtTurns === true),
    evaluate(view) {
      const signals = signalsOf(guards, view)
      const highest = signals.highest()
      if (highest === null || signals.size < guards.length) return undefined
      const message = [...signals].map((signal) => signal.message).join(' and ')
      return new StopSignal({ reason: highest.reason, message, context: { all: signals.toJSON() }, source: name })
    },
    remaining(view) {
      // The guard farthest from its limit fires last. A guard that reports no figures might be even farther from its limit.
      const figures = reportedFigures(guards, view)
      return figures.length === guards.length ? sortedByShare(figures)[0] : undefined
    },
  }
}

/** Stops, as `stop_requested`, when the guard would not stop. */
export function not(guard: Guard): Guard {
  checkParts('not', [guard])
  const name = `not(${guard.name})`
  return {
    name,
    checkpoints: checkpointsOf([guard]),
    looksAtTurns: guard.looksAtTurns === true,
    evaluate(view) {
      if (signalOf(guard, view) !== undefined) return undefined
      return new StopSignal({ reason: 'stop_requested', message: `${guard.name} does not hold`, source: name })
    },
    remaining: (view) => conditionFigures(name, signalOf(guard, view) === undefined),
  }
}

function signalsOf(guards: readonly Guard[], view: GuardView): StopSignals {
  return StopSignals.of(...guards.flatMap((guard) => signalOf(guard, view) ?? []))
}

function reportedFigures(guards: readonly Guard[], view: GuardView): readonly GuardRemaining[] {
  return guards.flatMap((guard) => guard.remaining?.(view) ?? [])
}

/** Sorts by the used share of the limit, smallest first. */
function sortedByShare(figures: readonly GuardRemaining[]): readonly GuardRemaining[] {
  return figures.toSorted((a, b) => a.used / a.limit - b.used / b.limit)
}

function namesOf(guards: readonly Guard[]): string {
  return guards.map((guard) => guard.name).join(', ')
}

function checkpointsOf(guards: readonly Guard[]): readonly CancellationPoint[] {
  return [...new Set(guards.flatMap((guard) => guard.checkpoints ?? defaultCheckpoints))]
}

function lowest(guards: readonly Guard[]): GuardBounds {
  const bounds: { -readonly [key in keyof GuardBounds]: GuardBounds[key] } = {}
  for (const guard of guards) {
    for (const key of ['turns', 'tokens', 'usd', 'ms'] as const) {
      const value = guard.bounds?.[key]
      if (value !== undefined) bounds[key] = Math.min(value, bounds[key] ?? Infinity)
    }
  }
  return bounds
}
