// Spec R-PDF-1 to R-PDF-3: Read shows the text of PDFs by page.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WorkspaceOptions } from '@halting/agent'
import { inWorker } from '../src/in-worker.ts'
import { isDeep } from './support/deep.ts'
import { morePages, pageCut } from '../src/tools/pdf-texts.ts'
import { codingTools, type Harness } from './support/harness.ts'

/** A PDF with one line of text per page. */
function pdfOf(lines: readonly string[]): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${lines.map((_, index) => `${4 + index * 2} 0 R`).join(' ')}] /Count ${lines.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...lines.flatMap((line, index) => {
      const content = line === '' ? '' : `BT /F1 12 Tf 72 720 Td (${line}) Tj ET`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ]
    }),
  ]
  let text = '%PDF-1.4\n'
  const places: number[] = []
  for (const [index, object] of objects.entries()) {
    places.push(text.length)
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
  }
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}

function withPdf(bytes: Buffer, options: Partial<WorkspaceOptions> = {}): Harness {
  const harness = codingTools({}, options)
  writeFileSync(join(harness.cwd, 'a.pdf'), bytes)
  return harness
}

test('Read shows the pages of a PDF, ten at first, and how to continue (spec R-PDF-1)', async () => {
  const { use } = withPdf(pdfOf(Array.from({ length: 30 }, (_, index) => `line ${index + 1}`)))
  const whole = await use('Read', { file_path: 'a.pdf' })
  expect(whole).toMatchObject({ isError: false, details: { type: 'pdf', firstPage: 1, lastPage: 10, totalPages: 30 } })
  expect(whole.text).toMatch(/^--- page 1 of 30 ---\nline 1\n--- page 2 of 30 ---\nline 2\n/)
  expect(whole.text).toMatch(/line 10\n\[Pages 1 to 10 of 30\. .*"pages": "11-"\}\.\]$/)
  const last = await use('Read', { file_path: 'a.pdf', pages: '29-30' })
  expect(last.text).toBe('--- page 29 of 30 ---\nline 29\n--- page 30 of 30 ---\nline 30')
})

// Each opens the PDF again, in a thread.
test.runIf(isDeep)('shows the requested pages, at most twenty (spec R-PDF-1)', async () => {
  const { use } = withPdf(pdfOf(Array.from({ length: 30 }, (_, index) => `line ${index + 1}`)))
  const shown = async (pages: string) => (await use('Read', { file_path: 'a.pdf', pages })).text
  expect(await shown('3')).toMatch(/^--- page 3 of 30 ---\nline 3\n\[Pages 3 to 3 of 30\. .*"pages": "4-"\}\.\]$/)
  expect(await shown('1-30')).toMatch(/line 20\n\[Pages 1 to 20 of 30\. /)
  expect(await shown('25-')).toMatch(/line 30$/)
  expect(await shown('31')).toMatch(/has 30 pages; there is no page 31\.$/)
  for (const wrong of ['0', '5-3', 'all', '-3', '1,2'])
    expect(await shown(wrong)).toMatch(/^pages must look like 3, 1-5 or 10-, but is "/)
})

test('reports a page without text, and cuts a page that is too long (spec R-PDF-1)', async () => {
  expect((await withPdf(pdfOf(['', 'b'])).use('Read', { file_path: 'a.pdf' })).text).toMatch(
    /^--- page 1 of 2 ---\n\[No text: the page may be an image\..*\n--- page 2 of 2 ---\nb$/,
  )
  const harness = codingTools({ readCharacters: 20 })
  writeFileSync(join(harness.cwd, 'a.pdf'), pdfOf(['x'.repeat(60), 'b']))
  const { text } = await harness.use('Read', { file_path: 'a.pdf' })
  const path = join(harness.cwd, 'a.pdf')
  expect(text).toBe(`--- page 1 of 2 ---\n${'x'.repeat(20)}\n${pageCut}\n${morePages(path, 1, 1, 2)}`)
})

test.each([
  ['nothing behind the mark', '%PDF-1.7\n'],
  [
    'pages that are their own parents',
    '%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [2 0 R] /Count 1 >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n',
  ],
])('reports an unreadable PDF, and alternatives (spec R-PDF-2): %s', async (_, content) => {
  const { text, isError } = await withPdf(Buffer.from(content)).use('Read', { file_path: 'a.pdf' })
  expect(isError).toBe(true)
  expect(text).toMatch(/is a PDF that cannot be read\. .* To get its text with Bash: pdftotext/)
})

test('reading a PDF ends with the signal (spec R-PDF-2)', async () => {
  const { use } = withPdf(pdfOf(['a']))
  await expect(use('Read', { file_path: 'a.pdf' }, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})

test.each([
  ['%PDF-1.4\n<</Type/Page>>\n<</Type/Page>>\n%%EOF', 'is a PDF of 2 pages.'],
  ['%PDF-1.7\n<</Type/ObjStm>>', 'is a PDF.'],
])('says without the library what to install, and alternatives (spec R-PDF-3)', async (content, problem) => {
  const { use, cwd } = withPdf(Buffer.from(content), { pdfLibrary: () => undefined })
  expect(await use('Read', { file_path: 'a.pdf' })).toMatchObject({
    isError: true,
    text: `${join(cwd, 'a.pdf')} ${problem} Read needs the package unpdf to show PDFs (npm i unpdf). To get its text with Bash: pdftotext -f 1 -l 10 FILE - (prints pages 1 to 10).`,
  })
})

test('counts what a PDF unpacks into buffers as memory (spec R-PDF-2)', async () => {
  const code = `const held = []
    for (let n = 0; n < 12; n++) held.push(new Uint8Array(16 * 1024 * 1024).fill(1))
    await new Promise(() => setInterval(() => held.length, 1000))`
  const bounds = { signal: new AbortController().signal, maxMs: 5000, maxMegabytes: 64 }
  expect(await inWorker(code, {}, bounds)).toEqual({ kind: 'failed', why: 'It takes more than 64 MB of memory' })
})
