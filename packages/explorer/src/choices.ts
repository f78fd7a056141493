import { hashText } from '@halting/core/adapters'

/**
 * One path through everything that may happen: one choice for each label. A label names a moment (the key of a step, and the question there), so that the same path can be taken
 * again after a kill, whatever was asked in between.
 */
export interface Choices {
  /** The option that this path takes. The first option is the plain one; any other is a deviation. */
  choose<T>(label: string, options: readonly T[]): T
}

interface AskedChoice {
  readonly label: string
  readonly options: number
  taken: number
}

export interface Path extends Choices {
  /** The same choices for another run of this path. Labels that were never asked take the plain option. */
  again(): Choices
  /** The deviations, for messages of failing tests. */
  describe(): string
}

/** Walks every path with at most `deviations` deviations, depth first. `walk` is called once for each path and asks for its choices as it goes. Returns the number of paths. */
export async function explorePaths(deviations: number, walk: (path: Path) => Promise<void>): Promise<number> {
  let prefix: readonly number[] = []
  let paths = 0
  for (;;) {
    const { path, asked } = pathOf(prefix)
    await walk(path)
    paths++
    const next = nextPrefix(asked, deviations)
    if (next === undefined) return paths
    prefix = next
  }
}

/**
 * Walks `most` paths with at most `deviations` deviations, drawn from the whole tree, the same ones every time. It walks no path only to find its labels. In a tree with fewer
 * paths it may miss some.
 */
export async function drawPaths(
  deviations: number,
  most: number,
  walk: (path: Path) => Promise<void>,
): Promise<number> {
  const walked: (readonly AskedChoice[])[] = []
  const seen = new Set<string>()
  let draws = 0
  const draw = (below: number): number => hashText(`draw ${draws++}`) % below
  let prefix: readonly number[] | undefined = []
  while (prefix !== undefined && walked.length < most) {
    const { path, asked } = pathOf(prefix)
    await walk(path)
    walked.push(asked)
    prefix = undefined
    for (let tries = 0; prefix === undefined && tries < triesOfDraw; tries++) {
      const drawn = withOneMoreDeviation(walked[draw(walked.length)] ?? [], deviations, draw)
      if (drawn === undefined || seen.has(drawn.join())) continue
      seen.add(drawn.join())
      prefix = drawn
    }
  }
  return walked.length
}

/** Number of draws without a new path after which the tree counts as exhausted. */
const triesOfDraw = 200

/** A known path with one more deviation after its last one: each path has exactly one such parent. */
function withOneMoreDeviation(
  asked: readonly AskedChoice[],
  deviations: number,
  draw: (below: number) => number,
): readonly number[] | undefined {
  if (asked.filter(({ taken }) => taken > 0).length >= deviations) return undefined
  const first = asked.findLastIndex(({ taken }) => taken > 0) + 1
  if (first >= asked.length) return undefined
  const at = first + draw(asked.length - first)
  const options = asked[at]?.options ?? 1
  if (options < 2) return undefined
  return [...asked.slice(0, at).map(({ taken }) => taken), 1 + draw(options - 1)]
}

function pathOf(prefix: readonly number[]): { readonly path: Path; readonly asked: readonly AskedChoice[] } {
  const asked: AskedChoice[] = []
  const byLabel = new Map<string, AskedChoice>()
  const names = new Map<string, string>()
  const path: Path = {
    choose(label, options) {
      let found = byLabel.get(label)
      if (found === undefined) {
        found = { label, options: options.length, taken: prefix[asked.length] ?? 0 }
        asked.push(found)
        byLabel.set(label, found)
        if (found.taken > 0) names.set(label, String(options[found.taken]))
      }
      return options[found.taken] as (typeof options)[number]
    },
    again: () => ({ choose: (label, options) => options[byLabel.get(label)?.taken ?? 0] as (typeof options)[number] }),
    describe: () => [...names].map(([label, option]) => `${label} = ${option}`).join('; ') || '(no deviation)',
  }
  return { path, asked }
}

/** The next path in depth-first order: changes the last choice that has another option within the number of deviations. */
function nextPrefix(asked: readonly AskedChoice[], deviations: number): readonly number[] | undefined {
  for (let index = asked.length - 1; index >= 0; index--) {
    const choice = asked[index]
    if (choice === undefined || choice.taken + 1 >= choice.options) continue
    const before = asked.slice(0, index)
    if (before.filter(({ taken }) => taken > 0).length + 1 > deviations) continue
    return [...before.map(({ taken }) => taken), choice.taken + 1]
  }
  return undefined
}
