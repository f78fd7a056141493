import { HaltingError } from '@halting/core'
import { notFoundText } from './admission.ts'
import type { ResponseWriter } from './response-writer.ts'
import { BadRequest, figuresIn, keyIn, pieceIn, sizeIn } from './query-parameters.ts'
import { sendChanges } from './changes.ts'
import { figureLines, outlineOf } from './figures.ts'
import { exportedName, exportedPage } from './exported-page.ts'
import { servedPage, servedPolicy, type PageFiles } from './page-files.ts'
import type { SessionRow, SessionSource } from '@halting/analysis/view'

/** What responses are built from. */
export interface ServerContext {
  readonly source: SessionSource
  readonly page: PageFiles
  /** Receives unexpected errors. */
  readonly onProblem: (error: unknown) => void
}

/** Responds to a request; never rejects. */
export async function answerTo(
  name: string,
  query: URLSearchParams,
  answer: ResponseWriter,
  { source, page, onProblem }: ServerContext,
): Promise<void> {
  try {
    await answerOf(name, query, answer, { source, page })
  } catch (error) {
    if (answer.gone.aborted) return
    if (answer.hasBegun) {
      onProblem(error)
      answer.breakOff()
    } else if (error instanceof BadRequest) answer.fail(400, error.message)
    else if (error instanceof HaltingError) answer.fail(422, error.message)
    else {
      onProblem(error)
      // The message of an unexpected error may contain confidential data.
      answer.fail(500, 'An internal error occurred. The terminal that runs halting inspect shows it.')
    }
  }
}

async function answerOf(
  name: string,
  query: URLSearchParams,
  answer: ResponseWriter,
  { source, page }: Omit<ServerContext, 'onProblem'>,
): Promise<void> {
  switch (name) {
    case '':
      return answer.send('text/html', servedPage(source.title))
    case 'page.js':
      return answer.send('text/javascript', page.script)
    case 'page.css':
      return answer.send('text/css', page.style)
    case 'api/about':
      return answer.send('application/json', JSON.stringify({ title: source.title }))
    case 'api/sessions': {
      answer.begin(lines)
      if (!answer.isHead) await sendRows(answer, source.list(answer.gone))
      const { remaining = 0 } = source
      if (remaining > 0 && !answer.isHead) await answer.write(`${JSON.stringify({ remaining })}\n`)
      return answer.end()
    }
    case 'api/more':
      if (!answer.isHead) await source.more?.()
      return answer.send('application/json', JSON.stringify({ remaining: source.remaining ?? 0 }))
    case 'api/session': {
      const key = keyIn(query)
      const view = await source.session(key, sizeIn(query))
      if (view === undefined) return answer.fail(404, noSession)
      return answer.send('application/json', JSON.stringify(outlineOf(view)))
    }
    case 'api/figures': {
      const key = keyIn(query)
      const { kind, run } = figuresIn(query)
      const view = await source.session(key, sizeIn(query))
      if (view === undefined) return answer.fail(404, noSession)
      answer.begin(lines)
      if (!answer.isHead)
        for (const line of figureLines(view, kind, run)) await answer.write(`${JSON.stringify(line)}\n`)
      return answer.end()
    }
    case 'api/records':
    case 'api/parts': {
      const key = keyIn(query)
      const { run, from, count } = pieceIn(query)
      const pieces = name === 'api/parts' ? source.parts.bind(source) : source.records.bind(source)
      return sendArray(answer, await pieces(key, run, from, count))
    }
    case 'api/changes':
      answer.begin(lines)
      return answer.isHead ? answer.end() : sendChanges(answer, source)
    case 'api/export': {
      const key = keyIn(query)
      const view = await source.session(key)
      if (view === undefined) return answer.fail(404, noSession)
      answer.begin('text/html', { 'content-disposition': `attachment; filename="${exportedName(view)}"` })
      if (!answer.isHead) for await (const piece of exportedPage({ page, view, source })) await answer.write(piece)
      return answer.end()
    }
    default:
      return answer.fail(404, notFoundText, closeConnection)
  }
}

const lines = 'application/x-ndjson'

const noSession = 'There is no session of this name here. It may have been deleted.'

/** Rows are sent in batches of this many characters, or after this many milliseconds. */
const rowBatch = { characters: 16_384, ms: 50 }

/** Sends rows as they are read, in batches: sending each one takes longer than building it. */
async function sendRows(answer: ResponseWriter, rows: AsyncIterable<SessionRow>): Promise<void> {
  let [text, sentAt] = ['', -Infinity]
  const send = async (): Promise<void> => {
    const sent = text
    ;[text, sentAt] = ['', performance.now()]
    if (sent !== '') await answer.write(sent)
  }
  // A slow row does not delay the others.
  const timer = setInterval(() => void send().catch(() => undefined), rowBatch.ms)
  try {
    for await (const row of rows) {
      text += `${JSON.stringify(row)}\n`
      if (text.length >= rowBatch.characters || sentAt === -Infinity) await send()
    }
    await send()
  } finally {
    clearInterval(timer)
  }
}

/** Writes the values one by one: a thousand records may exceed the maximum length of a string. */
async function sendArray(answer: ResponseWriter, values: readonly unknown[]): Promise<void> {
  answer.begin('application/json')
  if (!answer.isHead) {
    await answer.write('[')
    for (const [index, value] of values.entries()) await answer.write(`${index === 0 ? '' : ','}${jsonOf(value)}`)
    await answer.write(']')
  }
  answer.end()
}

/** A value that exceeds the maximum length of a string is replaced by a note. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof RangeError) return JSON.stringify({ kind: 'note', text: 'It is too large to show.' })
    throw error
  }
}

/** Closes the connection after an error. */
export const closeConnection: { readonly [name: string]: string } = { connection: 'close' }

/** Headers of every response. The policy of the page applies to all of them, because no other response needs more. */
export const commonHeaders: { readonly [name: string]: string } = {
  'content-security-policy': servedPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}
