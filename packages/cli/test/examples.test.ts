import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { publishedPackages } from '../../../scripts/packages.mjs'

const root = new URL('../../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')

const examples = readdirSync(new URL('examples/', root)).filter((name) => name.endsWith('.mjs'))
const documents = [
  'README.md',
  ...readdirSync(new URL('docs/guide/', root)).map((name) => `docs/guide/${name}`),
  ...publishedPackages.map((name) => `packages/${name}/README.md`).filter((path) => existsSync(new URL(path, root))),
]

interface Sample {
  readonly document: string
  readonly example: string
  readonly code: string
  /** The documented output. */
  readonly output: string | undefined
}

/** JavaScript blocks that name their example, with the text block after each. */
function samplesIn(document: string): readonly Sample[] {
  const blocks = textOf(document).matchAll(/^```js\n(?<code>[\s\S]*?)^```\n(?:\n```text\n(?<output>[\s\S]*?)^```\n)?/gm)
  return Array.from(blocks, ({ groups: { code = '', output } = {} }) => {
    const [, example = ''] = /^\/\/ examples\/(.+)\n/.exec(code) ?? []
    return { document, example, code, output }
  })
}

const samples = documents.flatMap(samplesIn)

/** Runs an example on the sources, and returns its output. */
async function outputOf(example: string): Promise<string> {
  const lines: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((...values) => void lines.push(`${format(...values)}\n`))
  try {
    await import(fileURLToPath(new URL(`examples/${example}`, root)))
    return lines.join('')
  } finally {
    log.mockRestore()
  }
}

describe.each(examples)('examples/%s', (example) => {
  test('is quoted exactly in a document, and prints what the document says', async () => {
    const quotes = samples.filter((sample) => sample.example === example)
    expect(quotes.length).toBeGreaterThan(0)
    const code = textOf(`examples/${example}`)
    const output = await outputOf(example)
    for (const quote of quotes) expect(quote).toEqual({ document: quote.document, example, code, output })
  })
})

test('has an example for every JavaScript block of the documents', () => {
  expect(
    samples
      .filter(({ example }) => !examples.includes(example))
      .map(({ document, code }) => `${document}: ${code.split('\n')[0]}`),
  ).toEqual([])
})
