import type { RunView, SessionRow, SessionView, SessionSource } from '@halting/analysis/view'
import { unpack } from '../../src/page/data/figures.ts'
import { figureKinds, type FigureLine, type SessionOutline } from '../../src/server/figures.ts'

/** What `halting inspect` serves at the address that it printed, except records and transcripts. */
export function sourceAt(address: string): SessionSource {
  const text = async (path: string): Promise<string> => (await fetch(new URL(path, address))).text()
  const lines = async (path: string): Promise<readonly string[]> =>
    (await text(path)).split('\n').filter((line) => line !== '')
  const session = async (key: string): Promise<SessionView> => {
    const query = `key=${encodeURIComponent(key)}`
    // The responses of this server: a session without its figures, and lines of each kind of figures.
    const outline = JSON.parse(await text(`api/session?${query}`)) as SessionOutline
    const runs = outline.runs.map((run) => ({ ...run, items: [], points: [], windows: [] })) as unknown as RunView[]
    for (const kind of figureKinds)
      for (const line of await lines(`api/figures?${query}&of=${kind}`)) {
        const { run, once, rows } = JSON.parse(line) as FigureLine
        const before = { ...runs[run], ...once } as RunView
        const own = [...unpack(rows)]
        const { trajectory } = before
        const turns = { trajectory: { ...trajectory, turns: [...(trajectory?.turns ?? []), ...own] } }
        const more = kind === 'trajectory' ? turns : { [kind]: [...before[kind], ...own] }
        runs[run] = { ...before, ...more } as RunView
      }
    return { ...outline, runs }
  }
  return {
    title: 'the program',
    async *list() {
      // One row each.
      for (const line of await lines('api/sessions')) yield JSON.parse(line) as SessionRow
    },
    row: () => Promise.resolve(undefined),
    session,
    records: () => Promise.resolve([]),
    parts: () => Promise.resolve([]),
    watch: () => () => undefined,
  }
}
