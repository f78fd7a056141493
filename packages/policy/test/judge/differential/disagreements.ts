import { analyseShell, type ShellAnalysis } from '../../../src/shell/analysis.ts'
import { pieces } from '../harm.ts'
import { together, type World } from '../world.ts'
import { claimsAll, unnamedIn } from './compare.ts'
import { shrink } from './shrink.ts'
import { runTraced, type TracedRun } from './traced-run.ts'

/** A way to analyze a line; that of the judge is `analyseShell`. */
export type Reading = (line: string) => ShellAnalysis

/** What bash did with lines. */
export type Traces = ReadonlyMap<string, TracedRun>

export async function traceLines(world: World, lines: readonly string[]): Promise<Traces> {
  const traces = new Map<string, TracedRun>()
  await together(pieces(lines, 250), 2, async (piece) => {
    for (const [at, run] of (await runTraced(world, piece)).entries()) traces.set(piece[at]!, run)
  })
  return traces
}

/** Lines for which a reading wrongly claims to name everything that runs. */
export function disagreeing(traces: Traces, world: World, reading: Reading = analyseShell): readonly string[] {
  return [...traces].flatMap(([line, run]) => (missedBy(reading(line), run, world).length > 0 ? [line] : []))
}

function missedBy(analysis: ShellAnalysis, run: TracedRun, world: World): readonly string[] {
  return claimsAll(analysis) ? unnamedIn(run, analysis, world) : []
}

const maxShown = 8

/** The smallest forms of lines that disagree, and what bash did. Omits disagreements that do not occur for the line alone. */
export async function explainDisagreements(lines: readonly string[], world: World): Promise<readonly string[]> {
  const again = await together(lines.toSorted((a, b) => a.length - b.length).slice(0, 40), 2, async (line) =>
    disagreeing(await traceLines(world, [line]), world),
  )
  const findStill = async (candidates: readonly string[]): Promise<readonly boolean[]> => {
    const claimed = candidates.filter((line) => claimsAll(analyseShell(line)))
    const found = new Set(disagreeing(await traceLines(world, claimed), world))
    return candidates.map((line) => found.has(line))
  }
  return together(again.flat().slice(0, maxShown), 2, async (line) => {
    const smallest = await shrink(line, findStill)
    const run = (await traceLines(world, [smallest])).get(smallest)
    const missed = run === undefined ? [] : missedBy(analyseShell(smallest), run, world)
    return `${JSON.stringify(smallest)}   [${missed.join(', ')}]   of ${JSON.stringify(line)}`
  })
}
