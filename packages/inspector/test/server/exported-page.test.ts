import { createHash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import { assert, asyncProperty, constantFrom, nat, string } from 'fast-check'
import { expect, test } from 'vitest'
import { exportedName, exportedPage, type PageFiles } from '../../src/index.ts'
import { transcriptParts, viewOf, type SessionView, type TranscriptPart } from '@halting/analysis/view'
import { exportedSource } from '../../src/page/data/exported-source.ts'
import { withFigures } from '../../src/page/data/figures.ts'
import type { PageSource } from '../../src/page/data/page-source.ts'
import { figureKinds } from '../../src/server/figures.ts'
import { plainRow, plainSource, type PlainSession } from '../support/plain-source.ts'
import { hostileSession } from '../../../analysis/test/support/sessions.ts'

const page: PageFiles = { script: 'console.log("page")', style: 'body { margin: 0 }' }

const viewIn = async (session: PlainSession): Promise<SessionView> => {
  const view = await plainSource([session]).session(session.row.key)
  if (view === undefined) throw new Error('It is there.')
  return view
}

async function exportToFile(session: PlainSession, files: PageFiles = page): Promise<string> {
  const view = await viewIn(session)
  let text = ''
  for await (const piece of exportedPage({ page: files, view, source: plainSource([session]) })) text += piece
  return text
}

/** With all figures of all runs. */
async function completeView(source: PageSource | undefined, key: string): Promise<SessionView | undefined> {
  return source === undefined ? undefined : withFigures(source, await source.session(key), figureKinds)
}

/** The text that a browser reads between the first `<script` with this id and the next end tag, which ends its element. */
const inFile = (text: string): Pick<Document, 'getElementById'> => ({
  getElementById(id) {
    const start = text.indexOf(`<script type="application/json" id="${id}">`)
    if (start < 0) return null
    const from = text.indexOf('>', start) + 1
    // The only fields of an element that are used.
    return { textContent: text.slice(from, text.indexOf('</script', from)) } as HTMLElement
  },
})

/** The elements of a file with their offsets, by the only sequences that start and end a script. */
const elementsOf = (text: string): readonly string[] => text.match(/<\/?[a-z!][^\s>]*/gi) ?? []

const hostile = [
  '</script><script>alert(1)</script>',
  '</SCRIPT >',
  '<!--<script>',
  ']]>',
  '<img src=x onerror=alert(1)>',
  '\u2028\u2029\u202e\u0000\ud800',
  '"\\"',
  '&lt;/script&gt;',
  '</style></title>',
]

test('the page finds everything in the file that the server would have sent', async () => {
  const records = Array.from({ length: 1_234 }, (_, at) => ({ type: 'step', at, text: hostile[at % hostile.length] }))
  const parts = hostile.map((text): TranscriptPart => ({ kind: 'answer', text }))
  const session = { row: plainRow('s-1'), records, parts }
  const source = exportedSource(inFile(await exportToFile(session)))
  expect(source).toMatchObject({ title: 'Session s-1', isExported: true })
  const rows: unknown[] = []
  await source?.list((more) => void rows.push(...more), new AbortController().signal)
  expect(rows).toEqual([session.row])
  expect(await completeView(source, 's-1')).toEqual(await viewIn(session))
  await expect(source?.session('s-2')).rejects.toThrow('not in this file')
  await assert(
    asyncProperty(nat(1_400), nat(1_000), async (from, count) => {
      expect(await source?.records('s-1', 0, from, count)).toEqual(records.slice(from, from + count))
      expect(await source?.parts('s-1', 0, from, count)).toEqual(parts.slice(from, from + count))
    }),
    { numRuns: 100 },
  )
  expect(await source?.records('s-1', 1, 0, 10)).toEqual([])
  expect(source?.exportAddress('s-1')).toBeNull()
})

test('a page from a server is not an exported one', () => {
  expect(exportedSource(inFile('<div id="app"></div>'))).toBeUndefined()
})

test('text of a model, a tool or a web page never starts or ends an element', async () => {
  const plain = elementsOf(await exportToFile({ row: plainRow('s'), records: [1], parts: [] }))
  await assert(
    asyncProperty(constantFrom(...hostile), string({ unit: 'binary' }), async (first, second) => {
      const said = `${second}${first}${second}`
      const session = {
        row: plainRow('s', { title: said, cwd: said, models: [said] }),
        records: [{ [said]: [said] }],
        parts: [],
      }
      const text = await exportToFile(session)
      expect(elementsOf(text)).toEqual(plain)
      const source = exportedSource(inFile(text))
      // A text that is invalid Unicode round trips through JSON.
      expect(source?.title).toBe(said)
      expect(await source?.records('s', 0, 0, 1)).toEqual(session.records)
    }),
    { numRuns: 200 },
  )
})

test('the policy allows its own script and style by hash, and no connections', async () => {
  const files = { script: 'const a = "</script><!--"', style: 'a::after { content: "</style>" }' }
  const text = await exportToFile({ row: plainRow('s'), records: [], parts: [] }, files)
  const [, script = ''] = /<script type="module">(.*?)<\/script>/s.exec(text) ?? []
  const [, style = ''] = /<style>(.*?)<\/style>/s.exec(text) ?? []
  const hash = (of: string): string => `&#39;sha256-${createHash('sha256').update(of).digest('base64')}&#39;`
  const [, policy = ''] = /<meta http-equiv="content-security-policy" content="([^"]*)">/.exec(text) ?? []
  expect(policy).toBe(
    `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`.replaceAll(
      /(?<!;)'/g,
      '&#39;',
    ),
  )
  // The script is the same, also where a text in it would have ended it.
  expect(runInNewContext(`${script}; a`)).toBe('</script><!--')
  expect(style).toBe(String.raw`a::after { content: "\3c /style>" }`)
  // Before everything that it must apply to.
  expect(text.indexOf(policy)).toBeLessThan(text.indexOf('<style>'))
  expect(text).not.toMatch(/\b(?:src|href)="(?!data:,)/)
})

test('the file name is valid on every system', async () => {
  const named = async (sessionId: string): Promise<string> =>
    exportedName(await viewIn({ row: plainRow('k', { sessionId }), records: [], parts: [] }))
  expect(await named('6d3f-11')).toBe('halting-6d3f-11.html')
  expect(await named('../../"\r\nx: y')).toBe('halting--x-y.html')
  expect(await named('')).toBe('halting-session.html')
  expect((await named('a'.repeat(1_000))).length).toBeLessThan(100)
})

test('a session with script in every field becomes a file without elements of its own, and round trips', async () => {
  const session = hostileSession()
  const view = viewOf(session)
  const source = {
    records: (_key: string, run: number, from: number, count: number) =>
      Promise.resolve(session.runs[run]?.slice(from, from + count) ?? []),
    parts: (_key: string, run: number, from: number, count: number) =>
      Promise.resolve(transcriptParts(session, run).slice(from, from + count)),
  }
  let text = ''
  for await (const piece of exportedPage({ page, view, source })) text += piece
  expect(new Set(elementsOf(text))).toEqual(
    new Set(
      elementsOf(await exportToFile({ row: plainRow('s'), records: [1], parts: [{ kind: 'answer', text: '' }] })),
    ),
  )
  const read = exportedSource(inFile(text))
  expect(await completeView(read, session.key)).toEqual(JSON.parse(JSON.stringify(view)))
  expect(await read?.parts(session.key, 0, 0, 1_000)).toEqual(transcriptParts(session, 0))
  expect(exportedName(view)).toMatch(/^[\w-]+\.html$/)
})
