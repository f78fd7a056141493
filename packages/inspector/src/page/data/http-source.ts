import type { SessionRow } from '@halting/analysis/view'
import type { FigureLine } from '../../server/figures.ts'
import type { PageSource, SourceChange } from './page-source.ts'

/** A source that requests everything from the server of the page. */
export async function httpSource(): Promise<PageSource> {
  // The types are those of the server, which comes from the same build as this page.
  const ask = async <Answer>(what: string, query: { readonly [name: string]: string | number } = {}): Promise<Answer> =>
    (await (await answerOf(addressFor(what, query))).json()) as Answer
  const { title } = await ask<{ readonly title: string }>('about')
  return {
    title,
    isExported: false,
    async list(onRows, signal) {
      let beyond = 0
      // The server writes one row per line, and the number of sessions that are not listed.
      for await (const lines of linesOf(await answerOf('api/sessions', signal)))
        onRows(
          (lines as (SessionRow & { readonly remaining?: number })[]).filter(
            ({ remaining }) => remaining === undefined || ((beyond = remaining), false),
          ),
        )
      return beyond
    },
    more: async () => (await ask<{ readonly remaining: number }>('more')).remaining,
    session: (key, asked) => ask('session', { key, ...(asked && { [asked]: 1 }) }),
    async *figures({ row: { key }, isBeginning }, kind, run) {
      const query = { key, of: kind, ...(run !== undefined && { run }), ...(isBeginning && { beginning: 1 }) }
      // The server writes lines of this type.
      for await (const lines of linesOf(await answerOf(addressFor('figures', query)))) yield* lines as FigureLine[]
    },
    records: (key, run, from, count) => ask('records', { key, run, from, count }),
    parts: (key, run, from, count) => ask('parts', { key, run, from, count }),
    exportAddress: (key) => addressFor('export', { key }),
    onChange(listener) {
      const ending = new AbortController()
      void follow(listener, ending.signal)
      return () => ending.abort()
    },
  }
}

function addressFor(what: string, query: { readonly [name: string]: string | number }): string {
  const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `api/${what}${words.length === 0 ? '' : `?${words.join('&')}`}`
}

/**
 * The response, if it is successful.
 * @throws Error with the message of the server.
 */
async function answerOf(address: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(address, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    throw signal?.aborted === true
      ? error
      : new Error('The inspector does not answer. Start halting inspect again.', { cause: error })
  })
  if (response.ok) return response
  const body: unknown = await response.json().catch(() => undefined)
  const hasMessage = typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string'
  throw new Error(hasMessage ? String(body.error) : `The inspector answered ${response.status}.`)
}

/** Parses JSON lines, and yields those of each chunk together. */
async function* linesOf({ body }: Response): AsyncGenerator<unknown[]> {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    const lines = (rest + value).split('\n')
    rest = done ? '' : (lines.pop() ?? '')
    const values = lines.filter((line) => line.trim() !== '').map((line): unknown => JSON.parse(line))
    if (values.length > 0) yield values
    if (done) return
  }
}

/** Receives changes until the signal is aborted. A broken connection is retried with increasing delays. */
async function follow(listener: (change: SourceChange) => void, signal: AbortSignal): Promise<void> {
  let pauseMs = 1_000
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      const answer = await answerOf('api/changes', signal)
      if (!isFirst) listener({ kind: 'missed' })
      for await (const lines of linesOf(answer)) {
        pauseMs = 1_000
        // The server writes keys or rows.
        for (const line of lines as readonly ChangeLine[])
          listener('keys' in line ? { kind: 'changed', ...line } : { kind: 'rows', ...line })
      }
    } catch {
      pauseMs = Math.min(30_000, pauseMs * 2)
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

type ChangeLine =
  | { readonly keys: readonly string[] }
  | { readonly rows: readonly SessionRow[]; readonly gone: readonly string[] }
