import type { PastCall, PastTurn, Trajectory } from './trajectory.ts'

/** The same for any limit: what limits do depends on the tools of calls, and not on what these were given, which is most of a trajectory. */
export function withoutInputs(trajectory: Trajectory): Trajectory {
  return { ...trajectory, turns: trajectory.turns.map(turnWithoutInputs) }
}

// Whole copies with one field replaced: to take fields out and copy the rest is several times slower.
function turnWithoutInputs(turn: PastTurn): PastTurn {
  return { ...turn, calls: turn.calls.map(callWithoutInput) }
}

function callWithoutInput(call: PastCall): PastCall {
  return { ...call, input: null }
}
