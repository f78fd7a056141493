import type { PastCall, PastTurn, Trajectory } from './trajectory.ts'

/** Removes the inputs of calls, which are most of a trajectory. The effect of limits depends only on the tools. */
export function withoutInputs(trajectory: Trajectory): Trajectory {
  return { ...trajectory, turns: trajectory.turns.map(turnWithoutInputs) }
}

// Copies with one field replaced: destructuring with a rest copy is several times slower.
function turnWithoutInputs(turn: PastTurn): PastTurn {
  return { ...turn, calls: turn.calls.map(callWithoutInput) }
}

function callWithoutInput(call: PastCall): PastCall {
  return { ...call, input: null }
}
