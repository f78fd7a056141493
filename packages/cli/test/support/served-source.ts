import type { SessionRow, SessionView, SessionSource } from '@halting/analysis/view'

/** What `halting inspect` serves at the address that it printed, but for records and transcripts. */
export function sourceAt(address: string): SessionSource {
  const text = async (path: string): Promise<string> => (await fetch(new URL(path, address))).text()
  return {
    title: 'the program',
    async *list() {
      // What this server writes: a row each.
      for (const line of (await text('api/sessions')).split('\n')) if (line !== '') yield JSON.parse(line) as SessionRow
    },
    // As above.
    row: () => Promise.resolve(undefined),
    session: async (key) => JSON.parse(await text(`api/session?key=${encodeURIComponent(key)}`)) as SessionView,
    records: () => Promise.resolve([]),
    parts: () => Promise.resolve([]),
    watch: () => () => undefined,
  }
}
