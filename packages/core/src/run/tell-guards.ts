import { disregard } from '../values/eventually.ts'
import type { Guard, GuardRemaining, GuardView } from '../limits/guard.ts'
import type { Run } from './run.ts'

// Spec R-GUARD-10.
/** Emits how near each guard is to firing. For display only: a guard whose `remaining` fails is left out. */
export function tellGuards(run: Run, view: GuardView): void {
  if (!run.ports.isHeard()) return
  let remaining: GuardRemaining[] | undefined
  for (const { guard } of run.context.guards) {
    const told = remainingOf(guard, view)
    if (told !== undefined) (remaining ??= []).push(told)
  }
  if (remaining !== undefined) run.emit({ type: 'guards', remaining })
}

function remainingOf(guard: Guard, view: GuardView): GuardRemaining | undefined {
  if (guard.remaining === undefined) return undefined
  try {
    const told: unknown = guard.remaining(view)
    if (isRemaining(told)) return { guard: told.guard, used: told.used, limit: told.limit, unit: told.unit }
    disregard(told)
  } catch {
    // Whether the run goes on is another question: `evaluate` answers it.
  }
  return undefined
}

/** Plain JavaScript may give anything. The event is JSON. */
function isRemaining(told: unknown): told is GuardRemaining {
  if (typeof told !== 'object' || told === null) return false
  // What is no figure fails below.
  const { guard, used, limit, unit } = told as { readonly [key in keyof GuardRemaining]?: unknown }
  return typeof guard === 'string' && Number.isFinite(used) && Number.isFinite(limit) && typeof unit === 'string'
}
