// How runs end, and what those cost that fail.
import { medianCell, shareOf } from '../cells.mjs'
import { byGroup, isHandedIn, useOf } from '../load.mjs'

/** @param {import('../load.mjs').Data} data @returns {import('../cells.mjs').Table[]} */
export function endingTables({ graded, runsOnly }) {
  const groups = [...byGroup(graded)].filter(([, runs]) => runs.length >= 20)
  const terminalBench = [...byGroup(runsOnly.filter(({ source }) => !source.startsWith('eval-sys/')), ({ agent, model }) => `Terminal-Bench, ${agent}, ${model}`)]
  const mcpmark = runsOnly.filter(({ source }) => source.startsWith('eval-sys/'))
  const ofModels = [...byGroup(mcpmark, ({ model }) => `mcpmark, ${model}`)]
  const head = ['runs', 'number', 'solved', 'failures handed in as done', ...['turns', 'dollars', 'tokens', 'time'].flatMap((each) => [`${each}, solved`, `${each}, failed`])]
  const note = 'Turns, dollars, tokens and time are medians. A failure is handed in as done where the agent ended the run itself, with an answer, and no limit or error did.'
  const all = mcpmark.length === 0 ? [] : [rowOf(['mcpmark, all models', mcpmark])]
  return [
    { id: 'endings', title: 'How runs end, and what failing costs', note, head, rows: [...groups.map(rowOf), ...all] },
    { id: 'endings-terminal-bench', title: 'The same for runs without steps: Terminal-Bench', note, head, rows: terminalBench.map(rowOf) },
    { id: 'endings-mcpmark', title: 'The same for runs without steps: mcpmark, by model', note, head, rows: ofModels.map(rowOf) },
  ]
}

function rowOf([name, runs]) {
  const solved = runs.filter(({ outcome }) => outcome === true)
  const failed = runs.filter(({ outcome }) => outcome === false)
  const known = failed.filter((run) => isHandedIn(run) !== undefined)
  const pair = (valueOf, unit) => [solved, failed].map((some) => medianCell(some.map((run) => valueOf(useOf(run))), unit))
  return [
    name,
    runs.length,
    shareOf(runs, ({ outcome }) => outcome === true),
    shareOf(known, (run) => isHandedIn(run) === true),
    ...pair(({ turns }) => turns, 'turns'),
    ...pair(({ usd }) => usd, 'usd'),
    ...pair(({ tokens }) => tokens, 'tokens'),
    ...pair(({ ms }) => (ms === undefined ? undefined : ms / 1000), 'seconds'),
  ]
}
