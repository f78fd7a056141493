import { HaltingError } from '@halting/core'
import type { RunView, SessionView, SessionSource } from '@halting/analysis/view'
import { maxPerRequest } from './query-parameters.ts'
import { figureKinds, figureLines, outlineOf } from './figures.ts'
import { bodyStart, pageEnd, escapeHtml, filePolicy, headOf, type PageFiles } from './page-files.ts'

/** What an exported session is built from. */
export interface ExportSource {
  /** Script and style of the page. */
  readonly page: PageFiles
  /** The session as the page shows it. */
  readonly view: SessionView
  /** Records and transcript of the session. */
  readonly source: Pick<SessionSource, 'records' | 'parts'>
}

/**
 * A session as one page that works from disk: script and style are inline, and all data is embedded. Its policy permits only this script, and no
 * network access. Yields pieces, because the page may exceed the maximum length of a string.
 * @throws HaltingError if the source has less of the session than its view.
 */
export async function* exportedPage({ page, view, source }: ExportSource): AsyncGenerator<string> {
  const files: PageFiles = { script: within('script', page.script), style: within('style', page.style) }
  const [first = '', ...head] = headOf(`${view.row.title} · halting`)
  yield [
    first,
    ...head.slice(0, 3),
    `<meta http-equiv="content-security-policy" content="${escapeHtml(filePolicy(files))}">`,
    ...head.slice(3),
    `<style>${files.style}</style>`,
    ...bodyStart,
    dataElement('session', { view: outlineOf(view), inElement: maxPerElement }),
    '',
  ].join('\n')
  for (const kind of figureKinds) {
    let place = 0
    for (const line of figureLines(view, kind)) yield `${dataElement(`${kind}-${place++}`, line)}\n`
  }
  for (const [run, { records, parts }] of view.runs.entries()) {
    yield* pieces('records', run, records, (from, count) => source.records(view.row.key, run, from, count))
    yield* pieces('parts', run, parts, (from, count) => source.parts(view.row.key, run, from, count))
  }
  // After the data, which the script reads when it starts.
  yield [`<script type="module">${files.script}</script>`, ...pageEnd].join('\n')
}

/** One data element per piece, so that the page parses only what it shows. */
async function* pieces(
  kind: keyof Pick<RunView, 'records' | 'parts'>,
  run: number,
  total: number,
  read: (from: number, count: number) => Promise<readonly unknown[]>,
): AsyncGenerator<string> {
  for (let from = 0; from < total; from += maxPerElement) {
    const count = Math.min(maxPerElement, total - from)
    const values = await read(from, count)
    // An incomplete page would look complete.
    if (values.length !== count)
      throw new HaltingError('driver', 'The session was cut or removed while it was exported: some of it is gone.')
    yield `${dataElement(`${kind}-${run}-${from}`, values)}\n`
  }
}

/** The page finds a piece by the number of its first element. */
const maxPerElement = Math.min(200, maxPerRequest)

/** Data that is not a script: the browser does not run it, and no text in it ends its element. */
function dataElement(name: string, value: unknown): string {
  return `<script type="application/json" id="halting-${name}">${inertJson(value)}</script>`
}

/** JSON without `<`, which could begin a tag or a comment. */
function inertJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`)
}

/** Our script or style, changed so that no text in it ends the element. The replacement is equivalent in strings and regular expressions. */
function within(element: 'script' | 'style', text: string): string {
  return text.replaceAll(
    new RegExp(`<(?=/${element}|!--)`, 'gi'),
    element === 'script' ? String.raw`\x3c` : String.raw`\3c `,
  )
}

/** A file name of letters, digits, `-` and `_`. */
export function exportedName({ row }: SessionView): string {
  const name = row.sessionId.replaceAll(/[^\w-]+/g, '-').slice(0, 80)
  return `halting-${name === '' ? 'session' : name}.html`
}
